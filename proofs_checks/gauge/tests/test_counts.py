"""The paper's count, at the sizes that it names and on published architectures."""

from __future__ import annotations

import pytest

from proofs_checks.gauge.counts import claimed
from symgauge.architecture import Architecture
from symgauge.claimed import claimed_by_sources
from symgauge.presets import preset
from symgauge.symmetries.symbols import evaluate

GPT3 = Architecture(d_model=12288, heads=96, d_k=128, d_v=128, layers=96)


@pytest.mark.parametrize(
    ("a", "expected"),
    [
        (preset("gpt2"), 1_179_648),
        (preset("gpt2").replace(layers=1), 98_304),
        (GPT3, 301_989_888),
        (preset("llama-3-8b"), 4_227_072),
    ],
    ids=["GPT-2 small", "one layer", "GPT-3", "LLaMA-3-8B"],
)
def test_the_count_at_full_size(a: Architecture, expected: int) -> None:
    assert evaluate(claimed(a), a) == expected


def test_it_is_offered_to_accounts() -> None:
    (count,) = [count for count in claimed_by_sources(preset("llama-3-8b")) if count.source == "gauge"]
    assert (str(count.formula), count.dimension) == ("L*d_k*g + L*d_v**2*g", 4_227_072)
