"""The abstract on attention weights and on the two sectors (Lemma B.2 and Theorem B.5 in a sentence each)."""

from __future__ import annotations

from proofs_checks.support.head_identifiability import record_sectors_factorise, record_weights_identified
from symgauge.claims import EvidenceLog, checks


@checks("abs-6", "abs-7")
def test_weights_and_sectors(evidence: EvidenceLog) -> None:
    record_weights_identified(evidence, "abs-6")
    record_sectors_factorise(evidence, "abs-7")
