"""The canonical slice of Proposition E.9: its existence, the order of heads, and rotary encoding."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
import torch

from proofs_checks.gauge.algebra import balancing
from proofs_checks.gauge.published_algorithms import algorithm_2, formula_84, geometric_mean, power
from proofs_checks.support.attention_layers import ABSOLUTE, drawn_layers, relative_change_of_outputs
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.algorithms import AttentionParameters, GaugeElement, apply, canonicalize, random_element
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts


def grams(p: AttentionParameters) -> tuple[torch.Tensor, torch.Tensor]:
    return p.query.mT @ p.query, p.key.mT @ p.key


def imbalance(p: AttentionParameters) -> float:
    """‖G_Q − G_K‖ / ‖G_Q‖, the worst head."""
    query, key = grams(p)
    return float((torch.linalg.matrix_norm(query - key) / torch.linalg.matrix_norm(query)).max())


def balanced(p: AttentionParameters) -> AttentionParameters:
    """The form of E.9 by A = (G_Q⁻¹ # G_K)^½ and C = (W_VᵀW_V)^(−½), heads ordered."""
    query, key = grams(p)
    a = power(geometric_mean(torch.linalg.inv(query), key), 0.5)
    c = power(p.value.mT @ p.value, -0.5)
    moved = apply(p, GaugeElement(a, c, torch.arange(p.heads)))
    order = (torch.linalg.matrix_norm(moved.query) + torch.linalg.matrix_norm(moved.key)).argsort(descending=True)
    return moved.replace(**{name: x[order] for name, x in moved.tensors().items()})


@checks("prop-E.9a")
def test_canonical_form_exists(evidence: EvidenceLog) -> None:
    evidence.proof("for every size: $T$ solves $TG_QT = G_K$", proves(balancing.prove_mean_solves))
    evidence.proof("for every size: $A = T^{1/2}$ balances", proves(balancing.prove_root_balances))
    w_v, r = matrix("W_V", d, d_v), matrix("R", d_v, d_v)
    facts = Facts(symmetric=(r,), equations=((w_v.T * w_v, r * r),))
    evidence.proof(
        r"for every size: $C = (W_V^\top W_V)^{-1/2}$ makes $W_V$ orthonormal",
        proves(lambda: prove_equal((w_v * r.I).T * (w_v * r.I), sp.Identity(d_v), facts)),
    )
    u, v, s = matrix("U", d, d_k), matrix("V", d, d_k), matrix("S", d_k, d_k)
    unit = Facts(diagonal=(s,), equations=((u.T * u, sp.Identity(d_k)), (v.T * v, sp.Identity(d_k))))
    evidence.proof(
        r"for every size: $(U\Sigma^{1/2}, V\Sigma^{1/2})$ is balanced",
        proves(lambda: prove_equal((u * s).T * (u * s), (v * s).T * (v * s), unit)),
    )
    worst, kept, ordered, cases, wrong = 0.0, 0.0, True, 0, [1.0, 1.0]
    eye = torch.eye(4, dtype=torch.float64)
    for layer, seed in drawn_layers("plain"):
        found = balanced(layer)
        values = float((found.value.mT @ found.value - eye).norm())
        worst, kept = max(worst, imbalance(found), values), max(kept, relative_change_of_outputs(layer, found, seed))
        sizes = torch.linalg.matrix_norm(found.query) + torch.linalg.matrix_norm(found.key)
        ordered &= bool((sizes.diff() < 0).all())
        query, key = grams(layer)
        for i, a in enumerate((formula_84(query, key), geometric_mean(torch.linalg.inv(query), key))):
            one = torch.eye(4, dtype=torch.float64).repeat(3, 1, 1)
            wrong[i] = min(wrong[i], imbalance(apply(layer, GaugeElement(a, one, torch.arange(3)))))
        cases += 1
    evidence.numeric(
        "random layers: balanced, orthonormal, ordered, the outputs kept",
        ordered and worst < 1e-10 and kept < 1e-10,
        figures={"worst condition": at_most(worst, 1e-10), "change of outputs": at_most(kept, 1e-10)},
        cases=cases,
    )
    evidence.control(
        "(84), and $A = T$, in place of $T^{1/2}$", figures={"least imbalance": at_least(min(wrong), 1e-2)}
    )
    evidence.exact(
        "four rational pairs of Gram matrices", is_zero(*(p.imbalance(p.root_of_mean) for p in PAIRS)), cases=len(PAIRS)
    )


PAIRS = (
    balancing.EXAMPLE,
    balancing.SCALARS,
    balancing.GramPair(sp.Matrix([[3, -1], [-1, 1]]), sp.Matrix([[2, 1], [1, 1]]) / 3),
    balancing.GramPair(sp.Matrix([[2, 1, 0], [1, 2, 0], [0, 0, 1]]), sp.Matrix([[1, 0, 0], [0, 2, 1], [0, 1, 3]])),
)


@checks("E.9-order", "alg-2-order")
def test_order_of_heads(evidence: EvidenceLog) -> None:
    slice_, algorithm = "E.9-order", "alg-2-order"
    sums = [_sums(algorithm_2(p)).tolist() for p in (two_heads(1.0), two_heads(10.0))]
    unsorted = [key_of_algorithm_2(q, k) for q, k in ((1, 1), (1, Fraction(3, 2)), (10, Fraction(1, 10)))]
    evidence.exact(
        "after Algorithm 2 gauge-equivalent layers are ordered alike",
        (unsorted[0] > unsorted[1]) == (unsorted[2] > unsorted[1]),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, heads $(W_Q,W_K) = (e_1,e_2)$ and $(e_1,\frac32e_2)$: sums $2 < "
        r"\frac52$; with the first head written $(10e_1,\frac1{10}e_2)$ the sum is $10.1 > \frac52$",
        figures={"sums": [str(key) for key in unsorted], "as run, sorted": sums},
        only=algorithm,
    )
    u, s = matrix("U", d, d_k), matrix("S", d_k, d_k)
    facts = Facts(diagonal=(s,), equations=((u.T * u, sp.Identity(d_k)),))
    nuclear, same, differ, cases = 0.0, 0.0, 0.0, 0
    for layer, seed in drawn_layers("plain"):
        other = apply(layer, random_element(layer, seed, 100))
        keys = [_sums(balanced(p)) for p in (layer, other)]
        singular = torch.linalg.svdvals(layer.query @ layer.key.mT).sum(-1).sort(descending=True).values
        nuclear = max(nuclear, float((keys[0] - 2 * singular.sqrt()).norm() / keys[0].norm()))
        same = max(same, float((keys[0] - keys[1]).norm() / keys[0].norm()))
        published = [_sums(algorithm_2(p)) for p in (layer, other)]
        differ = max(differ, float((published[0] - published[1]).norm() / published[0].norm()))
        cases += 1
    for claim_id, on in ((slice_, "statement"), (algorithm, "correction")):
        evidence.proof(
            r"for every size: a balanced factor $W = U\Sigma^{1/2}$ has $W^\top W = \Sigma$, so "
            r"$\|W\|_F^2 = \mathrm{tr}\,\Sigma$, the nuclear norm of $M_i$, which no gauge changes; the sums "
            "order all heads in which they differ",
            proves(lambda: prove_equal((u * s).T * (u * s), s * s, facts)),
            on=on,
            only=claim_id,
        )
        evidence.numeric(
            r"random layers in two gauges: the sums are $2\|M_i\|_*^{1/2}$ and agree",
            on=on,
            figures={"from the nuclear norm": at_most(nuclear, 1e-10), "between gauges": at_most(same, 1e-9)},
            cases=cases,
            only=claim_id,
        )
        evidence.control(
            "the same sums after Algorithm 2, which does not balance",
            figures={"difference": at_least(differ, 1e-2)},
            only=claim_id,
        )


def key_of_algorithm_2(q: Fraction | int, k: Fraction | int) -> Fraction:
    """‖W_Q‖ + ‖W_K‖ of a head of d_k = 1 with positive norms q and k, after A = T = k / q."""
    mean = Fraction(k) / q
    return q * mean + k / mean


def two_heads(factor: float) -> AttentionParameters:
    """Heads (e_1, e_2) and (e_1, 3/2 e_2) on the generic stratum, the first in the gauge A = factor."""
    e_1, e_2 = torch.eye(2, dtype=torch.float64)
    query, key = torch.stack([e_1 * factor, e_1]), torch.stack([e_2 / factor, 1.5 * e_2])
    value = torch.stack([e_1, e_2])
    return AttentionParameters(query[..., None], key[..., None], value[..., None], value[:, None])


def _sums(p: AttentionParameters) -> torch.Tensor:
    return (torch.linalg.matrix_norm(p.query) + torch.linalg.matrix_norm(p.key)).sort(descending=True).values


@checks("E.9-rope")
def test_rotary_models(evidence: EvidenceLog) -> None:
    w_q, w_k = sp.Matrix.vstack(sp.eye(2), sp.zeros(2)), sp.Matrix.vstack(sp.zeros(2), sp.diag(4, 1))
    a = sp.diag(2, 1)  # T^½ for these: T = diag(4, 1)
    rotation = sp.Matrix([[3, 4], [-4, 3]]) / 5
    is_balance = is_zero((w_q * a).T * (w_q * a) - (w_k * a.inv()).T * (w_k * a.inv()))
    before, after = w_q * rotation * w_k.T, (w_q * a) * rotation * (w_k * a.inv().T).T
    evidence.exact(
        "the balancing transformation keeps the scores between different positions",
        not is_balance or is_zero(before - after),
        counterexample=r"$d = 4$, $d_k = 2$, $W_Q = (I; 0)$, $W_K = (0; \mathrm{diag}(4,1))$, rotation "
        r"$\frac15\begin{pmatrix}3&4\\-4&3\end{pmatrix}$: $A = \mathrm{diag}(2,1)$ balances, and the upper right block "
        r"of $W_QRW_K^\top$ goes from "
        r"$\frac15\begin{pmatrix}12&4\\-16&3\end{pmatrix}$ to $\frac15\begin{pmatrix}12&8\\-8&3\end{pmatrix}$",
        figures={"before": str((5 * before[:2, 2:]).tolist()), "after": str((5 * after[:2, 2:]).tolist())},
    )
    x, y = sp.symbols("x y", real=True)
    inside = sp.Matrix([[x, y], [-y, x]])  # the commutant
    query, key = (w_q * inside).T * (w_q * inside), (w_k * inside.inv().T).T * (w_k * inside.inv().T)
    spread = [sp.simplify((m.trace() ** 2 - 4 * m.det()) * (x**2 + y**2) ** 2) for m in (query, key)]
    evidence.exact(
        "some element of the commutant balances these",
        spread[0] == spread[1],
        counterexample=r"the same weights: for $A = xI+yJ$, $r^2 = x^2+y^2$, the Gram matrix of the queries is $r^2I$, "
        r"and that of the keys has the eigenvalues $16/r^2$ and $1/r^2$",
        figures={"squared differences of eigenvalues, times r^4": [str(m) for m in spread]},
    )
    worst, plane, cases = 0.0, 0.0, 0
    for layer, seed in drawn_layers(*ABSOLUTE, "rotary"):
        other = apply(layer, random_element(layer, seed, 100))
        one, two = canonicalize(layer), canonicalize(other)
        worst = max(worst, one.parameters.distance(two.parameters) / one.parameters.norm())
        worst = max(worst, relative_change_of_outputs(layer, one.parameters, seed))
        if layer.rotary is not None:
            plane = max(plane, _plane_imbalance(one.parameters))
        cases += 1
    evidence.numeric(
        "`canonicalize`: one form in two gauges, outputs kept, for absolute positions and for rotary encoding",
        on="condition",
        figures={"worst": at_most(worst, 1e-9), "imbalance of a plane": at_most(plane, 1e-10)},
        cases=cases,
    )
    broken = 1.0
    for layer, seed in drawn_layers("rotary"):
        unmasked = AttentionParameters(**layer.tensors())  # as if positions were absolute
        form = canonicalize(unmasked).parameters
        as_rotary = AttentionParameters(**form.tensors(), rotary=layer.rotary)
        broken = min(broken, relative_change_of_outputs(layer, as_rotary, seed))
    evidence.control("the form for absolute positions on rotary layers", figures={"change": at_least(broken, 1e-3)})


def _plane_imbalance(p: AttentionParameters) -> float:
    """Largest relative difference of query and key norms on a plane (rotate-half layout of three planes)."""
    query = p.query.reshape(p.groups, -1, p.d_k)
    sizes = [x.square().sum(1).reshape(p.groups, 2, -1).sum(1) for x in (query, p.key)]
    return float(((sizes[0] - sizes[1]).abs() / sizes[0]).max())
