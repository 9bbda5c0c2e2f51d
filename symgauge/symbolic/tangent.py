"""The exact first-order kernel of attention: which directions in parameter space leave the function unchanged.

For n ≥ 3 tokens, bidirectional, put x̃ = (x, 1), M̃_i = [W_Q; b_Q] W_Kᵀ and N_i = W_V W_O of head i. Differentiating
f_t = Σ_i Σ_s α_ts x_s N_i + Σ_i b_V W_O + b_O gives Σ_i x̃_t δM̃_i Cov_α(x, x) N_i + Σ_i α X δN_i + δ(Σ b_V W_O + b_O).
Heads with different M̃ have attention weights with disjoint poles (query x, other tokens all equal, x scaled into the
complex plane), so the heads fall into classes of equal M̃ and the derivative vanishes for all X exactly when

    Σ_{i in class} δM̃_i S N_i = 0  for every symmetric S,     Σ_{i in class} δN_i = 0,     δ(Σ b_V W_O + b_O) = 0.

In a class of one head with N ≠ 0 the first condition is δM̃ = 0 (a row a and column b with aSb = 0 for all symmetric S
have abᵀ + baᵀ = 0, so one of them is 0); with N = 0 it is void. b_K does not enter: it adds a constant to each row of
the scores. With rotary positions M̃_i becomes the family [W_Q; b_Q] R_p [W_K; b_K]ᵀ, p = 0, 1, 2, …, of which only a
part that is independent of both p and the key is free. No condition on the point is assumed: A4, A6, d = h·d_v are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from random import Random
from typing import Any

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput
from symgauge.symbolic import linear
from symgauge.symbolic.instances import general_matrix

Tensors = dict[str, list[DomainMatrix]]


@dataclass(frozen=True)
class Attention:
    """Explicit rational parameters. `groups[i]` is the key/value group of head i; `rotations` are R_0 = I, R_1, … of
    the relative positions (empty: no rotary). Biases are rows, or None where absent.

    Shapes: w_q h × (d, d_k), w_k g × (d, d_k), w_v g × (d, d_v), w_o h × (d_v, d), b_q h × (1, d_k), b_k g × (1, d_k),
    b_v g × (1, d_v), b_o (1, d).
    """

    w_q: tuple[sp.Matrix, ...]
    w_k: tuple[sp.Matrix, ...]
    w_v: tuple[sp.Matrix, ...]
    w_o: tuple[sp.Matrix, ...]
    groups: tuple[int, ...]
    rotations: tuple[sp.Matrix, ...] = ()
    b_q: tuple[sp.Matrix, ...] | None = None
    b_k: tuple[sp.Matrix, ...] | None = None
    b_v: tuple[sp.Matrix, ...] | None = None
    b_o: sp.Matrix | None = None

    def __post_init__(self) -> None:
        heads, groups = len(self.groups), len(self.w_k)
        if not heads or {len(self.w_q), len(self.w_o)} != {heads} or len(self.w_v) != groups:
            raise InvalidInput(
                f"Attention: {heads} heads in {groups} groups need as many w_q and w_o as heads, w_k and w_v as groups."
            )
        if set(self.groups) != set(range(groups)):
            raise InvalidInput(f"Attention: groups {self.groups} must use every number from 0 to {groups - 1}.")

    @property
    def heads(self) -> int:
        return len(self.groups)

    @cached_property
    def tensors(self) -> Tensors:
        """The parameters by role, over ℚ."""
        roles: dict[str, Sequence[sp.Matrix] | None] = {
            "w_q": self.w_q, "w_k": self.w_k, "w_v": self.w_v, "w_o": self.w_o,
            "b_q": self.b_q, "b_k": self.b_k, "b_v": self.b_v, "b_o": None if self.b_o is None else [self.b_o],
        }  # fmt: skip
        return {role: [linear.rational(m) for m in ms] for role, ms in roles.items() if ms is not None}

    @cached_property
    def slots(self) -> tuple[tuple[str, int, int, int], ...]:
        """Every parameter entry as (role, index of the tensor, row, column): the order of tangent vectors."""
        return tuple(
            (role, index, row, column)
            for role, members in self.tensors.items()
            for index, member in enumerate(members)
            for row in range(member.shape[0])
            for column in range(member.shape[1])
        )

    def flatten(self, tensors: Tensors) -> list[Any]:
        """A tangent given by role as one vector, zero where a role is left out."""
        dense = {role: [m.to_list() for m in ms] for role, ms in tensors.items()}
        return [dense[role][index][row][column] if role in dense else QQ(0) for role, index, row, column in self.slots]


@dataclass(frozen=True)
class FirstOrderKernel:
    """Tangent vectors that change no output to first order; `basis` has one vector per row, in the order of `slots`."""

    parameters: int
    dimension: int
    basis: DomainMatrix
    constraints: DomainMatrix
    classes: tuple[tuple[int, ...], ...]

    def contains(self, vectors: DomainMatrix) -> bool:
        """Whether every row is in the kernel (exact)."""
        if vectors.shape[0] == 0:
            raise InvalidInput("FirstOrderKernel.contains: no vector was given.")
        return (self.constraints * vectors.transpose()).is_zero_matrix


def first_order_kernel(point: Attention) -> FirstOrderKernel:
    """The kernel at the given point, exactly. Raises InvalidInput for rotary positions with coinciding heads."""
    classes = _classes(point)
    if point.rotations and len(classes) < point.heads:
        raise InvalidInput(
            "first_order_kernel: with rotary positions the heads must have pairwise distinct score families."
        )
    columns = []
    for role, index, row, column in point.slots:
        unit = _unit(point.tensors[role][index].shape, row, column)
        columns.append(list(_differential(point, classes, role, index, unit)))
    constraints = linear.from_rows(zip(*columns, strict=True), len(columns))
    basis = linear.kernel(constraints)
    return FirstOrderKernel(len(columns), basis.shape[0], basis, constraints, classes)


def random_attention(
    *,
    d: int,
    d_k: int,
    d_v: int,
    groups: Sequence[int],
    biases: str = "",
    rotations: Sequence[sp.Matrix] = (),
    seed: int = 0,
) -> Attention:
    """A general rational point; `biases` names those present, such as "qkvo" (q per head; k and v per group)."""
    heads, count = len(groups), max(groups) + 1
    rng = Random(seed)

    def draw(number: int, rows: int, columns: int) -> tuple[sp.Matrix, ...]:
        return tuple(general_matrix(rows, columns, rng) for _ in range(number))

    return Attention(
        draw(heads, d, d_k), draw(count, d, d_k), draw(count, d, d_v), draw(heads, d_v, d),
        tuple(groups), tuple(rotations),
        b_q=draw(heads, 1, d_k) if "q" in biases else None,
        b_k=draw(count, 1, d_k) if "k" in biases else None,
        b_v=draw(count, 1, d_v) if "v" in biases else None,
        b_o=draw(1, 1, d)[0] if "o" in biases else None,
    )  # fmt: skip


# --- the differential of (M̃_i, N_i, constant)


def _unit(shape: tuple[int, int], row: int, column: int) -> DomainMatrix:
    entries = [[QQ(int((i, j) == (row, column))) for j in range(shape[1])] for i in range(shape[0])]
    return DomainMatrix(entries, shape, QQ)


def _extended(tensors: Mapping[str, Any], weight: str, bias: str, index: int) -> DomainMatrix:
    """[W; b], or W alone where there is no bias."""
    return tensors[weight][index].vstack(tensors[bias][index]) if bias in tensors else tensors[weight][index]


def _scores(
    point: Attention, tensors: Tensors, head: int, query: DomainMatrix | None = None, key: DomainMatrix | None = None
) -> list[DomainMatrix]:
    """The score matrices of a head, one per relative position; a given `query` or `key` replaces the point's own."""
    group = point.groups[head]
    left = _extended(tensors, "w_q", "b_q", head) if query is None else query
    if not point.rotations:
        right = tensors["w_k"][group] if key is None else key
        return [left * right.transpose()]
    right = _extended(tensors, "w_k", "b_k", group) if key is None else key
    return [left * linear.rational(rotation) * right.transpose() for rotation in point.rotations]


def _classes(point: Attention) -> tuple[tuple[int, ...], ...]:
    families = [_scores(point, point.tensors, head) for head in range(point.heads)]
    classes: list[list[int]] = []
    for head, family in enumerate(families):
        for members in classes:
            if families[members[0]] == family:
                members.append(head)
                break
        else:
            classes.append([head])
    return tuple(map(tuple, classes))


def _differential(
    point: Attention, classes: Sequence[Sequence[int]], role: str, index: int, unit: DomainMatrix
) -> Iterator[Any]:
    """The left sides of the conditions for one unit tangent, in a fixed order."""
    tensors, groups = point.tensors, point.groups
    d = tensors["w_q"][0].shape[0]
    values = [tensors["w_v"][groups[i]] * tensors["w_o"][i] for i in range(point.heads)]

    def changed(head: int, kind: str) -> bool:
        return role == kind and index == (head if kind in ("w_q", "b_q", "w_o") else groups[head])

    def delta_scores(head: int) -> list[DomainMatrix]:
        for weight, bias, side, owner in (("w_q", "b_q", "query", head), ("w_k", "b_k", "key", groups[head])):
            if role in (weight, bias) and index == owner:
                pair = (weight,) if side == "key" and not point.rotations else (weight, bias)  # else b_K does not enter
                nudge = {
                    name: {owner: unit if name == role else 0 * tensors[name][owner]}
                    for name in pair
                    if name in tensors
                }
                return _scores(point, tensors, head, **{side: _extended(nudge, weight, bias, owner)})
        return [0 * score for score in _scores(point, tensors, head)]

    def delta_value(head: int) -> DomainMatrix:
        if changed(head, "w_v"):
            return unit * tensors["w_o"][head]
        return tensors["w_v"][groups[head]] * unit if changed(head, "w_o") else 0 * values[head]

    for members in classes:
        if len(members) == 1:
            if not values[members[0]].is_zero_matrix:
                yield from _score_conditions(delta_scores(members[0]), d)
        else:
            moves = [(delta_scores(i)[0], values[i]) for i in members]
            for a, b in combinations_with_replacement(range(d), 2):
                symmetric = _unit((d, d), a, b) + _unit((d, d), b, a)
                yield from sum(
                    (m * symmetric * v for m, v in moves[1:]), moves[0][0] * symmetric * moves[0][1]
                ).to_list_flat()
        yield from sum((delta_value(i) for i in members[1:]), delta_value(members[0])).to_list_flat()
    if "b_v" in tensors or "b_o" in tensors:
        constant = unit if role == "b_o" else DomainMatrix.zeros((1, d), QQ).to_dense()
        for head in range(point.heads) if "b_v" in tensors else ():
            if changed(head, "b_v"):
                constant = constant + unit * tensors["w_o"][head]
            if changed(head, "w_o"):
                constant = constant + tensors["b_v"][groups[head]] * unit
        yield from constant.to_list_flat()


def _score_conditions(family: Sequence[DomainMatrix], d: int) -> Iterator[Any]:
    """δ of the scores must vanish, but for what is constant in the key: a last column that is the same at every p."""
    first = family[0].to_list()
    for score in family:
        for row, reference in zip(score.to_list(), first, strict=True):
            yield from row[:d]
            yield from (value - anchor for value, anchor in zip(row[d:], reference[d:], strict=True))
