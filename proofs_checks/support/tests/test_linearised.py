"""The size-free proof of Lemma B.3 and its hypotheses."""

import pytest
import sympy as sp

from proofs_checks.support.algebra import linearised
from symgauge.symbolic.identities import d, d_k
from symgauge.symbolic.proof import NotProved, prove_equal


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
