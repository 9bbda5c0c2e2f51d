"""Architectures over all fields: the same for the same seed, within their budget, and no field left out."""

from __future__ import annotations

import dataclasses

import pytest

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.strategies import arbitrary_architecture

WITHOUT_INFLUENCE = {
    "name",
    "embedding_scale",
    "score_scale",
    "rotary_scale",
    "residual_scale",
    "logit_scale",
    "gelu_slope",
}
FIELDS = [f.name for f in dataclasses.fields(Architecture) if f.name not in WITHOUT_INFLUENCE]
DRAWN = [arbitrary_architecture(seed) for seed in range(400)]


def test_a_seed_is_an_architecture() -> None:
    assert [arbitrary_architecture(seed) for seed in range(400)] == DRAWN
    assert len({repr(a) for a in DRAWN}) == len(DRAWN)


@pytest.mark.parametrize("most", [60, 200])
def test_budget(most: int) -> None:
    assert all(graph_of(arbitrary_architecture(seed, most)).parameters <= most for seed in range(50))


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_varies(name: str) -> None:
    assert len({repr(getattr(a, name)) for a in DRAWN}) > 1


def test_sizes_start_at_one() -> None:
    for name in ("d_model", "heads", "d_k", "d_v", "groups", "layers", "context"):
        assert min(getattr(a, name) for a in DRAWN) == 1
    assert min(a.vocabulary for a in DRAWN) == min(a.d_ff for a in DRAWN) == 0
