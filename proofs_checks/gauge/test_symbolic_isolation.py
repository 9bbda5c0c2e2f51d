"""Isolating a head: Proposition A.1 and equations (29)–(30), which the identifiability proof rests on."""

from __future__ import annotations

from random import Random

import sympy as sp

from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.claims import EvidenceLog, checks, equal
from symgauge.symbolic import linear
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import d, matrix, n, ones
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal


@checks("eq-29", "prop-A.1d")
def test_no_head_can_be_switched_off(evidence: EvidenceLog) -> None:
    norm, small = "eq-29", "prop-A.1d"
    size = 3
    row = sp.Matrix([[*sp.symbols("p0:2", real=True)]])
    row = row.row_join(sp.Matrix([[1 - sum(row)]]))
    spread = row - sp.ones(1, size) / size
    decomposition = sp.expand(row.dot(row) - sp.Rational(1, size) - spread.dot(spread))
    uniform = sp.ones(size) / size
    frobenius = sp.sqrt(sum(entry**2 for entry in uniform))
    evidence.exact(
        "some row-stochastic matrix has Frobenius norm below 1: the smallest, uniform attention, at $n = 3$",
        bool(frobenius < 1),
        counterexample=r"$n$ rows that sum to one have $\|\alpha\|_F\ge1$; at zero scores $\alpha = "
        r"\frac1n\mathbf 1\mathbf 1^\top$, of norm 1",
        only=norm,
    )
    x = matrix("X", n, d)
    weights = RowSoftmax(x * matrix("M", d, d) * x.T)
    evidence.proof(
        "for every size, attention rows sum to one",
        proves(lambda: prove_equal(weights * ones(n), ones(n))),
        on="correction",
        only=norm,
    )
    evidence.proof(
        r"a row $p$ summing to one has $\|p\|^2 = \frac1n + \|p-\frac1n\mathbf 1\|^2$, so $n$ rows have "
        r"$\|\alpha\|_F^2\ge1$ ($n = 3$, symbolic)",
        decomposition == 0 and frobenius == 1,
        on="correction",
        only=norm,
    )
    evidence.control(
        r"without the sum of rows it can be less: $\frac12\alpha$ has norm $\frac12$",
        bool(frobenius / 2 < 1),
        kind="exact",
        only=norm,
    )
    softmax = softmax_of(sp.zeros(size))
    evidence.exact(
        "softmax of zero scores is zero",
        is_zero(softmax),
        counterexample=r"scores 0, $n = 3$: all weights are $\frac13$",
        only=small,
    )
    evidence.exact("it is uniform", is_zero(softmax - uniform), on="correction", only=small)
    large = softmax_of(sp.Matrix([[0, -20, -20]]))
    evidence.control(
        "scores far below the largest do give weights near zero", bool(large[1] < 1e-8), kind="exact", only=small
    )


@checks("eq-30")
def test_other_heads_contribute(evidence: EvidenceLog) -> None:
    alpha, value = (sp.Matrix(2, 2, sp.symbols(f"{name}0:4", real=True)) for name in "av")
    product = sum(entry**2 for entry in alpha * value)
    lost = sum(
        (row[0] * column[1] - row[1] * column[0]) ** 2
        for row in (alpha.row(0), alpha.row(1))
        for column in (value.col(0), value.col(1))
    )
    bound = sum(entry**2 for entry in alpha) * sum(entry**2 for entry in value)
    evidence.proof(
        r"$\|\alpha_jV_jW_{O,j}\|\le\|\alpha_j\|\|V_jW_{O,j}\|$, the difference of the squares being a sum of squares "
        r"(two tokens): heads with $\|\alpha_j\|<\varepsilon$ add $O(\varepsilon)$",
        sp.expand(bound - product - lost) == 0,
    )
    rng = Random(1)
    x, n_j = general_matrix(3, 4, rng), general_matrix(4, 4, rng)
    uniform = softmax_of(sp.zeros(3))
    evidence.exact(
        "heads whose scores vanish add the mean token times $N_j$, on general rational inputs",
        is_zero(uniform * x * n_j - sp.ones(3, 1) * (sp.ones(1, 3) * x / 3) * n_j),
        on="correction",
    )
    evidence.control(
        r"that is not $O(\varepsilon)$: for $n = 2$, $X = N_j = I_2$ it is the matrix of all $\frac12$",
        softmax_of(sp.zeros(2)) == sp.ones(2) / 2,
        kind="exact",
    )


def softmax_of(scores: sp.Matrix) -> sp.Matrix:
    """Softmax along rows, exactly."""
    powers = scores.applyfunc(sp.exp)
    return sp.Matrix(*scores.shape, lambda i, j: powers[i, j] / sum(powers.row(i)))


@checks("prop-A.1b", "prop-A.1c")
def test_isolating_inputs(evidence: EvidenceLog) -> None:
    solvable, scale = "prop-A.1b", "prop-A.1c"
    size, width = 4, 9  # d_k a square number, so that everything stays rational
    rng = Random(2)
    w_q, w_k = general_matrix(width, size, rng), general_matrix(width, size, rng)
    stacked = sp.Matrix.hstack(w_q, w_k)
    right_inverse = (stacked.T * stacked).inv() * stacked.T
    target = 2 * sp.Matrix.hstack(sp.eye(size), sp.eye(size))
    x = target * right_inverse
    scores = (x * w_q) * (x * w_k).T
    evidence.exact(
        "the linear system solved at a general point, $d_k = 4$, $d = 9$",
        is_zero(x * stacked - target, scores - size * sp.eye(size)),
        only=solvable,
    )
    narrow = sp.Matrix.hstack(general_matrix(3, 2, rng), general_matrix(3, 2, rng))
    evidence.control("with $d < 2d_k$ the rank is too small", narrow.rank() < 4, kind="exact", only=solvable)
    value = scores[0, 0] / 2
    evidence.exact(
        "a diagonal entry of the scaled scores at $\\lambda = 1$, $d_k = 4$",
        figures={"entry": equal(str(value), "1")},
        counterexample=r"$d_k = 4$, $\lambda = 1$: $Q_iK_i^\top = 4I_n$, divided by $\sqrt4$ it is $2I_n$",
        only=scale,
    )
    evidence.exact(r"it is $\sqrt{d_k}$", figures={"entry": equal(str(value), "2")}, on="correction", only=scale)
    evidence.control(
        r"at $d_k = 1$, where $\sqrt{d_k} = 1$, the formula does hold ($W_Q = (1,0)^\top$, $W_K = (1,1)^\top$, "
        r"$v = (1,0)$)",
        (sp.Matrix([[1, 0]]) * sp.Matrix([1, 0]))[0] * (sp.Matrix([[1, 0]]) * sp.Matrix([1, 1]))[0] == 1,
        kind="exact",
        only=scale,
    )


@checks("prop-A.1e", "prop-A.1f")
def test_suppressing_the_other_heads(evidence: EvidenceLog) -> None:
    rng = Random(3)
    first, second = general_matrix(2, 2, rng), general_matrix(2, 2, rng)  # [W_Q, W_K] of two heads, d = 2, d_k = 1
    fixed = sp.Matrix([[1, 1]]) * first.inv()
    evidence.exact(
        "with $h = 2$, $d_k = 1$, $d = 2$ the only $v$ activating head 1 leaves head 2 silent",
        is_zero(fixed * second),
        counterexample=r"$[W_Q^{(1)}, W_K^{(1)}]$ is invertible, so $v$ is determined, and $v[W_Q^{(2)}, "
        r"W_K^{(2)}]\ne0$ for general weights "
        r"(here $d = 2\ge2d_k = 2$)",
    )
    heads, size = 12, 2  # GPT-2 scaled down: d = h d_v, d_k = d_v
    others = sp.Matrix.hstack(*(general_matrix(heads * size, size, rng) for _ in range(2 * (heads - 1))))
    evidence.exact(
        "rank of the other heads' columns in a scaled GPT-2 ($h = 12$, $d_k = 2$, $d = 24$): nothing is "
        "orthogonal to them",
        figures={"rank": equal(linear.rank(linear.rational(others)), heads * size)},
        on="correction",
    )
    wide = 2 * heads * size
    stacked = sp.Matrix.hstack(*(general_matrix(wide, 1, rng) for _ in range(wide)))
    evidence.exact(
        "with $d = 2hd_k$ all columns of all heads are independent, and every target can be met",
        figures={"rank": equal(linear.rank(linear.rational(stacked)), wide)},
        on="correction",
    )
    one_wide = general_matrix(4, 2, rng), general_matrix(4, 2, rng)  # d = 4 = 2 h d_k: what activates head 1 can do so
    stacked = sp.Matrix.hstack(*one_wide)
    alone = sp.Matrix([[1, 1, 0, 0]]) * stacked.inv()
    evidence.control(
        "with $d = 4$ and the same two heads there is a $v$ that activates head 1 and leaves head 2 silent",
        is_zero(alone * one_wide[0] - sp.ones(1, 2), alone * one_wide[1]),
        kind="exact",
    )
