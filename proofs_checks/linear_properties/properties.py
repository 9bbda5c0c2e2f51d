"""Linear properties of a model, exactly: relational linearity, parallelism, probes, steering, and their transport.

Relational linearity of a query on Γ (reconstructed): P_Γ f(x⌢q) = A_q f(x) + a_q for all x of a declared set, and Γ_q
is the row space of A_q. Only dot products with a basis γ of Γ matter, so a map is kept as weights W with
f(x⌢q) γᵀ = f(x) W + b; its Γ_q is the column space of W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs_checks.linear_properties.equivalence import Equivalence
from proofs_checks.linear_properties.exact_matrices import Matrix, Number
from proofs_checks.linear_properties.model import Model
from symgauge.errors import InvalidInput


@dataclass(frozen=True)
class Query:
    """Contexts ``before`` a query and, in the same order, ``after`` it: row numbers of the model's embeddings."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.before or len(self.before) != len(self.after):
            raise InvalidInput("a query needs as many contexts after it as before it, and at least one")


@dataclass(frozen=True)
class Affine:
    """y = x W + b on rows: ``weights`` (d, k) and ``bias`` (1, k)."""

    weights: Matrix
    bias: Matrix

    @property
    def reads(self) -> Matrix:
        """A basis of what the map reads, the column space of W: Γ_q."""
        return self.weights.T.span

    def __call__(self, x: Matrix) -> Matrix:
        return x @ self.weights + x.field.ones(x.shape[0]) @ self.bias


def affine_map(inputs: Matrix, outputs: Matrix, reading: Matrix | None = None) -> Affine | None:
    """An affine map from rows to rows, or None; ``reading``: a space (rows) that its weights have to lie in."""
    seen = inputs if reading is None else inputs @ reading.T
    found = seen.beside(inputs.field.ones(inputs.shape[0])).solve(outputs)
    if found is None:
        return None
    width = seen.shape[1]
    weights = found.rows(range(width))
    return Affine(weights if reading is None else reading.T @ weights, found.rows([width]))


def answers(model: Model, query: Query, gamma: Matrix) -> Matrix:
    """Dot products (n, k) of the embeddings after the query with a basis γ (k, d) of Γ."""
    return model.f.rows(query.after) @ gamma.T


def relational_map(model: Model, query: Query, gamma: Matrix, reading: Matrix | None = None) -> Affine | None:
    """The affine map that represents the query on Γ, with Γ_q inside ``reading`` if given; None if there is none."""
    return affine_map(model.f.rows(query.before), answers(model, query, gamma), reading)


def log_odds(model: Model, query: Query, tokens: Sequence[int]) -> Matrix:
    """ℓ_i(x) = log p(y_i|x⌢q)/p(y_0|x⌢q) for the answers y_1, … against the first of ``tokens`` (n, len − 1)."""
    after = model.logit_ratios.rows(query.after).columns(tokens)
    first = after.columns([0]) @ model.f.field.ones(len(tokens) - 1).T
    return after.columns(range(1, len(tokens))) - first


def criterion(ratios: Matrix, targets: Matrix) -> bool:
    """rank[L₀ | 1 | ℓ] = rank[L₀ | 1]: the targets (n, k) are affine in the logit ratios (n, V). Only p enters."""
    known = ratios.beside(ratios.field.ones(ratios.shape[0]))
    return known.beside(targets).rank == known.rank


def transported_space(gamma: Matrix, equivalence: Equivalence) -> Matrix:
    """B⁻¹Γ (k, d̃): the rows of Ñ that B sends to the rows of γ (k, d). Raises InvalidInput unless Γ ⊆ N."""
    found = equivalence.B.T.solve(gamma.T)
    if found is None:
        raise InvalidInput("the space does not lie in N, so no space of the other model corresponds to it")
    # A solution is found up to what B sends to zero; its part in Ñ, the column space of B, is the one.
    return found.T @ equivalence.B.T.span.projector()


def parallel_ratio(u: Matrix, v: Matrix) -> Number | None:
    """β ≠ 0 with u = β v for rows (1, d); None if there is none, or if one of them is zero."""
    if u.is_zero or v.is_zero or u.over(v).rank > 1:
        return None
    at = next(j for j, x in enumerate(v.table[0]) if x)
    ratio = v.columns([at]).solve(u.columns([at]))
    assert ratio is not None
    return ratio.table[0][0]


def difference(model: Model, first: int, second: int) -> Matrix:
    """g(first) − g(second), a row (1, d)."""
    return model.g.rows([first]) - model.g.rows([second])


def transported_map(here: Affine, equivalence: Equivalence) -> Affine:
    """The partner's map on Γ̃ = B⁻¹Γ, in the basis of :func:`transported_space`: weights A W, the same bias.

    It represents the partner's query if ``here`` does so in the first model with Γ ⊆ N and Γ_q ⊆ M.
    """
    return Affine(equivalence.A @ here.weights, here.bias)
