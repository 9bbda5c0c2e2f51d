"""A verdict's reason: what decides it, first, in at most three lines, from the claim and its evidence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from symgauge.claims import Claim, Entry, EvidenceLog, PropertyRun, Verdict, at_least, equal
from symgauge.reporting.claim_page import claim_page
from symgauge.reporting.why import LONGEST, MOST, first_sentence, in_full, reason, shortened, why


def entry(record: str, write: Callable[[EvidenceLog], object], **texts: str) -> Entry:
    claim = Claim("s/a", "s", "Theorem 1", "It is so.", Verdict(record), **texts)
    log = EvidenceLog([claim])
    write(log)
    return Entry.of(claim, log.of(claim.id))


def refuted(log: EvidenceLog) -> None:
    log.audit("the source says twice as much", False)
    log.exact("true of one", True)
    log.exact("true of two", False, counterexample="$d = 2$: no")
    log.control("true of one", True)
    log.exact("true of three", False, counterexample="$d = 3$")
    log.exact("true of most", True, on="correction")


def under(log: EvidenceLog) -> None:
    log.exact("all", False, counterexample="$W = 0$")
    log.control("$W = 1$", True)
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
    log.control("Table 2 against §2", True, kind="audit")
    log.audit("five are listed", True, on="correction")


def again(log: EvidenceLog) -> None:
    log.numeric("mean", True, on="reproduction", figures={"reported": 9.7, "ours": 9.6})
    log.control("the mean of noise", True)


def missed(log: EvidenceLog) -> None:
    log.numeric("mean", on="reproduction", figures={"change": equal(1, 2), "other": 3})
    log.control("the mean of noise", True)
    log.audit("not stated: the seed", False, on="reproduction")
    log.audit("not stated in the abstract: data; code", False, on="reproduction")


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
            [
                ("Reported against measured", "mean (change 1 ≠ 2)"),
                ("Not stated", "the seed"),
                ("Not stated in the abstract", "data; code"),
            ],
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


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Short.", "Short."),
        (f"{'a' * 100}. {'b' * 50}. {'c' * 200}.", "bbb. …"),
        (f"{'a' * 100}, {'b' * 50}; {'c' * 200}.", "bbb …"),
        (f"{'word ' * 60}", "word …"),
        (f"{'a' * 100}, $x, {'b' * 300}$", "aaa …"),  # no formula is cut
        (f"${'a' * 300}$", "aaa$"),
        ("$x" + r"^{\top}" * 80 + f"$, {'b' * 50}.", "bbb."),  # some 200 characters as it is seen
    ],
)
def test_long_lines_are_cut_where_a_reader_pauses(text: str, end: str) -> None:
    assert shortened(text).endswith(end)


def test_what_is_cut_stands_in_full_on_the_page() -> None:
    long = "Most are, " * 60 + "the rest is not."
    found = entry("refuted", refuted, correction=long)
    (_, short), (_, whole) = why(found)[1], in_full(found)[1]
    assert len(short) <= LONGEST + 2
    assert whole == long
    page = claim_page(found)
    assert page.count(long) == 1
    assert "<summary>In full</summary>" in page
    assert "In full" not in claim_page(entry("refuted", refuted, correction="Most are."))


def test_of_many_numbers_the_line_has_the_first_and_how_many_there_are() -> None:
    def many(log: EvidenceLog) -> None:
        numbers = {f"mean of a long name, row {n}": f"reported {n}, here {n} by what is left open" for n in range(9)}
        log.numeric("table 2", False, on="reproduction", figures={**numbers, "where": "on a card, SHA-256 `0`"})
        log.control("noise", True)

    ((_, told),) = why(entry("not-reproducible", many))
    assert told.startswith("table 2 (mean of a long name, row 0: reported 0")
    assert told.endswith(", … 9 in all)")
    assert "SHA" not in told
    assert "Rests on a run on a card, SHA-256 `0`." in claim_page(entry("not-reproducible", many))
