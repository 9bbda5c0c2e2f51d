"""The page on production models: numbers from the ledger, models of one check together, nothing hidden."""

from __future__ import annotations

from proofs_checks.production.page import page
from symgauge.claims import Claim, Entry, EvidenceLog, Ledger, Verdict, at_least, equal
from symgauge.reporting.site import render


def _claim(name: str, verdict: Verdict = Verdict.HOLDS) -> Claim:
    text = f"{name} has parameters."
    return Claim(f"production/{name}", "production", f"{name.title()}: some parts", text, verdict, check="t.py::one")


def _entry(claim: Claim, size: int, unexplained: int = 0) -> Entry:
    log = EvidenceLog([claim])
    figures = {"parameters": equal(size, size), "dimension": equal(30, 30), "the paper's count": 20, "formula": "$L d$"}
    log.exact("at full size", figures={**figures, "`query-key`": 18, "`key-bias`": 12})
    measured = {"parameters": 50, "nullity": equal(9, 9), "unexplained": equal(unexplained, 0), "primes": [7, 11]}
    log.exact("one layer", figures={**measured, "seed": 0, "sizes": "$d = 3$"})
    log.control("`key-bias` left out", kind="exact", figures={"unexplained": at_least(4, 1)})
    return Entry.of(claim, log.of(claim.id))


def _ledger(*entries: Entry) -> Ledger:
    return Ledger.of(entries, "ci")


def test_models_are_ordered_by_size_and_share_a_section() -> None:
    text = page(_ledger(_entry(_claim("alpha"), 4000), _entry(_claim("beta"), 1000)))
    assert "| [Beta](#beta) | 1,000 | 20 | 30 | 3.000 % | 1.50 | holds |" in text
    assert text.index("[Beta]") < text.index("[Alpha]")
    assert "## Beta, Alpha\n\nsome parts." in text
    assert "| `query-key` | 18 | 18 |" in text
    assert "| all | 30 | 30 |" in text
    assert text.count("Formula: $L d$") == 1
    assert "| one layer | $d = 3$ | 50 |  | 9 | 0 |" in text
    assert "All with primes 7 and 11, seed 0." in text
    assert "- `key-bias` left out: break noticed (unexplained: 4 ≥ 1)" in text


def test_what_fails_is_shown() -> None:
    text = page(_ledger(_entry(_claim("alpha"), 4000, unexplained=2)))
    assert "**undecided** (on record: holds)" in text
    assert "| 2 ≠ 0 |" in text
    assert "- **Alpha**: the statement fails without a counterexample" in text


def test_a_check_that_broke_leaves_its_model_on_the_page() -> None:
    text = page(_ledger(Entry.of(_claim("alpha"), ())))
    assert "| [Alpha](#alpha) |  |  |  |  |  | **undecided** (on record: holds) |" in text


def test_the_page_is_written_only_beside_claims_on_models() -> None:
    assert "production.md" not in render(_ledger())
    assert "production.md" in render(_ledger(_entry(_claim("one"), 100)))
