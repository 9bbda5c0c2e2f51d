"""Ranks with gaps, Jacobians, fibre dimensions, tangent vectors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from symgauge import symmetries
from symgauge.errors import InvalidInput, Undecided
from symgauge.models.parameters import random_parameters
from symgauge.models.reference import ReferenceModel, forward
from symgauge.numeric import (
    fibre_dimension_float,
    generators,
    random_inputs,
    rank_with_gap,
    reference_jacobian,
)
from symgauge.numeric.gaps import visible_lengths
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries import families
from symgauge.symmetries.symbols import evaluate
from tests.numeric.models import MODELS

ATTENTION = MODELS["attention"]
H, D, DK, DV = 3, 7, 4, 5


def with_singular_values(values: list[float], rows: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    left = torch.linalg.qr(torch.randn(rows, rows, generator=generator, dtype=torch.float64)).Q[:, : len(values)]
    right = torch.linalg.qr(torch.randn(len(values), len(values), generator=generator, dtype=torch.float64)).Q
    return left @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ right


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_rank_is_where_the_gap_is_at_any_scale(scale: float) -> None:
    found = rank_with_gap(with_singular_values([3.0, 1.0, 1e-2, 1e-11, 1e-12]) * scale)
    assert found.rank == 3
    assert found.gap == pytest.approx(1e9, rel=0.1)
    assert found.smallest_kept == pytest.approx(1e-2 * scale)
    assert found.largest_dropped == pytest.approx(1e-11 * scale, rel=0.1)


def test_full_rank_zero_and_transposes() -> None:
    full = with_singular_values([3.0, 2.0, 1.0])
    assert rank_with_gap(full).rank == rank_with_gap(full.mT).rank == 3
    nothing = rank_with_gap(torch.zeros(4, 3))
    assert nothing.rank == 0
    assert math.isnan(nothing.smallest_kept)
    assert rank_with_gap(torch.tensor([[2.5]])).rank == 1
    assert rank_with_gap(torch.ones(5, 4, dtype=torch.float64)).rank == 1


def test_noise_far_below_rounding_is_no_gap() -> None:
    assert rank_with_gap(torch.diag(torch.tensor([1.0, 0.5, 1e-20, 1e-26], dtype=torch.float64))).rank == 2


@pytest.mark.parametrize(
    "values",
    [[10.0**-k for k in range(16)], [1.0, 1e-7, 3e-14], [1.0, 0.9, 1e-3, 1e-6, 1e-9, 1e-12]],
    ids=["smooth decay", "two gaps", "steps"],
)
def test_without_one_clear_gap_there_is_no_rank(values: list[float]) -> None:
    with pytest.raises(Undecided, match="exact engine"):
        rank_with_gap(with_singular_values(values, rows=17))


def test_unusable_matrices_are_refused() -> None:
    for empty in (torch.zeros(0, 3), torch.zeros(3, 0), torch.zeros(3)):
        with pytest.raises(InvalidInput):
            rank_with_gap(empty)
    with pytest.raises(Undecided, match="not finite"):
        rank_with_gap(torch.tensor([[1.0, float("nan")]]))
    with pytest.raises(InvalidInput, match="min_gap"):
        rank_with_gap(torch.eye(2), min_gap=1.0)


def test_flat_is_a_bijection_in_the_order_of_the_module() -> None:
    model, flat = ReferenceModel(ATTENTION, 3), ParameterVector.of(ATTENTION)
    roles = random_parameters(ATTENTION, 3)
    theta = flat.join(roles)
    assert theta.equal(torch.cat([p.detach().reshape(-1) for p in model.parameters()]))
    assert len(theta) == flat.size
    assert all(flat.split(theta)[name].equal(x) for name, x in roles.items())


def test_the_jacobian_agrees_with_differences() -> None:
    a = MODELS["gpt2"]
    flat, parameters, inputs = ParameterVector.of(a), random_parameters(a, 0), random_inputs(a, 0, batch=2)
    jacobian = reference_jacobian(a, parameters, inputs)
    direction = torch.randn(flat.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    theta, step = flat.join(parameters), 1e-6
    ends = [forward(a, flat.split(theta + s * step * direction), inputs).reshape(-1) for s in (1, -1)]
    difference = (ends[0] - ends[1]) / (2 * step)
    assert float((jacobian @ direction - difference).norm() / difference.norm()) < 1e-8


def test_plain_attention_has_the_dimension_of_theorem_3_1() -> None:
    found = fibre_dimension_float(ReferenceModel(ATTENTION), random_inputs(ATTENTION, 0, batch=32))
    assert found.nullity == H * (DK**2 + DV**2)
    assert found.parameters == 2 * H * D * (DK + DV)
    assert found.singular.gap > 1e8


def test_generators_span_the_kernel_and_lie_in_it() -> None:
    parameters, inputs = random_parameters(ATTENTION, 5), random_inputs(ATTENTION, 1, batch=32)
    vectors = torch.cat([generators(family, ATTENTION, parameters) for family in families(ATTENTION)])
    jacobian = reference_jacobian(ATTENTION, parameters, inputs)
    sizes = torch.linalg.matrix_norm(jacobian, 2) * torch.linalg.vector_norm(vectors, dim=1)
    assert float((torch.linalg.vector_norm(vectors @ jacobian.mT, dim=1) / sizes).max()) < 1e-14
    assert rank_with_gap(vectors).rank == H * (DK**2 + DV**2)
    other = torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float((torch.linalg.vector_norm(other @ jacobian.mT, dim=1) / sizes).min()) > 1e-3


def test_any_module_counts_and_a_shared_parameter_once() -> None:
    class Factors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            generator = torch.Generator().manual_seed(0)
            self.first = nn.Parameter(torch.randn(5, 3, generator=generator))
            self.second = nn.Parameter(torch.randn(3, 4, generator=generator))
            self.again = self.second
            self.dropout = nn.Dropout(0.5)

        def forward(self, x: Tensor) -> tuple[Tensor]:
            return (self.dropout(x @ self.first @ self.again),)

    module = Factors()
    inputs = torch.randn(16, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = fibre_dimension_float(module, inputs, batch=4)
    assert (found.parameters, found.nullity) == (27, 9)
    assert module.training


def test_too_few_inputs_are_not_taken_for_a_rank() -> None:
    model = ReferenceModel(ATTENTION)
    with pytest.raises(InvalidInput):
        fibre_dimension_float(model, random_inputs(ATTENTION)[:0])
    with pytest.raises(InvalidInput, match="no parameters"):
        fibre_dimension_float(nn.Identity(), random_inputs(ATTENTION))
    with pytest.raises(Undecided, match="cannot settle"):
        fibre_dimension_float(model, random_inputs(ATTENTION, 0, batch=8), batch=2)
    repeated = random_inputs(ATTENTION, 0, batch=1).expand(40, -1, -1)
    # Forty copies of one sequence: many rows, no settled rank unless they are said to be everything.
    low = fibre_dimension_float(model, repeated, exhaustive=True)
    assert low.nullity > H * (DK**2 + DV**2)
    growing = torch.cat([repeated, random_inputs(ATTENTION, 1, batch=4)])
    with pytest.raises(Undecided, match="not settled"):
        fibre_dimension_float(model, growing)


def test_a_token_model_without_a_gap_is_left_to_the_exact_engine() -> None:
    a = MODELS["gpt2"].replace(layers=2)
    with pytest.raises(Undecided):
        fibre_dimension_float(ReferenceModel(a), random_inputs(a, 0, batch=64), min_gap=1e6)


def test_a_parameter_that_the_function_does_not_see_counts_as_free() -> None:
    """Softmax does not see a key bias; its column is rounding, which must not be scaled up to a direction."""
    biased = ATTENTION.replace(
        d_model=4, heads=2, groups=2, d_k=1, d_v=2, query_bias=True, key_bias=True, value_bias=True, output_bias=True
    )
    expected = symmetries.dimension(biased)
    found = fibre_dimension_float(ReferenceModel(biased), random_inputs(biased, 0, batch=24), min_gap=1e4)
    assert found.nullity == evaluate(expected, biased) == 2 * (1 + 4 + 1 + 2)


def test_lengths_near_rounding_are_undecided() -> None:
    lengths = torch.tensor([1.0, 1e-16, 1e-8], dtype=torch.float64)
    assert torch.isinf(visible_lengths(lengths, 1e-15, 1e4)).tolist() == [False, True, False]
    with pytest.raises(Undecided, match="column 2 has length 1e-08, too near to rounding"):
        visible_lengths(lengths, 1e-11, 1e4)
