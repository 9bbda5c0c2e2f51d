"""Formulas at full size, counted on a few layers."""

from __future__ import annotations

from typing import Any

import pytest

from symgauge.architecture import Architecture, Experts
from symgauge.full_size import full_size, shortened
from symgauge.presets import preset
from symgauge.symmetries import dimension
from symgauge.symmetries.symbols import evaluate


@pytest.mark.parametrize("name", ["gpt2", "bert-base", "gemma-2-9b", "falcon-7b", "qwen2.5-7b"])
def test_a_few_layers_give_the_formula_of_all(name) -> None:
    a = preset(name)
    assert shortened(a).layers == 5 < a.layers
    assert full_size(a).formula == dimension(a)


def test_dense_layers_before_experts_are_kept_apart() -> None:
    short = shortened(preset("deepseek-v3"))
    assert short.experts is not None
    assert (short.layers, short.experts.first, short.experts.count, short.experts.active) == (8, 3, 3, 2)


_DENSE_FIRST = Architecture(6, 2, 3, 3, d_ff=9, vocabulary=11, norm="layer", attention="linear", activation="relu")


@pytest.mark.parametrize(
    ("first", "layers", "fields"),
    [
        (3, 8, {"placement": "post"}),
        (7, 8, {"placement": "post"}),
        (7, 8, {"placement": "parallel", "residual": False, "epsilon": 0, "embedding_norm": True}),
        (5, 14, {"tied": True, "residual": False}),
    ],
)
def test_borders_of_dense_layers_are_counted_once(first: int, layers: int, fields: dict[str, Any]) -> None:
    """A shift from one layer into the next is another one where a dense layer meets one with experts."""
    a = _DENSE_FIRST.replace(layers=layers, experts=Experts(count=2, active=1, d_ff=3, first=first), **fields)
    full = full_size(a)
    assert sum(share.dimension for share in full.families) == evaluate(dimension(a), a)


def test_a_first_and_a_last_layer_alike_are_not_taken_for_all() -> None:
    """Post-norm without residual: the norm before the first layer and the one after the last can be scaled as well."""
    blind = {"norm": "rms", "epsilon": 0, "placement": "post", "residual": False}
    a = Architecture(6, 2, 3, 2, layers=10, d_ff=9, vocabulary=11, embedding_norm=True, final_norm=True, **blind)
    assert full_size(a).dimension == evaluate(dimension(a), a)


def test_a_small_architecture_is_not_lengthened() -> None:
    a = Architecture(4, 2, 3, 2, layers=2)
    assert shortened(a) == a
    full = full_size(a)
    assert full.dimension == 2 * 2 * (9 + 4)
    assert full.as_dict()["nullity"] == full.dimension
