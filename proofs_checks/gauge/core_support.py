"""What the core checks share: exact values of a function, censuses of exact accounts, small architectures by kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import torch
from torch import Tensor

from symgauge.accounting import Account, account
from symgauge.architecture import Architecture
from symgauge.arithmetic.carrier import Carrier, wrap
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.jet import Calculus
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.claims import at_most, equal
from symgauge.exact.dimension import Output
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs
from symgauge.strategies.kinds import KINDS
from symgauge.strategies.planner import Planner, choose_architecture
from symgauge.wiring import wire

Roles = Mapping[str, Tensor]
ALONE: dict[str, Any] = {"residual": False, "causal": False}
"""One attention layer on vectors, without residual stream or mask."""
BIASES: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), True)
EPSILON: dict[str, Any] = {"epsilon": 0.1}
"""A visible ε, so that in float64 too no scale symmetry is nearly there."""
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
        roles = {name: x if isinstance(x, Carrier) else self.lift(x) for name, x in roles.items()}
        other = self._evaluate({**self.roles, **roles})
        one, two = (x.jet for x in (self.values, other) if isinstance(x, Carrier))
        usable = torch.ones(one.shape, dtype=torch.bool)
        for taint in (one.taint, two.taint):
            usable &= ~taint if taint is not None else True
        # The first position of a causal model attends to itself alone, so it does not count.
        compared = int(usable[:, 1:].sum())
        if compared < LEAST_COMPARED:
            raise AssertionError(f"only {compared} values can be compared; give more inputs")
        field = self.calculus.field
        return bool(field.is_zero(field.sub(one.value, two.value))[usable].all())


@dataclass(frozen=True)
class Census:
    """Exact accounts of several architectures against a formula."""

    accounts: tuple[Account, ...]
    predicted: tuple[int, ...]
    seed: int
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return len(self.accounts)

    @property
    def figures(self) -> dict[str, Any]:
        """Everything that the evidence rests on; bounded by the formula, zero unexplained, and decided."""
        fibres = [a.fibre for a in self.accounts]
        return {
            "architectures": [describe(a.architecture) for a in self.accounts if a.architecture is not None],
            "parameters": [f.parameters for f in fibres],
            "nullity": equal([f.nullity for f in fibres], list(self.predicted)),
            "unexplained": equal([a.unexplained for a in self.accounts], [0] * self.cases),
            "undecided": equal(sum(not a.decided for a in self.accounts), 0),
            "primes": list(fibres[0].primes),
            "seed": self.seed,
            "probes": [f.probes for f in fibres],
            "failure bound, sum": at_most(sum(f.failure_bound for f in fibres), 1e-6),
            **self.extra,
        }


def census(
    architectures: Sequence[Architecture],
    formula: Callable[[Architecture], int],
    *,
    output: Output = "logits",
    seed: int = 0,
) -> Census:
    """The exact account of every architecture; there has to be one."""
    if not architectures:
        raise AssertionError("a census needs at least one architecture")
    found = tuple(_measured(a, output, seed) for a in architectures)
    return Census(found, tuple(formula(a) for a in architectures), seed)


@cache
def _measured(a: Architecture, output: Output, seed: int) -> Account:
    """Many claims rest on the same small layers."""
    return account(a, output=output, seed=seed)


def describe(a: Architecture) -> str:
    """The sizes of an architecture in a line."""
    sizes = f"d={a.d_model} h={a.heads} g={a.groups} d_k={a.d_k} d_v={a.d_v}"
    if a.d_ff:
        sizes += f" d_ff={a.d_ff}"
    sizes += f" L={a.layers}" if a.layers > 1 or a.is_model else ""
    sizes += f" V={a.vocabulary}" if a.is_model else ""
    return f"{sizes} n={a.context}"


def small(
    kind: str, count: int, *, budget: int, max_layers: int = 2, seed: int = 0, min_layers: int = 1, **fixed: Any
) -> list[Architecture]:
    """Different small architectures of a kind with pairwise distinct sizes and at most ``budget`` parameters."""
    rng = Random(seed)
    found: dict[str, Architecture] = {}
    planner = Planner(KINDS[kind], budget, fixed)
    for _ in range(100 * count):
        a = choose_architecture(planner, max_layers, rng.choice)
        if a is not None and a.layers >= min_layers:
            found.setdefault(repr(a), a)
        if len(found) == count:
            return list(found.values())
    raise AssertionError(f"only {len(found)} of {count} architectures of kind {kind!r} fit {budget} parameters")


def parameters(a: Architecture) -> int:
    return wire(a).parameters


def unimodular(size: int, seed: int) -> tuple[Tensor, Tensor]:
    """An integer matrix of determinant −1, not symmetric, and its inverse; both exact in float64."""
    rng, matrix = Random(seed), torch.zeros((size, size), dtype=torch.float64)
    # A symmetric draw would hide the difference between the inverse and its transpose.
    while (size > 1 and torch.equal(matrix, matrix.mT)) or not matrix.any():
        lower, upper = (torch.eye(size, dtype=torch.float64) for _ in range(2))
        for i in range(size):
            for j in range(i):
                lower[i, j], upper[j, i] = rng.choice([1, 2, 3]), rng.choice([-2, -1])
        lower[0] *= -1
        matrix = lower @ upper
    inverse = torch.linalg.inv(matrix).round()
    if not torch.equal(matrix @ inverse, torch.eye(size, dtype=torch.float64)):
        raise AssertionError("the inverse of the integer matrix is not exact")
    return matrix, inverse
