"""Float64 behind the finite field's interface: the calculus and the whole rule table, with the true functions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import FiniteField, Residues

_ODD = {"erf": torch.erf, "tangent of half": lambda x: torch.tan(x / 2), "arc tangent": torch.atan}


class RealField(FiniteField):
    """Ordinary real numbers. Rules that are right here, derivative included, are right over any field."""

    def __init__(self) -> None:
        super().__init__(2147483579)

    def lift(self, x: Tensor, exact: bool = False) -> Residues:
        return Residues(torch.where(torch.isfinite(x.double()), x.double(), 0.0))

    def zeros(self, shape: Sequence[int], device: torch.device) -> Tensor:
        return torch.zeros(tuple(shape), dtype=torch.float64, device=device)

    def identity(self, n: int, device: torch.device) -> Residues:
        return Residues(torch.eye(n, dtype=torch.float64, device=device))

    def reduce(self, x: Tensor) -> Tensor:
        return x

    def _add(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def _sub(self, a: Tensor, b: Tensor) -> Tensor:
        return a - b

    def neg(self, a: Residues) -> Residues:
        return Residues(-a.re)

    def _mul(self, a: Tensor, b: Tensor) -> Tensor:
        return a * b

    def _matmul(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b

    def divide(self, a: Residues, n: int) -> Residues:
        return Residues(a.re / n)

    def inverse(self, a: Residues) -> Residues:
        return Residues(1 / a.re)

    def root(self, a: Residues) -> tuple[Residues, Tensor]:
        return Residues(a.re.sqrt()), a.re < 0

    def exp(self, a: Residues) -> Residues:
        return Residues(a.re.exp())

    def odd(self, a: Residues, function: str) -> Residues:
        return Residues(_ODD[function](a.re))

    def log(self, a: Residues) -> Residues:
        return Residues(a.re.log())
