"""Heads with more channels than what they read, or what reads them, fills: counted exactly, and generated."""

from __future__ import annotations

from typing import Any

import pytest

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries import degenerate_cases, dimension
from symgauge.symmetries import symbols as s
from symgauge.symmetries.seen import beyond_bases
from tests.symmetries.evidence import accounted, nullity
from tests.symmetries.test_degenerate_cases import mla

ALONE: dict[str, Any] = {"context": 4, "residual": False}
QKVO: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), True)


@pytest.mark.parametrize(
    ("m", "n", "k", "more"), [(4, 3, 5, 0), (3, 3, 3, 0), (2, 3, 3, 0), (2, 3, 5, 2), (5, 3, 2, 2), (2, 4, 3, -2)]
)
def test_what_a_product_leaves_free(m: int, n: int, k: int, more: int) -> None:
    """Numbers of two matrices less those of their product, a generic matrix of rank min(m, n, k), less n²."""
    r = min(m, n, k)
    assert beyond_bases(m, n, k) == more == n * (m + k) - r * (m + k - r) - n**2


@pytest.mark.parametrize(
    ("a", "directions"),
    [
        # Rows of W_O (or of the queries' map) along channels that values (keys) of rank kv = 2 leave empty, 2 heads.
        (mla(8, query=3, key_value=2, d_v=3), 2 * (3 - 2) * (5 - 3)),
        (mla(11, query=4, key_value=2, d_k=5, d_model=6), 2 * (3 - 2) * (4 - 3)),
        # Each of 3 heads writes freely along the channel that shared values leave empty; GL(d_v) has 4 of these.
        (Architecture(3, 3, 2, 4, groups=1, **ALONE), (3 * 3 - 4) * (4 - 3)),
        # LayerNorm's results fill one channel less, and constant values must write what they wrote.
        (Architecture(3, 4, 2, 3, groups=2, d_ff=2, context=4, norm="layer", norm_offset=True), 2 * (3 - 2) * (6 - 3)),
        (Architecture(3, 4, 2, 3, groups=2, d_ff=2, context=4, norm="layer", value_bias=True), 2 * (3 - 2) * (6 - 3)),
        # Only the channel that stands still is wide: one of keys' two functions and a constant that softmax ignores.
        (Architecture(1, 2, 4, 1, groups=1, rotary=Rotary((0.1,), unrotated=2), query_bias=True, **ALONE), 1 * 2),
    ],
    ids=["values of a latent", "keys of a latent", "shared values", "an offset", "a value bias", "unrotated channels"],
)
def test_empty_channels(a: Architecture, directions: int) -> None:
    found = accounted(a)
    assert found.complete
    assert {family.name: family.new_directions for family in found.families}["empty-channels"] == directions
    assert degenerate_cases(a) == []


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("fields", [{"d_k": 3}, {"d_k": 5}, {"d_v": 3}, {"d_v": 5}, {"d_k": 4, "d_v": 4, **QKVO}])
def test_a_direction_that_a_bias_or_a_norm_gives_is_not_counted_again(fields: dict[str, Any], norm: str) -> None:
    a = Architecture(2, 2, **{"d_k": 2, "d_v": 2, "context": 4, "norm": norm, "key_bias": True, **fields})
    found = accounted(a)
    assert found.complete
    assert found.fibre.nullity == s.evaluate(dimension(a), a)


def test_keys_wider_than_the_stream_with_a_bias() -> None:
    """d = 2, d_k = 3 and a key bias: 15 directions."""
    a = Architecture(2, 1, 3, 2, key_bias=True, **ALONE)
    assert nullity(a) == s.evaluate(dimension(a), a)


def test_turns_of_opposite_sign_are_one_class() -> None:
    """0.23 and −0.23 are floats whose sum is 0, though 1 − (−0.23 mod 1) is another float."""
    a = Architecture(4, 2, 4, 2, rotary=Rotary((0.23, -0.23)), **ALONE)
    assert a.rotary is not None
    assert a.rotary.commutant_dimension == 8
    assert accounted(a).complete
