"""A verdict's reason: what decides it, first, in at most three lines, from the claim and its evidence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symgauge.claims import Claim, Entry, EvidenceLog, PropertyRun, Verdict, at_least, equal
from symgauge.reporting.why import MOST, first_sentence, reason, why


def entry(record: str, write: Callable[[EvidenceLog], object], **texts: str) -> Entry:
    claim = Claim("s/a", "s", "Theorem 1", "It is so.", Verdict(record), **texts)
    log = EvidenceLog([claim])
    write(log)
    return Entry.of(claim, log.of(claim.id))


def refuted(log: EvidenceLog) -> None:
    log.audit("the source says twice as much", False)
    log.exact("true of one", True)
    log.exact("true of two", False, counterexample="$d = 2$: no")
    log.exact("true of three", False, counterexample="$d = 3$")
    log.exact("true of most", True, on="correction")


def under(log: EvidenceLog) -> None:
    log.exact("all", False, counterexample="$W = 0$")
    log.exact("some", True, on="condition")


def proved(log: EvidenceLog) -> None:
    log.numeric("measured", figures={"gap": at_least(2.0, 1)})
    log.control("break", True)
    log.proof("for every size: letters cancel", True)
    log.proof("and once more", True)


def drawn(log: EvidenceLog) -> None:
    log.property("twenty layers", PropertyRun(True, 20))
    log.control("break", True)


def contradicted(log: EvidenceLog) -> None:
    log.audit("Table 1 against §2", figures={"heads": equal(4, 5)}, counterexample="row 3")
    log.audit("five are listed", True, on="correction")


def again(log: EvidenceLog) -> None:
    log.numeric("mean", True, on="reproduction", figures={"reported": 9.7, "ours": 9.6})


def missed(log: EvidenceLog) -> None:
    log.numeric("mean", on="reproduction", figures={"change": equal(1, 2), "other": 3})
    log.audit("not stated: the seed", False, on="reproduction")


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (
            entry("refuted", refuted, correction="Most are."),
            [("Fails because", "$d = 2$: no"), ("True instead", "Most are.")],
        ),
        (
            entry("holds-if", under, condition="$W\\ne0$."),
            [("Holds under", "$W\\ne0$."), ("Fails without it", "$W = 0$")],
        ),
        (entry("holds", proved), [("Holds because", "letters cancel; and once more")]),
        (entry("holds", drawn), [("Holds at every instance drawn", "twenty layers")]),
        (
            entry("inconsistent", contradicted, correction="Five."),
            [
                ("Contradicts itself", "Table 1 against §2: heads 4 ≠ 5"),
                ("For example", "row 3"),
                ("True instead", "Five."),
            ],
        ),
        (entry("reproduced", again), [("Reported against measured", "mean (reported: 9.7, ours: 9.6)")]),
        (
            entry("not-reproducible", missed),
            [("Reported against measured", "mean (change 1 ≠ 2)"), ("Not stated", "the seed")],
        ),
        (entry("undecided", lambda log: None), [("Undecided because", "no evidence was recorded")]),
        (
            entry("holds", again),
            [
                ("On record", "holds, which this is not"),
                ("Reported against measured", "mean (reported: 9.7, ours: 9.6)"),
            ],
        ),
    ],
    ids=lambda value: str(value.verdict) if isinstance(value, Entry) else "",
)
def test_the_reason_for_each_verdict(made: Entry, lines: list[tuple[str, str]]) -> None:
    assert why(made) == lines
    assert len(lines) <= MOST
    assert reason(made).startswith(f"{lines[0][0]}: ")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("One. Two.", "One"),
        ("It is $a.\\ b$ here. Two.", "It is $a.\\ b$ here"),
        ("All channels (see 3. below) are. Two.", "All channels (see 3. below) are"),
        ("$d = 2$: no; never", "$d = 2$: no; never"),
        (f"{'word ' * 20}end; and more", f"{'word ' * 20}end"),
        ("It is so, e.g. here", "It is so, e.g. here"),
        ("without an end", "without an end"),
    ],
)
def test_the_first_sentence(text: str, first: str) -> None:
    assert first_sentence(text) == first
