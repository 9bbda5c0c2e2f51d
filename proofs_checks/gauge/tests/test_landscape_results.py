"""Every landscape experiment, on tiny sizes: a result that can be recorded, drawn and reported."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from proofs_checks.gauge.experiments import depth, figure_1, figure_1_choices, gradient_orthogonality, table_7, table_8
from proofs_checks.gauge.experiments.layer import Sizes
from symgauge.experiments.drawing import draw
from symgauge.experiments.result import Agreement, Outcome, Result
from symgauge.experiments.suite import Setting

TINY = Sizes(2, 4, 4, 8)
CHANGES = {
    table_7: {"SMALL": (TINY, Sizes(3, 2, 2, 6)), "EXACT_SMALL": (Sizes(2, 2, 2, 4),)},
    table_8: {
        "NAMES": {f"h = {h}": Sizes(h, 4, 4, 4 * h) for h in (4, 8, 12)},
        "CROSSED": {"small": (4, 30)},
        "SEPARATE": {"small": (10, 20)},
    },
    figure_1: {"SIZES": Sizes(2, 16, 16, 128), "TOKENS": 8, "LINE": 5},
    gradient_orthogonality: {"SIZES": TINY, "TOKENS": 6},
    depth: {"SMALL": TINY, "LAYERS": 6, "RUNS": 1},
}


def result(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, list[float]]:
    for name, value in CHANGES[module].items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(figure_1_choices, "SIZES", {"Small": Sizes(2, 16, 16, 128), "Medium": Sizes(3, 16, 16, 128)})
    shares: list[float] = []
    found = module.EXPERIMENT.run(Setting(tick=lambda what, share: shares.append(share)))
    return found, shares


@pytest.mark.parametrize("module", CHANGES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_an_experiment_gives_a_result(module, monkeypatch) -> None:
    found, shares = result(module, monkeypatch)
    assert found.key == module.EXPERIMENT.key
    assert shares
    assert all(0 <= share <= 1 for share in shares)
    text = json.dumps(found.as_dict(), allow_nan=False)
    assert Result.from_dict(json.loads(text)).outcome is found.outcome
    assert all((found.findings, found.open_choices, found.protocol, found.settings))
    for figure in found.figures:
        assert all(panel.x and panel.y for panel in figure.panels)
        assert draw(figure).startswith(b"\x89PNG")


def test_outcomes(monkeypatch) -> None:
    assert result(table_7, monkeypatch)[0].outcome is Outcome.PARTLY
    pooled = result(table_8, monkeypatch)[0].comparisons
    assert [c.agreement for c in pooled if c.quantity.endswith(", p")] == [Agreement.DIFFERS] * 3
