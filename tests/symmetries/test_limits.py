"""What the named limits hide: how many directions more there are, and that there are none beside the limit."""

from __future__ import annotations

from typing import Any

import pytest

from symgauge.architecture import Architecture, Latent, Rotary
from symgauge.exact.accounting import account
from symgauge.presets import preset, presets, scaled_down
from symgauge.symmetries import limits
from tests.symmetries.cases import BIASES, LAYER, RMS


def neox(d: int, d_ff: int, vocabulary: int) -> Architecture:
    sizes: dict[str, Any] = {"heads": 2, "d_k": 3, "d_v": 2, "context": 3}
    return Architecture(d, d_ff=d_ff, vocabulary=vocabulary, placement="parallel", **sizes, **BIASES, **LAYER)


@pytest.mark.parametrize(("d", "d_ff", "vocabulary"), [(4, 2, 6), (5, 1, 7), (5, 2, 9), (4, 2, 12)])
def test_tokens_that_a_parallel_first_layer_lacks(d: int, d_ff: int, vocabulary: int) -> None:
    """An affine map of what the first layer reads and its feed-forward's weights: d² − 1 + d_ff (2 d − 1) numbers.

    Each token fixes d − 1 of them (its row may move along its own direction and along **1**).
    """
    a = neox(d, d_ff, vocabulary)
    result = account(a)
    assert result.decided
    assert result.unexplained == max(0, d**2 - 1 + d_ff * (2 * d - 1) - (d - 1) * vocabulary)
    assert bool(limits(a)) == (result.unexplained > 0)


@pytest.mark.parametrize("vocabulary", [7, 9, 11])
def test_tokens_that_a_first_latent_norm_lacks(vocabulary: int) -> None:
    """A quadratic form of the latent and a scale that change no token's norm: q (q + 1) / 2 + 1 numbers, q = 4."""
    a = Architecture(
        5, 2, 4, 2, d_ff=3, vocabulary=vocabulary, context=4, rotary=Rotary.standard(2, interleaved=True),
        latent=Latent(query=4, key_value=3, d_rope=2), **RMS,
    )  # fmt: skip
    result = account(a)
    assert result.unexplained == max(0, 11 - vocabulary)
    assert bool(limits(a)) == (result.unexplained > 0)


@pytest.mark.parametrize("name", presets())
def test_small_instances_of_production_models_stay_clear_of_them(name: str) -> None:
    assert [reason for reason in limits(scaled_down(preset(name))) if "expert" not in reason] == []
