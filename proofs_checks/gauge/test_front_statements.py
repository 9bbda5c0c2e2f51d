"""The abstract on attention weights and on the two sectors (Lemma B.2 and Theorem B.5 in a sentence each)."""

from __future__ import annotations

from proofs_checks.gauge.front_heads import IDENTIFIABLE, record_sectors_factorise, record_weights_identified
from symgauge.claims import EvidenceLog, claim


@claim(
    id="gauge/abs-6",
    source="gauge",
    place="Abstract",
    statement="Under gauge equivalence attention weights are preserved up to a permutation of heads.",
    verdict="holds-if",
    condition=IDENTIFIABLE,
    remark=r"$N_i\ne0$ would do in place of full rank. The printed proof (Lemma B.2) rests on (29), which is false.",
)
@claim(
    id="gauge/abs-7",
    source="gauge",
    place="Abstract",
    statement="Query–key and value–output transformations necessarily factorise independently.",
    verdict="holds-if",
    condition=IDENTIFIABLE,
)
def test_weights_and_sectors(evidence: EvidenceLog) -> None:
    record_weights_identified(evidence, "gauge/abs-6")
    record_sectors_factorise(evidence, "gauge/abs-7")
