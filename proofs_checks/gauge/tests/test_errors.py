"""The trial engine of the gauge paper's error tables against plain code, and its samplers."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from proofs_checks.gauge.experiments.distribution import distribution, histogram
from proofs_checks.gauge.experiments.elements import Elements, Pair, act, orthogonal, sample
from proofs_checks.gauge.experiments.layer import Layer, Sizes, attend, draw, normal
from proofs_checks.gauge.experiments.non_symmetries import READINGS, mixings, plane_blocks, rotate
from proofs_checks.gauge.experiments.subject import Subject, logit_deviation, rotary_form, subject
from proofs_checks.gauge.experiments.trials import Biases, Evaluator, Form, operations, pack, relative_errors
from symgauge.errors import InvalidInput

SIZES = Sizes(3, 4, 6, 10)  # pairwise distinct, so that a wrong axis is a wrong shape
TOKENS = 5
CARD = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA card")]
DEVICES = ["cpu", pytest.param("cuda", marks=CARD)]


def seeded(seed: int = 0, device: str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def straightforward(layer: Layer, x: Tensor, form: Form, biases: Biases | None) -> Tensor:
    """x (N, n, d): the formula, head by head and position by position."""
    total = torch.zeros_like(x)
    n = x.shape[1]
    for i in range(len(layer.query)):
        q, k, v = (x @ part[i] for part in layer[:3])
        if biases is not None:
            q, k, v = (part + bias[i] for part, bias in zip((q, k, v), biases[:3], strict=True))
        if form.angles is not None:
            q, k = (_turned(part, form.angles) for part in (q, k))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if form.causal:
            scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1), -torch.inf)
        total = total + scores.softmax(-1) @ v @ layer.output[i]
    return total if biases is None else total + biases.output


def _turned(rows: Tensor, angles: Tensor) -> Tensor:
    """(N, n, d_k), the plane (2j, 2j + 1) of position p turned by p times angle j."""
    turned = rows.clone()
    for p in range(rows.shape[1]):
        for j, angle in enumerate(angles.tolist()):
            c, s = math.cos(p * angle), math.sin(p * angle)
            a, b = rows[:, p, 2 * j], rows[:, p, 2 * j + 1]
            turned[:, p, 2 * j], turned[:, p, 2 * j + 1] = c * a - s * b, s * a + c * b
    return turned


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("heads_apart", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("rotary", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_engine_computes_the_layer(device: str, heads_apart: bool, causal: bool, rotary: bool, biased: bool) -> None:
    angles = torch.tensor([0.7, 0.3], dtype=torch.float64, device=device) if rotary else None
    s = subject(SIZES, 7, seeded(0, device), tokens=TOKENS, form=Form(causal, angles), biased=biased)
    flat = s.inputs.flatten(0, 1)
    evaluate = Evaluator(SIZES, 9, TOKENS, flat, s.form, heads_apart=heads_apart)
    found = evaluate(pack(s.layer, s.biases), flat, torch.full_like(flat, torch.nan)).view_as(s.inputs)
    expected = straightforward(s.layer, s.inputs, s.form, s.biases)
    assert (found - expected).norm() <= 1e-13 * expected.norm()
    if not (causal or rotary or biased):
        assert torch.allclose(found, attend(s.layer, s.inputs), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100, None])
def test_errors_do_not_depend_on_the_chunks(chunk: int | None) -> None:
    g = seeded()
    layer, x = draw(SIZES, g, 0.5), normal(g, 7, TOKENS, 10)
    others = [draw(SIZES, g, 0.5) for _ in range(3)]
    counted: list[int] = []
    found = relative_errors(pack(layer), map(pack, others), x, SIZES, chunk=chunk, done=counted.append)
    plain = attend(layer, x)
    expected = torch.stack([(attend(o, x) - plain).norm(dim=(1, 2)) / plain.norm(dim=(1, 2)) for o in others])
    assert found.shape == (3, 7)
    assert torch.allclose(found, expected, rtol=1e-10)
    assert counted == [1, 2, 3]


def test_single_precision() -> None:
    s = subject(SIZES, 6, seeded(), tokens=TOKENS)
    single = Subject(SIZES, Layer(*(part.float() for part in s.layer)), s.inputs.float())
    some = sample(SIZES, 4, seeded(1))
    pairs = [None if p is None else Pair(*(m.float() for m in p)) for p in (some.query_key, some.value_output)]
    errors = single.under(Elements(*pairs, some.order))
    assert errors.dtype == torch.float32
    assert 1e-8 < float(errors.max()) < 1e-5


def test_empty_input_is_refused() -> None:
    s = subject(SIZES, 2, seeded(), tokens=TOKENS)
    with pytest.raises(InvalidInput, match="no changed set"):
        relative_errors(pack(s.layer), [], s.inputs, SIZES)
    with pytest.raises(InvalidInput, match="N ≥ 1"):
        relative_errors(pack(s.layer), [pack(s.layer)], s.inputs[:0], SIZES)


def test_operations_are_those_of_the_products() -> None:
    h, k, v, d = SIZES
    n = TOKENS
    projections = 2 * n * d * h * (2 * k + v) + 2 * n * h * v * d
    attention = h * (2 * n * n * k + 2 * n * n * v)
    assert operations(SIZES, n) == projections + attention


@pytest.mark.parametrize("law", ["source", "general"])
def test_elements(law: str) -> None:
    some = sample(Sizes(3, 6, 5, 15), 20, seeded(), law=law, condition=1e3)
    assert some.query_key is not None
    assert some.value_output is not None
    assert some.order is not None
    for pair in (some.query_key, some.value_output):
        condition = torch.linalg.cond(pair.matrix)
        identity = torch.eye(pair.matrix.shape[-1], dtype=torch.float64)
        assert float(condition.max()) <= (4 if law == "source" else 1e3) * (1 + 1e-9)
        assert float((pair.matrix @ pair.inverse - identity).abs().max()) < 1e-10
        signs = set(torch.linalg.slogdet(pair.matrix).sign.flatten().tolist())
        asymmetry = float((pair.matrix - pair.matrix.mT).abs().max())
        assert (signs, asymmetry < 1e-12) == (({1.0}, True) if law == "source" else ({1.0, -1.0}, False))
    assert {tuple(sorted(o)) for o in some.order.tolist()} == {(0, 1, 2)}
    assert len({tuple(o) for o in some.order.tolist()}) == 6
    assert len(list(some.each())) == 20


def test_general_elements_keep_the_function_and_a_wrong_inverse_does_not() -> None:
    s = subject(SIZES, 4, seeded(), tokens=TOKENS, form=Form(causal=True), biased=True)
    some = sample(SIZES, 6, seeded(1), law="general")
    assert float(s.under(some).max()) < 1e-12
    assert float(s.under(some, wrong_inverse=True).min()) > 1e-3
    assert float(s.under(sample(SIZES, 6, seeded(1)), wrong_inverse=True).max()) < 1e-13  # (87) is blind


def test_sectors() -> None:
    some = sample(SIZES, 2, seeded())
    layer = draw(SIZES, seeded(1), 1.0)
    for name, moved in (("query-key", (0, 1)), ("value-output", (2, 3)), ("order", (0, 1, 2, 3))):
        element = next(some.only(name).each())
        if name == "order":
            element = Elements(None, None, torch.tensor([1, 2, 0]))
        changed = act(layer, element)
        assert tuple(i for i in range(4) if not torch.equal(changed[i], layer[i])) == moved
    with pytest.raises(InvalidInput, match="no sector is called 'rotation'"):
        some.only("rotation")


def test_maps_outside() -> None:
    p = mixings(seeded(), SIZES, 3).matrix.unflatten(1, (3, 6)).unflatten(3, (3, 6)).transpose(2, 3)
    norms = torch.linalg.matrix_norm(p)
    assert torch.allclose(p[:, range(3), range(3)], torch.eye(6, dtype=torch.float64))
    assert torch.allclose(norms[:, ~torch.eye(3, dtype=torch.bool)], torch.tensor(0.1, dtype=torch.float64))
    blocks = plane_blocks(seeded(), SIZES, 2, law="gaussian").matrix
    assert float(blocks[..., :2, 2:].abs().max()) == float(blocks[..., 2:, :2].abs().max()) == 0
    assert float(blocks.diagonal(1, -2, -1)[..., 0].abs().min()) > 0
    with pytest.raises(InvalidInput, match="law"):
        plane_blocks(seeded(), SIZES, 1, law="other")
    with pytest.raises(InvalidInput, match="norm"):
        mixings(seeded(), SIZES, 1, norm="other")
    square = Sizes(2, 4, 5, 10)
    layer, q = draw(square, seeded(), 1.0), orthogonal(seeded(1), 10, 10)
    for reading in READINGS:
        assert any(not torch.equal(a, b) for a, b in zip(rotate(layer, q, reading), layer, strict=True))
    with pytest.raises(InvalidInput, match="reading"):
        rotate(layer, q, "other")


def test_commuting_blocks_keep_a_rotary_layer_and_others_do_not() -> None:
    s = subject(SIZES, 3, seeded(), tokens=TOKENS, form=rotary_form(SIZES.d_k))
    for law, kept in (("commuting", True), ("positive", False), ("near", False)):
        blocks = Elements(plane_blocks(seeded(1), SIZES, 3, law=law), None, None)
        errors = s.under(blocks)
        assert float(errors.max()) < 1e-12 if kept else float(errors.min()) > 1e-4


def test_scores_follow_the_square_of_the_weights() -> None:
    small, large = (subject(Sizes(2, 16, 16, 64), 8, seeded(), spread=s) for s in (0.05, 0.1))
    assert logit_deviation(large) == pytest.approx(4 * logit_deviation(small), rel=1e-9)


def test_distribution() -> None:
    errors = torch.arange(1.0, 101.0, dtype=torch.float64).view(4, 25) * 1e-15
    found = distribution(errors)
    assert (found.trials, found.maximum) == (100, pytest.approx(1e-13))
    assert found.mean == pytest.approx(50.5e-15)
    assert found.std == pytest.approx(float(errors.std()))
    assert (found.median, found.p95) == (pytest.approx(51e-15), pytest.approx(96e-15))
    assert sum(histogram("all", errors).y) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="no finite number"):
        distribution(torch.tensor([[1.0, torch.nan]]))
    with pytest.raises(InvalidInput, match="at least two"):
        distribution(torch.tensor([[1.0]]))
    with pytest.raises(InvalidInput, match="makes no histogram"):
        histogram("flat", torch.ones(1, 3))
