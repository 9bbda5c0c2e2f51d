"""What "generic" excludes: rank conditions that hold on a dense open set, and the sizes for which they hold nowhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from random import Random

import sympy as sp

from proofs_checks.support.algebra.group import invariants
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.attention_points import head, layer, on_theta_0
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.tangent import random_attention

Shape = tuple[int, int]


def minor_is_a_polynomial(rows: int, columns: int) -> bool:
    """Whether some maximal minor of a matrix of unknowns is not the zero polynomial."""
    unknown = sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"w{i}{j}"))
    return sp.expand(unknown[:columns, :].det()) != 0


def minors_vanish(matrix: sp.Matrix) -> bool:
    """Whether all maximal minors (rows ≥ columns) are zero."""
    return all(matrix.extract(list(rows), range(matrix.cols)).det() == 0
               for rows in combinations(range(matrix.rows), matrix.cols))  # fmt: skip


def ranks(shapes: list[Shape], draw: Callable[[int, int], sp.Matrix]) -> list[int]:
    return [draw(rows, columns).rank() for rows, columns in shapes]


def record_full_rank(
    evidence: EvidenceLog, shapes: list[Shape], summary: str, only: tuple[str, ...], on: str = "condition"
) -> None:
    """Full column rank at random points and as a condition on minors, and its failure with more columns than rows."""
    rng = Random(2)

    def draw(rows: int, columns: int) -> sp.Matrix:
        return sp.Matrix(rows, columns, lambda i, j: rng.randint(-9, 9))

    evidence.exact(
        summary,
        on=on,
        figures={
            "(rows, columns)": [list(s) for s in shapes],
            "rank at random integers": equal(ranks(shapes, draw), [columns for _, columns in shapes]),
            "seed": 2,
        },
        cases=len(shapes),
        only=only,
    )
    small = [(rows, columns) for rows, columns in shapes if rows <= 5 and columns <= 3]
    degenerate = [draw(rows, columns - 1).row_join(sp.zeros(rows, 1)) for rows, columns in small]
    evidence.proof(
        "the exceptional set is where all maximal minors vanish, and a maximal minor is not the zero polynomial, so it "
        "has measure zero and its complement is open and dense",
        all(minor_is_a_polynomial(*s) for s in small)
        and all(minors_vanish(m) for m in degenerate)
        and not any(minors_vanish(draw(*s)) for s in small),
        on=on,
        cases=len(small),
        only=only,
    )
    crowded = [(columns - 1, columns) for _, columns in shapes if columns > 1]
    lost = [s[1] - r for s, r in zip(crowded, ranks(crowded, draw), strict=True)]
    evidence.control(
        "with fewer rows than columns the rank is never full",
        kind="exact",
        figures={"smallest defect": at_least(min(lost), 1)},
        only=only,
    )


@checks("sec2-3", "rem-A.3", "prop-A.1a")
def test_rank_of_queries_and_keys(evidence: EvidenceLog) -> None:
    within, stacked = ("sec2-3", "rem-A.3"), "prop-A.1a"
    q, k = sp.symbols("q k")
    evidence.exact(
        r"$[W_Q\mid W_K]$ has full column rank somewhere",
        sp.Matrix([[q, k]]).rank() == 2,
        counterexample=r"$h = 1$, $d = d_k = d_v = 1$ (A1–A5 hold): $[q\mid k]$ has rank at most $1<2d_k$ at every "
        r"point, so $\Theta_0$ is empty",
        only=stacked,
    )
    shapes = [(2, 2), (5, 2), (4, 4), (9, 6), (7, 3), (12, 4)]
    summary = r"$[W_Q\mid W_K]$ with $d\ge2d_k$, and single projections, have full column rank at random integers"
    record_full_rank(evidence, shapes, summary, within, on="statement")
    record_full_rank(evidence, shapes, summary, (stacked,))


@checks("tab1-A4")
def test_generic_stratum(evidence: EvidenceLog) -> None:
    e1, e2 = [1, 0], [0, 1]
    before = layer(head(e1, e2, e1, [0, 0]), head([1, 1], e2, e2, [1, 2]))
    after = layer(head([2, 3], e2, e1, [0, 0]), head([1, 1], e2, e2, [1, 2]))
    # Equal functions: head 1 has N_1 = 0 at both points, and head 2 is the same.
    same = before.w_v[0] * before.w_o[0] == after.w_v[0] * after.w_o[0] == sp.zeros(2)
    evidence.exact(
        "on the stratum of A4 equal functions lie on one orbit",
        not (on_theta_0(before) and on_theta_0(after) and same) or invariants(before) == invariants(after),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$, all projections of full rank: $W_Q^{(1)}$ may be "
        r"anything",
    )
    canonical = Architecture(4, 2, 1, 2, context=3, **ALONE)
    record_more_with_biases(evidence, canonical, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    record_full_rank(
        evidence,
        [(2, 2), (4, 3), (5, 3), (9, 4), (7, 7)],
        r"$d\times d_k$ and $d\times d_v$ maps have full column rank at random integers",
        ("tab1-A4",),
    )
    sizes = ((4, 2, 1, (0, 1)), (5, 3, 2, (0, 1)), (3, 1, 2, (0, 1, 2)))
    points = [random_attention(d=w, d_k=k, d_v=v, groups=g, seed=w) for w, k, v, g in sizes]
    results = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in points]
    evidence.exact(
        "with full-rank outputs and distinct score maps: first-order conditions solved over the rationals, nothing "
        "besides the generators",
        all(r.inside and r.free for r in results),
        on="condition",
        figures={"unexplained": equal([r.unexplained for r in results], [0] * len(results))},
        cases=len(results),
    )
    extra = lie.characterise(before, [lie.query_key_generators(before), lie.value_output_generators(before)])
    evidence.control("at the counterexample there is more", extra.unexplained > 0, kind="exact")


@checks("prop-A.1g")
def test_where_the_construction_fails(evidence: EvidenceLog) -> None:
    rng = Random(3)
    four = [general_matrix(4, 2, rng) for _ in range(4)]
    pairs = [meeting(one, two) for one, two in combinations(four, 2)]
    assert pairs == [0] * 6
    evidence.exact(
        "where no two heads' spaces meet, the construction isolates head 1",
        isolates(four),
        counterexample=r"$h = d = 4$, $d_k = d_v = 1$, general weights: any two of the "
        r"$\mathrm{col}[W_Q\mid W_K]$ meet in $\{0\}$, three of them span $\mathbb R^4$, and no $v\ne0$ "
        "silences the other heads",
        figures={"common dimension of two": pairs, "rank of the others": sp.Matrix.hstack(*four[1:]).rank(), "seed": 3},
        cases=6,
    )
    two = [sp.Matrix([[1, 0], [0, 1]]), sp.Matrix([[1, 1], [1, -1]])]
    single = [meeting(one.col(i), other.col(j)) for one, other in [two] for i in (0, 1) for j in (0, 1)]
    assert single == [0] * 4
    evidence.exact(
        "the same where spaces of single projections do not meet",
        isolates(two),
        counterexample=r"$h = d = 2$, $d_k = d_v = 1$: $e_1, e_2$ in head 1, $e_1+e_2, e_1-e_2$ in head 2",
        figures={"common dimension of two": single},
        cases=4,
    )
    touching = [sp.Matrix([[1, 0], [0, 1], [0, 0], [0, 0]]), sp.Matrix([[1, 0], [-1, 0], [0, 1], [0, 0]])]
    assert meeting(*touching) == 1
    evidence.exact(
        "where the spaces of two heads meet, the construction fails",
        not isolates(touching),
        counterexample=r"$h = 2$, $d = 4$, $d_k = 1$: $e_1, e_2$ in head 1, $e_1-e_2, e_3$ in head 2, and $v = "
        r"e_1+e_2$ has query and key 1 in head 1 and 0 in head 2",
    )
    roomy = [(4, 2, 1), (8, 2, 2), (9, 4, 1), (12, 3, 2)]
    crowded = [(2, 2, 1), (3, 2, 1), (7, 4, 1), (8, 3, 2), (11, 3, 2)]
    evidence.exact(
        r"with $2hd_k\le d$ it isolates head 1 at random points, hence on a dense open set; with $2hd_k>d$ it "
        "does at none of them",
        on="correction",
        figures={
            "(d, h, d_k)": [list(s) for s in roomy + crowded],
            "isolates": equal([isolates(heads(*s, rng)) for s in roomy + crowded], [True] * 4 + [False] * 5),
            "seed": 3,
        },
        cases=len(roomy + crowded),
    )
    evidence.proof(
        r"it takes $v[W_Q\mid W_K] = \sqrt{d_k}(e_j, e_j)$ in one head and $0$ in the others, which independent "
        r"columns allow; sizes $O(\delta)$ for every $\delta$ take as much, as the rows that some $v$ "
        "reaches are a closed set",
        on="correction",
        figures={
            "columns are independent": equal(
                [sp.Matrix.hstack(*heads(*s, rng)).rank() for s in roomy], [2 * h * k for _, h, k in roomy]
            )
        },
    )
    three = heads(9, 2, 1, rng)
    between = [*three, three[0] + three[1]]
    evidence.control(
        "where there is room, a head in the sum of two others is not isolated, though no two spaces meet",
        not isolates(between[::-1]),
        kind="exact",
        figures={
            "common dimension of two": equal([meeting(one, two) for one, two in combinations(between, 2)], [0] * 3)
        },
    )


@checks("prop-A.1h")
def test_numbers_of_tokens(evidence: EvidenceLog) -> None:
    rng = Random(5)
    sizes = [(2, 1, 1), (2, 2, 2), (3, 2, 2), (4, 3, 2), (4, 3, 3)]  # h, d_k, d_v with d = h·d_v ≥ 2d_k and d_v ≤ d_k
    enough = [every_head_isolated(*s, tokens=s[2], rng=rng) for s in sizes]
    evidence.exact(
        r"heads all isolated, by $n = d_v\le d_k$ tokens each, can have $[W_Q\mid W_K]$ of rank $2d_k$, as A6 asks",
        figures={
            "(h, d_k, d_v)": [list(s) for s in sizes],
            "rank": equal([ranks for _, ranks in enough], [[2 * d_k] * h for h, d_k, _ in sizes]),
            "seed": 5,
        },
        counterexample=r"$h = d = 2$, $d_k = d_v = n = 1$: with rows $x_1, x_2$ for the two heads, $x_1W_Q^{(1)} = "
        r"x_1W_K^{(1)} = 1$ and $x_2W_Q^{(1)} = x_2W_K^{(1)} = 0$, so $W_Q^{(1)} = W_K^{(1)}$",
        cases=len(sizes),
    )
    fewer = [(3, 2, 2), (4, 3, 3), (5, 4, 4)]
    with_less = [every_head_isolated(*s, tokens=s[2] - 1, rng=rng) for s in fewer]
    evidence.control(
        "by the same construction with one token less they do",
        kind="exact",
        figures={"rank": equal([ranks for _, ranks in with_less], [[2 * d_k] * h for h, d_k, _ in fewer])},
    )
    evidence.exact(
        r"rows that isolate every head are $hn$ independent ones: on them all heads' queries side by side are block "
        r"diagonal, of rank $hn$; so $hn\le d = hd_v$",
        on="correction",
        figures={
            "rank of these queries": equal(
                [rank for rank, _ in enough + with_less],
                [h * v for h, _, v in sizes] + [h * (v - 1) for h, _, v in fewer],
            )
        },
        cases=len(enough + with_less),
    )
    roomy = [(1, 1, 2), (2, 1, 2), (2, 1, 3), (3, 1, 2), (2, 2, 4)]
    at_general_points = [isolates(heads(h * d_v, h, d_k, rng)) for h, d_k, d_v in sizes + roomy]
    evidence.exact(
        r"at general parameters with $d = hd_v$ head 1 is isolated by $d_k$ tokens where $d_v\ge2d_k$, which are fewer "
        r"than $d_v$, and not where $d_v\le d_k$",
        on="correction",
        figures={
            "(h, d_k, d_v)": [list(s) for s in sizes + roomy],
            "isolates": equal(at_general_points, [False] * len(sizes) + [True] * len(roomy)),
            "seed": 5,
        },
        cases=len(sizes + roomy),
    )


def every_head_isolated(number: int, d_k: int, d_v: int, tokens: int, rng: Random) -> tuple[int, list[int]]:
    """Maps W_Q, W_K that are otherwise general, of heads which given general rows isolate, so many tokens for each.

    Returned are the rank of all heads' queries side by side on all rows, and the rank of each head's [W_Q | W_K].
    """
    width = number * d_v
    rows = general_matrix(number * tokens, width, rng)
    inverse = rows.T * (rows * rows.T).inv()
    silent = sp.eye(width) - inverse * rows
    queries, found = [], []
    for own in range(number):
        wanted = sp.zeros(number * tokens, d_k)  # √d_k e_j in the head's own rows, up to the factor
        for j in range(tokens):
            wanted[own * tokens + j, j] = 1
        query, key = (inverse * wanted + silent * general_matrix(width, d_k, rng) for _ in range(2))
        queries.append(rows * query)
        found.append(int(sp.Matrix.hstack(query, key).rank()))
    return int(sp.Matrix.hstack(*queries).rank()), found


def heads(width: int, number: int, d_k: int, rng: Random) -> list[sp.Matrix]:
    """General [W_Q | W_K] of some heads."""
    return [general_matrix(width, 2 * d_k, rng) for _ in range(number)]


def isolates(maps: list[sp.Matrix]) -> bool:
    """Whether every v_j of the construction exists: query and key e_j in the first head, 0 in the others."""
    columns = sp.Matrix.hstack(*maps)
    d_k = maps[0].cols // 2
    wanted = [sp.Matrix(1, columns.cols, lambda _, c, j=j: int(c in (j, d_k + j))) for j in range(d_k)]
    return all(columns.col_join(row).rank() == columns.rank() for row in wanted)


def meeting(one: sp.Matrix, two: sp.Matrix) -> int:
    """Dimension of the intersection of two column spaces."""
    return int(one.rank() + two.rank() - sp.Matrix.hstack(one, two).rank())


@checks("prop-A.9")
def test_distinct_subspaces(evidence: EvidenceLog) -> None:
    rng = Random(4)

    def excess(rows: int, columns: int) -> int:
        """By how much the joint rank of two general maps is larger than that of one: positive if the spans differ."""
        one, two = general_matrix(rows, columns, rng), general_matrix(rows, columns, rng)
        return int(sp.Matrix.hstack(one, two).rank()) - columns

    evidence.exact(
        "two general maps have different column spaces",
        all(excess(size, size) > 0 for size in (1, 2, 4)),
        counterexample=r"$d = d_v = 2$, $d_k = 1$, $g = 2$, within A6: $\mathrm{col}\,W_V^{(1)} = "
        r"\mathrm{col}\,W_V^{(2)} = \mathbb R^2$ at full rank; so for every $d_v = d$",
        cases=3,
    )
    shapes = [(2, 1), (3, 2), (5, 4), (6, 2), (9, 3)]
    evidence.exact(
        "with fewer columns than rows they differ at random points: a minor of order $d_k+1$ of both maps together "
        "does not vanish there",
        on="condition",
        figures={
            "(rows, columns)": [list(s) for s in shapes],
            "excess": equal([excess(*s) for s in shapes], [min(c, r - c) for r, c in shapes]),
            "seed": 4,
        },
        cases=len(shapes),
    )
    joined = [minor_is_a_polynomial(c + 1, c + 1) for _, c in shapes if c < 4]
    evidence.proof(
        "equal spans need every such minor to vanish, and it is no zero polynomial: a set of measure zero, for each of "
        "finitely many pairs of groups",
        all(joined),
        on="condition",
        cases=len(joined),
    )
    one = general_matrix(5, 2, rng)
    turned = one * general_matrix(2, 2, rng)
    evidence.control(
        "a map and its image under $GL(2)$ are not told apart",
        int(sp.Matrix.hstack(one, turned).rank()) == 2,
        kind="exact",
    )
