"""The dimension of the path of the weights: what r90 is invariant under, null models (3.3.1, 4.1)."""

from __future__ import annotations

from random import Random

import sympy as sp
import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.algebra import trajectories as t
from proofs_checks.manifolds.recorded_results import SCALES, measured, where
from proofs_checks.manifolds.trajectories import random_walk_spectrum, rank_at, spectrum
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.profiles import scale
from symgauge.symbolic.identities import d, d_k, matrix, n
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts


@checks("intrinsic")
def test_dimension_is_not_intrinsic(evidence: EvidenceLog) -> None:
    w_q, w_k, a = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
    evidence.proof(
        r"for every size the function stays: $(W_QA)(W_KA^{-\top})^\top = W_QW_K^\top$",
        proves(lambda: prove_equal((w_q * a) * (w_k * a.I.T).T, w_q * w_k.T)),
        on="correction",
    )
    size = 4
    found = {}
    for directions in range(1, size**2 + 1):
        path = _gauge_path(size, directions)
        found[directions] = rank_at(torch.tensor([float(v) for v in _variances(path)]))
    evidence.exact(
        "paths of one function have one dimension",
        figures={"r90 on two of them": equal(found[1], found[4])},
        counterexample=r"$W_Q = 1_4$, $A(t) = 1 + \frac12E_{i(t)}$ with unit matrices $E_i$: through 1 or 4 of them",
    )
    most = -(-9 * size**2 // 10)
    evidence.exact(
        r"$d_k = 4$, 1 to 16 entries of $A$ moved in turn, 2 to 32 snapshots: values from 1 to "
        r"$\lceil0.9\cdot16\rceil$, none left out, and the last at 32",
        sorted(set(found.values())) == list(range(1, most + 1)),
        on="correction",
        figures={"largest": equal(max(found.values()), most), "at 32": equal(found[size**2], most)},
        cases=len(found),
    )
    short = range(2, size**2 + 1)
    full = {count: rank_at(spectrum(_simplex_path(size, count, count))) for count in short}
    reached = {rank_at(spectrum(_simplex_path(size, 9, large))) for large in range(1, 10)}
    few = evidence.numeric(
        r"$d_k = 4$, paths of 2 to 16 snapshots: $\lceil0.9(n-1)\rceil$ is reached, and with 9 snapshots every value "
        "up to it",
        on="correction",
        figures={
            "largest": equal(list(full.values()), [-(-9 * (count - 1) // 10) for count in short]),
            "with 9": equal(sorted(reached), list(range(1, 9))),
        },
        cases=len(full) + 9,
    )
    evidence.control("8 snapshots do not reach it", figures={"r90": at_most(full[8], full[9] - 1)}, of=few)
    # The first j of k variances hold at least j/k of the sum. A path of n snapshots of W_Q A(t), which lies in a space
    # of d_k² dimensions, has at most min(n−1, d_k²) of them.
    drawn = random_spectra(scale(50, 500))
    evidence.numeric(
        r"random spectra of $k$ variances: never above $\lceil0.9k\rceil$, as the first $j$ of $k$ hold at least $j/k$",
        on="correction",
        figures={"above": equal(sum(rank_at(v) > -(-9 * len(v) // 10) for v in drawn), 0)},
        cases=len(drawn),
    )
    evidence.control(
        r"$\lceil0.8k\rceil$ in place of $\lceil0.9k\rceil$", any(rank_at(v) > -(-8 * len(v) // 10) for v in drawn)
    )
    for size in SCALES:
        free = measured("figure-1", "gauge control: same functions, new elements", size)
        scaled = measured("figure-1", "gauge control: same functions, growing elements", size)
        evidence.numeric(
            f"mean $r_{{90}}$ of trained paths, gauge-moved in two ways, scale {size}",
            on="correction",
            figures={
                "new elements": at_least(round(free, 2), 20),
                "growing elements": at_most(round(scaled, 2), 2),
                **where("figure-1", size),
            },
        )
        still = round(measured("figure-1", "$r_{90}$, mean of all", size), 2)
        evidence.control(
            f"the same paths not moved, scale {size}: between the two",
            figures={"above growing": at_least(still, 2), "below new": at_most(still, 20)},
        )
    evidence.control(
        r"$(W_QA)(W_KA)^\top$ is another function",
        not proves(lambda: prove_equal((w_q * a) * (w_k * a).T, w_q * w_k.T)),
        kind="proof",
    )


def random_spectra(count: int) -> list[torch.Tensor]:
    """From nearly equal to very unequal variances, 1 to 40 of them."""
    generator = torch.Generator().manual_seed(0)
    spread = torch.rand(count, generator=generator) * 3
    sizes = torch.randint(1, 41, (count,), generator=generator).tolist()
    return [torch.exp(s * torch.randn(k, generator=generator)) for s, k in zip(spread, sizes, strict=True)]


def _gauge_path(size: int, directions: int) -> list[sp.Matrix]:
    """W_Q A(t), W_Q = 1: at t = 2i, 2i + 1 the entry i of A is moved by ±½; det A ≠ 0."""
    path = []
    for i in range(directions):
        for sign in (1, -1):
            moved = sp.eye(size)
            moved[i // size, i % size] += sp.Rational(sign, 2)
            assert moved.det() != 0
            path.append(moved)
    return path


def _simplex_path(size: int, count: int, large: int) -> torch.Tensor:
    """W_Q A(t), W_Q = 1, of `count` snapshots: each moves an entry of its own, the first `large` by ½."""
    path = torch.eye(size, dtype=torch.float64).repeat(count, 1, 1)
    for i in range(count):
        path[i, i // size, i % size] += 0.5 if i < large else 1e-6
    return path


def _variances(path: list[sp.Matrix]) -> list[sp.Rational]:
    """Eigenvalues of the covariance of a path whose moves are orthogonal: diagonal entries, exact."""
    rows = sp.Matrix([list(each) for each in path])
    centred = rows - sp.ones(rows.rows, 1) * (sp.ones(1, rows.rows) * rows) / rows.rows
    covariance = centred.T * centred / rows.rows
    assert covariance.is_diagonal()
    return [value for value in covariance.diagonal() if value != 0]


@checks("r90-invariance")
def test_invariance_of_r90(evidence: EvidenceLog) -> None:
    x, o = matrix("X", n, d), matrix("O", d, d)
    evidence.proof(
        r"for every size: $(XO)(XO)^\top = XX^\top$, so variances agree",
        proves(lambda: prove_equal((x * o) * (x * o).T, x * x.T, Facts(orthogonal=(o,)))),
        on="condition",
    )
    path = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], dtype=torch.float64)
    stretched = path @ torch.diag(torch.tensor([10.0, 1.0], dtype=torch.float64))
    evidence.exact(
        "a linear change of coordinates keeps it",
        figures={"r90 before and after": equal(rank_at(spectrum(path)), rank_at(spectrum(stretched)))},
        counterexample=r"snapshots $\pm e_1, \pm e_2$ and the coordinates $(10x, y)$: 2 and 1",
    )
    generator = torch.Generator().manual_seed(0)
    same = []
    for _ in range(scale(10, 100)):
        walk = torch.randn(12, 9, generator=generator, dtype=torch.float64).cumsum(0)
        turn = torch.linalg.qr(torch.randn(9, 9, generator=generator, dtype=torch.float64))[0]
        same.append(float((spectrum(walk) - spectrum(3 * walk @ turn) / 9).abs().max() / spectrum(walk).max()))
    evidence.numeric(
        "random paths, random orthogonal maps and the factor 3",
        on="condition",
        figures={"error": at_most(float(f"{max(same):.0e}"), 1e-13)},
        cases=len(same),
    )
    evidence.control("stretching one coordinate changes it", rank_at(spectrum(path)) != rank_at(spectrum(stretched)))


@checks("collapse")
def test_random_walk(evidence: EvidenceLog) -> None:
    low, high = t.share_bounds(reported.SNAPSHOTS, 5), t.share_bounds(reported.SNAPSHOTS, 6)
    evidence.exact(
        "a path without any collapse has the largest $r_{90}$ that 40 snapshots allow",
        figures={"r90 of a random walk": at_least(rank_at(random_walk_spectrum(reported.SNAPSHOTS)), 36)},
        counterexample="a walk of independent steps never collapses: 40 snapshots of it have $r_{90} = 6$ in thousands "
        "of dimensions",
    )
    sizes = range(2, scale(9, 16))
    evidence.exact(
        r"Gram matrix times Laplacian of the path with $n$ vertices is the centring projector; its trace is "
        r"$(n^2-1)/6$",
        all(t.inverse_on_centred(k) and t.walk_gram(k).trace() == sp.Rational(k**2 - 1, 6) for k in sizes),
        on="correction",
        cases=len(sizes),
    )
    evidence.proof(
        r"eigenvalues of that Laplacian: $2-2\cos(\pi k/n)$ with $v_j = \cos(\pi k(j+\frac12)/n)$",
        all(gap == 0 for gap in t.laplacian_eigenvector_gaps()),
        on="correction",
    )
    first = t.share_bounds(reported.SNAPSHOTS, 1)
    evidence.exact(
        "interval arithmetic: five components hold less than 90 % of the variance, six more",
        on="correction",
        figures={
            "five": at_most(low[1], 0.9),
            "six": at_least(high[0], 0.9),
            "first, at least": at_least(first[0], 0.6086),
            "first, at most": at_most(first[1], 0.6087),
        },
    )
    generator = torch.Generator().manual_seed(0)
    wide = scale(20_000, 200_000)
    walks = {
        size: rank_at(spectrum(torch.randn(reported.SNAPSHOTS, size, generator=generator).cumsum(0)))
        for size in (5, 2000, wide)
    }
    line = torch.arange(reported.SNAPSHOTS).unsqueeze(1) * torch.randn(1, 50, generator=generator)
    drawn = evidence.numeric(
        f"walks drawn in 2,000 and {wide:,} dimensions, and a straight line",
        on="correction",
        figures={
            "walks": equal([walks[2000], walks[wide]], [6, 6]),
            "line": equal(rank_at(spectrum(line)), 1),
        },
    )
    evidence.control("a walk in 5 dimensions has fewer", figures={"r90": at_most(walks[5], 5)}, of=drawn)
    null, trained = (
        measured("figure-1", name, "paper") for name in ("null: labels drawn at random", "$r_{90}$, mean of all")
    )
    evidence.numeric(
        "mean $r_{90}$ without anything to learn over that of the task",
        on="correction",
        figures={"ratio": at_most(round(null / trained, 2), 1.0), **where("figure-1", "paper")},
    )
    free = measured("figure-1", "gauge control: same functions, new elements", "paper")
    evidence.control(
        "the trained paths with a new gauge element at each snapshot, over the trained paths",
        figures={"ratio": at_least(round(free / trained, 1), 2.0)},
    )
    independent = torch.randn(reported.SNAPSHOTS, wide, generator=generator)
    evidence.control(
        "independent snapshots in place of a walk",
        figures={"r90": at_least(rank_at(spectrum(independent)), 30)},
        of=drawn,
    )


@checks("shuffled")
def test_shuffling_is_vacuous(evidence: EvidenceLog) -> None:
    x, p = matrix("X", n, d), matrix("P", n, n)
    evidence.proof(
        r"for every size: $(PX)^\top(PX) = X^\top X$",
        proves(lambda: prove_equal((p * x).T * (p * x), x.T * x, Facts(permutation=(p,)))),
        on="correction",
    )
    rows = general_matrix(4, 3, Random(0))
    shuffled = sp.Matrix([rows.row(i) for i in (2, 0, 3, 1)])
    evidence.exact(
        "shuffling can change the covariance",
        shuffled.T * shuffled != rows.T * rows,
        counterexample="any four snapshots: the covariance is the same matrix",
    )
    evidence.control("shuffling within columns does change it", _columns_shuffled(rows) != rows.T * rows, kind="exact")


def _columns_shuffled(rows: sp.Matrix) -> sp.Matrix:
    moved = sp.Matrix.hstack(
        *[sp.Matrix([rows[(i + j) % rows.rows, j] for i in range(rows.rows)]) for j in range(rows.cols)]
    )
    return moved.T * moved


@checks("capped")
def test_rank_is_capped(evidence: EvidenceLog) -> None:
    def reported_rank(values: torch.Tensor, first: int = 8) -> int:
        share = (values / values.sum()).sort(descending=True).values[:first].cumsum(0)
        return int((share < 0.9 - 1e-12).sum()) + 1

    flat = torch.ones(20, dtype=torch.float64)
    evidence.exact(
        "twenty equal variances",
        figures={"r90 by the code and by definition": equal(reported_rank(flat), rank_at(flat))},
        counterexample="twenty equal variances: 9 in place of 18",
    )
    evidence.control(
        "with all twenty variances in place of the first eight the code finds 18",
        kind="exact",
        figures={"r90": equal(reported_rank(flat, first=20), rank_at(flat))},
    )
    cases = [random_walk_spectrum(k) for k in range(2, 60)]
    cases += [torch.ones(k, dtype=torch.float64) for k in range(1, 11)]
    evidence.exact(
        "random walks of 2 to 59 snapshots, and 1 to 10 equal variances, of which ten have $r_{90} = 9$",
        all(reported_rank(v) == rank_at(v) for v in cases) and rank_at(cases[-1]) == 9,
        on="condition",
        cases=len(cases),
    )
