"""The model as an `Architecture`, and as a module that answers at the last position."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.models.reference import ReferenceModel

Readout = Literal["last", "all"]
Start = Literal["torch", "xavier", "normal"]


def architecture(
    d: int = 16,
    heads: int = 2,
    layers: int = 1,
    vocabulary: int = 2,
    length: int = 3,
    *,
    residual: bool = True,
    norm: Literal["none", "layer", "rms"] = "none",
    positions: bool = False,
    activation: Literal["relu", "gelu", "tanh", "silu", "relu2"] = "relu",
    causal: bool = True,
) -> Architecture:
    """d_k = d_v = d / heads, d_ff = 4 d, no biases, untied output: P = 2 |V| d + 12 L d² (+ T d with positions).

    ``norm`` is placed before each sublayer and before the output; ``positions`` adds a learned table. Raises
    :class:`InvalidInput` where heads do not divide d.

    Source: idealized paper, section 3 and equation (1).
    """
    if heads < 1 or d % heads:
        raise InvalidInput(f"{heads} heads do not divide the width {d}; choose a divisor of d")
    return Architecture(
        d_model=d,
        heads=heads,
        d_k=d // heads,
        d_v=d // heads,
        layers=layers,
        d_ff=4 * d,
        vocabulary=vocabulary,
        context=length,
        causal=causal,
        residual=residual,
        activation=activation,
        norm=norm,
        final_norm=norm != "none",
        position_table=positions,
        name="idealized",
    )


def start(architecture: Architecture, seed: int, how: Start = "torch", spread: float = 0.1) -> dict[str, Tensor]:
    """Initial roles (float64). "torch": the defaults of ``nn.Embedding``, N(0, 1), and ``nn.Linear``, U(±1/√inputs).

    "xavier": U(±√(6 / (inputs + outputs))) for every matrix; "normal": N(0, spread²) for all. Norm gains are 1, and
    offsets 0.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(shape: tuple[int, ...], bound: float) -> Tensor:
        return bound * (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1)

    roles = {}
    for name, shape in graph_of(architecture).shapes.items():
        into, out = _fan(name, shape)
        if name.endswith((".gain", ".offset")):
            roles[name] = torch.full(shape, float(name.endswith(".gain")), dtype=torch.float64)
        elif how == "normal" or (how == "torch" and name.endswith("_table")):
            normal = torch.randn(shape, generator=generator, dtype=torch.float64)
            roles[name] = normal if how == "torch" else spread * normal
        elif how == "torch":
            roles[name] = uniform(shape, 1 / math.sqrt(into))
        elif how == "xavier":
            roles[name] = uniform(shape, math.sqrt(6 / (into + out)))
        else:
            raise InvalidInput(f"no start is called {how!r}; choose torch, xavier or normal")
    return roles


def _fan(name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of the matrix, the heads of a layer side by side."""
    if len(shape) < 3:
        return shape[0], shape[-1]
    heads, into, out = shape
    return (heads * into, out) if name.endswith("output.weight") else (into, heads * out)


class IdealizedModel(ReferenceModel):
    """Token ids (B, T) → logits (B, V) at the last position, or (B, T, V) with ``readout="all"``.

    An ordinary module: :func:`symgauge.dimension` and :func:`symgauge.account` take it as it is, and
    ``torch.func.stack_module_state`` stacks several. Parameters are float64 unless ``dtype`` says otherwise.
    """

    def __init__(
        self,
        architecture: Architecture,
        seed: int = 0,
        *,
        how: Start = "torch",
        spread: float = 0.1,
        readout: Readout = "last",
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__(architecture, seed)
        if readout not in ("last", "all"):
            raise InvalidInput(f"the answer is read at the 'last' position or at 'all', not {readout!r}")
        self.readout = readout
        self.set_roles(start(architecture, seed, how, spread))
        self.to(dtype)

    def set_roles(self, roles: dict[str, Tensor]) -> None:
        """Replace parameters by role name."""
        mine = self.roles()
        for name, value in roles.items():
            if name not in mine or mine[name].shape != value.shape:
                raise InvalidInput(f"the model has no role {name!r} of shape {tuple(value.shape)}")
            with torch.no_grad():
                mine[name].copy_(value)

    def forward(self, inputs: Tensor) -> Tensor:
        out = super().forward(inputs)
        return out if self.readout == "all" else out[..., -1, :]
