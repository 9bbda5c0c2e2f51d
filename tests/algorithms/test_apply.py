"""The transformation keeps the function, its elements form a group, and what is no element is refused."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symgauge.algorithms import (
    AttentionParameters,
    GaugeElement,
    IllConditioned,
    apply,
    group_dimension,
    identity_element,
    random_attention,
    random_element,
)
from symgauge.algorithms.channels import blocks
from symgauge.errors import InvalidInput
from tests.algorithms.cases import BIASES, KINDS, TWINS, apart, change, layer

DTYPES = (torch.float64, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_function_is_kept(kind: str, dtype: torch.dtype) -> None:
    p = layer(kind, dtype=dtype)
    element = random_element(p, seed=3, max_condition=30)
    q = apply(p, element)
    assert apart(p, q) > 0.1
    # cond ≤ 30 twice (scores and values), products of ten terms, softmax of scores of order one
    assert change(p, q) < 30 * 30 * p.epsilon


@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10**6))
def test_elements_form_a_group(kind: str, seed: int) -> None:
    p = layer(kind, seed)
    one, two = random_element(p, seed, 100), random_element(p, seed + 1, 100)
    together, in_turn = apply(p, one.then(two)), apply(apply(p, one), two)
    allowed = 100 * p.epsilon * one.condition * two.condition
    assert apart(in_turn, together) < allowed
    assert apart(p, apply(apply(p, one), one.inverse())) < 100 * p.epsilon * one.condition**2
    assert apart(p, apply(p, identity_element(p))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_maps_change_the_function(kind: str) -> None:
    """A⁻¹ in place of A⁻ᵀ, and each tensor put back: no coupling is idle except that of biases nobody sees."""
    p = layer(kind)
    element = random_element(p, seed=5, max_condition=30)
    element = dataclasses.replace(element, heads=torch.arange(p.heads))
    q = apply(p, element)
    if p.rotary is None:
        assert change(p, q.replace(key=p.key @ torch.linalg.inv(element.query_key))) > 1e-3
    for name in q.tensors():
        spoilt = change(p, q.replace(**{name: p.tensors()[name]}))
        if name == "key_bias" and p.rotary is None:
            assert spoilt < 1e-12
        else:
            assert spoilt > 1e-3, name


def test_random_elements_are_general() -> None:
    p = layer("shared")
    elements = [random_element(p, seed) for seed in range(20)]
    signs = {bool(x > 0) for e in elements for x in torch.linalg.det(e.query_key)}
    assert signs == {True, False}
    assert all(float((e.query_key - e.query_key.mT).norm()) > 0.1 for e in elements)
    assert len({tuple(e.heads.tolist()) for e in elements}) > 5


def test_dimension_counts_the_commutant() -> None:
    assert group_dimension(layer("shared")) == 2 * (9 + 4)
    assert group_dimension(layer("rotary")) == 2 * (6 + 9)
    # planes at ±1/3 turn: 2·2²; one alone: 2; half turn: 2²; still plane and three channels: 5²
    assert group_dimension(layer("equal angles")) == 2 * (8 + 2 + 4 + 25 + 9)


def test_ill_conditioned_elements_are_refused() -> None:
    p = layer("plain")
    e = identity_element(p)
    a = e.query_key.clone()
    a[0] = torch.diag(torch.tensor([1.0, 1e-9], dtype=torch.float64))
    with pytest.raises(IllConditioned, match="condition"):
        apply(p, dataclasses.replace(e, query_key=a))
    a[0] = 0
    with pytest.raises(IllConditioned):
        apply(p, dataclasses.replace(e, query_key=a))
    # 1e5 is fine in float64 and too much in float32
    a[0] = torch.diag(torch.tensor([1.0, 1e-5], dtype=torch.float64))
    apply(p, dataclasses.replace(e, query_key=a))
    single = p.map(torch.Tensor.float)
    with pytest.raises(IllConditioned):
        apply(single, GaugeElement(a.float(), e.value_output.float(), e.heads))


def _spoilt(e: GaugeElement, name: str, value: object) -> GaugeElement:
    return dataclasses.replace(e, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        ("shared", "heads", torch.tensor([0, 3, 1, 2, 4, 5]), "stay together"),
        ("shared", "heads", torch.tensor([0, 0, 1, 2, 4, 5]), "renumber"),
        ("shared", "query_key", torch.eye(3, dtype=torch.float64), "must be"),
        ("shared", "query_key", torch.full((2, 3, 3), float("nan"), dtype=torch.float64), "finite"),
        ("shared", "value_output", torch.ones(2, 2, 2), "float32"),
        ("rotary", "query_key", torch.arange(72, dtype=torch.float64).reshape(2, 6, 6), "commute"),
        ("rotary", "key_shift", torch.ones(2, 6, dtype=torch.float64), "seen"),
        ("plain", "key_shift", torch.ones(3, 2, dtype=torch.float64), "key bias"),
        ("biases", "key_shift", torch.ones(2, 2, dtype=torch.float64), "'key_shift' must be"),
        ("biases", "value_shift", torch.ones(2, 3, dtype=torch.float64), "'value_shift' must be"),
        ("no output bias", "value_shift", torch.ones(2, 2, dtype=torch.float64), "output biases"),
    ],
)
def test_what_is_no_element_is_refused(kind: str, name: str, value: object, message: str) -> None:
    p = layer(kind)
    with pytest.raises(InvalidInput, match=message):
        apply(p, _spoilt(identity_element(p), name, value))


def test_parameters_that_do_not_fit_are_refused() -> None:
    p = random_attention(7, 4, 3, 2, groups=2, biases=BIASES)
    fields = p.tensors()
    wrong = {
        "key": p.key[:1],
        "output": p.output.mT,
        "query": p.query[0],
        "value_bias": torch.zeros(2, 3, dtype=torch.float64),
        "query_bias": torch.zeros(4, 3),
    }
    for name, x in wrong.items():
        with pytest.raises(InvalidInput, match="attention parameters"):
            AttentionParameters(**(fields | {name: x}))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="evenly"):
        AttentionParameters(p.query[:3], p.key, p.value, p.output[:3])
    with pytest.raises(InvalidInput, match="float32 or float64"):
        p.map(torch.Tensor.half)
    with pytest.raises(InvalidInput, match="finite"):
        apply(p.replace(key=p.key * float("inf")), identity_element(p))


def test_planes_turn_one_way_or_the_other_and_channels_do_not() -> None:
    for each in blocks(TWINS, 13, torch.device("cpu")):
        assert bool((each.signs.abs() == 1).all())
        assert each.complex or bool((each.signs == 1).all())
