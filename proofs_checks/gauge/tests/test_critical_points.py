"""Losses along gauge orbits, and Hessians at and away from an exact critical point."""

from __future__ import annotations

import pytest
import torch

from proofs_checks.gauge.critical_points import (
    gauge_path,
    gradient_orthogonality,
    hessian,
    hessian_nullity,
    kernel_residual,
    loss_along,
    squared_loss,
)
from symgauge.architecture import Architecture, Rotary
from symgauge.errors import InvalidInput, Undecided
from symgauge.models.parameters import random_parameters
from symgauge.numeric import function_of, generators, random_inputs, reference_jacobian
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries import families

A = Architecture(d_model=6, heads=2, d_k=3, d_v=4)
DIMENSION = 2 * (3**2 + 4**2)
FLAT = ParameterVector.of(A)
TEACHER, STUDENT = (FLAT.join(random_parameters(A, seed)) for seed in (1, 2))
INPUTS = random_inputs(A, 0, batch=16)
LOSS = squared_loss(A, INPUTS, function_of(A, INPUTS)(FLAT.split(TEACHER)))


def tangents(theta: torch.Tensor) -> torch.Tensor:
    return torch.cat([generators(family, A, FLAT.split(theta)) for family in families(A)])


def random_vectors(count: int = 5) -> torch.Tensor:
    return torch.randn(count, FLAT.size, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def test_the_teacher_is_an_exact_critical_point_with_the_gauge_directions_as_kernel() -> None:
    assert float(LOSS(TEACHER)) == 0
    found = hessian_nullity(LOSS, TEACHER)
    assert found.dimension == DIMENSION
    assert kernel_residual(LOSS, TEACHER, tangents(TEACHER)) < 1e-14
    assert kernel_residual(LOSS, TEACHER, random_vectors()) > 1e-3


def test_a_parameter_that_the_loss_does_not_see_is_in_the_kernel() -> None:
    a = A.replace(d_model=4, d_k=1, d_v=2, query_bias=True, key_bias=True, value_bias=True, output_bias=True)
    inputs, flat = random_inputs(a, 0, batch=16), ParameterVector.of(a)
    teacher = flat.join(random_parameters(a, 1))
    loss = squared_loss(a, inputs, function_of(a, inputs)(flat.split(teacher)))
    assert hessian_nullity(loss, teacher).dimension == 2 * (1 + 4 + 1 + 2)


def test_the_hessian_there_is_the_gauss_newton_matrix() -> None:
    jacobian = reference_jacobian(A, FLAT.split(TEACHER), INPUTS)
    expected = jacobian.mT @ jacobian / jacobian.shape[0]
    assert float((hessian(LOSS, TEACHER) - expected).norm() / expected.norm()) < 1e-13


def test_away_from_critical_points_gauge_directions_are_not_flat() -> None:
    assert kernel_residual(LOSS, STUDENT, tangents(STUDENT)) > 1e-3


def test_the_gradient_is_orthogonal_to_orbits_everywhere() -> None:
    found = gradient_orthogonality(LOSS, STUDENT, tangents(STUDENT))
    assert found.worst < 1e-14
    assert found.random > 1e-3
    assert found.gradient > 0
    assert gradient_orthogonality(LOSS, STUDENT, random_vectors()).worst > 1e-3


def test_the_loss_is_constant_along_gauge_paths_and_along_no_straight_line() -> None:
    roles = FLAT.split(STUDENT)
    path, times = gauge_path(A, roles), [0.0, 0.4, 1.0, 2.5]
    moved = FLAT.join(path(1.0))
    assert float((moved - STUDENT).norm() / STUDENT.norm()) > 0.1
    assert loss_along(LOSS, FLAT, path, times) < 1e-13
    chord = lambda t: FLAT.split(STUDENT + t * (moved - STUDENT))  # noqa: E731
    assert loss_along(LOSS, FLAT, chord, [0.0, 0.5, 1.0]) > 1e-3


def test_paths_move_biases_and_shared_groups_along() -> None:
    biases = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), True)
    a = A.replace(heads=6, groups=2, **biases)
    flat, roles, inputs = ParameterVector.of(a), random_parameters(a, 4), random_inputs(a, 5)
    loss = squared_loss(a, inputs, torch.zeros_like(inputs))
    assert loss_along(loss, flat, gauge_path(a, roles, seed=1), [0.0, 1.0, 2.0]) < 1e-13


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(Undecided, match="gradient"):
        gradient_orthogonality(LOSS, TEACHER, tangents(TEACHER))
    with pytest.raises(InvalidInput):
        gradient_orthogonality(LOSS, STUDENT, random_vectors()[:0])
    with pytest.raises(InvalidInput):
        gradient_orthogonality(LOSS, STUDENT, torch.zeros(1, FLAT.size, dtype=torch.float64))
    with pytest.raises(InvalidInput):
        kernel_residual(LOSS, STUDENT, random_vectors()[:0])
    path = gauge_path(A, FLAT.split(TEACHER))
    with pytest.raises(InvalidInput, match="two different times"):
        loss_along(LOSS, FLAT, path, [1.0, 1.0])
    with pytest.raises(Undecided):
        loss_along(lambda theta: theta.sum() * float("nan"), FLAT, path, [0.0, 1.0])
    rotary = A.replace(d_k=4, rotary=Rotary.standard(4))
    with pytest.raises(InvalidInput, match="plain attention"):
        gauge_path(rotary, random_parameters(rotary))
