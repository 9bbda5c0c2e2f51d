"""What a first layer has for want of tokens: the count against exact ranks, and where it is met at full size."""

from __future__ import annotations

import pytest

from symgauge.full_size import full_size
from symgauge.presets import preset, presets
from symgauge.symmetries.first_layer import surplus, surpluses
from tests.symmetries.evidence import accounted
from tests.symmetries.test_degenerate_cases import mla, neox


@pytest.mark.parametrize(("vocabulary", "query", "key_value"), [(9, 4, 4), (8, 3, 4), (11, 4, 3)])
def test_both_latents(vocabulary: int, query: int, key_value: int) -> None:
    a = mla(vocabulary, query, key_value)
    assert accounted(a).unexplained == surplus(a)


@pytest.mark.parametrize("vocabulary", [6, 12])
def test_parallel_network(vocabulary: int) -> None:
    a = neox(4, 2, vocabulary)
    assert accounted(a).unexplained == surplus(a) == max(0, 29 - 3 * vocabulary)


def test_a_position_table_shows_more_than_one_vector_per_token() -> None:
    a = neox(4, 2, 6).replace(position_table=True)
    assert surpluses(a) == []
    assert accounted(a).unexplained == 0


def test_published_models_that_have_it() -> None:
    found = {name: full_size(preset(name)) for name in presets()}
    met = {name: {s.name: s.dimension for s in full.surplus} for name, full in found.items() if full.surplus}
    assert met == {
        "gpt-neox-20b": {"first-layer parallel network": 6144**2 - 1 + 24576 * 12287 - 6143 * 50432},
        "deepseek-v3": {
            "first-layer query latent": 1536 * 1537 // 2 + 1 - 129280,
            "first-layer key-value latent": 512 * 513 // 2 + 1 - 129280,
        },
    }
    for full in found.values():
        assert full.dimension == sum(s.dimension for s in full.families) + surplus(full.architecture)
        assert full.as_dict()["nullity"] == full.dimension
