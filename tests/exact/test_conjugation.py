"""Why rows over GF(p²) are not split into a real and an imaginary row over GF(p).

That would be right if the row space were closed under conjugation, that is, under another choice of the signs of roots.
Another choice is another point with another tangent space, as soon as two terms differ in the root that they have: the
split rows span both tangent spaces, and the rank is too large.
"""

import pytest
import torch
from torch import Tensor, nn

import symgauge
from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.rank import Echelon


class Slope(nn.Module):
    """x ↦ x·(w₁ + w₂√(1 + w₃²)): one number is seen of three, so the nullity is 2."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        return x * (self.w[0] + self.w[1] * torch.sqrt(1 + self.w[2] ** 2))


class Stream(nn.Module):
    """x ↦ U(e_x + W norm(e_x)): tables U·H of rank ≤ width, where E reaches any H (width, tokens).

    So the rank is width·(outputs + tokens − width), and the nullity 2·width²: W is free, and so is the stream's basis.
    The table lies on its side, as the engine draws rows of token tables again until the first root lies in GF(p).
    """

    def __init__(self, tokens: int, width: int, outputs: int) -> None:
        super().__init__()
        self.e = nn.Parameter(torch.randn(width, tokens))
        self.w = nn.Parameter(torch.randn(width, width))
        self.u = nn.Parameter(torch.randn(outputs, width))

    def forward(self, x: Tensor) -> Tensor:
        e = self.e.mT[x]
        normed = e / torch.sqrt((e * e).mean(-1, keepdim=True))
        return (e + normed @ self.w.mT) @ self.u.mT


@pytest.mark.parametrize(
    ("module", "inputs", "nullity"),
    [(Slope(), symgauge.Vectors(1, 1), 2), (Stream(12, 2, 3), symgauge.Tokens(12, 1), 8)],
    ids=["slope", "stream"],
)
def test_split_rows_have_another_rank(module: nn.Module, inputs: object, nullity: int) -> None:
    found = (symgauge.dimension(module, inputs, seed=seed) for seed in range(20))
    fibre = next(f for f in found if f.echelon.basis.im is not None)
    assert fibre.nullity == nullity
    assert fibre.float_rank == fibre.parameters - nullity
    basis = fibre.echelon.basis
    split = Echelon(fibre.echelon.field, fibre.parameters)
    split.add(Residues(torch.cat(basis.parts())))
    assert split.rank > fibre.rank
