"""The summary says nothing that the ledger does not bear out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from symgauge.claims import Claim, Entry, Ledger, Verdict
from symgauge.claims.catalogue import catalogue, checks_folder
from symgauge.reporting import findings
from symgauge.reporting.findings import in_a_minute
from symgauge.sources import Finding, Source, sources


def entry(name: str, verdict: Verdict) -> Entry:
    claim = Claim(f"gauge/{name}", "gauge", "Theorem 1", "Something.", verdict, condition="If so.")
    return replace(Entry.of(claim, ()), verdict=verdict)


@pytest.fixture
def one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    told = (Finding("**It fails.**", ("gauge/a", "gauge/b")),)
    monkeypatch.setattr(findings, "source_of", lambda name: Source(name, Path(), name, told))


def test_counts_and_findings(one_finding) -> None:
    ledger = Ledger.of([entry("a", Verdict.REFUTED), entry("b", Verdict.HOLDS), entry("c", Verdict.HOLDS_IF)], "ci")
    text = in_a_minute(ledger)
    assert "Of 3 claims 1 hold, 1 hold under conditions that have to be added, 1 fail." in text
    assert "- **It fails.** ([a](gauge/a.md), [b](gauge/b.md))" in text


@pytest.mark.parametrize(
    "entries",
    [
        [entry("a", Verdict.REFUTED)],
        [entry("a", Verdict.REFUTED), entry("b", Verdict.UNDECIDED)],
        [entry("a", Verdict.REFUTED), replace(entry("b", Verdict.HOLDS), verdict=Verdict.REFUTED)],
    ],
    ids=["missing", "undecided", "off the record"],
)
def test_a_finding_without_its_claims_is_left_out(one_finding, entries) -> None:
    assert "It fails" not in in_a_minute(Ledger.of(entries, "ci"))


def test_findings_name_claims_that_exist() -> None:
    known = catalogue(checks_folder()).claims
    for source in sources().values():
        assert len(source.findings) <= 5
        for finding in source.findings:
            assert finding.claims
            assert set(finding.claims) <= set(known)
            assert all(claim_id.startswith(f"{source.name}/") for claim_id in finding.claims)


def test_counts_in_the_findings_are_those_of_the_formulas() -> None:
    from symgauge.full_size import full_size
    from symgauge.presets import preset

    told = " ".join(finding.text for finding in sources()["gauge"].findings)
    numbers = {int(number.replace(",", "")) for number in re.findall(r"\d[\d,]{6,}", told)}
    gpt2, llama = full_size(preset("gpt2")), full_size(preset("llama-3-8b"))
    claimed = {count.dimension for full in (gpt2, llama) for count in full.claimed if count.source == "gauge"}
    assert len(claimed) == 2
    assert numbers == {gpt2.dimension, llama.dimension, *claimed}
