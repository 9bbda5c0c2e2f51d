"""Many-digit arithmetic against float64 and against mpmath's own matrices, and the ladder built on it."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
import torch
from torch import Tensor, nn

from symgauge.arithmetic.multiprecision import Multiprecision
from symgauge.errors import InvalidInput
from symgauge.models.parameters import random_parameters
from symgauge.models.reference import ReferenceModel, forward
from symgauge.numeric import (
    Ladder,
    NotInvariant,
    Rung,
    action,
    precision_ladder,
    random_element,
    random_inputs,
    run_module,
)
from symgauge.symmetries import DiscreteSymmetry, Symmetry, discrete_families, families
from tests.models.float64_only import Float64Only
from tests.numeric.models import MODELS

QUERY, KEY = "layers.0.attention.query.weight", "layers.0.attention.key.weight"


def relative(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_model_agrees_with_float64(name: str) -> None:
    a = MODELS[name]
    inputs = random_inputs(a, 3, batch=2)
    m, output = run_module(ReferenceModel(a, 1), inputs, 40)
    assert relative(m.nearest(output), forward(a, random_parameters(a, 1), inputs)) < 1e-12
    assert m.numbers(output).shape == tuple(output.shape)


def _attention_in_mpmath(roles: dict[str, Tensor], x: Tensor, digits: int) -> list[list[Any]]:
    """One causal softmax attention layer on one sequence, by mpmath's matrices alone."""
    context = mpmath.MPContext()
    context.dps = digits
    query, key, value, output = (
        [context.matrix(head.tolist()) for head in roles[f"layers.0.attention.{part}.weight"]]
        for part in ("query", "key", "value", "output")
    )
    stream = context.matrix(x.tolist())
    total = stream.copy()
    scale = context.mpf(query[0].cols ** -0.5)
    for q, k, v, o in zip(query, key, value, output, strict=True):
        scores = (stream * q) * (stream * k).T * scale
        weights = context.zeros(stream.rows)
        for i in range(stream.rows):
            row = [context.exp(scores[i, j]) for j in range(i + 1)]
            for j, e in enumerate(row):
                weights[i, j] = e / context.fsum(row)
        total += weights * (stream * v) * o
    return total.tolist()


def test_attention_agrees_with_mpmath_matrices_to_sixty_digits() -> None:
    a = MODELS["attention"]
    roles, inputs = random_parameters(a, 2), random_inputs(a, 2, batch=1)
    expected = _attention_in_mpmath(roles, inputs[0], 60)
    m, output = run_module(ReferenceModel(a, 2), inputs, 60)
    found = m.numbers(output)[0].tolist()
    worst = max(abs(f - e) for row, other in zip(found, expected, strict=True) for f, e in zip(row, other, strict=True))
    assert worst < mpmath.mpf(10) ** -57
    assert worst < 1e-12 < max(abs(e) for row in expected for e in row)


FUNCTIONS = {
    "exp": (torch.exp, lambda x: mpmath.exp(x)),
    "log": (lambda x: torch.log(x * x), lambda x: mpmath.log(x * x)),
    "erf": (torch.erf, lambda x: mpmath.erf(x)),
    "tanh": (torch.tanh, lambda x: mpmath.tanh(x)),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "sin": (torch.sin, lambda x: mpmath.sin(x)),
    "cos": (torch.cos, lambda x: mpmath.cos(x)),
    "sqrt": (lambda x: torch.sqrt(x.abs()), lambda x: mpmath.sqrt(abs(x))),
    "rsqrt": (lambda x: torch.rsqrt(x * x + 1), lambda x: 1 / mpmath.sqrt(x * x + 1)),
    "reciprocal": (torch.reciprocal, lambda x: 1 / x),
    "relu": (torch.relu, lambda x: max(x, mpmath.mpf(0))),
    "silu": (torch.nn.functional.silu, lambda x: x / (1 + mpmath.exp(-x))),
    "cube": (lambda x: x**3, lambda x: x**3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree_with_mpmath(name: str) -> None:
    of_tensor, of_number = FUNCTIONS[name]
    points = torch.tensor([-2.75, -0.3, 1e-9, 0.7, 3.5], dtype=torch.float64)
    m = Multiprecision(50)
    found = m.numbers(of_tensor(m.carry(points)))
    with mpmath.workdps(60):
        for x, y in zip(points.tolist(), found, strict=True):
            expected = of_number(mpmath.mpf(x))
            assert abs(mpmath.mpf(y) - expected) <= mpmath.mpf(10) ** -48 * max(1, abs(expected))


def test_matrix_inverse_softmax_and_moves() -> None:
    m, generator = Multiprecision(50), torch.Generator().manual_seed(0)
    x = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64)
    many = m.carry(x)
    eye = torch.linalg.inv(many) @ many - torch.eye(4, dtype=torch.float64)
    assert m.norm(eye) < mpmath.mpf(10) ** -46
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    masked = many.masked_fill(later, -torch.inf).softmax(-1)
    assert relative(m.nearest(masked), x.masked_fill(later, -torch.inf).softmax(-1)) < 1e-15
    assert all(value == 0 for value in m.numbers(masked)[:, 0, 1:].reshape(-1))
    assert abs(m.norm(many.softmax(-1).sum(-1)) - mpmath.sqrt(8)) < 1e-15
    huge = m.carry(torch.tensor([[1e4, 1e4 + 1]], dtype=torch.float64)).softmax(-1)
    assert relative(m.nearest(huge), torch.tensor([[0.0, 1.0]], dtype=torch.float64).softmax(-1)) < 1e-15
    moved = torch.cat([many[..., ::2].flip(0).transpose(-1, -2), many[:, :2]], dim=1).tril()
    plain = torch.cat([x[..., ::2].flip(0).transpose(-1, -2), x[:, :2]], dim=1).tril()
    assert m.nearest(moved).equal(plain)


def test_numbers_are_lifted_exactly_and_bad_values_stay_visible() -> None:
    m = Multiprecision(30)
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert m.numbers(m.carry(third))[0] == mpmath.mpf(1 / 3)
    assert m.carry(torch.tensor([3])).dtype is torch.int64
    x = m.carry(torch.tensor([-1.0, 0.0], dtype=torch.float64))
    assert torch.isnan(m.nearest(x.sqrt())[0])
    assert torch.isinf(m.nearest(x.reciprocal())[1])
    assert torch.isnan(m.nearest(x.log())[0])
    assert torch.isinf(m.nearest(x.log())[1])


def test_contexts_do_not_leak_into_each_other() -> None:
    before = mpmath.mp.dps
    coarse, fine = Multiprecision(20), Multiprecision(80)
    one = torch.ones(1, dtype=torch.float64)
    third = [m.numbers(m.carry(one) / m.carry(3 * one))[0] for m in (coarse, fine)]
    with mpmath.workdps(100):
        errors = [abs(mpmath.mpf(x) - mpmath.mpf(1) / 3) for x in third]
    assert 1e-25 < errors[0] < 1e-19
    assert errors[1] < mpmath.mpf(10) ** -79
    assert mpmath.mp.dps == before


def test_misuse_is_refused() -> None:
    for digits in (16, 2.5, "50"):
        with pytest.raises(InvalidInput, match="digits"):
            Multiprecision(digits)  # type: ignore[arg-type]
    m = Multiprecision(20)
    with pytest.raises(InvalidInput, match="20 digits"):
        m.numbers(torch.ones(2))
    with pytest.raises(InvalidInput):
        m.numbers(Multiprecision(20).carry(torch.ones(2)))


def test_any_module_runs_in_many_digits() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.LayerNorm(7), nn.Linear(7, 3)).double()
    x = torch.randn(4, 5, dtype=torch.float64)
    m, output = run_module(module, x, 30)
    assert relative(m.nearest(output), module(x).detach()) < 1e-13


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_transformers_models_run_in_many_digits_as_they_are(family: str) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if family == "gpt2":
        config = transformers.GPT2Config(n_embd=6, n_head=2, n_layer=1, vocab_size=11, n_positions=5)
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = transformers.LlamaConfig(
            hidden_size=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=1, intermediate_size=7,
            vocab_size=11, max_position_embeddings=5,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    model = model.double().eval()
    model.set_attn_implementation("eager")
    ids = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
    # On its own a model passes through float32 in norms and rotary tables.
    with torch.no_grad(), Float64Only():
        m, logits = run_module(model, ids, 30, use_cache=False)
        expected = model(ids).logits
    assert relative(m.nearest(logits), expected) < 1e-12


# ----- the ladder


@pytest.mark.parametrize("name", MODELS)
def test_every_family_falls_with_the_precision(name: str) -> None:
    a = MODELS[name]
    parameters, inputs = random_parameters(a, 4), random_inputs(a, 4, batch=1)
    found: list[Symmetry | DiscreteSymmetry] = [*families(a), *discrete_families(a)]
    assert found
    for family in found:
        element = random_element(family, a, 5)
        ladder = precision_ladder(a, parameters, action(family, a), element, inputs, precisions=(torch.float64, 40, 70))
        assert ladder.require_fall().slope > 0.9, family.name
        assert not ladder.stalls


def near_miss(size: float) -> Any:
    def act(roles: dict[str, Tensor], matrix: Tensor) -> dict[str, Tensor]:
        inverse = torch.linalg.inv(matrix)
        return {QUERY: roles[QUERY] @ matrix, KEY: roles[KEY] @ inverse.mT * (1 + size)}

    return act


def test_a_near_miss_stalls_where_a_symmetry_falls() -> None:
    a = MODELS["attention"]
    parameters, inputs = random_parameters(a, 0), random_inputs(a, 0, batch=1)
    matrix = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    right = precision_ladder(a, parameters, near_miss(0.0), matrix, inputs)
    assert right.falls
    assert right.slope == pytest.approx(1, abs=0.05)
    assert [r.name for r in right.rungs] == ["float32", "float64", "50 digits", "100 digits"]
    wrong = precision_ladder(a, parameters, near_miss(1e-3), matrix, inputs)
    assert wrong.stalls
    assert abs(wrong.slope) < 0.01
    with pytest.raises(NotInvariant, match="does not fall"):
        wrong.require_fall()


def test_a_deviation_that_hides_below_float64_is_found_higher_up() -> None:
    a = MODELS["attention"]
    parameters, inputs = random_parameters(a, 0), random_inputs(a, 0, batch=1)
    matrix = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def act(roles: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
        # 1e-30 cannot be added to one in float64, and can with fifty digits.
        changed: dict[str, Tensor] = near_miss(0.0)(roles, x)
        return {**changed, KEY: changed[KEY] + changed[KEY] * 1e-30}

    ladder = precision_ladder(a, parameters, act, matrix, inputs)
    assert ladder.rungs[1].error < 1e-14
    assert 1e-32 < ladder.rungs[2].error < 1e-28
    assert not ladder.falls


def test_ladders_judge_their_rungs() -> None:
    def ladder(*errors: float) -> Ladder:
        return Ladder(tuple(Rung(str(e), e, x) for e, x in zip((1e-7, 1e-16, 1e-50), errors, strict=True)))

    assert ladder(1e-6, 1e-15, 1e-49).falls
    assert ladder(0.0, 0.0, 0.0).falls
    assert not ladder(1e-6, 1e-15, float("nan")).falls
    assert not ladder(1e-6, 1e-15, float("inf")).falls
    assert not ladder(1e-6, 1e-15, 1e-20).falls
    assert not ladder(0.0, 0.0, 0.0).stalls
    assert ladder(0.2, 0.21, 0.21).stalls
    assert set(ladder(1, 1, 1).as_dict()) >= {"slope"}


def test_ladders_need_rungs_and_inputs() -> None:
    a = MODELS["attention"]
    parameters, act, element = random_parameters(a), near_miss(0.0), torch.eye(4, dtype=torch.float64)
    with pytest.raises(InvalidInput, match="two precisions"):
        precision_ladder(a, parameters, act, element, random_inputs(a), precisions=(50,))
    with pytest.raises(InvalidInput, match="no inputs"):
        precision_ladder(a, parameters, act, element, random_inputs(a)[:0])
    assert 1e-102 < Multiprecision(100).epsilon < 1e-98
