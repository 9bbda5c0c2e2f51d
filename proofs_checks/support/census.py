"""Exact accounts of several architectures against a formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from symgauge.accounting import Account, account
from symgauge.architecture import Architecture
from symgauge.claims import at_most, equal
from symgauge.exact.dimension import Output


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
