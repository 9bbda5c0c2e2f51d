"""Places where the source's text contradicts itself, decided by counting."""

from __future__ import annotations

import sympy

from proofs_checks.gauge.printed import TABLE_6
from symgauge.claims import EvidenceLog, at_least, claim, equal

# §1, "Our Contributions": the numbered headings that follow "four fundamental contributions".
CONTRIBUTIONS = (
    "Complete gauge group characterization",
    "Extension to position-encoded architectures",
    "Multi-layer direct product structure",
    "Practical implications for optimization and compression",
    "Architectural variants",
)


@claim(
    id="gauge/intro-3",
    source="gauge",
    place="§1",
    statement="There are four fundamental contributions.",
    verdict="inconsistent",
    correction="Five are listed, numbered (1) to (5).",
)
def test_contributions(evidence: EvidenceLog) -> None:
    listed = len(CONTRIBUTIONS)
    evidence.audit("listed against announced", figures={"contributions": equal(listed, 4)})
    evidence.audit("listed", on="correction", figures={"contributions": equal(listed, 5)})


@claim(
    id="gauge/prop-A.1h",
    source="gauge",
    place="A.1 against B.5",
    statement=r"Heads are isolated by inputs with $n \le d_k$ tokens (A.1), and the values of those inputs may be "
    r"taken to have "
    r"full column rank, with $n \ge d_v$ (Theorem B.5), in the architectures tested.",
    verdict="inconsistent",
    correction=r"Both can be had only if $d_v \le d_k$.",
    remark="Configuration A of Table 6 has $d_k = 64$ and $d_v = 128$.",
)
def test_numbers_of_tokens(evidence: EvidenceLog) -> None:
    lengths = {name: max(0, sizes.d_k - sizes.d_v + 1) for name, (sizes, _) in TABLE_6.items()}
    figures = {name: at_least(count, 1) for name, count in lengths.items()}
    evidence.audit("numbers of tokens $n$ with $d_v \\le n \\le d_k$", figures=figures, cases=len(figures))
    without = [name for name, count in lengths.items() if count == 0]
    wider = [name for name, (sizes, _) in TABLE_6.items() if sizes.d_v > sizes.d_k]
    evidence.audit(
        "the rows without any are those with $d_v > d_k$", on="correction", figures={"rows": equal(without, wider)}
    )


@claim(
    id="gauge/eq-31",
    source="gauge",
    place="equation (31)",
    statement=r"$\frac{d}{dt} QK^\top = \delta W_Q W_K^\top X^\top + X W_Q\, \delta W_K^\top$.",
    verdict="inconsistent",
    correction=r"$\frac{d}{dt} QK^\top = X\,(\delta W_Q W_K^\top + W_Q\, \delta W_K^\top)\,X^\top$.",
    remark=r"Both sides are meant at $t = 0$; $X$ is $n \times d$, so the left side is $n \times n$.",
)
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
