"""The error experiments, end to end at sizes where they take no time."""

from __future__ import annotations

import json
import math
from types import ModuleType

import pytest
import torch

from proofs_checks.gauge.experiments import (
    logit_scale,
    subject,
    table_2,
    table_2_weights,
    table_3,
    table_4,
    table_5,
    table_6,
    table_6_weights,
    timing,
    weights,
)
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.table_6 import ROWS
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import TABLE_5
from symgauge.experiments.record import Record, recorded
from symgauge.experiments.result import Agreement, Result
from symgauge.experiments.suite import Setting
from symgauge.reporting.experiments_page import page

NARROW = {"Small": Sizes(2, 4, 4, 8), "Medium": Sizes(3, 4, 4, 12), "Large": Sizes(2, 6, 6, 12)}
COUNTS = dict.fromkeys(NARROW, (3, 2))
MODULES = (table_2, table_2_weights, table_3, table_4, table_5, table_6, table_6_weights, logit_scale)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        if hasattr(module, "SIZES"):
            monkeypatch.setattr(module, "SIZES", NARROW)
    monkeypatch.setattr(table_5, "LENGTHS", (TOKENS, 4, 128))
    for module in (table_2, table_3, table_5, table_2_weights):
        monkeypatch.setattr(module, "SMALL", COUNTS)
    monkeypatch.setattr(table_4, "SMALL_COUNTS", {"Small": (3, 2), "Medium": (3, 2)})
    monkeypatch.setattr(logit_scale, "SMALL_COUNTS", (3, 2))
    monkeypatch.setattr(table_6, "SMALL_COUNTS", (2, 2))
    monkeypatch.setattr(table_6_weights, "SMALL_COUNTS", (2, 2))
    for module in (table_6, table_6_weights):
        monkeypatch.setattr(module, "ROWS", {name: ROWS[name] for name in ("Config B", "GPT-2", "GPT-3 config")})
    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.001)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.EXPERIMENT.key)
def test_result(module: ModuleType) -> None:
    shares: list[float] = []
    result: Result = module.EXPERIMENT.run(Setting(tick=lambda what, share: shares.append(share)))
    assert result.key == module.EXPERIMENT.key
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] <= 1
    assert result.findings
    assert all(math.isfinite(value) for c in result.comparisons for value in c.values)
    record = Record("gauge", "small").added(result, 0, None, {}, "again")
    assert result.title in page("gauge", {"small": record})
    again = Result.from_dict(json.loads(json.dumps(result.as_dict())))
    assert json.dumps(again.as_dict()) == json.dumps(result.as_dict())


@pytest.mark.usefixtures("narrow")
def test_a_broken_action_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = subject.act
    monkeypatch.setattr(
        subject, "act", lambda layer, element, **how: whole(layer, element, **how)._replace(key=layer.key)
    )
    result = table_2.run(Setting())
    assert not any(c.agreement is Agreement.AGREES for c in result.comparisons if "standard" not in c.quantity)


def test_paper_scale_has_the_counts_of_the_source() -> None:
    assert subject.counts(Setting("paper"), 3, 2) == (1000, 100)
    assert subject.counts(Setting(), 3, 2) == (3, 2)


def test_rates_count_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LEAST_SECONDS", 0.001)
    found = timing.timed(NARROW["Small"], 4, 3, repeats=1)
    assert found.trials == 12
    assert found.rate * found.seconds == pytest.approx(timing.operations(NARROW["Small"]) * 16)
    assert found.milliseconds == pytest.approx(1000 * found.seconds / 12)
    assert found.seconds_for(24, 3) == pytest.approx(2 * found.seconds - found.drawing)
    assert 0 < found.drawing < found.seconds


def test_reported_times_are_held_against_every_length() -> None:
    """At a given rate a time belongs to one length."""
    sizes, rate = subject.SIZES["Large"], 45e12
    found = {}
    for tokens in table_5.LENGTHS:
        seconds = 100 * timing.operations(sizes, tokens) / rate
        found["Large", tokens] = timing.Timing(sizes, tokens, 100, 1, seconds, 0.0, rate, rate)
    (comparison,) = table_5.comparisons(found)
    assert comparison.agreement is Agreement.DEPENDS
    assert comparison.choices["2048 tokens"] / comparison.ours == pytest.approx(32 * 5120 / 3136)
    assert table_5.length_of(sizes, timing.operations(sizes, 300)) == pytest.approx(300)


def test_lengths_that_the_reported_times_would_have_at_the_rates_on_record() -> None:
    """As the remark of the claim on Table 5 says them."""
    run = recorded("gauge")["paper"].runs["table-5"].result
    rate = list(run.tables[0].columns).index("TFLOP/s")
    rates = {row[0]: 1e12 * row[rate] for row in run.tables[0].rows}
    lengths = [
        table_5.length_of(sizes, rates[name] * float(TABLE_5[name][0]) / table_5.PASSES)
        for name, sizes in subject.SIZES.items()
    ]
    assert [round(length, -2) for length in lengths] == [1700, 1800, 2300]


@pytest.mark.parametrize("law", weights.LAWS)
def test_laws_of_weights_have_the_size_they_say(law: str) -> None:
    sizes = Sizes(4, 32, 16, 100)
    drawn = weights.subject_of(sizes, (law, 3), 2, torch.Generator().manual_seed(0), biased=True)
    fans = {"query": (100, 128), "value": (100, 64), "output": (64, 100)}
    assert drawn.inputs.shape == (2, 3, 100)
    for part, (fan_in, fan_out) in fans.items():
        wanted = {
            "N(0, 1/d)": 0.1,
            "N(0, 0.02²)": 0.02,
            "Xavier, uniform": (2 / (fan_in + fan_out)) ** 0.5,
            "U(±1/√fan-in)": (3 * fan_in) ** -0.5,
            "N(0, 1)": 1.0,
        }[law]
        assert float(getattr(drawn.layer, part).std()) == pytest.approx(wanted, rel=0.05)
    assert float(drawn.biases.query.std()) == pytest.approx(float(drawn.layer.query.std()), rel=0.3)
