"""Places where the source's text contradicts itself, decided by counting."""

from __future__ import annotations

import sympy

from proofs_checks.gauge.reported import TABLE_6
from symgauge.claims import EvidenceLog, at_least, checks, equal

# §1, "Our Contributions": the numbered headings that follow "four fundamental contributions".
CONTRIBUTIONS = (
    "Complete gauge group characterization",
    "Extension to position-encoded architectures",
    "Multi-layer direct product structure",
    "Practical implications for optimization and compression",
    "Architectural variants",
)


@checks("intro-3")
def test_contributions(evidence: EvidenceLog) -> None:
    listed = len(CONTRIBUTIONS)
    evidence.audit("listed against announced", figures={"contributions": equal(listed, 4)})
    evidence.audit("listed", on="correction", figures={"contributions": equal(listed, 5)})


@checks("prop-A.1h")
def test_numbers_of_tokens(evidence: EvidenceLog) -> None:
    lengths = {name: max(0, sizes.d_k - sizes.d_v + 1) for name, (sizes, _) in TABLE_6.items()}
    figures = {name: at_least(count, 1) for name, count in lengths.items()}
    evidence.audit("numbers of tokens $n$ with $d_v \\le n \\le d_k$", figures=figures, cases=len(figures))
    without = [name for name, count in lengths.items() if count == 0]
    wider = [name for name, (sizes, _) in TABLE_6.items() if sizes.d_v > sizes.d_k]
    evidence.audit(
        "the rows without any are those with $d_v > d_k$", on="correction", figures={"rows": equal(without, wider)}
    )


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
    t = sympy.Symbol("t")
    scores = (x * (query + t * query_dot)) * (x * (key + t * key_dot)).T
    derivative = scores.diff(t).subs(t, 0)
    right = x * (query_dot * key.T + query * key_dot.T) * x.T
    evidence.proof("entry by entry", (derivative - right).expand().is_zero_matrix, on="correction")
