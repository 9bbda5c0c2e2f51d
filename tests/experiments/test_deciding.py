"""Claims that experiments decide: no page can say one thing and the other another."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from symgauge.claims.catalogue import catalogue, checks_folder
from symgauge.claims.figures import at_least
from symgauge.claims.log import EvidenceLog
from symgauge.claims.record import Claim, Verdict
from symgauge.claims.source_text import numbers
from symgauge.claims.verdict import decide
from symgauge.errors import InvalidInput
from symgauge.experiments import deciding
from symgauge.experiments.deciding import decided, record_outcome
from symgauge.experiments.record import Record, recorded
from symgauge.experiments.result import Comparison, Outcome, Result
from symgauge.experiments.suite import suites

CLAIMS = catalogue(checks_folder()).claims.values()
EXPERIMENTAL = [claim for claim in CLAIMS if claim.experiment]


@pytest.mark.parametrize("claim", EXPERIMENTAL, ids=lambda claim: claim.id)
def test_the_verdict_is_that_of_the_outcome(claim: Claim) -> None:
    found = decided(claim)
    assert found.outcome is not Outcome.OURS_ONLY
    if claim.verdict in (Verdict.REPRODUCED, Verdict.NOT_REPRODUCIBLE):
        assert claim.verdict is found.verdict
    else:  # the source's own words settle it before any experiment
        assert claim.verdict is Verdict.INCONSISTENT


@pytest.mark.parametrize("claim", EXPERIMENTAL, ids=lambda claim: claim.id)
def test_the_numbers_that_decide_stand_in_the_quoted_words(claim: Claim) -> None:
    """Whatever a record sets beside ours."""
    assert [each.quantity for each in decided(claim).comparisons if not _stands_in(each, _words([claim]))] == []


@pytest.mark.parametrize("source", suites())
def test_every_number_of_the_source_on_record_stands_in_words_that_some_claim_quotes(source: str) -> None:
    words = _words([claim for claim in CLAIMS if claim.source == source])
    results = [run.result for record in recorded(source).values() for run in record.runs.values()]
    assert [each.quantity for result in results for each in result.comparisons if not _stands_in(each, words)] == []


def _words(claims: Sequence[Claim]) -> str:
    """What the claims quote; of a source whose text is not at hand, what they state as well."""
    not_at_hand = {claim.source for claim in CLAIMS if claim.unseen}
    stated = [claim.statement for claim in claims if claim.source in not_at_hand]
    return " … ".join([*(quote for claim in claims for quote in claim.quote), *stated])


def _stands_in(each: Comparison, words: str) -> bool:
    """The number itself to as many decimals as the words have, as percent, the middle of a range, its distance to 1.

    A share of 1 is what "always" says, or 8/8.
    """
    if each.source is None or (each.source == 1 and "share" in each.quantity):
        return True
    said = [_with_its_error(text) for text in numbers(words)]
    said += [((int(a) + int(b)) / 2, 0) for a, b in re.findall(r"(\d+)\$?(?:--|–)\$?(\d+)", words)]
    said += [(int(percent) / 100, 0) for percent in re.findall(r"(\d+)\\?%", words)]
    wanted = (each.source, 1 - each.source)
    return any(abs(value - exact) <= error + 1e-12 * abs(value) for value in wanted for exact, error in said)


def _with_its_error(text: str) -> tuple[float, float]:
    """A number, and half a unit of its last decimal."""
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(text), 0.5 * 10.0 ** (int(exponent or 0) - decimals) if decimals else 0


@pytest.mark.parametrize("place", sorted({claim.check for claim in EXPERIMENTAL}))
def test_every_check_of_such_a_claim_asks_the_experiment(place: str) -> None:
    file, _, name = place.partition("::")
    tree = ast.parse((checks_folder().parent / file).read_text(encoding="utf-8"))
    (check,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    called = {
        node.func.id for node in ast.walk(check) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "record_outcome" in called


CLAIM = Claim(
    "toy/t", "toy", "Table 1", "The mean is 1.", Verdict.REPRODUCED, experiment=("table-1",), quantities=("mean",)
)


@pytest.fixture
def two_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(ours: float) -> Record:
        numbers = [Comparison("mean", 1.0, ours), Comparison("maximum", 5.0, 50.0)]
        result = Result("table-1", "Means", "Table 1", "", comparisons=numbers)
        return Record("toy", "").added(result, 0, None, {"device": "a card"}, "symgauge reproduce toy")

    monkeypatch.setattr(deciding, "recorded", lambda suite: {"small": record(9.0), "paper": record(1.5)})


@pytest.mark.usefixtures("two_scales")
def test_the_largest_scale_decides_by_the_quantities_that_bear_on_the_claim(tmp_path: Path) -> None:
    assert decided(CLAIM).verdict is Verdict.REPRODUCED
    assert decided(replace(CLAIM, quantities=())).verdict is Verdict.NOT_REPRODUCIBLE
    log = EvidenceLog([CLAIM, replace(CLAIM, id="toy/other", experiment=(), quantities=())])
    record_outcome(log)
    assert log.of("toy/other") == ()
    found, control = log.of("toy/t")
    assert control.figures["does not agree"] == at_least(1, 1)
    assert decide(CLAIM, [found, control]).verdict is Verdict.REPRODUCED
    assert decide(CLAIM, [found]).verdict is Verdict.UNDECIDED
    for said in ("a card", "symgauge reproduce toy", "scale `paper`", "SHA-256"):
        assert said in found.figures["where"]


@pytest.mark.usefixtures("two_scales")
@pytest.mark.parametrize(
    ("changed", "message"),
    [({"experiment": ("table-9",)}, "no record of toy has"), ({"quantities": ("median",)}, "no quantity that begins")],
)
def test_what_is_not_on_record_decides_nothing(changed, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        decided(replace(CLAIM, **changed))


@pytest.mark.usefixtures("two_scales")
def test_the_control_of_a_number_that_differs_is_one_that_agrees() -> None:
    claim = replace(CLAIM, verdict=Verdict.NOT_REPRODUCIBLE, quantities=("maximum",))
    log = EvidenceLog([claim])
    record_outcome(log)
    found, control = log.of("toy/t")
    assert control.figures == {"agrees": at_least(1, 1), "compared": 2}  # the mean
    assert decide(claim, [found, control]).verdict is Verdict.NOT_REPRODUCIBLE


def test_a_number_that_two_experiments_measure_is_one_under_the_choices_of_both(monkeypatch) -> None:
    def result(key: str, number: Comparison) -> Result:
        return Result(key, f"About {key}", "Table 1", "", comparisons=[number])

    def records(number: Comparison) -> dict[str, Record]:
        record = Record("toy", "")
        for each in (result("table-1", Comparison("mean", 1.0, 1.5)), result("more", number)):
            record = record.added(each, 0, None, {"device": each.key}, "symgauge reproduce toy")
        return {"small": record}

    both = replace(CLAIM, experiment=("table-1", "more"))
    monkeypatch.setattr(deciding, "recorded", lambda suite: records(Comparison("mean", 1.0, 1.2, choices={"wide": 9})))
    found = decided(both)
    assert found.outcome is Outcome.DEPENDS
    (mean,) = found.comparisons
    assert mean.values == (1.5, 1.2, 9)
    log = EvidenceLog([both])
    (evidence,) = record_outcome(log)
    assert "experiments `table-1`, `more`: reproduced for some choices only" in evidence.summary
    assert all(key in evidence.figures["where"] for key in both.experiment)
    monkeypatch.setattr(deciding, "recorded", lambda suite: records(Comparison("mean", 2.0, 1.2)))
    with pytest.raises(InvalidInput, match="About more compares it otherwise"):
        decided(both)
