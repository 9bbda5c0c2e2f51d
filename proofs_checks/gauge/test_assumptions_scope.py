"""How far the theorem reaches: other widths (Remarks A.5, B.7), training (A.6), and what it explains (A.8)."""

from __future__ import annotations

from itertools import permutations, product

import sympy as sp
import torch

from proofs_checks.gauge.reported import TABLE_6, TEXT
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.group_elements import ROLES
from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.models.reference import random_parameters

# (d, h, d_k, d_v): h d_v below d, above d, and d < 2 d_k; then A2 itself.
WIDTHS = ((7, 2, 3, 2), (6, 2, 3, 4), (4, 3, 1, 2), (8, 2, 4, 1))
CANONICAL = ((6, 2, 1, 3),)


def attention(sizes: tuple[int, int, int, int]) -> Architecture:
    d, h, d_k, d_v = sizes
    return Architecture(d, h, d_k, d_v, context=3, **ALONE)


def kept_relabelings(a: Architecture, roles: Roles | None = None) -> list[tuple[tuple[int, ...], ...]]:
    """All (π, ρ, τ) that may be applied to keys, values and outputs, queries staying: which keep the exact function?"""
    function, orders = ExactFunction(a, roles), list(permutations(range(a.heads)))
    kept = []
    for chosen in product(orders, repeat=3):
        moved = {r: function.roles[r].index_select(0, torch.tensor(p)) for r, p in zip(ROLES[1:], chosen, strict=True)}
        if function.keeps(moved):
            kept.append(chosen)
    return kept


@checks("rem-A.5", "rem-B.7")
def test_other_widths(evidence: EvidenceLog) -> None:
    found = census([attention(s) for s in WIDTHS], lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    kept = [kept_relabelings(attention(s)) for s in WIDTHS + CANONICAL]
    trivial = [[(tuple(range(h)),) * 3] for _, h, _, _ in WIDTHS + CANONICAL]
    nullity = [a.fibre.nullity for a in found.accounts]
    differs = nullity != list(found.predicted) or kept[: len(WIDTHS)] != trivial[: len(WIDTHS)]
    evidence.exact(
        r"where $d\ne hd_v$ the symmetries are not those of $G_{\max}$",
        differs,
        counterexample=r"$d = 7$, $h = 2$, $d_k = 3$, $d_v = 2$, $hd_v = 4$: exact nullity 26 $= h(d_k^2+d_v^2)$, and "
        r"of the 8 relabelings of keys, values and outputs against the queries only the identity keeps the function",
        figures={"(d, h, d_k, d_v)": [list(s) for s in WIDTHS], "nullity": nullity},
        cases=len(WIDTHS),
    )
    evidence.exact(
        r"exact nullity is $h(d_k^2+d_v^2)$, nothing unexplained, below, above and away from $d = hd_v$",
        on="correction",
        figures=found.figures,
        cases=found.cases,
    )
    evidence.exact(
        "every relabeling of keys, values and outputs against the queries tried on the exact function: only the "
        "identity keeps it, with A2 and without",
        on="correction",
        figures={"kept": equal(kept, trivial), "primes": [2147483579], "seed": 0},
        cases=sum(len(list(permutations(range(h)))) ** 3 for _, h, _, _ in WIDTHS + CANONICAL),
    )
    alike = attention(WIDTHS[0])
    twins = {**random_parameters(alike, 0)}
    twins[ROLES[1]] = twins[ROLES[1]][:1].repeat(2, 1, 1)
    evidence.control(
        "with the same keys in both heads, exchanging them is found to keep the function",
        len(kept_relabelings(alike, twins)) > 1,
        kind="exact",
    )
    evidence.proof(
        r"the two steps of the proof for every size, neither of which mentions $hd_v$: poles give the multiset of "
        r"$(M_i,N_i)$, full ranks give $A_i$ and $C_i$",
        prove_poles() and prove_factors(),
        on="correction",
    )
    a = attention(WIDTHS[0])
    function = ExactFunction(a)
    swapped = {r: function.roles[r].index_select(0, torch.tensor([1, 0])) for r in ROLES}
    evidence.exact("all four maps of two heads exchanged keep the function", function.keeps(swapped), on="correction")
    named = {name: TABLE_6[name][0] for name in ("BERT-Base", "GPT-2", "GPT-3 config")}
    evidence.audit(
        r"$d = hd_v$ in the models named",
        figures={name: equal(s.h * s.d_v, s.d_model) for name, s in named.items()},
        cases=len(named),
    )


@checks("rem-A.6")
def test_trajectories(evidence: EvidenceLog) -> None:
    q, k, eta = sp.symbols("q k η", real=True)
    decay = (q**2 + k**2) / 2
    step = [sp.expand(x - sp.diff(decay, x)) for x in (q, k)]
    evidence.exact(
        "a step of gradient descent keeps almost every point off the exceptional set $qk = 0$",
        step[0] * step[1] != 0,
        counterexample=r"weight decay $\tfrac12(q^2+k^2)$, step 1: every point goes to $(0,0)$, where A4 fails",
        figures={"image": [str(x) for x in step]},
    )
    regularised = (q * k - 1) ** 2 / 2 + decay
    square = (1 + (q - k) ** 2 + (q * k) ** 2) / 2
    minima = sp.solve([sp.diff(regularised, x) for x in (q, k)], [q, k], dict=True)
    evidence.exact(
        "minima of regularised losses lie off the exceptional set",
        not (sp.expand(regularised - square) == 0 and minima == [{q: 0, k: 0}]),
        counterexample=r"$\tfrac12(qk-1)^2+\tfrac12(q^2+k^2) = \tfrac12(1+(q-k)^2+q^2k^2)$ has $(0,0)$ as its only "
        r"critical point, and descends to it from everywhere",
    )
    dense = []
    for loss in (regularised, (q * k - 1) ** 2 / 2):
        hessian = sp.hessian(loss, (q, k))
        jacobian = sp.Poly(sp.expand((sp.eye(2) - eta * hessian).det()), q, k)
        image = [sp.Poly(sp.expand(x - eta * sp.diff(loss, x)), q, k) for x in (q, k)]
        # The top coefficients are −3η² (for q²k²) and −η: no η > 0 makes any of these the zero polynomial.
        dense.append(
            sp.solveset(jacobian.coeff_monomial(q**2 * k**2), eta, sp.Interval.open(0, sp.oo)) == sp.EmptySet
            and all(not p.is_zero and sp.solveset(p.coeffs()[0], eta, sp.Interval.open(0, sp.oo)) == sp.EmptySet
                    for p in image)
        )  # fmt: skip
    evidence.proof(
        r"for $\tfrac12(qk-1)^2$, with and without weight decay, and every step $\eta>0$: $\det(I-\eta\nabla^2L)$ is "
        r"no zero polynomial, and neither coordinate of the step is, so the points sent to $qk = 0$ have measure zero",
        all(dense),
        on="correction",
        cases=len(dense),
    )
    flat = sp.expand((sp.eye(2) - sp.hessian(decay, (q, k))).det())
    evidence.control(
        r"for weight decay alone and $\eta = 1$ the determinant is identically zero", flat == 0, kind="exact"
    )
    time = sp.Symbol("t", positive=True)
    shrunk = [x * sp.exp(-time) for x in (q, k)]
    solves = all(sp.simplify(sp.diff(x, time) + x) == 0 for x in shrunk)
    limits = [sp.limit(x.subs({q: 2, k: 3}), time, sp.oo) for x in shrunk]
    evidence.exact(
        r"gradient flow on $\tfrac12(q^2+k^2)$ stays off $qk = 0$ at every finite time and converges into it",
        solves and sp.simplify(shrunk[0] * shrunk[1] / (q * k)).is_positive,
        on="correction",
        figures={"limit from (2, 3)": equal([str(x) for x in limits], ["0", "0"])},
    )


@checks("rem-A.8")
def test_explanations(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT,
        {
            "wide minima: a measure of width off the orbit": (
                "width of the minimum",
                "measure of width",
                "flatness of",
            ),
            "averaging after alignment: a comparison": ("test loss", "loss barrier", "perplexity"),
            "lottery tickets: a pruning rule inside a gauge class": ("pruning rule", "sparsity", "pruned weights"),
            "different starts: runs, and the share due to symmetry": (
                "independent runs",
                "across seeds",
                "share of the",
            ),
        },
        there="lottery ticket pruning",
    )
    found = census([attention(CANONICAL[0])], lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "the flat directions are there at random parameters, before any training",
        on="reproduction",
        figures={"nullity": at_least(found.accounts[0].fibre.nullity, 1)},
    )
