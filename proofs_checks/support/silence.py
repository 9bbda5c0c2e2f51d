"""A claim on what a text that is not at hand would have to say: the silence of the text that is decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from symgauge.claims import EvidenceLog
from symgauge.claims.source_text import SourceText


def record_silence(evidence: EvidenceLog, text: SourceText, why: str, searched: Sequence[str], there: str) -> None:
    """Leaves the claim undecided, for the reason ``why``, as long as ``text`` has none of the words ``searched`` for.

    A word that it has after all fails: then there is something to judge the claim by. there: words of the same kind
    that the text does have, which the same search must find.
    """
    said = [term for term in searched if text.count(term)]
    evidence.audit(
        why,
        False if said else None,
        on="reproduction",
        figures={"searched for": ", ".join(searched), "found": said},
    )
    evidence.control(f"“{there}”, which it has, is found by the same search", bool(text.count(there)), kind="audit")
