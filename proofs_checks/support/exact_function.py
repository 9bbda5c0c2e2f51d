"""The function of an architecture at one parameter point, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs

Roles = Mapping[str, Tensor]
LEAST_COMPARED = 10


class ExactFunction:
    """The function of an architecture at one parameter point, evaluated over GF(p) on random inputs.

    Weights, inputs and maps are lifted without rounding; exp and its like are fresh elements per argument. Equal
    residues say that the two expressions agree as expressions in those elements (up to a chance of about 1/p per
    value), different residues that they do not.
    """

    def __init__(
        self, a: Architecture, roles: Roles | None = None, *, seed: int = 0, batch: int = 2, length: int | None = None
    ) -> None:
        self.architecture = a
        self.calculus = Calculus(FiniteField(DEFAULT_PRIMES[0], seed))
        self.roles = {name: self.lift(x) for name, x in (roles or random_parameters(a, seed)).items()}
        inputs = random_inputs(a, seed, batch=batch, length=length)
        self.inputs = inputs if a.is_model else self.lift(inputs)
        self.values = self._evaluate(self.roles)

    def lift(self, x: Tensor) -> Tensor:
        """A constant of the exact arithmetic, without rounding."""
        return wrap(self.calculus.lift(x), self.calculus)

    def _evaluate(self, roles: Roles) -> Tensor:
        with torch.no_grad():
            return forward(self.architecture, roles, self.inputs)

    def keeps(self, changed: Roles | Callable[[Roles], Roles]) -> bool:
        """Whether the function is the same after roles are replaced; a callable acts in exact arithmetic."""
        roles = changed(self.roles) if callable(changed) else changed
        roles = {name: x if isinstance(x, WrapperTensor) else self.lift(x) for name, x in roles.items()}
        other = self._evaluate({**self.roles, **roles})
        one, two = (x.element for x in (self.values, other) if isinstance(x, WrapperTensor))
        usable = torch.ones(one.shape, dtype=torch.bool)
        for undefined in (one.undefined, two.undefined):
            usable &= ~undefined if undefined is not None else True
        # The first position of a causal model attends to itself alone, so it does not count.
        compared = int(usable[:, 1:].sum())
        if compared < LEAST_COMPARED:
            raise AssertionError(f"only {compared} values can be compared; give more inputs")
        field = self.calculus.field
        return bool(field.is_zero(field.sub(one.value, two.value))[usable].all())
