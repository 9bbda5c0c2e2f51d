"""Softmax attention at integer parameters and inputs, exactly: every output is a rational function of e.

Scores are integers there, so e^score is a power of e, and since e is transcendental two outputs are equal exactly when
they are equal as rational functions of an unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import sympy as sp
from sympy import QQ
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput
from symgauge.symbolic.tangent import Attention

FIELD = QQ.frac_field("e")
E = FIELD.gens[0]


def outputs(point: Attention, x: sp.Matrix) -> DomainMatrix:
    """Attention on tokens x (n, d), all visible, over ℚ(e), with biases where the point has them; no scale 1/√d_k.

    Raises InvalidInput where a score is no integer.
    """
    ones = sp.ones(x.rows, 1)
    total = _lift(ones * point.b_o if point.b_o is not None else sp.zeros(*x.shape))
    for head, group in enumerate(point.groups):
        query, key, value = (
            x * weights[index] + (ones * biases[index] if biases is not None else sp.zeros(x.rows, weights[index].cols))
            for weights, biases, index in (
                (point.w_q, point.b_q, head), (point.w_k, point.b_k, group), (point.w_v, point.b_v, group)
            )
        )  # fmt: skip
        scores = query * key.T
        if not all(s.is_Integer for s in scores):
            raise InvalidInput("outputs: parameters and tokens must be integers, so that scores are.")
        powers = [[E ** int(s) for s in scores.row(i)] for i in range(x.rows)]
        softmax = DomainMatrix([[p / sum(row) for p in row] for row in powers], (x.rows, x.rows), FIELD)
        total = total + softmax * _lift(value * point.w_o[head])
    return total


def _lift(matrix: sp.Matrix) -> DomainMatrix:
    return DomainMatrix.from_Matrix(matrix).convert_to(FIELD).to_dense()


def same(one: Attention, two: Attention, *, tokens: int, cases: int, seed: int = 0) -> bool:
    """Whether two points give equal outputs on random integer sequences of so many tokens."""
    if cases < 1:
        raise InvalidInput("same: at least one case is needed.")
    width = one.w_q[0].rows
    return all(outputs(one, x) == outputs(two, x) for x in _sequences(tokens, width, cases, seed))


def _sequences(tokens: int, width: int, cases: int, seed: int) -> Iterator[sp.Matrix]:
    rng = Random(seed)
    for _ in range(cases):
        yield sp.Matrix(tokens, width, lambda i, j: rng.randint(-2, 2))


def scalar(b_k: int, b_v: int = 0, b_o: int = 0, *, b_q: int = 0) -> Attention:
    """d = d_k = d_v = h = 1, all weights 1, with these biases."""
    one = (sp.Matrix([[1]]),)
    query, key, value = ((sp.Matrix([[bias]]),) for bias in (b_q, b_k, b_v))
    return Attention(one, one, one, one, (0,), b_q=query, b_k=key, b_v=value, b_o=sp.Matrix([[b_o]]))
