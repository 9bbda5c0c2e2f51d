"""A family's dimension is the rank of its generators, and families add up: formula against linear algebra."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from symgauge.architecture import Architecture, Rotary
from symgauge.symmetries import degenerate_cases, dimension, families, table
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Output
from symgauge.symmetries.catalogue.stream_map import StreamMap
from tests.symmetries.cases import ARCHITECTURES, BIASES
from tests.symmetries.evidence import point
from tests.symmetries.family_checks import generators, rank

# One layer has every family; experts that start later, and layers that differ, need two.
SMALL = {
    name: a if name.startswith(("chain", "deepseek", "smollm3")) else a.replace(layers=1)
    for name, a in ARCHITECTURES.items()
}
CASES: list[tuple[str, Output]] = [(name, "logits") for name in SMALL]
CASES += [
    (name, "probabilities") for name, a in SMALL.items() if a.is_model and dimension(a) != dimension(a, "probabilities")
]


@pytest.mark.parametrize(("name", "output"), CASES)
def test_generators_are_independent_and_counted(name: str, output: Output) -> None:
    a = SMALL[name]
    roles, rows = point(a), []
    for family in families(a, output):
        rows.append(generators(a, family, roles))
        assert len(rows[-1]) == s.evaluate(family.dimension(a), a), family.name
    # Independence of all of them together includes independence within each family.
    assert rank(torch.cat(rows)) == len(torch.cat(rows)) == s.evaluate(dimension(a, output), a)


OTHER_SIZES = {"vocabulary": 4, "d_ff": 3, "context": 2}
"""By how much sizes are larger that no family compares with others."""


@pytest.mark.parametrize("name", [name for name, a in ARCHITECTURES.items() if a.vocabulary > a.d_model])
def test_formulas_in_letters_hold_for_other_sizes(name: str) -> None:
    a = ARCHITECTURES[name]
    larger = a.replace(**{size: getattr(a, size) + more for size, more in OTHER_SIZES.items() if getattr(a, size)})
    assert dimension(a).free_symbols
    assert table(larger) == table(a)


@pytest.mark.parametrize("unrotated", [0, 1, 4])
def test_formulas_in_letters_hold_for_other_rotary_sizes(unrotated: int) -> None:
    """Planes with turns of their own have two directions each, as many channels; the rest have all or none."""
    turns = (Fraction(1, 7), Fraction(2, 9), Fraction(1, 5))
    fields = {"key_bias": True, "d_v": 2, "norm": "rms", "vocabulary": 13}
    counted = []
    for used in (turns[:2], turns):
        rotary = Rotary(used, unrotated=unrotated)
        a = Architecture(d_model=9, heads=2, d_k=rotary.channels, rotary=rotary, context=3, **fields)
        counted.append({family: size for family, size in table(a).items() if family in ("query-key", "key-bias")})
    rest = s.d_k - s.d_rot
    expected = {"query-key": s.L * s.g * (s.d_rot + rest**2) if unrotated else s.L * s.g * s.d_k}
    if unrotated:
        expected["key-bias"] = s.L * s.g * rest
    for found in counted:
        assert found.keys() == expected.keys()
        assert all((size - expected[family]).expand() == 0 for family, size in found.items())


@pytest.mark.parametrize(("d_k", "d_v", "expected"), [(4, 2, 19), (2, 4, 19), (5, 5, 42), (3, 3, 18)])
def test_heads_wider_than_the_stream_count_less(d_k: int, d_v: int, expected: int) -> None:
    """Referee's value for one head: width 4 on a stream of 3 has 19 directions, not 4² + 2² = 20."""
    a = Architecture(d_model=3, heads=1, d_k=d_k, d_v=d_v, residual=False, context=3)
    roles = point(a)
    assert rank(torch.cat([generators(a, family, roles) for family in families(a)])) == expected
    assert s.evaluate(dimension(a), a) == expected


@pytest.mark.parametrize(("heads", "vocabulary", "expected"), [(2, 2, 81 - 5 * 1), (1, 2, 81 - 6 * 4), (3, 2, 81)])
def test_streams_wider_than_what_is_written_and_read_count_less(heads: int, vocabulary: int, expected: int) -> None:
    """Maps of what nobody writes to what nobody reads move no weight; each head reads three columns and writes one."""
    a = Architecture(d_model=9, heads=heads, d_k=1, d_v=1, vocabulary=vocabulary, context=3)
    family = StreamMap()
    assert rank(generators(a, family, point(a))) == expected
    assert s.evaluate(family.dimension(a), a) == expected


GPT2_SMALL = Architecture(
    d_model=768, heads=12, d_k=64, d_v=64, d_ff=3072, layers=12, vocabulary=50257, context=1024, norm="layer",
    norm_offset=True, final_norm=True, position_table=True, tied=True, **BIASES,
)  # fmt: skip
LLAMA3_8B = Architecture(
    d_model=4096, heads=32, groups=8, d_k=128, d_v=128, d_ff=14336, layers=32, vocabulary=128256, context=8192,
    norm="rms", final_norm=True, gated=True, activation="silu", rotary=Rotary.standard(128, base=500000.0),
)  # fmt: skip


def test_full_size_counts_agree_with_the_claims_ledger() -> None:
    assert s.evaluate(dimension(GPT2_SMALL), GPT2_SMALL) == 12 * 112_130 + 1024 == 1_346_584
    assert s.evaluate(dimension(LLAMA3_8B), LLAMA3_8B) == 13_338_624
    assert s.evaluate(table(LLAMA3_8B)["stream-map"], LLAMA3_8B) == 8_386_560


def test_formula_in_letters() -> None:
    """The referee's GPT-2 formula (CT-5, untied), letter by letter."""
    a = ARCHITECTURES["gpt2-untied"].replace(head_bias=False)
    h, d, d_k, d_v, d_ff = s.g, s.d, s.d_k, s.d_v, s.d_ff
    layer = h * (d_k**2 + d_v**2) + h * d_k + h * d_v + (2 * d + 2 * h * d_k + h * d_v)
    layer += (2 * d + d_ff) + (h * d_v + 1) + (d_ff + 1)
    model = s.L * layer + s.V + s.n_ctx + (d - 1) + 2 * d + (d - 1) * (d - 2) / 2
    same = {s.h: s.g}
    assert (dimension(a).subs(same) - model).expand() == 0
    assert (dimension(a, "probabilities").subs(same) - model - d).expand() == 0
    scale_free = a.replace(epsilon=0.0)
    assert (dimension(scale_free).subs(same) - model - 1).expand() == 0


def test_limits_are_named() -> None:
    assert degenerate_cases(GPT2_SMALL) == []
    assert degenerate_cases(LLAMA3_8B) == []
    assert any("ReLU" in reason for reason in degenerate_cases(GPT2_SMALL.replace(activation="relu")))
    assert any("vocabulary" in reason for reason in degenerate_cases(GPT2_SMALL.replace(vocabulary=100)))
