"""Places where the source's text contradicts itself, decided by counting."""

from __future__ import annotations

from random import Random

import sympy

from proofs_checks.gauge.reported import TABLE_6, TEXT
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic.instances import general_matrix

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


def isolating_values(size: int, value: int, rng: Random) -> tuple[bool, int]:
    """Whether n = d_k tokens with XW_Q = XW_K = √d_k I exist at general weights, and the rank of XW_V for these."""
    width = 2 * size + value
    query, key, values = (general_matrix(width, columns, rng) for columns in (size, size, value))
    stacked = sympy.Matrix.hstack(query, key)
    x = sympy.Matrix.hstack(*(sympy.eye(size),) * 2) * (stacked.T * stacked).inv() * stacked.T  # up to √d_k
    x += general_matrix(size, width, rng) * (sympy.eye(width) - stacked * (stacked.T * stacked).inv() * stacked.T)
    return bool(x * query == sympy.eye(size) == x * key), int((x * values).rank())


@checks("prop-A.1h")
def test_numbers_of_tokens(evidence: EvidenceLog) -> None:
    rng = Random(1)
    narrow, wide = ((1, 1), (2, 1), (2, 2), (3, 2)), ((1, 2), (2, 3))
    ranks = [isolating_values(*sizes, rng) for sizes in (*narrow, *wide)]
    without = [name for name, (sizes, _) in TABLE_6.items() if sizes.d_v > sizes.d_k]
    evidence.exact(
        "whatever the dimensions, inputs of A.1 have values of full column rank",
        all(rank == value for (_, rank), (_, value) in zip(ranks, (*narrow, *wide), strict=True)),
        counterexample=r"$d_k = 64$, $d_v = 128$, configuration A of Table 6: $n\le64$ rows have rank 64 at most",
        figures={"rows of Table 6 without any $n$, $d_v\\le n\\le d_k$": without},
        cases=len(ranks),
    )
    evidence.exact(
        r"$n = d_k$ tokens that solve the equations of A.1 at general weights: rank of their values",
        all(solved for solved, _ in ranks),
        on="condition",
        figures={"ranks": equal([rank for _, rank in ranks[: len(narrow)]], [value for _, value in narrow])},
        cases=len(narrow),
    )
    evidence.control(
        "with $d_v>d_k$, by the same construction, the rank is too small",
        kind="exact",
        figures={"ranks": equal([rank for _, rank in ranks[len(narrow) :]], [size for size, _ in wide])},
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
