"""Degenerate cases: each differs from the formula on its example and not beside it; how many directions some have."""

from __future__ import annotations

from typing import Any

import pytest

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.presets import preset, presets, scaled_down
from symgauge.symmetries import degenerate_cases, dimension
from symgauge.symmetries import symbols as s
from symgauge.symmetries.degenerate import DegenerateCase
from symgauge.symmetries.examples import BLOCK
from symgauge.symmetries.group import every_degenerate_case
from tests.symmetries.cases import BIASES, LAYER, RMS
from tests.symmetries.evidence import accounted, nullity

CASES = list(every_degenerate_case())


@pytest.mark.parametrize("case", CASES, ids=[case.reason[:40] for case in CASES])
def test_the_formula_is_off_in_the_case_and_right_beside_it(case: DegenerateCase) -> None:
    inside, outside = case.example, case.beside
    assert case.reason in degenerate_cases(inside)
    assert degenerate_cases(outside) == []
    assert nullity(inside, case.seed) != s.evaluate(dimension(inside), inside)
    beside = accounted(outside, seed=case.seed)
    assert beside.complete
    assert beside.fibre.nullity == s.evaluate(dimension(outside), outside)


def test_rectified_neurons_that_read_several_directions_may_be_on_or_off_and_no_more() -> None:
    (reason,) = degenerate_cases(BLOCK.replace(d_ff=4, activation="relu"))
    assert "may be on (or off)" in reason


def test_reasons_differ() -> None:
    assert len({case.reason for case in CASES}) == len(CASES)


def neox(d: int, d_ff: int, vocabulary: int) -> Architecture:
    sizes: dict[str, Any] = {"heads": 2, "d_k": 3, "d_v": 2, "context": 3}
    return Architecture(d, d_ff=d_ff, vocabulary=vocabulary, placement="parallel", **sizes, **BIASES, **LAYER)


@pytest.mark.parametrize(("d", "d_ff", "vocabulary"), [(4, 2, 6), (5, 1, 7), (5, 2, 9), (4, 2, 12)])
def test_tokens_that_a_parallel_first_layer_lacks(d: int, d_ff: int, vocabulary: int) -> None:
    """An affine map of what the first layer reads and its feed-forward's weights: d² − 1 + d_ff (2 d − 1) numbers.

    Each token fixes d − 1 of them (its row may move along its own direction and along **1**).
    """
    a = neox(d, d_ff, vocabulary)
    result = accounted(a)
    assert result.decided
    assert result.unexplained == max(0, d**2 - 1 + d_ff * (2 * d - 1) - (d - 1) * vocabulary)
    assert bool(degenerate_cases(a)) == (result.unexplained > 0)


@pytest.mark.parametrize(
    ("fields", "hidden"),
    [({"d_ff": 5}, 5), ({"d_ff": 5, "gated": True}, 5), ({"d_ff": 5, "experts": Experts(2, 1, 3, shared=1)}, 2 * 9)],
    ids=["dense", "gated", "experts"],
)
def test_as_many_tokens_are_enough_as_fix_what_a_parallel_first_layer_has(fields: dict[str, Any], hidden: int) -> None:
    """d² numbers of a map, and each hidden unit's weights with a bias; a token fixes d of them. Experts count twice."""
    a = neox(6, 5, 0).replace(norm="rms", norm_offset=False, ff_bias=False, **fields)
    unknown = 6**2 + hidden * ((3 if a.gated else 2) * 6 + 1)
    few, enough = (a.replace(vocabulary=-(-unknown // 6) - less) for less in (1, 0))
    assert [any("the first layer's feed-forward" in why for why in degenerate_cases(x)) for x in (few, enough)] == [
        True,
        False,
    ]


def mla(vocabulary: int, query: int, key_value: int, **sizes: int) -> Architecture:
    latent, rotary = Latent(query, key_value, d_rope=2), Rotary.standard(2, interleaved=True)
    fields: dict[str, Any] = {"d_model": 5, "heads": 2, "d_k": 4, "d_v": 2, "d_ff": 3, "context": 4, **RMS, **sizes}
    return Architecture(vocabulary=vocabulary, latent=latent, rotary=rotary, **fields)


@pytest.mark.parametrize("vocabulary", [8, 9, 11])
def test_tokens_that_a_first_latent_norm_lacks(vocabulary: int) -> None:
    """A quadratic form of the latent and a scale that change no token's norm: q (q + 1) / 2 + 1 numbers, q = 4."""
    a = mla(vocabulary, query=4, key_value=3)
    result = accounted(a)
    assert result.unexplained == max(0, 11 - vocabulary)
    assert bool(degenerate_cases(a)) == (result.unexplained > 0)


@pytest.mark.parametrize(
    ("vocabulary", "fields", "more"),
    [
        (5, {}, 4),
        (5, {"d_v": 1}, 2),
        (5, {"d_v": 1, "output_bias": True}, 4),
        (6, {}, 0),
        (5, {"query_bias": False}, 0),
    ],
)
def test_one_token_more_than_channels(vocabulary: int, fields: dict[str, Any], more: int) -> None:
    """A constant on all rows, which values (2 heads) or an output bias take off the stream, and affine maps do not see.

    Each column of an affine map has d + 1 = 5 numbers, as many as there are tokens.
    """
    biases = {"query_bias": True, "key_bias": True, "value_bias": True}
    sizes = {"d_v": 3, "d_ff": 3, "vocabulary": vocabulary, "context": 4, "rotary": Rotary.standard(2)}
    a = Architecture(4, 2, 2, **{"activation": "silu", "gated": True, **sizes, **biases, **RMS, **fields})
    assert accounted(a).unexplained == more
    assert bool(degenerate_cases(a)) == (more > 0)


@pytest.mark.parametrize("fields", [{}, {"value_bias": False}, {"ff_bias": True}, {"d_v": 1}, {"layers": 3}])
def test_levels_that_cancel_between_layers(fields: dict[str, Any]) -> None:
    """The first layer's values add a multiple of **1**, the next's take it away: nothing is left unexplained."""
    sizes = {"layers": 2, "d_ff": 2, "context": 4, "value_bias": True}
    a = Architecture(4, 2, 2, **{"d_v": 3, **sizes, **LAYER, "final_norm": False, **fields})
    found = accounted(a)
    assert found.complete
    level = {each.name: each.new_directions for each in found.families}.get("value-mean-shift", 0)
    assert level == (0 if a.d_v == 1 else a.layers if a.ff_bias else a.layers - 1)


@pytest.mark.parametrize("name", presets())
def test_small_instances_of_production_models_stay_clear_of_them(name: str) -> None:
    assert [reason for reason in degenerate_cases(scaled_down(preset(name))) if "expert" not in reason] == []
