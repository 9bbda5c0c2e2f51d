"""Claims of a source, the evidence for and against them, the verdict computed from it, and the ledger of them all.

Standard library only, so that naming and listing claims costs nothing.
"""

from symgauge.claims.decorator import checks
from symgauge.claims.figures import Bounded, Figure, at_least, at_most, equal
from symgauge.claims.ledger import Entry, Ledger
from symgauge.claims.log import EvidenceLog
from symgauge.claims.property_run import PropertyRun, for_all
from symgauge.claims.record import Bearing, Claim, Evidence, Kind, Verdict
from symgauge.claims.verdict import Decision, decide

__all__ = [
    "Bearing",
    "Bounded",
    "Claim",
    "Decision",
    "Entry",
    "Evidence",
    "EvidenceLog",
    "Figure",
    "Kind",
    "Ledger",
    "PropertyRun",
    "Verdict",
    "at_least",
    "at_most",
    "checks",
    "decide",
    "equal",
    "for_all",
]
