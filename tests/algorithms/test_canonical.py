"""One representative per orbit: equal for gauge-equivalent layers, different off it, and told when not unique."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symgauge.algorithms import (
    AttentionParameters,
    IllConditioned,
    NonGeneric,
    apply,
    canonicalize,
    compress,
    expand,
    group_dimension,
    random_attention,
    random_element,
)
from symgauge.algorithms.pairs import Balanced
from symgauge.errors import InvalidInput
from tests.algorithms.cases import KINDS, apart, change, layer

FORMS = (None, "minor")


@given(
    kind=st.sampled_from(sorted(KINDS)),
    form=st.sampled_from(FORMS),
    dtype=st.sampled_from((torch.float64, torch.float32)),
    seed=st.integers(0, 10**6),
)
def test_gauge_equivalent_layers_have_one_form(kind: str, form: object, dtype: torch.dtype, seed: int) -> None:
    p = layer(kind, seed, dtype)
    element = random_element(p, seed, 1e3 if dtype == torch.float64 else 20)
    one, two = canonicalize(p, form), canonicalize(apply(p, element), form)  # type: ignore[arg-type]
    if not (one.unique and two.unique):
        assert max(one.rounding, two.rounding) > 1e-4 * p.epsilon**0.5, "called ambiguous without need"
        return
    # Rounding of the two forms, and of the action: ε · cond before, turned by as much as rounding of the form is.
    allowed = one.rounding + two.rounding + element.condition * one.rounding
    assert apart(one.parameters, two.parameters) <= allowed
    assert change(p, one.parameters) < 1e4 * p.epsilon


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_off_the_orbit_the_form_differs(kind: str, form: object) -> None:
    p = layer(kind)
    one = canonicalize(p, form)  # type: ignore[arg-type]
    for name, x in p.tensors().items():
        step = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
        moved = canonicalize(p.replace(**{name: x + 1e-6 * step}), form)  # type: ignore[arg-type]
        distance = apart(one.parameters, moved.parameters)
        if name == "key_bias" and p.rotary is None:
            assert distance < 1e-12, "softmax does not see this bias"
        else:
            assert distance > 1e-9 > one.rounding, name


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_element_leads_to_the_form(kind: str, form: object) -> None:
    p = layer(kind)
    found = canonicalize(p, form)  # type: ignore[arg-type]
    assert apart(found.parameters, apply(p, found.element)) < 1e-12
    again = canonicalize(found.parameters, form)  # type: ignore[arg-type]
    assert apart(found.parameters, again.parameters) < 1e-12


def test_svd_form_is_balanced_and_diagonal() -> None:
    p = canonicalize(layer("shared")).parameters
    stacked = p.query.reshape(2, -1, 3)
    for one, two in ((stacked, p.key), (p.value, p.output.mT.reshape(2, -1, 2))):
        left, right = one.mT @ one, two.mT @ two
        assert torch.allclose(left, right, atol=1e-13)
        assert torch.allclose(left, torch.diag_embed(left.diagonal(dim1=-2, dim2=-1)), atol=1e-13)
        assert bool((left.diagonal(dim1=-2, dim2=-1).diff() < 0).all())


def test_rotary_form_balances_every_plane() -> None:
    p = canonicalize(layer("rotary")).parameters
    query = torch.cat([p.query, p.query_bias.unsqueeze(1)], 1).reshape(2, -1, 6)  # type: ignore[union-attr]
    key = torch.cat([p.key, p.key_bias.unsqueeze(1)], 1)  # type: ignore[union-attr]
    for plane in ([0, 3], [1, 4], [2, 5]):
        sizes = [x[..., plane].square().sum((1, 2)) for x in (query, key)]
        assert torch.allclose(*sizes, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_minor_form_stores_fewer_numbers(kind: str, dtype: torch.dtype) -> None:
    p = layer(kind, dtype=dtype)
    found = canonicalize(p, "minor")
    assert found.removed == group_dimension(p)
    packed = compress(found)
    assert packed.values.numel() == p.size - group_dimension(p)
    unpacked = expand(packed)
    assert all(torch.equal(x, unpacked.tensors()[name]) for name, x in found.parameters.tensors().items())
    with pytest.raises(InvalidInput, match="minor"):
        compress(canonicalize(p))


def test_minor_stands_where_it_says() -> None:
    found = canonicalize(layer("plain"), "minor")
    scores, values = found.minors
    for head in range(3):
        assert torch.equal(found.parameters.key[head, scores.rows[0, head]], torch.eye(2, dtype=torch.float64))
        assert torch.equal(found.parameters.value[head, values.rows[0, head]], torch.eye(4, dtype=torch.float64))


def test_what_is_not_unique_is_said() -> None:
    p = layer("plain")
    twin = torch.tensor([0, 1, 1])
    twins = AttentionParameters(p.query[twin], p.key[twin], p.value[twin], p.output[twin])
    assert any("equal size" in reason for reason in canonicalize(twins).ambiguous)
    eye = torch.eye(9, 2, dtype=torch.float64)
    round_ = p.replace(query=p.query.clone().index_copy(0, torch.tensor([1]), eye[None]))
    round_ = round_.replace(key=p.key.clone().index_copy(0, torch.tensor([1]), eye[None]))
    assert any("singular values" in reason for reason in canonicalize(round_).ambiguous)
    assert canonicalize(p).unique


def test_choices_that_rounding_makes_are_said() -> None:
    """Two equal rows make the rows of a minor arbitrary, two opposite largest entries the sign of a column."""
    p = random_attention(9, 1, 2, 4)
    assert canonicalize(p).unique
    assert canonicalize(p, "minor").unique
    largest = int(p.key[0].norm(dim=1).argmax())
    key = p.key.clone()
    key[0, (largest + 1) % 9] = key[0, largest]
    assert canonicalize(p.replace(key=key), "minor").ambiguous == ("rows of the minor of queries and keys are tied",)
    u, v = torch.eye(9, 2, dtype=torch.float64), torch.zeros(9, 2, dtype=torch.float64)
    v[0, 0], v[1, 0], v[2, 1] = 1, -1, 1
    for scale in (0.01, 1, 100):
        tied = canonicalize(p.replace(query=scale * u[None], key=scale * v[None]))
        assert tied.ambiguous == ("signs of queries and keys are tied",)
    v[1, 0] = -0.9
    assert canonicalize(p.replace(query=u[None], key=v[None])).unique


def test_a_minor_stands_where_its_factor_has_rank() -> None:
    """Keys and values that are zero but for a few rows; queries and outputs are not."""
    p = random_attention(9, 2, 2, 3)
    inside = torch.tensor([1, 4, 6, 7])
    only = torch.zeros(9, 1, dtype=torch.float64).index_fill(0, inside, 1)
    found = canonicalize(p.replace(key=p.key * only, value=p.value * only), "minor")
    assert found.rounding < 1e-12
    for minor in found.minors:
        assert bool(torch.isin(minor.rows, inside).all())


def test_columns_turn_by_rounding_over_their_distance_to_others() -> None:
    """Wedin's bound: √r ε ‖L‖ ‖R‖ over the distance to the other singular values and to zero."""
    singular = torch.tensor([[[7.0, 3.0, 2.5]]], dtype=torch.float64)
    nothing = torch.zeros(1, 1, 3, 3, dtype=torch.float64)
    scale = torch.tensor([[11.0]], dtype=torch.float64)
    form = Balanced(nothing, nothing, nothing, singular, scale)
    expected = 1e-3 * 3**0.5 * 11 / torch.tensor([[[4.0, 0.5, 0.5]]], dtype=torch.float64)
    assert torch.allclose(form.column_errors(1e-3), expected, rtol=1e-12)
    # Columns count by their squared lengths Σ.
    mean = (expected.square() * singular).sum() / 12.5
    assert form.error(1e-3) == pytest.approx(float(mean.sqrt()), rel=1e-12)


def test_what_has_no_form_is_refused() -> None:
    p = layer("plain")
    flat = p.replace(key=torch.cat([p.key[:, :, :1], 2 * p.key[:, :, :1]], -1))
    for form in FORMS:
        with pytest.raises(NonGeneric, match="queries and keys of group"):
            canonicalize(flat, form)  # type: ignore[arg-type]
    with pytest.raises(NonGeneric, match="wider than the stream"):
        canonicalize(random_attention(3, 2, 4, 2))
    with pytest.raises(InvalidInput, match="finite"):
        canonicalize(p.replace(output=p.output * float("nan")))
    with pytest.raises(InvalidInput, match="choose 'rope'"):
        canonicalize(layer("rotary"), "svd")
    with pytest.raises(InvalidInput, match="choose 'svd'"):
        canonicalize(p, "rope")
    with pytest.raises(InvalidInput, match="no canonical form 'qr'"):
        canonicalize(p, "qr")  # type: ignore[arg-type]
    wide = random_attention(5, 3, 2, 4, biases=("value_bias",))
    with pytest.raises(InvalidInput, match="partly free"):
        canonicalize(wide)


def test_digits_that_are_not_there_are_not_shown() -> None:
    p = layer("plain", dtype=torch.float32)
    nearly = p.replace(key=torch.cat([p.key[:, :, :1], p.key[:, :, :1] + 3e-6 * p.key[:, :, 1:]], -1))
    with pytest.raises((IllConditioned, NonGeneric)):
        canonicalize(nearly, "minor")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("closeness", [1.0, 1e-1, 1e-2, 1e-3])
def test_rounding_bounds_the_error(closeness: float, form: object) -> None:
    """The same float32 numbers in both precisions; columns of the keys ever closer to each other."""
    p = layer("plain", dtype=torch.float32)
    p = p.replace(key=torch.cat([p.key[:, :, :1], p.key[:, :, :1] + closeness * p.key[:, :, 1:]], -1))
    single, double = canonicalize(p, form), canonicalize(p.map(torch.Tensor.double), form)  # type: ignore[arg-type]
    error = apart(double.parameters, single.parameters.map(torch.Tensor.double))
    assert 1e-9 < error < single.rounding
