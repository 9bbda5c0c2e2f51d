"""The Lie algebra of the gauge group: generators at a point, freeness, brackets of the vector fields they generate.

X ∈ gl(d_k) of a key/value group acts by δW_Q = W_Q X, δW_K = −W_K Xᵀ (biases alike), Y ∈ gl(d_v) by δW_V = W_V Y,
δW_O = −Y W_O. These are vector fields linear in the parameters, so brackets are exact algebra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy import QQ
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput
from symgauge.symbolic import linear
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.proof import Proof, prove_equal
from symgauge.symbolic.tangent import Attention, FirstOrderKernel, first_order_kernel

VectorField = dict[MatrixExpr, MatrixExpr]


def query_key_generators(point: Attention, algebra: Sequence[sp.Matrix] | None = None) -> DomainMatrix:
    """One row per group and per basis element of `algebra` (default gl(d_k); with rotary, pass the commutant)."""
    return _generators(point, "w_q", "w_k", "b_q", "b_k", algebra or matrix_units(point.w_q[0].cols), left=False)


def value_output_generators(point: Attention) -> DomainMatrix:
    """One row per key/value group and per matrix unit of gl(d_v)."""
    return _generators(point, "w_v", "w_o", "b_v", "", matrix_units(point.w_v[0].cols), left=True)


def key_bias_generators(point: Attention) -> DomainMatrix:
    """δb_K = e_j, free under softmax without rotary positions (rows: g·d_k)."""
    rows = [
        _at(point, {"b_k": {(group, 0, j): QQ(1)}})
        for group in range(len(point.b_k or ()))
        for j in range(point.w_k[0].cols)
    ]
    return linear.from_rows(rows, len(point.slots))


def value_bias_generators(point: Attention) -> DomainMatrix:
    """δb_V = e_j in a group, δb_O = −Σ e_j W_O over its heads (rows: g·d_v; needs both biases)."""
    if point.b_v is None or point.b_o is None:
        raise InvalidInput("value_bias_generators: the point has no b_v or no b_o; there is nothing to trade.")
    rows = []
    for group in range(len(point.w_v)):
        for j in range(point.w_v[0].cols):
            outputs = [point.w_o[i] for i in range(point.heads) if point.groups[i] == group]
            shift = {
                (0, 0, column): -sum(linear.rational(w).to_list()[j][column] for w in outputs)
                for column in range(outputs[0].cols)
            }
            rows.append(_at(point, {"b_v": {(group, 0, j): QQ(1)}, "b_o": shift}))
    return linear.from_rows(rows, len(point.slots))


@dataclass(frozen=True)
class Characterisation:
    """The first-order kernel against the span of generators, at one point."""

    kernel: FirstOrderKernel
    generators: int  # how many were given
    rank: int  # dimension of their span
    inside: bool  # all of them lie in the kernel

    @property
    def free(self) -> bool:
        """The generators are linearly independent: the action is locally free here."""
        return self.rank == self.generators

    @property
    def unexplained(self) -> int:
        """Kernel dimensions outside the span (only meaningful when the generators lie inside)."""
        return self.kernel.dimension - self.rank


def characterise(point: Attention, generators: Sequence[DomainMatrix]) -> Characterisation:
    """Solve the linearised invariance conditions and compare with the generators, exactly, at a point."""
    stacked = generators[0].to_dense()
    for more in generators[1:]:
        stacked = stacked.vstack(more.to_dense())
    kernel = first_order_kernel(point)
    return Characterisation(kernel, stacked.shape[0], linear.rank(stacked), kernel.contains(stacked))


def matrix_units(size: int) -> tuple[sp.Matrix, ...]:
    """E_pq of gl(size), row by row."""
    return tuple(
        sp.Matrix(size, size, lambda i, j, p=p, q=q: int((i, j) == (p, q))) for p in range(size) for q in range(size)
    )


# --- brackets, for every size


def gauge_field(x: MatrixExpr, y: MatrixExpr) -> VectorField:
    """The vector field of (X, Y) ∈ gl(d_k) ⊕ gl(d_v) on one head, with symbolic sizes."""
    w_q, w_k, w_v, w_o = _head_symbols()
    return {w_q: w_q * x, w_k: -w_k * x.T, w_v: w_v * y, w_o: -y * w_o}


def bracket(first: VectorField, second: VectorField) -> VectorField:
    """[u, v] = Dv·u − Du·v of two vector fields; they are linear in the parameters, so D is substitution."""
    along_first = {symbol: second[symbol].xreplace(dict(first)) for symbol in second}
    along_second = {symbol: first[symbol].xreplace(dict(second)) for symbol in first}
    return {symbol: along_first[symbol] - along_second[symbol] for symbol in first}


def prove_bracket_closure() -> tuple[Proof, ...]:
    """[v_(X,Y), v_(X',Y')] = v_([X,X'],[Y,Y']) on every parameter, for every size."""
    x, x_, y, y_ = matrix("X", d_k, d_k), matrix("X'", d_k, d_k), matrix("Y", d_v, d_v), matrix("Y'", d_v, d_v)
    left = bracket(gauge_field(x, y), gauge_field(x_, y_))
    right = gauge_field(x * x_ - x_ * x, y * y_ - y_ * y)
    return tuple(
        prove_equal(
            left[w], right[w], statement=f"the bracket of two generators on {w} is the generator of the commutator"
        )
        for w in left
    )


def prove_tangency() -> tuple[Proof, ...]:
    """δ(W_Q W_Kᵀ) = 0 and δ(W_V W_O) = 0 along every generator, for every size (equation (32) and its value twin)."""
    w_q, w_k, w_v, w_o = _head_symbols()
    field = gauge_field(matrix("X", d_k, d_k), matrix("Y", d_v, d_v))
    return (
        prove_equal(
            field[w_q] * w_k.T + w_q * field[w_k].T, sp.ZeroMatrix(d, d), statement="δW_Q W_Kᵀ + W_Q δW_Kᵀ = 0"
        ),
        prove_equal(field[w_v] * w_o + w_v * field[w_o], sp.ZeroMatrix(d, d), statement="δW_V W_O + W_V δW_O = 0"),
    )


def _head_symbols() -> tuple[MatrixExpr, MatrixExpr, MatrixExpr, MatrixExpr]:
    return matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)


# --- tangent vectors


def _at(point: Attention, entries: Mapping[str, Mapping[tuple[int, int, int], object]]) -> list[object]:
    return [entries.get(role, {}).get((index, row, column), QQ(0)) for role, index, row, column in point.slots]


def _generators(
    point: Attention, first: str, second: str, bias: str, bias2: str, algebra: Sequence[sp.Matrix], left: bool
) -> DomainMatrix:
    """δ(first) = first·X; δ(second) = −second·Xᵀ, or −X·second where `left`. The per-head side follows its group."""
    rows = []
    for group in range(len(point.w_k)):
        for element in map(linear.rational, algebra):
            tangent = {role: [0 * m for m in members] for role, members in point.tensors.items()}
            for role in (first, bias, second, bias2):
                for index, member in enumerate(point.tensors.get(role, ())):
                    owner = point.groups[index] if role in ("w_q", "b_q", "w_o") else index
                    if owner == group:
                        moved = member * element if role in (first, bias) else None
                        moved = (
                            (-element * member if left else -member * element.transpose()) if moved is None else moved
                        )
                        tangent[role][index] = moved
            rows.append(point.flatten(tangent))
    return DomainMatrix(rows, (len(rows), len(point.slots)), QQ)
