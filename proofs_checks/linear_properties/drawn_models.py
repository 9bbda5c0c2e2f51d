"""Hypothesis strategies for exact models and pairs of equivalent ones, and SymPy helpers for symbolic instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import sympy as sp
from hypothesis import strategies as st

from proofs_checks.linear_properties.drawing import Room, partner, random_matrix, random_model
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field, Matrix
from proofs_checks.linear_properties.model import Model

PRIME = Field(10_007)
ROOMS = st.builds(Room, embedding=st.integers(0, 2), unembedding=st.integers(0, 2), unused=st.integers(0, 2))
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Pair:
    """A model, a partner with the same distribution in another dimension, and the generator that drew them."""

    model: Model
    other: Model
    rng: Random

    def perturbed(self) -> Model:
        """The partner with a multiple of a visible direction added to one context's embedding: another distribution."""
        x = self.rng.randrange(self.other.contexts)
        y = next(y for y, row in enumerate(self.other.g0.table) if any(row))
        step = self.other.g0.rows([y])
        rows = list(self.other.f.table)
        rows[x] = [a + b for a, b in zip(rows[x], step.table[0], strict=True)]
        return Model(self.other.f.field.matrix(rows), self.other.g, self.other.pivot)


@st.composite
def pairs(draw: st.DrawFn, field: Field = RATIONALS, rooms: st.SearchStrategy[Room] = ROOMS) -> Pair:
    """Pairs of effective complexity 1 to 3, with 1 to 4 contexts and tokens more than that takes."""
    complexity, spare, first, second = draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(rooms), draw(rooms)
    rng = Random(draw(SEEDS))
    contexts, tokens = complexity + spare, complexity + 1 + draw(st.integers(1, 4))
    model = random_model(rng, complexity, first, contexts=contexts, tokens=tokens, field=field)
    return Pair(model, partner(rng, model, second), rng)


def combination(pair: Pair, rows: int) -> Matrix:
    """Random coefficients (rows, V) of token vectors, for subspaces that are the same in both models."""
    return random_matrix(pair.rng, rows, pair.model.tokens, pair.model.f.field)


def symbolic_projector(rows: sp.Matrix) -> sp.Matrix:
    """The orthogonal projector onto the span of independent rows, over the field of their symbols."""
    return (rows.T * (rows * rows.T).inv() * rows).applyfunc(sp.cancel)


def vanishes(matrix: sp.Matrix | Sequence[sp.Expr]) -> bool:
    """Whether every entry is zero as a rational function."""
    entries = list(matrix)
    if not entries:
        raise AssertionError("no entry to look at")
    return all(sp.cancel(sp.together(entry)) == 0 for entry in entries)
