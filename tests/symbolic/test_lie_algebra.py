"""Generators against the kernel, and brackets."""

import pytest
import sympy as sp

from symgauge.errors import InvalidInput
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d_k, d_v, matrix
from symgauge.symbolic.proof import NotProved, prove_equal
from symgauge.symbolic.tangent import Attention, random_attention


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"d": 5, "d_k": 2, "d_v": 3, "groups": (0, 1)}, 26),
        ({"d": 5, "d_k": 3, "d_v": 2, "groups": (0, 0, 1)}, 26),
        ({"d": 4, "d_k": 3, "d_v": 2, "groups": (0, 0, 0)}, 13),
    ],
)
def test_generators_are_free_and_fill_the_kernel(sizes, expected):
    point = random_attention(**sizes)
    found = lie.characterise(point, [lie.query_key_generators(point), lie.value_output_generators(point)])
    assert found.inside
    assert found.free
    assert (found.rank, found.unexplained) == (expected, 0)


def test_biases_need_their_own_generators():
    point = random_attention(d=5, d_k=3, d_v=2, groups=(0, 0, 1), biases="qkvo")
    gauge = [lie.query_key_generators(point), lie.value_output_generators(point)]
    assert lie.characterise(point, gauge).unexplained == 2 * (3 + 2)
    everything = [*gauge, lie.key_bias_generators(point), lie.value_bias_generators(point)]
    found = lie.characterise(point, everything)
    assert found.inside
    assert (found.free, found.unexplained) == (True, 0)


def test_freeness_fails_at_deficient_rank():
    point = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1))
    flat = Attention((sp.zeros(4, 2), point.w_q[1]), (sp.zeros(4, 2), point.w_k[1]), point.w_v, point.w_o, (0, 1))
    assert not lie.characterise(flat, [lie.query_key_generators(flat)]).free


def test_value_kernel_grows_when_the_output_map_loses_rank():
    point = random_attention(d=5, d_k=2, d_v=3, groups=(0, 1))
    deficient = Attention(point.w_q, point.w_k, point.w_v, (point.w_o[0], sp.zeros(3, 5)), (0, 1))
    found = lie.characterise(deficient, [lie.query_key_generators(deficient), lie.value_output_generators(deficient)])
    assert found.inside
    assert found.unexplained > 0


def test_brackets_close():
    assert len(lie.prove_bracket_closure()) == 4
    assert len(lie.prove_tangency()) == 2


def test_brackets_close_with_the_right_sign_only():
    x, x_, y, y_ = matrix("X", d_k, d_k), matrix("X'", d_k, d_k), matrix("Y", d_v, d_v), matrix("Y'", d_v, d_v)
    found = lie.bracket(lie.gauge_field(x, y), lie.gauge_field(x_, y_))
    wrong = lie.gauge_field(x_ * x - x * x_, y_ * y - y * y_)
    for symbol in found:
        with pytest.raises(NotProved):
            prove_equal(found[symbol], wrong[symbol])


def test_value_bias_generators_need_both_biases():
    with pytest.raises(InvalidInput, match="b_o"):
        lie.value_bias_generators(random_attention(d=4, d_k=2, d_v=3, groups=(0, 1), biases="qkv"))
