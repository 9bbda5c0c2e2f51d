"""The log-bilinear next-token model p(y|x) ∝ exp(f(x)·g(y)) over finite contexts and tokens, in exact arithmetic.

Following the definitions around Theorem 5 of "All or None" (arXiv 2410.23501) as far as they can be read or rebuilt:
unembeddings are pivoted, g₀(y) = g(y) − g(y₀); F = span f(X), G = span g₀(A); M = P_F(G) lies in F and N = P_G(F) in G.
L(x, y) = f(x)·g₀(y) = log p(y|x)/p(y₀|x) determines p and is determined by it; its rank is the effective complexity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field, Matrix
from symgauge.errors import InvalidInput


@dataclass(frozen=True)
class Coordinates:
    """How a model's visible parts are written down: rows of ``f`` (n, a) and ``g`` (V, b), and their pairing (a, b).

    L = f · pairing · gᵀ. Two forms: projections in the ambient space (pairing the identity), or coordinates on
    F/(F∩G^⊥) and G/(G∩F^⊥), which exist over every field.
    """

    f: Matrix
    g: Matrix
    pairing: Matrix


@dataclass(frozen=True)
class Model:
    """Embeddings f (n, d), one row per context, and unembeddings g (V, d), one row per token, over one field."""

    f: Matrix
    g: Matrix
    pivot: int = 0

    def __post_init__(self) -> None:
        (contexts, width), (tokens, other) = self.f.shape, self.g.shape
        if width != other or self.f.field != self.g.field:
            raise InvalidInput(f"embeddings of width {width} and unembeddings of width {other} have no dot products")
        if not contexts or tokens < 2:
            raise InvalidInput(f"a model needs a context and two tokens, not {contexts} and {tokens}")
        if not 0 <= self.pivot < tokens:
            raise InvalidInput(f"the pivot is token {self.pivot}, and tokens are numbered from 0 to {tokens - 1}")

    @classmethod
    def of(
        cls, f: Sequence[Sequence[Any]], g: Sequence[Sequence[Any]], field: Field = RATIONALS, pivot: int = 0
    ) -> Model:
        """A model from rows of numbers."""
        return cls(field.matrix(f), field.matrix(g), pivot)

    @property
    def dimension(self) -> int:
        """Width d of the representation."""
        return self.f.shape[1]

    @property
    def contexts(self) -> int:
        return self.f.shape[0]

    @property
    def tokens(self) -> int:
        return self.g.shape[0]

    @cached_property
    def g0(self) -> Matrix:
        """Pivoted unembeddings (V, d)."""
        return self.g - self.g.field.ones(self.tokens) @ self.g.rows([self.pivot])

    @cached_property
    def logit_ratios(self) -> Matrix:
        """L (n, V): L(x, y) = f(x)·g₀(y)."""
        return self.f @ self.g0.T

    @property
    def effective_complexity(self) -> int:
        """rank L."""
        return self.logit_ratios.rank

    @property
    def F(self) -> Matrix:
        """A basis of the span of the embeddings."""
        return self.f.span

    @property
    def G(self) -> Matrix:
        """A basis of the span of the pivoted unembeddings; no pivot gives another span."""
        return self.g0.span

    @property
    def diverse(self) -> bool:
        """The diversity condition: embeddings and pivoted unembeddings both span the whole space."""
        return self.F.shape[0] == self.G.shape[0] == self.dimension

    @cached_property
    def M(self) -> Matrix:
        """A basis of P_F(G)."""
        return (self.G @ self.F.projector()).span

    @cached_property
    def N(self) -> Matrix:
        """A basis of P_G(F)."""
        return (self.F @ self.G.projector()).span

    @cached_property
    def projected(self) -> Coordinates:
        """P_M f(x) and P_N g₀(y) in the ambient space. Raises InvalidInput where a projector does not exist."""
        identity = self.f.field.identity(self.dimension)
        return Coordinates(self.f @ self.M.projector(), self.g0 @ self.N.projector(), identity)

    @cached_property
    def modulo_unseen(self) -> Coordinates:
        """f(x) modulo F∩G^⊥ by its dot products with r tokens, g₀(y) modulo G∩F^⊥ by those with r contexts."""
        ratios = self.logit_ratios
        contexts, tokens = ratios.T.pivot_columns, ratios.pivot_columns
        minor = ratios.rows(contexts).columns(tokens)
        return Coordinates(ratios.columns(tokens), ratios.rows(contexts).T, minor.inverse())

    def same_distribution(self, other: Model) -> bool:
        """Whether p is the same: equality of log-ratios to one pivot, exactly. Raises InvalidInput if X or A differ."""
        check_comparable(self, other)
        theirs = other if other.pivot == self.pivot else Model(other.f, other.g, self.pivot)
        return self.logit_ratios == theirs.logit_ratios

    def probabilities(self) -> list[list[float]]:
        """p(y|x) in float64 (n, V); only over the rationals."""
        if self.f.field.prime:
            raise InvalidInput("probabilities need real numbers; over GF(p) compare logit ratios")
        rows = []
        for scores in (self.f @ self.g.T).table:
            top = max(scores)
            weights = [math.exp(score - top) for score in scores]
            rows.append([weight / sum(weights) for weight in weights])
        return rows


def check_comparable(one: Model, other: Model) -> None:
    """Raises InvalidInput unless both models speak of the same contexts and tokens, over the same field."""
    if (one.contexts, one.tokens, one.f.field) != (other.contexts, other.tokens, other.f.field):
        raise InvalidInput(
            f"models can be compared over the same contexts, tokens and field only; these have {one.contexts} and "
            f"{other.contexts} contexts, {one.tokens} and {other.tokens} tokens"
        )


def model_of_ratios(ratios: Matrix) -> Model:
    """A model of least dimension, rank L, with the logit ratios L (n, V): every strictly positive p has one.

    Raises InvalidInput unless some column, the pivot's, is zero.
    """
    pivot = next((j for j, column in enumerate(ratios.T.table) if not any(column)), None)
    if pivot is None:
        raise InvalidInput("logit ratios are taken to a pivot, so the pivot's own column must be zero")
    tokens = ratios.pivot_columns
    g = ratios.columns(tokens).solve(ratios)
    assert g is not None
    return Model(ratios.columns(tokens), g.T, pivot)
