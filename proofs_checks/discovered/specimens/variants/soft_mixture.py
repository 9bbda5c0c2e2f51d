"""A soft mixture of experts (Puigcerver, Riquelme, Mustafa, Houlsby, 2023, "From Sparse to Soft Mixtures of Experts",
arXiv:2308.00951): slots are averages of tokens, outputs averages of slots; then a linear head."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize

from symgauge import Vectors


class SoftMixture(nn.Module):
    def __init__(self, d_model: int, experts: int, slots: int, d_ff: int, classes: int) -> None:
        super().__init__()
        self.slots = nn.Parameter(torch.randn(d_model, experts, slots))
        self.scale = nn.Parameter(torch.ones(()))
        self.up, self.down = (
            nn.Parameter(torch.randn(experts, *shape)) for shape in ((d_model, d_ff), (d_ff, d_model))
        )
        self.up_bias, self.down_bias = (nn.Parameter(torch.randn(experts, 1, width)) for width in (d_ff, d_model))
        self.head = nn.Linear(d_model, classes)

    def forward(self, x: Tensor) -> Tensor:
        logits = torch.einsum("bnd,des->bnes", normalize(x, dim=-1), self.scale * normalize(self.slots, dim=0))
        dispatch, combine = logits.softmax(1), logits.flatten(2).softmax(-1).view_as(logits)
        read = torch.einsum("bnd,bnes->besd", x, dispatch)
        written = gelu(read @ self.up + self.up_bias) @ self.down + self.down_bias
        return self.head(x + torch.einsum("besd,bnes->bnd", written, combine))


def factory(
    *, d_model: int = 4, experts: int = 2, slots: int = 3, d_ff: int = 5, classes: int = 6
) -> tuple[nn.Module, Vectors]:
    return SoftMixture(d_model, experts, slots, d_ff, classes), Vectors(length=3, width=d_model)


def by_hand(*, d_model: int, experts: int, slots: int, d_ff: int, classes: int) -> dict[str, int]:
    """Every slot vector is normalised: its length is free. A token's weights over all slots sum to one: a vector added
    to the output biases of all experts is taken back by the head's bias. For classes ≥ d_model; for fewer classes the
    head does not see d_model − classes directions of each expert's output, and the shift is one of these or not, so
    (d_model − classes)(d_ff + 1) per expert are free and the shift adds ``classes`` only."""
    hidden = max(0, d_model - classes)
    return {
        "lengths of slot vectors": experts * slots,
        "biases of experts against the head's": d_model - hidden,
        "outputs of experts that the head does not read": experts * (d_ff + 1) * hidden,
    }
