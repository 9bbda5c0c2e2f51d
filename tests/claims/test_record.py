"""Claims, the checks that name them, and writing down evidence."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from symgauge.claims import Claim, Entry, EvidenceLog, PropertyRun, Verdict, at_most, checks, equal
from symgauge.claims.decorator import names_of
from symgauge.claims.source_text import FILE, SourceText, fingerprint
from symgauge.errors import InvalidInput


def make(**changes) -> Claim:
    fields = {"id": "src/thm-1", "source": "src", "place": "Theorem 1", "statement": "So it is.", "verdict": "holds"}
    return Claim(**(fields | changes))


def test_a_claim_names_its_replay_command() -> None:
    assert Entry.of(make(), ()).replay == "symgauge verify src/thm-1"
    assert Entry.of(make(), (), home="my checks").replay == "symgauge verify --from 'my checks' src/thm-1"
    assert make().verdict is Verdict.HOLDS


@pytest.mark.parametrize("name", ["thm-1", "other/thm-1", "src/", "src/a b", "src/a/b", "/a", "src/é"])
def test_malformed_ids_are_refused(name) -> None:
    with pytest.raises(InvalidInput, match="must have the form"):
        make(id=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statement": " "}, "empty statement"),
        ({"place": ""}, "empty place"),
        ({"verdict": "true"}, "expected one of holds"),
        ({"verdict": "holds-if"}, "state its condition"),
    ],
)
def test_incomplete_claims_are_refused(changes, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(**changes)


def test_checks_keep_the_order_of_their_claims() -> None:
    @checks("a", "b")
    @checks("c")
    def check() -> None: ...

    assert names_of(check) == ("a", "b", "c")
    assert names_of(make) == ()


def test_the_outcome_is_taken_from_the_bounds() -> None:
    log = EvidenceLog([make()])
    assert log.numeric("in", figures={"e": at_most(1, 2), "n": equal(1, 1)}).outcome is True
    assert log.numeric("out", figures={"e": at_most(1, 2), "n": equal(1, 2)}).outcome is False
    with pytest.raises(InvalidInput, match="neither an outcome nor a bounded figure"):
        log.numeric("nothing", figures={"e": 1})


@pytest.mark.parametrize("truth", [True, np.True_, sympy.true, np.float64(1) < 2])
def test_booleans_of_other_libraries_count(truth) -> None:
    assert EvidenceLog([make()]).exact("x", truth).outcome is True


@pytest.mark.parametrize("value", [1, "yes", [0], object(), sympy.Symbol("x") > 0])
def test_merely_truthy_outcomes_are_refused(value) -> None:
    with pytest.raises(InvalidInput, match="True, False or None"):
        EvidenceLog([make()]).exact("x", value)


def test_evidence_goes_to_the_claims_it_is_meant_for() -> None:
    log = EvidenceLog([make(id="src/a"), make(id="src/b")])
    log.exact("both", True)
    log.exact("one", True, only="b")
    assert [record.summary for record in log.of("src/a")] == ["both"]
    assert [record.summary for record in log.of("src/b")] == ["both", "one"]
    assert [claim.name for claim in log.claims] == ["a", "b"]
    with pytest.raises(InvalidInput, match="this check decides"):
        log.exact("none", True, only="src/b")


@pytest.mark.parametrize("bearing", ["condition", "correction"])
def test_evidence_for_what_the_claim_does_not_state_is_refused(bearing) -> None:
    with pytest.raises(InvalidInput, match=f"the {bearing} of src/thm-1, which states none"):
        EvidenceLog([make()]).exact("x", True, on=bearing)


def test_each_method_records_its_kind() -> None:
    log = EvidenceLog([make()])
    records = [
        log.proof("p", True),
        log.exact("e", True),
        log.property("t", PropertyRun(False, 7, "`a=1`")),
        log.numeric("n", True),
        log.audit("a", True),
        log.control("c", True, kind="exact"),
    ]
    assert [record.kind for record in records] == ["proof", "exact", "property", "numeric", "audit", "exact"]
    assert (records[2].outcome, records[2].cases, records[2].counterexample) == (False, 7, "`a=1`")
    assert records[5].bears_on == "control"


@pytest.fixture
def text(tmp_path) -> SourceText:
    (tmp_path / FILE).write_text(fingerprint("Adam with rate 0.001.\nThe batch size is 64."))
    return SourceText.read(tmp_path / FILE)


@pytest.mark.parametrize(
    ("searched", "there", "outcome", "found"),
    [
        ({"the seed": ("seed", "random state")}, "batch size", False, True),
        ({"the batch": ("batch size", "minibatch")}, "rate", None, True),
        ({"the seed": ("seed",), "the batch": ("batch size",)}, "rate", None, True),
        ({"the seed": ("seed",)}, "weight decay", False, False),
    ],
)
def test_what_is_not_stated_is_searched_for(text, searched, there, outcome, found) -> None:
    log = EvidenceLog([make(verdict="not-reproducible")])
    record = log.not_stated(text, searched, there=there)
    assert (record.outcome, record.bears_on) == (outcome, "reproduction")
    assert record.summary == "not stated: " + "; ".join(searched)
    assert all(f"“{term}”" in record.figures["searched for"] for terms in searched.values() for term in terms)
    (control,) = (each for each in log.of("src/thm-1") if each.bears_on == "control")
    assert control.outcome is found
    if outcome is None:
        assert record.figures["“batch size” in line"] == 2


@pytest.mark.parametrize("searched", [{}, {"the seed": ()}])
def test_a_search_for_nothing_is_refused(text, searched) -> None:
    with pytest.raises(InvalidInput, match="words that were searched for"):
        EvidenceLog([make()]).not_stated(text, searched, there="rate")
