"""Small models with their accounts, and what the formula of the symmetry families says at their size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from torch import nn

from symgauge.accounting import Account, account
from symgauge.architecture import Architecture
from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.dimension import dimension
from symgauge.exact.rank import Echelon
from symgauge.generators import generators
from symgauge.model_graph import graph_of
from symgauge.subjects import subject_of
from symgauge.symmetries import dimension as formula
from symgauge.symmetries import families
from symgauge.symmetries.first_layer import surplus
from symgauge.symmetries.symbols import evaluate

ROUNDS = 150
"""Batches of candidate probes to try."""


@dataclass(frozen=True)
class Instance:
    """A small model, its account, and what the formula says at its size."""

    label: str
    account: Account
    formula: int

    def unexplained_without(self, family: str) -> int:
        """Directions that nothing explains once a family is left out."""
        a, layout, fibre = self.account.architecture, self.account.subject.layout, self.account.fibre
        assert a is not None
        assert layout is not None
        known = Echelon(fibre.echelon.field, fibre.parameters)
        for symmetry in families(a):
            if symmetry.name != family:
                known.add(Residues(generators(symmetry, a, graph_of(a), layout, fibre.theta, known.field)))
        return fibre.nullity - known.rank


def measure(label: str, target: Architecture | nn.Module) -> Instance:
    subject = subject_of(target)
    fibre = dimension(subject.module, subject.inputs, rounds=ROUNDS)
    a = subject.architecture
    assert a is not None
    return Instance(label, account(subject, fibre=fibre), evaluate(formula(a), a) + surplus(a))


@lru_cache
def reference(a: Architecture) -> Instance:
    """The reference module of a small architecture."""
    return measure(f"reference, {layers_in_words(a.layers)}", a)


def layers_in_words(count: int) -> str:
    return "one layer" if count == 1 else f"{count} layers"
