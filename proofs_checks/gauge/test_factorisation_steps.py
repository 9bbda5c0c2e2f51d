"""B.3 and B.4, step by step: X ↦ XW_V is onto, (39), (40)–(41), and the identity component (Corollary B.4)."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import sympy as sp
import torch

from proofs_checks.gauge.recovered_elements import left_inverse, recovered_from_weights, score_conditions
from proofs_checks.support.algebra import linearised
from proofs_checks.support.algebra.group import act, random_element
from proofs_checks.support.attention_points import general_layer, head, layer, on_theta_0, second_orbit
from proofs_checks.support.explicit_attention import same, scalar
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.profiles import scale
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d, d_k, d_v, matrix, n
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import random_attention
from symgauge.symbolic.words import Facts

E1, E2 = [1, 0], [0, 1]


@checks("B.5-surj")
def test_values_can_be_prescribed(evidence: EvidenceLog) -> None:
    w_v, left, v = matrix("W_V", d, d_v), matrix("W_V⁺", d_v, d), matrix("V", n, d_v)
    by_rank = Facts(equations=((left * w_v, sp.Identity(d_v)),))
    evidence.proof("for every size: $(VW_V^+)W_V = V$", proves(lambda: prove_equal(v * left * w_v, v, by_rank)))
    evidence.control("no proof without the rank", not proves(lambda: prove_equal(v * left * w_v, v)), kind="proof")
    shapes = ((3, 1), (5, 3), (4, 4))
    points = [general_layer(width, 1, 1, size, seed=width) for width, size in shapes]
    targets = [sp.Matrix(6, size, lambda i, j: 3 * i - 5 * j + 1) for _, size in shapes]
    reached = [t * left_inverse(p.w_v[0]) * p.w_v[0] == t for p, t in zip(points, targets, strict=True)]
    evidence.exact(r"prescribed integer values, $n = 6$, reached exactly", all(reached), cases=len(shapes))
    evidence.control(
        r"$W_V = (1,2)\otimes(1,1,0)^\top$ of rank 1 does not reach $(1,0)$",
        sp.Matrix([[1, 2], [1, 2], [0, 0]]).rank() < sp.Matrix([[1, 2], [1, 2], [0, 0], [1, 0]]).rank(),
        kind="exact",
    )
    rng, worst, least = np.random.default_rng(0), 0.0, 1.0
    for _ in range(scale(20, 100)):
        w, wanted = rng.standard_normal((7, 4)), rng.standard_normal((5, 4))
        pseudo = np.linalg.pinv(w)
        error = np.linalg.norm(wanted @ pseudo @ w - wanted) / np.linalg.norm(wanted)
        worst = max(worst, float(error / np.linalg.cond(w)))
        w[:, 3] = w[:, 2]
        least = min(least, float(np.linalg.norm(wanted @ np.linalg.pinv(w) @ w - wanted) / np.linalg.norm(wanted)))
    evidence.numeric(
        "Gaussian $W_V$ and $V$ in float64, relative error over condition", figures={"error": at_most(worst, 1e-14)}
    )
    evidence.control("two equal columns of $W_V$", figures={"relative error": at_least(least, 1e-3)})


@checks("eq-39")
def test_values_and_outputs(evidence: EvidenceLog) -> None:
    silent, other = (layer(head(E1, E2, v, [0, 0])) for v in (E1, E2))
    evidence.exact(
        "without a rank of $W_O$",
        not second_orbit(silent, other),
        counterexample=r"$d = 2$, $d_v = 1$, $W_O = 0$: $W_V = (1,0)^\top$ and $(0,1)^\top$ are no multiples of each "
        r"other",
        cases=6,
    )
    w_v, w_o, v_, o_ = matrix("W_V", d, d_v), matrix("W_O", d_v, d), matrix("W_V'", d, d_v), matrix("W_O'", d_v, d)
    right, left = matrix("W_O'⁺", d, d_v), matrix("W_V⁺", d_v, d)
    x, c = matrix("X", n, d), w_o * right
    same_product = (v_ * o_, w_v * w_o)
    proofs = (
        lambda: prove_equal(x * v_ * o_ * right, x * v_, Facts(equations=((o_ * right, sp.Identity(d_v)),))),
        lambda: prove_equal(x * v_ * o_ * right, x * w_v * c, Facts(equations=(same_product,))),
        lambda: prove_equal(left * w_v * c * o_, c * o_, Facts(equations=((left * w_v, sp.Identity(d_v)),))),
        lambda: prove_equal(left * (w_v * w_o), w_o, Facts(equations=((left * w_v, sp.Identity(d_v)),))),
    )
    evidence.proof(
        r"for every size: $W_V'W_O' = W_VW_O$ and $W_O'W_O'^+ = I$ give $XW_V' = XW_VC$ with $C = W_OW_O'^+$, no $X$ "
        r"in it, and $CW_O' = W_O$",
        all(map(proves, proofs)),
        on="condition",
    )
    points = [general_layer(5, 2, 1, 3, seed=s) for s in range(3)]
    moved = [act(p, random_element(2, 1, 3, seed=s, sigma=(0, 1))) for s, p in enumerate(points)]
    exact = []
    for p, q in zip(points, moved, strict=True):
        for i in range(2):
            found = left_inverse(p.w_v[i]) * q.w_v[i]
            exact.append(q.w_v[i] == p.w_v[i] * found and found * q.w_o[i] == p.w_o[i] and found.det() != 0)
    evidence.exact(
        r"$C = W_V^+W_V'$ on integer layers, $d_v = 3$, $\det C = -1$: both halves of (39)",
        all(exact),
        on="condition",
        cases=len(exact),
    )
    sizes = Architecture(7, 2, 2, 3, context=3, **ALONE)
    value, output = (f"layers.0.attention.{role}.weight" for role in ("value", "output"))
    ratios, changes = [], []
    for seed in range(scale(5, 30)):
        roles, inputs = random_parameters(sizes, seed), random_inputs(sizes, seed)
        element = torch.stack([unimodular(3, seed + i)[0] for i in range(2)])
        both = {value: roles[value] @ element, output: torch.linalg.inv(element) @ roles[output]}
        ratios.append(measure_invariance(sizes, roles, lambda _r, e: e, both, inputs).ratio)
        changes.append(assert_changes(sizes, roles, {**roles, value: both[value]}, inputs))
    evidence.numeric(
        r"$(W_VC, C^{-1}W_O)$ in float64",
        on="condition",
        figures={"largest observed / allowed": at_most(max(ratios), 1.0)},
        cases=len(ratios),
    )
    evidence.control("$W_VC$ alone", figures={"change": at_least(min(changes), 1e-3)})


@checks("eq-40..41")
def test_scores_from_weights(evidence: EvidenceLog) -> None:
    one, two = layer(head(E1, E2, E1, [1, 2])), layer(head([2, 1], E2, E1, [1, 2]))
    evidence.exact(
        "on one token the weights determine the scores",
        not (same(one, two, tokens=1, cases=4) and one.w_q[0] * one.w_k[0].T != two.w_q[0] * two.w_k[0].T),
        counterexample=r"$n = 1$: the only weight is 1, whatever $W_Q$, $W_K$ are",
        cases=4,
    )
    evidence.exact(
        "with biases the weights determine the scores",
        not same(scalar(0), scalar(1), tokens=3, cases=8),
        counterexample=r"$d=d_k=d_v=1$, all weights 1, $b_Q=0$: $b_K=0$ and $b_K=1$ give equal outputs, and scores "
        r"$Q'K'^\top = QK^\top+Q\mathbf 1^\top$ that differ by one constant a row",
        cases=8,
    )
    x, delta = sp.Matrix([sp.symbols("x0:3")]), sp.Matrix([sp.symbols("y0:3")])
    change = sp.Matrix(3, 3, sp.symbols("m0:9"))
    row = sp.Poly(sp.expand((x * change * delta.T)[0]), *x, *delta)
    evidence.proof(
        r"two tokens $x$, $x+\delta$: the weights stay only if $x\,\Delta M\,\delta^\top = 0$ for all $x$, $\delta$; "
        r"its coefficients are the entries of $\Delta M$, one each ($d = 3$, symbolic)",
        set(row.coeffs()) == set(change) and len(row.coeffs()) == 9,
        on="condition",
    )
    evidence.proof(
        r"for every size: full-rank factors of one $M$ differ by one $A$",
        proves(linearised.prove_factors_of_one_product),
        on="condition",
    )
    ranks = {tokens: [score_conditions(width, tokens, 12).rank() for width in (2, 3)] for tokens in (1, 2, 3)}
    evidence.exact(
        r"the linear conditions on $\Delta M$ from weights of integer tokens have full rank $d^2$, $d = 2, 3$",
        on="condition",
        figures={"two tokens": equal(ranks[2], [4, 9]), "three tokens": equal(ranks[3], [4, 9])},
        cases=4,
    )
    evidence.control("from one token there is no condition", ranks[1] == [0, 0], kind="exact")
    rng = np.random.default_rng(1)
    maps = [rng.standard_normal((4, 2)) @ rng.standard_normal((2, 4)) for _ in range(scale(5, 30))]
    found = [recovered_from_weights(m, tokens, 20, seed) for seed, m in enumerate(maps) for tokens in (2, 3)]
    evidence.numeric(
        "$M$ of rank 2 recovered from weights alone in float64, $d = 4$",
        on="condition",
        figures={"error": at_most(max(e for e, _ in found), 1e-9), "rank": equal({r for _, r in found} == {16}, True)},
        cases=len(found),
    )
    blind = recovered_from_weights(maps[0], 1, 20)
    evidence.control("from one token nothing is recovered", figures={"error": at_least(blind[0], 0.5)})


@checks("cor-B.4")
def test_identity_component(evidence: EvidenceLog) -> None:
    silent, turned = (layer(head(q, E2, E1, [0, 0]), head([1, 1], E2, E2, [1, 2])) for q in (E1, [2, 1]))
    evidence.exact(
        "no further direction at points of $\\Theta_0$",
        not (on_theta_0(silent) and on_theta_0(turned) and second_orbit(silent, turned)),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$: the segment from $W_Q^{(1)} = (1,0)^\top$ to "
        r"$(2,1)^\top$ keeps the function and leaves the orbit",
        cases=6,
    )
    w_q, w_k, flow = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("e^{tX}", d_k, d_k)
    symmetric, turn = matrix("S", d_k, d_k), matrix("O", d_k, d_k)
    polar = Facts(orthogonal=(turn,), symmetric=(symmetric,))
    evidence.proof(
        r"for every size: $W_Qe^{tX}(W_K(e^{tX})^{-\top})^\top = W_QW_K^\top$, and $A = OS$ with $S = (A^\top "
        r"A)^{1/2}$, so every $A$ of positive determinant is $e^\Omega e^P$ and joined to $I$",
        proves(lambda: prove_equal(w_q * flow * (w_k * flow.I.T).T, w_q * w_k.T))
        and proves(lambda: prove_equal((turn * symmetric).T * (turn * symmetric), symmetric**2, polar)),
        on="condition",
    )
    shapes = ((4, 2, 2, 1), (5, 2, 1, 3), (5, 3, 2, 2))
    points = [random_attention(d=w, d_k=k, d_v=v, groups=range(h), seed=w) for w, h, k, v in shapes]
    solved = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in points]
    evidence.exact(
        "at general points the kernel of the derivative is spanned by the generators, so the component is no larger",
        all(r.inside and r.free for r in solved),
        on="condition",
        figures={"kernel": equal([r.kernel.dimension for r in solved], [h * (k**2 + v**2) for _, h, k, v in shapes])},
        cases=len(points),
    )
    record_paths(evidence)


def record_paths(evidence: EvidenceLog) -> None:
    """exp(tΩ)exp(tP) to a drawn A of positive determinant, on a layer in float64."""
    layer_sizes = Architecture(5, 2, 3, 2, context=3, **ALONE)
    query, key = (f"layers.0.attention.{role}.weight" for role in ("query", "key"))
    ratios, misses, changes, turned = [], [], [], 0
    for seed in range(scale(6, 40)):
        roles, x = random_parameters(layer_sizes, seed), random_inputs(layer_sizes, seed)
        target = torch.randn(3, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        target = target * torch.linalg.det(target).sign()
        turned += int((torch.linalg.eigvals(target).real < 0).any())
        left, scales, right = torch.linalg.svd(target)
        omega = torch.tensor(np.real(scipy.linalg.logm((left @ right).numpy())))
        stretch = right.mT @ torch.diag(scales.log()) @ right
        for t in (0.3, 0.7, 1.0):
            a = torch.matrix_exp(t * omega) @ torch.matrix_exp(t * stretch)
            moved = {query: roles[query] @ a, key: roles[key] @ torch.linalg.inv(a).mT}
            ratios.append(measure_invariance(layer_sizes, roles, lambda _r, e: e, moved, x).ratio)
            changes.append(assert_changes(layer_sizes, roles, {**roles, **moved, key: roles[key] @ a}, x))
        misses.append(float((a - target).norm() / target.norm()))
    evidence.numeric(
        r"paths $e^{t\Omega}e^{tP}$ from $I$ to drawn $A$ with $\det A>0$ keep the layer, and end at $A$; some of "
        r"these $A$ have eigenvalues with negative real part",
        on="condition",
        figures={
            "largest observed / allowed": at_most(max(ratios), 1.0),
            "distance from $A$ at the end": at_most(max(misses), 1e-12),
            "with such eigenvalues": at_least(turned, 1),
        },
        cases=len(ratios),
    )
    evidence.control("$W_KA(t)$ in place of $W_KA(t)^{-\\top}$", figures={"change": at_least(min(changes), 1e-3)})
