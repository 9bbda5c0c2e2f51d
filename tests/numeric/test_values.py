"""Agreement of two computations of the same outputs."""

from __future__ import annotations

import pytest
import torch

from symgauge.numeric.values import agreement


def values() -> torch.Tensor:
    return torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_rounding_agrees_and_a_real_difference_does_not():
    x = values()
    found = agreement(x, x * (1 + 1e-12 * values()))
    assert found
    assert found.holds
    assert 0 < found.worst < 1e-10
    assert found.reason == ""
    y = x.clone()
    y[2, 1, 3] += 1e-3
    found = agreement([x, x], [x, y])
    assert not found
    assert "output 1" in found.reason
    assert "(2, 1, 3)" in found.reason


def test_one_small_sequence_is_judged_by_its_own_scale():
    x = values()
    x[1] *= 1e-5
    y = x.clone()
    y[1, 0, 0] += 1e-9
    assert not agreement(x, y)
    y[1], y[0, 0, 0] = x[1], x[0, 0, 0] + 1e-9
    assert agreement(x, y)


def test_outputs_that_cancel_are_rounding():
    assert agreement(torch.zeros(2, 3), 1e-16 * torch.ones(2, 3))


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_must_be_so_in_both(odd):
    x = values()
    x[0, 1, 2] = odd
    assert agreement(x, x.clone())
    found = agreement(x, values())
    assert not found
    assert "(0, 1, 2)" in found.reason
    assert not agreement(values(), x)
    y = x.clone()
    y[0, 1, 2] = float("inf") if odd != float("inf") else float("-inf")
    assert not agreement(x, y)


def test_shapes_and_numbers_of_outputs():
    x = values()
    assert "shape" in agreement(x, x[:2]).reason
    assert "2 output tensors against 1" in agreement([x, x], x).reason
    assert agreement(torch.zeros(0, 2), torch.zeros(0, 2))
    assert agreement(torch.tensor(1.0), torch.tensor(1.0))
