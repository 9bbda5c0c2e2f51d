"""The rule that turns evidence into a verdict.

1. Doubt first. The verdict is `undecided` when there is no evidence on the statement or on a reproduction; when an
   outcome is None, a figure is NaN, zero cases were run, or an outcome contradicts its own bounded figure; when a
   negative control broke nothing; when property or numeric evidence passes without a control of its own, which stands
   directly behind it or names it; when a statement fails, or the evidence is on a reproduction, without any control,
   unless the claim rests on transcriptions alone and says why they have none (`no_control`); when a statement fails
   without a counterexample; when a stated condition or correction fails, or goes untested although the statement fails.
2. The statement fails in its own terms (any evidence but an audit): `holds-if` if the claim states a condition, under
   which it passes; else `refuted`.
3. Only an audit disagrees, that is, the source's own numbers or sentences with each other: `inconsistent`.
4. The evidence is on a reproduction: `not-reproducible` if any of it fails, else `reproduced`.
5. All evidence on the statement passes: `holds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from symgauge.claims.figures import Bounded, is_nan
from symgauge.claims.record import Bearing, Claim, Evidence, Kind, Verdict


@dataclass(frozen=True)
class Decision:
    """A computed verdict, and why: the doubts when it is undecided, else the evidence that settled it.

    Example:
        >>> from symgauge.claims import Claim, EvidenceLog, decide
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> log = EvidenceLog([claim])
        >>> record = log.exact("tried from 0 to 9", 1 > 1, counterexample="$n = 1$", cases=10)
        >>> control = log.control("$n = 2$, where it is so, passes", 4 > 2, kind="exact")
        >>> decide(claim, [record, control])
        Decision(verdict=<Verdict.REFUTED: 'refuted'>, reasons=('tried from 0 to 9',))
    """

    verdict: Verdict
    reasons: tuple[str, ...]


def decide(claim: Claim, evidence: Sequence[Evidence]) -> Decision:
    """The verdict that `evidence` gives on `claim`, by the rule at the top of this module.

    Example:
        >>> from symgauge.claims import Claim, EvidenceLog, decide
        >>> claim = Claim("toy/thm-1", "toy", "Theorem 1", "$n^2 > n$ for every integer.", "refuted")
        >>> log = EvidenceLog([claim])
        >>> record = log.exact("tried from 0 to 9", 1 > 1, counterexample="$n = 1$", cases=10)
        >>> control = log.control("$n = 2$, where it is so, passes", 4 > 2, kind="exact")
        >>> decide(claim, [record, control]).verdict, decide(claim, []).verdict
        (<Verdict.REFUTED: 'refuted'>, <Verdict.UNDECIDED: 'undecided'>)
    """
    doubts = tuple(_doubts(claim, evidence))
    if doubts:
        return Decision(Verdict.UNDECIDED, doubts)
    statement = _on(evidence, Bearing.STATEMENT)
    against = [record for record in statement if not record.outcome]
    refuting = [record for record in against if record.kind is not Kind.AUDIT]
    reproduction = _on(evidence, Bearing.REPRODUCTION)
    if refuting:
        return _because(Verdict.HOLDS_IF if claim.condition.strip() else Verdict.REFUTED, refuting)
    if against:
        return _because(Verdict.INCONSISTENT, against)
    if reproduction:
        missed = [record for record in reproduction if not record.outcome]
        return _because(Verdict.NOT_REPRODUCIBLE if missed else Verdict.REPRODUCED, missed or reproduction)
    return _because(Verdict.HOLDS, statement)


def _doubts(claim: Claim, evidence: Sequence[Evidence]) -> Iterator[str]:
    if not evidence:
        yield "no evidence was recorded"
        return
    statement = _on(evidence, Bearing.STATEMENT)
    if not statement and not _on(evidence, Bearing.REPRODUCTION):
        yield "no evidence bears on the statement"
    for record in evidence:
        yield from _doubts_about(record)
    failed = [record for record in statement if record.outcome is False]
    for record in failed:
        if record.kind is not Kind.AUDIT and not record.counterexample.strip():
            yield f"the statement fails without a counterexample: {record.summary}"
    for bearing, text in ((Bearing.CONDITION, claim.condition), (Bearing.CORRECTION, claim.correction)):
        tested = _on(evidence, bearing)
        yield from (f"the stated {bearing} fails: {record.summary}" for record in tested if record.outcome is False)
        if failed and text.strip() and not tested:
            yield f"the statement fails and its {bearing} was not tested"
    yield from (f"sampled evidence has no control of its own: {record.summary}" for record in _uncontrolled(evidence))
    yield from _doubts_about_controls(claim, evidence)


def _doubts_about(record: Evidence) -> Iterator[str]:
    if record.outcome is None:
        yield f"could not be decided: {record.summary}"
    if record.cases is not None and record.cases < 1:
        yield f"no cases were run: {record.summary}"
    for name, value in record.figures.items():
        if is_nan(value):
            yield f"figure {name!r} is not a number: {record.summary}"
        elif record.outcome and isinstance(value, Bounded) and not value.ok:
            yield f"figure {name!r} breaks its bound although the outcome says otherwise: {record.summary}"
    if record.bears_on is Bearing.CONTROL and record.outcome is False:
        yield f"a negative control broke nothing, so the check has no power: {record.summary}"


def _doubts_about_controls(claim: Claim, evidence: Sequence[Evidence]) -> Iterator[str]:
    controls = _on(evidence, Bearing.CONTROL)
    judging = any(record.outcome is False for record in evidence) or _on(evidence, Bearing.REPRODUCTION)
    if claim.no_control and controls:
        yield f"the claim says why it has no control, and it has one: {controls[0].summary}"
    elif claim.no_control and any(record.kind is not Kind.AUDIT for record in evidence):
        yield "the claim says why it has no control, which only one that rests on transcriptions may"
    elif judging and not controls and not claim.no_control:
        yield (
            "nothing shows that it could have come out otherwise: record a control, or let no_control say why "
            "transcriptions need none"
        )


def _uncontrolled(evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """Sampled successes that no control names and that none of those without names follows directly."""
    named = {summary for record in _on(evidence, Bearing.CONTROL) for summary in record.of}
    for record, following in zip_longest(evidence, evidence[1:]):
        followed = following and following.bears_on is Bearing.CONTROL and not following.of
        if _sampled_success(record) and record.summary not in named and not followed:
            yield record


def _sampled_success(record: Evidence) -> bool:
    sampled = record.kind in (Kind.PROPERTY, Kind.NUMERIC)
    return record.outcome is True and sampled and record.bears_on is not Bearing.CONTROL


def _on(evidence: Sequence[Evidence], bearing: Bearing) -> list[Evidence]:
    return [record for record in evidence if record.bears_on is bearing]


def _because(verdict: Verdict, records: Sequence[Evidence]) -> Decision:
    return Decision(verdict, tuple(record.summary for record in records))
