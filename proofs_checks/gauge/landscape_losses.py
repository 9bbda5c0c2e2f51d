"""Losses whose Hessians can be had exactly, and losses of softmax layers at exact critical points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.gauge.critical_points import Loss, squared_loss
from symgauge.architecture import Architecture
from symgauge.models.reference import random_parameters
from symgauge.numeric import function_of, generators, random_inputs
from symgauge.parameter_vector import ParameterVector
from symgauge.symbolic import linear
from symgauge.symmetries import families


@dataclass(frozen=True)
class ExplicitLoss:
    """A loss as a SymPy expression of its parameters, with the gauge generator θ ↦ Xθ (a matrix) in question."""

    value: sp.Expr
    parameters: tuple[sp.Symbol, ...]
    generator: sp.Matrix

    @property
    def vertical(self) -> sp.Matrix:
        """v = Xθ (P, 1)."""
        return self.generator * sp.Matrix(self.parameters)

    def gradient(self) -> sp.Matrix:
        return sp.Matrix([self.value.diff(p) for p in self.parameters])

    def hessian(self) -> sp.Matrix:
        return sp.hessian(self.value, self.parameters)

    def at(self, expression: sp.Matrix, point: Sequence[object]) -> sp.Matrix:
        """A gradient, Hessian or vector at explicit parameters."""
        return expression.subs(dict(zip(self.parameters, map(sp.sympify, point), strict=True)), simultaneous=True)


def shared_key_loss(targets: Sequence[sp.Matrix]) -> ExplicitLoss:
    """½ Σ_i ‖w_i kᵀ − T_i‖², heads with d_k = 1 that share the key map k; the generator of (w_i, k) ↦ (w_i a, k/a)."""
    width, heads = targets[0].rows, len(targets)
    queries = [sp.symbols(f"q{i}_0:{width}", real=True) for i in range(heads)]
    key = sp.symbols(f"k0:{width}", real=True)
    gaps = [sp.Matrix(w) * sp.Matrix([key]) - t for w, t in zip(queries, targets, strict=True)]
    value = sum(entry**2 for gap in gaps for entry in gap) / 2
    signs = [1] * (heads * width) + [-1] * width
    return ExplicitLoss(value, (*(x for w in queries for x in w), *key), sp.diag(*signs))


def any_function_of_products(heads: int, width: int) -> ExplicitLoss:
    """ℓ of all entries of w_1kᵀ, …, w_hkᵀ, as a quadratic polynomial with a letter for each coefficient.

    Gradient and Hessian at a point depend on the first and second derivatives of ℓ alone, which the letters leave
    free: an identity between them that holds here holds for every twice differentiable loss of these products.
    """
    squares = shared_key_loss([sp.zeros(width)] * heads)
    products = [w * k for w in squares.parameters[:-width] for k in squares.parameters[-width:]]
    first = sum(sp.Symbol(f"a{i}") * m for i, m in enumerate(products))
    second = sum(
        sp.Symbol(f"b{i}_{j}") * m * products[j] for i, m in enumerate(products) for j in range(i, len(products))
    )
    return ExplicitLoss(first + second, squares.parameters, squares.generator)


def score_rank(queries: Sequence[sp.Matrix], key: sp.Matrix, rotations: Sequence[sp.Matrix]) -> int:
    """Rank of the derivative of all W_Q^(i) R_p W_Kᵀ by (W_Q^(1), …, W_K), heads sharing W_K.

    At zero residual the Hessian of the square loss is JᵀJ, so this is its rank. Shapes: queries and key (d, d_k),
    rotations (d_k, d_k).
    """
    units = [sp.Matrix(*key.shape, lambda i, j, n=n: int(n == (i, j))) for n in product(*map(range, key.shape))]
    still = sp.zeros(*key.shape)
    columns = []
    for moved in range(len(queries) + 1):
        for unit in units:
            turns = [unit if i == moved else still for i in range(len(queries))]
            on_key = unit if moved == len(queries) else still
            columns.append(
                [e for w, dw in zip(queries, turns, strict=True) for r in rotations
                 for e in dw * r * key.T + w * r * on_key.T]
            )  # fmt: skip
    return linear.rank(linear.rational(sp.Matrix(columns)))


@dataclass(frozen=True)
class CriticalLayer:
    """A layer, or a stack, at parameters where the squared loss against its own outputs is zero: an exact minimum."""

    architecture: Architecture
    loss: Loss
    theta: Tensor
    """(P,)"""
    vectors: Tensor
    """Generators of the query–key and value–output families at θ (m, P)."""
    away: Tensor
    """Other parameters, where the gradient is not zero (P,)."""
    away_vectors: Tensor

    @classmethod
    def of(cls, a: Architecture, seed: int = 0, batch: int = 16) -> CriticalLayer:
        roles, other = random_parameters(a, seed), random_parameters(a, seed + 100)
        inputs, flat = random_inputs(a, seed, batch=batch), ParameterVector.of(a)
        vectors, moved = (_generators(a, r) for r in (roles, other))
        loss = squared_loss(a, inputs, function_of(a, inputs)(roles))
        return cls(a, loss, flat.join(roles), vectors, flat.join(other), moved)

    def generators_at(self, theta: Tensor) -> Tensor:
        """Generators of the two families at other parameters (m, P)."""
        return _generators(self.architecture, ParameterVector.of(self.architecture).split(theta))

    def random_vectors(self, seed: int = 0) -> Tensor:
        """As many directions as there are generators, drawn at random."""
        return torch.randn(self.vectors.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _generators(a: Architecture, roles: Mapping[str, Tensor]) -> Tensor:
    chosen = [f for f in families(a) if f.name in ("query-key", "value-output")]
    return torch.cat([generators(f, a, roles) for f in chosen])


def quadratic_loss(target: sp.Matrix, width: int) -> tuple[sp.Expr, sp.Matrix, sp.Matrix]:
    """½‖W_Q W_Kᵀ − target‖² with symbolic W_Q, W_K (d, width)."""
    rows = target.rows
    w_q, w_k = (sp.Matrix(rows, width, lambda i, j, n=n: sp.Symbol(f"{n}{i}{j}")) for n in ("q", "k"))
    gap = w_q * w_k.T - target
    return sum(e**2 for e in gap) / 2, w_q, w_k
