"""Tests of normality, shares of the variance, and growth of errors over depth."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.func import jacrev

from proofs_checks.gauge.experiments import depth
from proofs_checks.gauge.experiments.layer import Sizes, attend, draw, normal
from proofs_checks.gauge.experiments.normality import normality, quantiles, variance_shares
from proofs_checks.gauge.experiments.table_8 import crossed, separate
from symgauge.errors import InvalidInput
from symgauge.experiments.suite import Setting

TINY = Sizes(2, 3, 2, 5)


def test_the_tests_keep_their_level() -> None:
    rng = np.random.default_rng(0)
    rejected = np.mean([np.array(normality(rng.normal(3, 2, 100), 199).p_values) < 0.05 for _ in range(400)], axis=0)
    assert ((rejected > 0.02) & (rejected < 0.09)).all()


def test_the_tests_see_what_is_not_normal() -> None:
    rng = np.random.default_rng(1)
    assert max(normality(rng.exponential(size=200)).p_values) < 0.01
    two_peaks = np.concatenate([rng.normal(-2, 1, 200), rng.normal(2, 1, 200)])
    assert max(normality(two_peaks).p_values) < 0.01


def test_the_statistics_do_not_depend_on_location_and_scale() -> None:
    sample = np.random.default_rng(2).normal(size=300)
    a, b = normality(sample), normality(7 * sample + 1)
    assert (a.a2, a.d, a.w) == pytest.approx((b.a2, b.d, b.w), rel=1e-9)


@pytest.mark.parametrize("sample", [[1.0] * 20, [1.0, 2.0], [float("nan")] * 20])
def test_no_sample_no_test(sample) -> None:
    with pytest.raises(InvalidInput, match="normality needs 8"):
        normality(np.array(sample))


def test_quantiles_of_a_normal_sample_lie_on_the_line() -> None:
    ideal, found = quantiles(np.random.default_rng(3).normal(4, 3, 5000))
    middle = np.abs(ideal) < 2
    assert np.abs(ideal - found)[middle].max() < 0.1


def test_shares_of_the_variance_are_found_again() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(size=(400, 1)) + 2 * rng.normal(size=(1, 500)) + rng.normal(size=(400, 500))
    found = variance_shares(table)
    assert found["element"] == pytest.approx(1 / 6, abs=0.03)
    assert found["input"] == pytest.approx(4 / 6, abs=0.05)
    assert sum(found.values()) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="at least two"):
        variance_shares(table[:1])


def test_both_designs_give_rounding_errors() -> None:
    for errors in (crossed(TINY, Setting(), 3, 4, 6), separate(TINY, Setting(), 3, 4, 6)):
        assert errors.shape == (3, 4)
        assert 0 < errors.min() < errors.max() < 1e-14


def test_the_condition_number_is_that_of_the_jacobian() -> None:
    generator = torch.Generator().manual_seed(0)
    layer, x = draw(TINY, generator, 0.5), normal(generator, 4, TINY.d_model)
    jacobian = jacrev(lambda z: attend(layer, z))(x).reshape(x.numel(), x.numel())
    exact = float(torch.linalg.matrix_norm(jacobian, 2) * x.norm() / attend(layer, x).norm())
    found = depth.condition(lambda z: attend(layer, z), x, generator)
    assert 0.9 * exact < found <= exact * (1 + 1e-9)


def test_growth_with_depth() -> None:
    sizes, setting = Sizes(2, 4, 4, 8), Setting()
    plain = depth.growth(depth.KINDS["with residual and norm"], sizes, 1.0, 10, 6, 2, setting)
    pushed = depth.growth(depth.KINDS["with residual and norm"], sizes, 1.0, 10, 6, 2, setting, 1e-8)
    assert plain.exponent < 0.9 < pushed.exponent
    assert plain.error[0] == plain.local[0]
    assert all(a <= b * (1 + 1e-12) for a, b in zip(plain.quadratic, plain.linear, strict=True))
    assert all(g <= c * 1.05 for g, c in zip(plain.gain[1:], plain.condition[1:], strict=True))
    assert pushed.linear[-1] == pytest.approx(pushed.error[-1], rel=0.05)
    assert pushed.quadratic[-1] < 0.7 * pushed.error[-1]


def test_the_exponent_of_a_power_is_that_power() -> None:
    error = [2e-16 * n**0.5 for n in range(1, 20)]
    assert depth.Growth(error, error, error, error).exponent == pytest.approx(0.5)
