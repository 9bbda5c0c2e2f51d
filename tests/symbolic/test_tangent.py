"""The first-order kernel of attention against hand counts and against derivatives of the function itself."""

from random import Random

import pytest
import sympy as sp
from mpmath import mp

from symgauge.errors import InvalidInput
from symgauge.symbolic import linear
from symgauge.symbolic.instances import plane_blocks
from symgauge.symbolic.tangent import Attention, first_order_kernel, random_attention

FIRST, SECOND = (sp.Rational(3, 5), sp.Rational(4, 5)), (sp.Rational(5, 13), sp.Rational(12, 13))


def powers(*blocks, count=4):
    rotation = plane_blocks(blocks)
    return [rotation**p for p in range(count)]


CASES = {
    "canonical": ({"d": 5, "d_k": 2, "d_v": 3, "groups": (0, 1)}, 2 * (4 + 9)),
    "narrower than two d_k, h d_v ≠ d": ({"d": 5, "d_k": 3, "d_v": 2, "groups": (0, 1)}, 2 * (9 + 4)),
    "h d_v > d": ({"d": 3, "d_k": 2, "d_v": 2, "groups": (0, 1)}, 2 * (4 + 4)),
    "grouped": ({"d": 4, "d_k": 2, "d_v": 3, "groups": (0, 0, 0, 1, 1, 1)}, 2 * (4 + 9)),
    "uneven groups": ({"d": 5, "d_k": 2, "d_v": 3, "groups": (0, 0, 1)}, 2 * (4 + 9)),
    "one group": ({"d": 4, "d_k": 2, "d_v": 3, "groups": (0, 0, 0)}, 4 + 9),
    "all biases": ({"d": 5, "d_k": 3, "d_v": 2, "groups": (0, 1), "biases": "qkvo"}, 2 * (9 + 4) + 6 + 4),
    "no output bias": ({"d": 6, "d_k": 3, "d_v": 2, "groups": (0, 1), "biases": "qkv"}, 2 * (9 + 4) + 6),
    "no output bias, h d_v > d": ({"d": 5, "d_k": 2, "d_v": 3, "groups": (0, 1), "biases": "qkv"}, 2 * (4 + 9) + 4 + 1),
    "rotary": ({"d": 5, "d_k": 4, "d_v": 3, "groups": (0, 1), "rotations": powers(FIRST, SECOND)}, 2 * (4 + 9)),
    "rotary, equal angles": (
        {"d": 5, "d_k": 4, "d_v": 3, "groups": (0, 1), "rotations": powers(FIRST, FIRST)},
        2 * (8 + 9),
    ),
    "rotary, partial": (
        {"d": 5, "d_k": 4, "d_v": 3, "groups": (0, 1), "rotations": powers(FIRST, (1, 0))},
        2 * (6 + 9),
    ),
    "rotary with biases": (
        {"d": 7, "d_k": 4, "d_v": 3, "groups": (0, 1), "rotations": powers(FIRST, SECOND), "biases": "qkvo"},
        2 * (4 + 9) + 6,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_kernel_dimension(name):
    arguments, expected = CASES[name]
    assert first_order_kernel(random_attention(**arguments)).dimension == expected


def two_heads(**changes):
    """The counterexample on Θ_0: equal scores, W_V = W_O = I_2, d = 2, d_k = d_v = 1."""
    e1, e2 = sp.Matrix([1, 0]), sp.Matrix([0, 1])
    point = {"w_q": (e1, e1), "w_k": (e2, e2), "w_v": (e1, e2), "w_o": (e1.T, e2.T), "groups": (0, 1)}
    return Attention(**(point | changes))


def test_equal_heads_have_more_than_the_gauge_group():
    kernel = first_order_kernel(two_heads())
    assert kernel.classes == ((0, 1),)
    assert kernel.dimension == 2 + 4  # gl(1) per head for scores, gl(2) mixing the two heads
    distinct = first_order_kernel(two_heads(w_k=(sp.Matrix([0, 1]), sp.Matrix([1, 1]))))
    assert distinct.dimension == 2 * (1 + 1)


def test_a_head_without_output_is_free():
    point = random_attention(d=5, d_k=2, d_v=3, groups=(0, 1))
    silent = Attention(point.w_q, point.w_k, point.w_v, (point.w_o[0], sp.zeros(3, 5)), point.groups)
    # the silent head frees W_Q, W_K and W_V (2·10 + 15); W_V has rank 3, so δW_O = 0 is forced
    assert first_order_kernel(silent).dimension == (4 + 9) + 20 + 15


def softmax_attention(point, x, shift):
    """The attention function itself, with true softmax, at θ + shift, in mpmath at the working precision."""

    def moved(role, index):
        base = getattr(point, role)[index]
        return mp.matrix(base.rows, base.cols) + mp.matrix(
            [
                [mp.mpf(base[r, c].p) / base[r, c].q + shift.get((role, index, r, c), 0) for c in range(base.cols)]
                for r in range(base.rows)
            ]
        )

    total = mp.zeros(x.rows, x.cols)
    for i, g in enumerate(point.groups):
        scores = x * moved("w_q", i) * (x * moved("w_k", g)).T
        weights = scores.apply(mp.exp)
        sums = [sum(weights[r, c] for c in range(weights.cols)) for r in range(weights.rows)]
        weights = mp.matrix([[weights[r, c] / sums[r] for c in range(weights.cols)] for r in range(weights.rows)])
        total += weights * x * moved("w_v", g) * moved("w_o", i)
    return total


@pytest.mark.parametrize("case", ["distinct heads", "equal heads", "silent head"])
def test_kernel_is_that_of_the_softmax_function(case):
    """An independent oracle: the rank of the true Jacobian at 100 digits, whose singular values show a huge gap."""
    point = random_attention(d=2, d_k=1, d_v=1, groups=(0, 1), seed=3)
    if case == "equal heads":
        point = two_heads()
    elif case == "silent head":
        point = Attention(point.w_q, point.w_k, point.w_v, (point.w_o[0], sp.zeros(1, 2)), point.groups)
    kernel = first_order_kernel(point)
    rng, rows = Random(0), []
    with mp.workdps(100):
        step = mp.mpf(10) ** -30  # central differences: error about 1e-60
        for _ in range(4):
            x = mp.matrix([[mp.mpf(rng.randint(-9, 9)) / 7 for _ in range(2)] for _ in range(3)])
            columns = [
                (softmax_attention(point, x, {slot: step}) - softmax_attention(point, x, {slot: -step})) / (2 * step)
                for slot in point.slots
            ]
            rows += [[column[r, c] for column in columns] for r in range(3) for c in range(2)]
        jacobian = mp.matrix(rows)
        values = sorted(mp.svd_r(jacobian, compute_uv=False), reverse=True)
        rank = sum(value > mp.mpf(10) ** -20 for value in values)
        assert values[rank - 1] > mp.mpf(10) ** -6
        assert all(value < mp.mpf(10) ** -50 for value in values[rank:])
        basis = mp.matrix(
            [[mp.mpf(int(v.numerator)) / int(v.denominator) for v in vector] for vector in kernel.basis.to_list()]
        )
        assert mp.mnorm(jacobian * basis.T, "inf") < mp.mpf(10) ** -50
    assert kernel.dimension == len(point.slots) - rank


def test_kernel_needs_every_condition():
    kernel = first_order_kernel(random_attention(d=4, d_k=2, d_v=3, groups=(0, 1)))
    assert kernel.contains(kernel.basis)
    outside = linear.from_rows([[1] + [0] * (kernel.parameters - 1)], kernel.parameters)
    assert not kernel.contains(outside)
    with pytest.raises(InvalidInput, match="no vector"):
        kernel.contains(linear.from_rows([], kernel.parameters))


def test_bad_points_are_named():
    point = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1))
    with pytest.raises(InvalidInput, match="every number from 0"):
        Attention(point.w_q, point.w_k, point.w_v, point.w_o, (0, 2))
    with pytest.raises(InvalidInput, match="need as many"):
        Attention(point.w_q[:1], point.w_k, point.w_v, point.w_o, (0, 1))
    with pytest.raises(InvalidInput, match="rational"):
        first_order_kernel(
            Attention((sp.sqrt(2) * point.w_q[0], point.w_q[1]), point.w_k, point.w_v, point.w_o, (0, 1))
        )
    rotations = powers((1, 0), (1, 0))
    same = random_attention(d=4, d_k=4, d_v=3, groups=(0,), rotations=rotations)
    twice = Attention(same.w_q * 2, same.w_k * 2, same.w_v * 2, same.w_o * 2, (0, 1), tuple(rotations))
    with pytest.raises(InvalidInput, match="distinct"):
        first_order_kernel(twice)
