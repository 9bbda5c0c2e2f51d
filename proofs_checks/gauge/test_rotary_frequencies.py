"""Rotary positions with shared heads: one commutant element per group, its dimension, and irrational frequencies."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
import torch
from sympy.polys.polyerrors import NotAlgebraic

from proofs_checks.gauge.shared_heads import (
    KEY,
    OUTPUT,
    QUERY,
    ROTARY,
    group_element,
    record_resplitting,
    shared,
)
from proofs_checks.support.algebra.commutant import commutant_basis
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.rotary_commutant import FIRST, SECOND
from proofs_checks.support.small_architectures import BIASED
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.accounting import account
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic import linear
from symgauge.symbolic.dimensions import gqa
from symgauge.symbolic.tangent import random_attention


@checks("sec2-6", "App-D.1a")
def test_one_element_per_group(evidence: EvidenceLog) -> None:
    sector, blocks = "sec2-6", "App-D.1a"
    record_identity(evidence, "rotary_commutant", on="condition")
    record_silent_head(evidence, shared((5, 2, 1, 2, 3), Rotary.standard(2)), sector)
    record_resplitting(evidence, shared((5, 2, 1, 2, 3), Rotary.standard(2)), sector)
    equal_planes = [m.to_Matrix() for m in commutant_basis([FIRST, FIRST])]
    mixing = [m for m in equal_planes if any(m[i, j] != 0 for i in range(4) for j in range(4) if i // 2 != j // 2)]
    evidence.exact(
        "the commutant is block-diagonal in the planes",
        not mixing,
        counterexample=r"$d_k = 4$, two planes turned by the same angle $(3/5,4/5)$: $\begin{pmatrix}0&I\\0&0"
        r"\end{pmatrix}$ commutes, and $\dim\mathcal C = 8$, not 4",
        figures={"dimension": len(equal_planes), "basis elements across planes": len(mixing)},
        only=blocks,
    )
    different = [m.to_Matrix() for m in commutant_basis([FIRST, SECOND])]
    evidence.exact(
        r"two different angles: dimension 4, every element block-diagonal with blocks $aI+bJ$",
        all(m[i, j] == 0 for m in different for i in range(4) for j in range(4) if i // 2 != j // 2)
        and all(m[p, p] == m[p + 1, p + 1] and m[p, p + 1] == -m[p + 1, p] for m in different for p in (0, 2)),
        on="condition",
        figures={"dimension": equal(len(different), 4)},
        only=blocks,
    )
    layers = [shared(s, Rotary.standard(s[3])) for s in (ROTARY[0], (5, 6, 3, 2, 4))]
    found = census(layers, lambda a: a.groups * (a.d_k + a.d_v**2))
    evidence.exact(
        r"exact nullity of layers with shared heads is $g(d_k+d_v^2)$, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    sectors = [next(f.new_directions for f in a.families if f.name == "query-key") for a in found.accounts]
    evidence.exact(
        r"of which $gd_k$ belong to queries and keys: one commutant per group, not per head",
        on="condition",
        figures={"query-key": equal(sectors, [a.groups * a.d_k for a in layers]), "heads": [a.heads for a in layers]},
        only=sector,
    )
    turned = shared((5, 4, 2, 2, 3), Rotary.standard(2))
    record_more_with_biases(evidence, turned, lambda a: a.groups * (a.d_k + a.d_v**2), blocks)
    biased = account(turned.replace(**BIASED), seed=0)
    parts = {f.name: f.new_directions for f in biased.families if f.new_directions}
    evidence.exact(
        r"with all four biases the query–key sector has $gd_k$ directions still, and values the rest",
        on="condition",
        figures={
            "query-key": equal(parts["query-key"], turned.groups * turned.d_k),
            "value-output": equal(parts["value-output"], turned.groups * turned.d_v**2),
            "value-bias": equal(parts["value-bias"], turned.groups * turned.d_v),
            "nullity": equal(biased.fibre.nullity, sum(parts.values())),
        },
        only=sector,
    )
    a = layers[0]
    function = ExactFunction(a)
    evidence.exact(
        "elements of the commutant, one per group, keep the function over GF(p)",
        function.keeps(lambda r: group_element(a, r, 3)),
        on="condition",
    )
    evidence.control(
        "heads of a group moved by different elements of it",
        not function.keeps(lambda r: group_element(a, r, 3, of_group=lambda i: i)),
        kind="exact",
    )
    roles, x = random_parameters(a, 3), random_inputs(a, 3)
    kept = measure_invariance(a, roles, lambda r, s: group_element(a, r, s), 3, x)
    evidence.numeric("the same in float64", on="condition", figures={"observed / allowed": at_most(kept.ratio, 1.0)})
    general, inverse = unimodular(a.d_k, 3)
    change = assert_changes(a, roles, {QUERY: roles[QUERY] @ general, KEY: roles[KEY] @ inverse.mT}, x)
    evidence.control("a general $A$ that commutes with no rotation", figures={"change": at_least(change, 1e-3)})


def record_silent_head(evidence: EvidenceLog, a: Architecture, only: str) -> None:
    """Queries of a head that writes nothing, and of one that writes."""
    roles = random_parameters(a, 1)
    silent = roles | {OUTPUT: roles[OUTPUT].index_fill(0, torch.tensor([0]), 0.0)}

    def moved(r: Roles) -> Roles:
        return {QUERY: r[QUERY] * torch.tensor([2.0, 1.0], dtype=torch.float64)[:, None, None]}

    evidence.exact(
        "queries of a head move only with keys",
        not ExactFunction(a, silent).keeps(moved(silent)),
        counterexample=r"$W_O^{(1)} = 0$: $2W_Q^{(1)}$ in place of $W_Q^{(1)}$ keeps the function, and A1–A6 do not "
        r"mention $W_O$",
        only=only,
    )
    evidence.control("where the head writes", not ExactFunction(a, roles).keeps(moved(roles)), kind="exact", only=only)


@checks("App-D.2")
def test_dimension_under_sharing(evidence: EvidenceLog) -> None:
    cases = ((4, 2, 3, (0, 0, 1)), (5, 3, 2, (0, 1, 1, 1)), (4, 2, 2, (0, 0, 0)))
    ranks, expected = [], []
    for d, d_k, d_v, groups in cases:
        point = random_attention(d=d, d_k=d_k, d_v=d_v, groups=groups, seed=d)
        parts = (lie.query_key_generators(point), lie.value_output_generators(point))
        ranks.append(linear.rank(parts[0].to_dense().vstack(parts[1].to_dense())))
        expected.append(gqa().at(g=max(groups) + 1, d_k=d_k, d_v=d_v))
    evidence.exact(
        r"rank over the rationals of the generators at general points with shared heads, groups of unequal size "
        r"included: orbits have dimension $g(d_k^2+d_v^2)$",
        figures={"rank": equal(ranks, expected)},
        cases=len(cases),
    )
    turning = [(FIRST,), (FIRST, SECOND), (FIRST, FIRST)]
    found, sizes = [], []
    for angles in turning:
        algebra = [m.to_Matrix() for m in commutant_basis(angles)]
        point = random_attention(d=5, d_k=2 * len(angles), d_v=2, groups=(0, 0, 1), seed=7)
        parts = (lie.query_key_generators(point, algebra), lie.value_output_generators(point))
        found.append(linear.rank(parts[0].to_dense().vstack(parts[1].to_dense())))
        sizes.append(len(algebra))
    evidence.exact(
        r"with the commutant of one plane, of two and of two equal planes for $GL(d_k)$: $g(\dim\mathcal C+d_v^2)$",
        figures={"dim C": equal(sizes, [2, 4, 8]), "rank": equal(found, [2 * (c + 4) for c in sizes])},
        cases=len(turning),
    )
    a = Architecture(5, 4, 2, 3, groups=2, layers=2, context=3, causal=False, rotary=Rotary.standard(2))
    new_directions = {f.name: f.new_directions for f in account(a, seed=0).families}
    one = a.groups * (a.d_k + a.d_v**2)
    evidence.exact(
        "in two layers with a residual stream the two sectors contribute twice what one layer has, exactly",
        figures={
            "query-key and value-output": equal(new_directions["query-key"] + new_directions["value-output"], 2 * one)
        },
    )
    degenerate = random_attention(d=1, d_k=2, d_v=1, groups=(0,), seed=1)
    lost = 4 - linear.rank(lie.query_key_generators(degenerate))
    evidence.control("heads wider than the stream: the orbit is smaller", lost > 0, kind="exact")


@checks("prop-D.1b")
def test_standard_frequencies(evidence: EvidenceLog) -> None:
    t = sp.Symbol("t")
    cases, algebraic = [(base, d_k) for base in (10_000, 500_000, 1_000_000) for d_k in (4, 10, 64, 128)], []
    for base, d_k in cases:
        for j in sorted({0, 1, d_k // 4, d_k // 2 - 1}):
            omega = sp.Integer(base) ** sp.Rational(-2 * j, d_k)
            # ω^d_k = base^(−2j): a polynomial with rational coefficients, and ω is not 0.
            relation = sp.Poly(t**d_k - sp.Rational(1, base ** (2 * j)), t)
            algebraic.append(sp.simplify(omega**d_k - sp.Rational(1, base ** (2 * j))) == 0 and not relation.is_zero
                             and omega.is_positive)  # fmt: skip
    evidence.proof(
        r"$\omega_j = \mathrm{base}^{-2j/d_k}$ is a root of $t^{d_k}-\mathrm{base}^{-2j}$, so algebraic, and positive; "
        r"were $\omega_j = r\pi$ with rational $r\ne0$, then $\pi = \omega_j/r$ would be algebraic, against Lindemann",
        all(algebraic) and sp.pi.is_transcendental,
        cases=len(algebraic),
    )
    try:
        sp.minimal_polynomial(sp.pi, t)
        refused = False
    except NotAlgebraic:
        refused = True
    evidence.control(r"$\pi$ itself has no such polynomial", refused, kind="proof")
    stored = [Fraction(*(base ** (-2 * j / d_k)).as_integer_ratio()) for base, d_k in cases for j in range(d_k // 2)]
    evidence.exact(
        "rounded to float64, as implementations store them, the frequencies are rationals and not 0",
        all(0 < omega <= 1 for omega in stored),
        cases=len(stored),
    )
    exact = [len(commutant_basis([angle])) for angle in (FIRST, Fraction(1, 4), Fraction(1, 6), Fraction(1, 2))]
    evidence.control(
        r"rational parts of a turn: the commutant is $\mathbb C$ there too unless $\omega\in\pi\mathbb Z$",
        exact == [2, 2, 2, 4],
        kind="exact",
        figures={"dimensions": exact},
    )
