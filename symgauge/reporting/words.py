"""What the words of a report mean: verdicts, kinds of evidence, and what evidence bears on."""

from __future__ import annotations

from symgauge.claims import Bearing, Kind, Verdict

VERDICTS = {
    Verdict.HOLDS: "every piece of evidence on the statement passes",
    Verdict.HOLDS_IF: "it fails as stated, with a counterexample, and passes under the condition given",
    Verdict.REFUTED: "it fails, with a counterexample; where a correction is given, that passes",
    Verdict.INCONSISTENT: "the source's own numbers or sentences contradict each other",
    Verdict.REPRODUCED: "the source's number or experiment was obtained again",
    Verdict.NOT_REPRODUCIBLE: "it was not obtained again, or its description leaves out what that takes",
    Verdict.UNDECIDED: "the evidence settles nothing, or its negative control shows that it could not",
}
KINDS = {
    Kind.PROOF: "a symbolic proof, for every size unless it says otherwise",
    Kind.EXACT: "computed without rounding: in a finite field, in rationals, or by trying all cases",
    Kind.PROPERTY: "random cases, the simplest failing one kept",
    Kind.NUMERIC: "floating point, against what rounding may cause",
    Kind.AUDIT: "the source's own text and numbers",
}
BEARINGS = {
    Bearing.STATEMENT: "the statement as the source makes it",
    Bearing.CONDITION: "the statement under the condition",
    Bearing.CORRECTION: "what is true instead",
    Bearing.REPRODUCTION: "the source's number or experiment, obtained again",
    Bearing.CONTROL: "a deliberate break, which must be noticed",
}
