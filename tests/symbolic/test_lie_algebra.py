"""Generators against the kernel; brackets; the size-free proof of Lemma B.3 and its hypotheses."""

import pytest
import sympy as sp

from symgauge.errors import InvalidInput
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic import linearised
from symgauge.symbolic.commutant import CirclePoint, commutant_basis, rotation_matrix
from symgauge.symbolic.identities import d, d_k, d_v, matrix
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


def test_rotary_generators_are_the_commutant():
    angles = [CirclePoint(sp.Rational(3, 5), sp.Rational(4, 5)), CirclePoint(sp.Rational(5, 13), sp.Rational(12, 13))]
    rotation = rotation_matrix(angles).to_Matrix()
    point = random_attention(d=5, d_k=4, d_v=3, groups=(0, 1), rotations=[rotation**p for p in range(4)])
    algebra = [element.to_Matrix() for element in commutant_basis(angles)]
    found = lie.characterise(point, [lie.query_key_generators(point, algebra), lie.value_output_generators(point)])
    assert (found.inside, found.free, found.unexplained) == (True, True, 0)
    everything = lie.characterise(point, [lie.query_key_generators(point)])
    assert not everything.inside  # GL(d_k) is too large under rotary positions


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


def test_lemma_b3_step_by_step():
    assert linearised.prove_score_derivative().rewrites >= 0
    assert len(linearised.prove_perpendicular_part_vanishes()) == 2
    assert len(linearised.prove_key_follows_query()) == 2
    assert len(linearised.prove_value_output()) == 4
    assert len(linearised.prove_freeness()) == 4
    assert len(linearised.prove_factors_of_one_product()) == 5


def test_lemma_b3_needs_its_hypotheses():
    with pytest.raises(NotProved):  # without full rank of W_K
        prove_equal(
            linearised.PI * linearised.dQ * linearised.W_K.T * linearised.K_LEFT.T, linearised.PI * linearised.dQ
        )
    with pytest.raises(NotProved):  # without the condition
        prove_equal(linearised.PI * linearised.dQ, sp.ZeroMatrix(d, d_k))


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_generic_kernel_over_the_function_field(rows, columns):
    assert linearised.generic_kernel_dimension(rows, columns) == columns**2


def test_generic_kernel_is_larger_when_the_model_is_too_narrow():
    assert linearised.generic_kernel_dimension(1, 2) == 3  # 4 unknowns, one equation


def test_value_bias_generators_need_both_biases():
    with pytest.raises(InvalidInput, match="b_o"):
        lie.value_bias_generators(random_attention(d=4, d_k=2, d_v=3, groups=(0, 1), biases="qkv"))
