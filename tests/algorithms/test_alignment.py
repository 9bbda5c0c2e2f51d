"""Planted elements are found again; what is off the orbit is brought near and not called equal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symgauge.algorithms import (
    AttentionParameters,
    GaugeElement,
    IllConditioned,
    NonGeneric,
    align,
    apply,
    canonicalize,
    equivalent,
    head_distances,
    head_sizes,
    identity_element,
    match_heads,
    random_attention,
    random_element,
)
from symgauge.algorithms.channels import blocks
from symgauge.algorithms.pairs import with_bias
from symgauge.errors import InvalidInput
from tests.algorithms.cases import KINDS, apart, change, layer


def same(one: GaugeElement, two: GaugeElement, allowed: float) -> bool:
    """Equal renumbering, equal matrices and shifts to relative accuracy."""
    fields = ("query_key", "value_output", "key_shift", "value_shift")
    pairs = [(getattr(one, f), getattr(two, f)) for f in fields]
    return torch.equal(one.heads, two.heads) and all(
        (x is None) == (y is None) and (x is None or float((x - y).norm()) <= allowed * float(1 + y.norm()))
        for x, y in pairs
    )


@settings(deadline=None)  # the first example imports SciPy
@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10**6))
def test_a_planted_element_is_recovered(kind: str, seed: int) -> None:
    p = layer(kind, seed)
    planted = random_element(p, seed, 100)
    moved = apply(p, planted)
    back = align(p, moved)
    allowed = 1e4 * p.epsilon * planted.condition**2
    assert same(back.element, planted.inverse(), allowed)
    assert back.after < allowed * p.norm()
    assert back.before > 0.1 * p.norm()
    answer = equivalent(p, moved)
    assert answer
    assert answer.element is not None
    assert same(answer.element, planted, allowed)
    assert answer.residual <= answer.allowed < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_one_step_off_the_orbit_is_told_apart(kind: str) -> None:
    p = layer(kind)
    moved = apply(p, random_element(p, 1, 30))
    for name, x in moved.tensors().items():
        step = torch.randn(x.shape, generator=torch.Generator().manual_seed(2), dtype=x.dtype)
        off = moved.replace(**{name: x + 1e-8 * step})
        answer = equivalent(p, off)
        if name == "key_bias" and p.rotary is None:
            assert answer, "softmax does not see this bias"
            continue
        assert not answer, name
        assert answer.element is None
        assert 1e-11 < answer.residual < 1e-5
        assert "differ by" in answer.reason
        assert equivalent(p, off, tolerance=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_float32(kind: str) -> None:
    p = layer(kind, dtype=torch.float32)
    planted = random_element(p, 1, 10)
    moved = apply(p, planted)
    assert same(align(p, moved).element, planted.inverse(), 1e-4)
    answer = equivalent(p, moved)
    assert answer
    assert answer.allowed < 1e-3
    assert not equivalent(p, moved.replace(value=moved.value * (1 + 1e-2 * torch.randn_like(moved.value))))


def test_general_elements_are_needed_and_found() -> None:
    """Determinants of either sign, in scores and in values: orthogonal or positive elements would not do."""
    p = layer("plain")
    signs = set()
    for seed in range(10):
        e = align(p, apply(p, random_element(p, seed, 100))).element
        signs |= {(float(torch.linalg.det(a)) > 0, float(torch.linalg.det(c)) > 0) for a, c in _each(e)}
        assert float((e.query_key - e.query_key.mT).norm()) > 0.1
    assert len(signs) == 4


def _each(e: GaugeElement) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return list(zip(e.query_key, e.value_output, strict=True))


def test_matching_is_the_best_of_all() -> None:
    """Against brute force over every renumbering that keeps groups together."""
    table = torch.rand(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    allowed = [
        [b * 3 + i for b, inside in zip(order, insides, strict=True) for i in inside]
        for order in itertools.permutations(range(2))
        for insides in itertools.product(itertools.permutations(range(3)), repeat=2)
    ]
    assert len(allowed) == 72
    best = min(allowed, key=lambda order: float(table[torch.arange(6), torch.tensor(order)].sum()))
    assert match_heads(table, 2).tolist() == best
    free = match_heads(table, 6)
    assert float(table[torch.arange(6), free].sum()) <= float(table[torch.arange(6), torch.tensor(best)].sum())


@pytest.mark.parametrize("kind", ["plain", "shared", "biases"])
def test_distances_and_sizes_are_what_they_say(kind: str) -> None:
    p, q = layer(kind, 1), layer(kind, 2)

    def products(x: AttentionParameters) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for i in range(x.heads):
            j = i // x.shared
            query, key = x.query[i], x.key[j]
            if x.query_bias is not None and x.key_bias is not None:
                query = torch.cat([query, x.query_bias[i : i + 1]])
                key = torch.cat([key, x.key_bias[j : j + 1]])
            found.append(((query @ key.mT).numpy(), (x.value[j] @ x.output[i]).numpy()))
        return found

    one, two = products(p), products(q)
    sizes = [float(np.linalg.norm(m) + np.linalg.norm(n)) for m, n in one]
    assert torch.allclose(head_sizes(p), torch.tensor(sizes, dtype=torch.float64))
    table = [[float(np.linalg.norm(m - k) + np.linalg.norm(n - l)) for k, l in two] for m, n in one]
    assert torch.allclose(head_distances(p, q), torch.tensor(table, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["rotary", "equal angles"])
def test_distances_with_rotary_encoding_are_those_of_complex_blocks(kind: str) -> None:
    p, q = layer(kind, 1), layer(kind, 2)
    expected = torch.zeros(p.heads, p.heads, dtype=torch.float64)
    for block in blocks(p.rotary, p.d_k, p.query.device):
        products = []
        for x in (p, q):
            query, key = (block.take(with_bias(w, b)) for w, b in ((x.query, x.query_bias), (x.key, x.key_bias)))
            products.append(query @ key[:, x.group_of_head()].mH)
        gaps = products[0].unsqueeze(2) - products[1].unsqueeze(1)
        expected += gaps.abs().square().sum((0, 3, 4))
    expected = expected.sqrt()
    values = [p.value[p.group_of_head()] @ p.output, q.value[q.group_of_head()] @ q.output]
    if p.output_bias is None:
        values = [with_bias(x.value, x.value_bias)[x.group_of_head()] @ x.output for x in (p, q)]
    expected += torch.linalg.matrix_norm(values[0].unsqueeze(1) - values[1].unsqueeze(0))
    assert torch.allclose(head_distances(p, q), expected)


def test_alignment_minimises_over_the_orthogonal_group() -> None:
    """Between balanced forms: no orthogonal matrix near or far does better, and the function stays."""
    p = canonicalize(layer("plain", 1)).parameters
    q = layer("plain", 2)
    found = align(p, q)
    assert change(q, found.parameters) < 1e-12
    balanced = found.parameters.query.mT @ found.parameters.query, found.parameters.key.mT @ found.parameters.key
    assert torch.allclose(*balanced, atol=1e-12)
    g = torch.Generator().manual_seed(0)
    for scale in (1e-4, 1e-2, 1.0, 1e3):
        for _ in range(10):
            skew = [scale * torch.randn(3, n, n, generator=g, dtype=torch.float64) for n in (2, 4)]
            a, c = (torch.matrix_exp(x - x.mT) for x in skew)
            other = apply(found.parameters, GaugeElement(a, c, torch.arange(3)))
            assert p.distance(other) > p.distance(found.parameters)


def test_what_cannot_be_aligned_is_refused() -> None:
    p = layer("plain")
    with pytest.raises(InvalidInput, match="differ in 'key'"):
        align(p, random_attention(9, 3, 5, 4))
    other = layer("rotary")
    with pytest.raises(InvalidInput, match="position encoding"):
        align(other, AttentionParameters(**other.tensors()))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="reference: 'query'"):
        align(p.replace(query=p.query * float("nan")), p)
    flat = p.replace(value=p.value[:, :, :1].expand(-1, -1, 4))
    with pytest.raises(NonGeneric, match="values and outputs"):
        align(p, flat)
    with pytest.raises(InvalidInput, match="relative accuracy"):
        equivalent(p, p, tolerance=-1.0)


def test_equality_that_rounding_hides_is_refused() -> None:
    p = layer("plain", dtype=torch.float32)
    one = identity_element(p)
    squeezed = apply(p, GaugeElement(one.query_key * torch.tensor([1.0, 4e-4]), one.value_output, one.heads))
    with pytest.raises(IllConditioned, match="rounding alone"):
        equivalent(p, squeezed)
    assert equivalent(p, squeezed, tolerance=1e-2)
    doubled = p.map(torch.Tensor.double), squeezed.map(torch.Tensor.double)
    assert equivalent(*doubled, tolerance=1e-5)


@pytest.mark.parametrize("power", [-20, 20])
def test_what_rounding_may_cause_does_not_depend_on_units(power: int) -> None:
    p = layer("plain")
    moved = apply(p, random_element(p, 1, 30))

    def scaled(x: AttentionParameters) -> AttentionParameters:
        return x.map(lambda w: w * 2.0**power)

    allowed = equivalent(p, moved).allowed
    assert equivalent(scaled(p), scaled(moved)).allowed == pytest.approx(allowed, rel=1e-6, abs=0)


def test_different_models_have_different_forms() -> None:
    p, q = layer("shared", 1), layer("shared", 2)
    answer = equivalent(p, q)
    assert not answer
    assert answer.residual > 0.1
    assert apart(canonicalize(p).parameters, canonicalize(q).parameters) > 0.1
