"""Places where the source's text contradicts itself, decided by counting."""

from __future__ import annotations

import sympy

from proofs_checks.gauge.reported import TEXT
from symgauge.claims import EvidenceLog, checks, equal

# §1, "Our Contributions": the announcement and the numbered headings that follow.
ANNOUNCED = TEXT.quote("four fundamental contributions")
CONTRIBUTIONS = (
    "(1) Complete gauge group characterization",
    "(2) Extension to position-encoded architectures",
    "(3) Multi-layer direct product structure",
    "(4) Practical implications for optimization and compression",
    "(5) Architectural variants",
)
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")


@checks("intro-3")
def test_contributions(evidence: EvidenceLog) -> None:
    listing = TEXT.between(ANNOUNCED, "2 Transformer Architecture and Mathematical Framework")
    listed = sum(listing.count(heading) for heading in CONTRIBUTIONS)
    announced = NUMBERS.index(ANNOUNCED.split()[0])
    evidence.audit("headings listed against the number announced", figures={"contributions": equal(listed, announced)})
    evidence.audit("listed", on="correction", figures={"contributions": equal(listed, 5)})
    evidence.control("a sixth is not found", listing.count("(6)") == 0 and TEXT.count("(6)") > 0, kind="audit")


@checks("eq-31")
def test_derivative_of_the_scores(evidence: EvidenceLog) -> None:
    n, d, d_k = 2, 5, 3
    x, query, key, query_dot, key_dot = (
        sympy.Matrix(*shape, sympy.symbols(f"{name}:{shape[0] * shape[1]}"))
        for name, shape in zip("xqkuv", [(n, d), *[(d, d_k)] * 4], strict=True)
    )
    first, second = query_dot * key.T * x.T, x * query * key_dot.T
    evidence.audit(
        f"shapes of the two terms, at $n = {n}$, $d = {d}$",
        figures={"shapes": equal(str(first.shape), str(second.shape))},
    )
    corrected = (x * query_dot * key.T * x.T, x * query * key_dot.T * x.T)
    evidence.control(
        "with $X$ on both sides the shapes agree",
        kind="audit",
        figures={"shapes": equal(str(corrected[0].shape), str(corrected[1].shape))},
    )
    t = sympy.Symbol("t")
    scores = (x * (query + t * query_dot)) * (x * (key + t * key_dot)).T
    derivative = scores.diff(t).subs(t, 0)
    right = x * (query_dot * key.T + query * key_dot.T) * x.T
    evidence.proof("entry by entry", (derivative - right).expand().is_zero_matrix, on="correction")
