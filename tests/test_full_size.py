"""Formulas at full size, counted on a few layers."""

from __future__ import annotations

import pytest

from symgauge.architecture import Architecture
from symgauge.full_size import full_size, shortened
from symgauge.presets import preset
from symgauge.symmetries import dimension


@pytest.mark.parametrize("name", ["gpt2", "bert-base", "gemma-2-9b", "falcon-7b", "qwen2.5-7b"])
def test_a_few_layers_give_the_formula_of_all(name) -> None:
    a = preset(name)
    assert shortened(a).layers == 4 < a.layers
    assert full_size(a).formula == dimension(a)


def test_dense_layers_before_experts_are_kept_apart() -> None:
    short = shortened(preset("deepseek-v3"))
    assert short.experts is not None
    assert (short.layers, short.experts.first, short.experts.count, short.experts.active) == (6, 2, 3, 2)


def test_a_small_architecture_is_not_lengthened() -> None:
    a = Architecture(4, 2, 3, 2, layers=2)
    assert shortened(a) == a
    full = full_size(a)
    assert full.dimension == 2 * 2 * (9 + 4)
    assert full.as_dict()["nullity"] == full.dimension
