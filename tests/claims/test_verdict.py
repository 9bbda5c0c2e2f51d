"""The rule from evidence to verdict, case by case."""

from __future__ import annotations

import math

import pytest

from symgauge.claims import Claim, Decision, EvidenceLog, PropertyRun, Verdict, at_least, at_most, decide


def verdict_of(*records, **texts: str) -> Decision:
    """Decide a claim on evidence given as (method, arguments, keywords)."""
    claim = Claim("s/a", "s", "here", "It is so.", Verdict.HOLDS, **texts)
    log = EvidenceLog([claim])
    for method, arguments, keywords in records:
        getattr(log, method)(*arguments, **keywords)
    return decide(claim, log.of("s/a"))


def proof(passed, **keywords):
    return "proof", ("a proof", passed), keywords


def exact(passed, **keywords):
    return "exact", ("a rank", passed), keywords


def numeric(passed, **keywords):
    return "numeric", ("an error", passed), keywords


def audit(passed, **keywords):
    return "audit", ("two numbers", passed), keywords


def control(broke):
    return "control", ("a break", broke), {}


COUNTER = {"counterexample": "$d = 1$"}


@pytest.mark.parametrize(
    ("records", "texts", "expected"),
    [
        ([proof(True)], {}, "holds"),
        ([audit(True)], {}, "holds"),
        ([numeric(True), control(True)], {}, "holds"),
        # One case is a case; figures without a bound break none; what fails may break its bound.
        ([exact(True, cases=1, figures={"rank": 3, "gap": at_least(10, 10)})], {}, "holds"),
        ([exact(False, figures={"rank": 3, "gap": at_least(1, 10)}, **COUNTER), control(True)], {}, "refuted"),
        ([exact(False, **COUNTER), control(True)], {}, "refuted"),
        ([proof(True), exact(False, **COUNTER), control(True)], {}, "refuted"),
        ([exact(False, **COUNTER), control(True), proof(True, on="correction")], {"correction": "c"}, "refuted"),
        ([exact(False, **COUNTER), control(True), proof(True, on="condition")], {"condition": "c"}, "holds-if"),
        ([audit(False), control(True)], {}, "inconsistent"),
        ([audit(False), control(True), proof(True)], {}, "inconsistent"),
        ([audit(False), exact(False, **COUNTER), control(True)], {}, "refuted"),
        ([audit(True, on="reproduction"), control(True)], {}, "reproduced"),
        ([audit(True, on="reproduction"), numeric(True, on="reproduction"), control(True)], {}, "reproduced"),
        ([audit(True, on="reproduction"), audit(False, on="reproduction"), control(True)], {}, "not-reproducible"),
        # Transcriptions alone may do without a control, where the claim says why.
        ([audit(False)], {"no_control": "two numbers"}, "inconsistent"),
        ([audit(True, on="reproduction")], {"no_control": "two numbers"}, "reproduced"),
        # A condition is stated but nothing fails without it: then it holds as it stands.
        ([proof(True), proof(True, on="condition")], {"condition": "c"}, "holds"),
    ],
)
def test_verdicts(records, texts, expected) -> None:
    decision = verdict_of(*records, **texts)
    assert (decision.verdict, bool(decision.reasons)) == (expected, True)


@pytest.mark.parametrize(
    ("records", "texts", "reason"),
    [
        ([], {}, "no evidence was recorded"),
        ([control(True)], {}, "no evidence bears on the statement"),
        ([proof(True, on="condition")], {"condition": "c"}, "no evidence bears on the statement"),
        ([proof(True), exact(None)], {}, "could not be decided"),
        ([proof(True), exact(True, cases=0)], {}, "no cases were run"),
        ([exact(True, figures={"error": math.nan})], {}, "is not a number"),
        ([("numeric", ("e",), {"figures": {"e": at_most(math.nan, 1)}}), control(True)], {}, "is not a number"),
        ([exact(True, figures={"gap": at_least(1, 10)})], {}, "although the outcome says otherwise"),
        ([numeric(True), control(False)], {}, "has no power"),
        ([proof(True), control(False)], {}, "has no power"),
        ([numeric(True)], {}, "has no control of its own: an error"),
        ([("property", ("p", PropertyRun(True, 20)), {})], {}, "has no control of its own: p"),
        ([exact(False, **COUNTER), numeric(True, on="correction")], {"correction": "c"}, "has no control of its own"),
        ([control(True), numeric(True)], {}, "has no control of its own"),
        ([numeric(True), exact(True), control(True)], {}, "has no control of its own"),
        (
            [numeric(True), ("numeric", ("a second", True), {}), control(True)],
            {},
            "has no control of its own: an error",
        ),
        ([numeric(True, on="reproduction")], {}, "has no control of its own"),
        ([exact(False, **COUNTER)], {}, "could have come out otherwise"),
        ([audit(False)], {}, "could have come out otherwise"),
        ([audit(True, on="reproduction")], {}, "could have come out otherwise"),
        ([audit(False), control(True)], {"no_control": "two numbers"}, "says why it has no control, and it has one"),
        ([exact(False, **COUNTER)], {"no_control": "a rank"}, "which only one that rests on transcriptions may"),
        ([("property", ("p", PropertyRun(True, 0)), {}), control(True)], {}, "no cases were run"),
        ([exact(False)], {}, "without a counterexample"),
        ([exact(False, **COUNTER)], {"correction": "c"}, "correction was not tested"),
        ([exact(False, **COUNTER)], {"condition": "c"}, "condition was not tested"),
        ([audit(False)], {"correction": "c"}, "correction was not tested"),
        ([exact(False, **COUNTER), proof(False, on="correction")], {"correction": "c"}, "correction fails"),
        ([exact(False, **COUNTER), proof(False, on="condition")], {"condition": "c"}, "condition fails"),
    ],
)
def test_doubts(records, texts, reason) -> None:
    decision = verdict_of(*records, **texts)
    assert decision.verdict is Verdict.UNDECIDED
    assert any(reason in doubt for doubt in decision.reasons), decision.reasons


def test_a_control_names_the_evidence_that_it_belongs_to() -> None:
    claim = Claim("s/a", "s", "here", "It is so.", Verdict.HOLDS)
    log = EvidenceLog([claim])
    first, second = log.numeric("one error", True), log.property("two", PropertyRun(True, 20))
    log.exact("a rank", True)
    log.control("a break", True, of=second)
    assert decide(claim, log.of("s/a")).reasons == ("sampled evidence has no control of its own: one error",)
    log.control("another", True, of=[first])
    assert decide(claim, log.of("s/a")).verdict is Verdict.HOLDS


def test_a_control_of_something_else_does_not_serve_what_it_follows() -> None:
    claim = Claim("s/a", "s", "here", "It is so.", Verdict.HOLDS)
    log = EvidenceLog([claim])
    proof = log.proof("for every size", True)
    log.numeric("an error", True)
    log.control("no proof without it", True, kind="proof", of=proof)
    assert decide(claim, log.of("s/a")).verdict is Verdict.UNDECIDED
