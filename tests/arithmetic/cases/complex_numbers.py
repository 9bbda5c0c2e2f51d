"""Complex tensors, as pairs of real ones."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.arithmetic.cases.inputs import CONSTANT, Case


def rotary(x: Tensor) -> Tensor:
    turns = torch.polar(torch.ones(3, 2, dtype=torch.float64), torch.arange(6.0).double().reshape(3, 2))
    return torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, 2, 2)) * turns).flatten(2)


def state_space(x: Tensor) -> Tensor:
    """A diagonal state space with complex poles: its kernel by powers of exp."""
    pole = torch.exp(torch.complex(-x.abs(), x) * 0.3)
    weights = torch.linspace(1, 3, 4).to(torch.complex128)
    kernel = torch.einsum("btn,n->bt", pole**2 / (pole + 1.5), weights).real
    return kernel + (pole.conj() * pole).real.sum(-1) + pole.abs().sum(-1) + pole.angle().mean(-1)


def complex_shapes(x: Tensor) -> Tensor:
    z = torch.cat([x * 1j, x + 0j], -1).cumsum(1).masked_fill(x.repeat(1, 1, 2) > 1, 3)
    return torch.view_as_real(torch.where(x.repeat(1, 1, 2) < 0, 2, F.pad(z[..., :7], (1, 0))))


def complex_in_place(x: Tensor) -> Tensor:
    z = torch.complex(x * 1, x * x)
    z.mul_(2j)
    z.add_(x)
    return torch.view_as_real(z)


CASES: dict[str, Case] = {
    "rotary": rotary,
    "state space": state_space,
    "polar": lambda x: torch.view_as_real(torch.polar(x.abs(), x) * (2 - 1j) - 1j / (1 + torch.polar(x.abs(), x))),
    "complex products": lambda x: torch.view_as_real(torch.complex(x, x * x) @ torch.complex(x, -x).mT),
    "complex linear": lambda x: torch.view_as_real(
        F.linear(torch.complex(x, x), CONSTANT[0] + 1j, torch.complex(x[0, 0, :3], x[1, 1, :3]))
    ),
    "complex shapes": complex_shapes,
    "complex in place": complex_in_place,
    "complex quotients": lambda x: torch.view_as_real(
        (1 - 2j) / torch.complex(x, x * x + 1) + torch.complex(x, x) / (CONSTANT - 1j)
    ),
    "complex log": lambda x: torch.view_as_real(torch.log(torch.complex(x, x * x + 1)) ** -3),
    "complex powers": lambda x: torch.view_as_real(
        torch.complex(x, x * x + 1) ** 0.5
        + torch.reciprocal(torch.complex(x, x * x + 1))
        + torch.complex(x, x * x + 1) ** 0
    ),
    "complex likes": lambda x: (
        (torch.ones_like(x + 0j) - (x + 1j) - torch.zeros_like(x + 0j)).abs() * (1 - x * 1j).real
    ),
    "real parts": lambda x: torch.complex(x, x * x).pow(3).real * torch.complex(x, x * x).imag,
    "complex casts": lambda x: (
        torch.view_as_real(torch.conj_physical(x.to(torch.complex128) * (1 + 2j)).to(torch.complex128, copy=True))
        + x.to(torch.complex128).to(torch.complex128, copy=True).real[..., None]
    ),
    "complex baddbmm": lambda x: torch.view_as_real(torch.baddbmm(x @ x.mT + 0j, x + 1j, x.mT * 1j, beta=2, alpha=0.5)),
    "complex vectors": lambda x: (
        torch.view_as_real((x[0] + 1j) @ (x[1, 0] * 1j)) * torch.dot(x[0, 0] + 1j, x[1, 1] * 2j).imag
    ),
}
