"""The error experiments, end to end at sizes where they take no time."""

from __future__ import annotations

import json
import math
from types import ModuleType

import pytest

from proofs_checks.gauge.experiments import logit_scale, subject, table_2, table_3, table_4, table_5, table_6, timing
from proofs_checks.gauge.experiments.layer import Sizes
from symgauge.experiments.record import Record
from symgauge.experiments.result import Agreement, Result
from symgauge.experiments.suite import Setting
from symgauge.reporting.experiments_page import page

NARROW = {"Small": Sizes(2, 4, 4, 8), "Medium": Sizes(3, 4, 4, 12), "Large": Sizes(2, 6, 6, 12)}
COUNTS = dict.fromkeys(NARROW, (3, 2))
MODULES = (table_2, table_3, table_4, table_5, table_6, logit_scale)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        if hasattr(module, "SIZES"):
            monkeypatch.setattr(module, "SIZES", NARROW)
    for module in (table_2, table_3, table_5):
        monkeypatch.setattr(module, "SMALL", COUNTS)
    monkeypatch.setattr(table_4, "SMALL_COUNTS", {"Small": (3, 2), "Medium": (3, 2)})
    monkeypatch.setattr(logit_scale, "SMALL_COUNTS", (3, 2))
    monkeypatch.setattr(table_6, "SMALL_COUNTS", (2, 2))
    monkeypatch.setattr(table_6, "ROWS", {name: table_6.ROWS[name] for name in ("Config B", "GPT-2", "GPT-3 config")})
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
    assert 0 < found.drawing < found.seconds
