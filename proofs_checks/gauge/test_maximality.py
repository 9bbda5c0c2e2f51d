"""Theorem 3.6: is G_max everything for attention without biases? With the conditions of the corrected theorem, yes."""

from __future__ import annotations

from functools import partial
from itertools import permutations, product

import torch
from hypothesis import strategies as st

from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.bare_attention import record_more_than_bare_attention
from proofs_checks.support.census import census, describe
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.group_elements import ROLES, general_element
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.maximality_counterexamples import record_counterexamples
from proofs_checks.support.poles import ComplexLayer, measure_poles, prove_factors, prove_poles
from proofs_checks.support.silent_head import nullity_with_a_silent_head
from proofs_checks.support.small_architectures import ALONE, parameters
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge import strategies as sg
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.models.reference import ReferenceModel, random_parameters
from symgauge.numeric import assert_changes, fibre_dimension_float, measure_invariance, random_inputs
from symgauge.profiles import scale
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.tangent import random_attention

# (d, h, d_k, d_v): A2 and A6 hold; h·d_v < d; h·d_v > d; d < 2 d_k; one head; three heads.
SIZES = ((4, 2, 1, 2), (6, 2, 3, 3), (7, 2, 3, 2), (5, 2, 2, 4), (5, 2, 4, 3), (5, 1, 2, 3), (6, 3, 2, 2), (5, 3, 4, 2))


@checks("thm-3.6", "abs-2")
def test_maximality(evidence: EvidenceLog) -> None:
    record_counterexamples(evidence)
    canonical = Architecture(4, 2, 1, 2, context=3, **ALONE)
    record_more_with_biases(evidence, canonical, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    record_more_than_bare_attention(evidence, only="abs-2")
    record_identity(evidence, "query_key", on="condition")
    record_identity(evidence, "value_output", on="condition")
    evidence.proof(
        r"query $\lambda x$, all other tokens $\lambda x-\delta$: head $i$ has poles exactly at $\lambda t_i = "
        r"\ln(n-1)+i\pi(2k+1)$, $t_i = xM_i\delta^\top/\sqrt{d_k}$, with residue $\delta N_i/t_i$; for $n\ge3$ heads "
        r"with different $t_i$ share no pole, so the function determines the multiset of $(M_i, N_i)$",
        prove_poles(),
        on="condition",
    )
    evidence.proof(
        r"for every size: full-rank factors of one $M$ (one $N$) differ by one $A$ (one $C$)",
        prove_factors(),
        on="condition",
    )
    architectures = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in SIZES]
    architectures += [a.replace(causal=True) for a in architectures[4:6]]
    found = census(architectures, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "exact nullity of the Jacobian at $n = 3$ is $h(d_k^2+d_v^2)$ and nothing is unexplained, also where A2 or A6 "
        "fail",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    sizes = ((4, 2, 1, 2), (5, 2, 3, 2))
    points = [random_attention(d=w, d_k=k, d_v=v, groups=range(h), seed=w) for w, h, k, v in sizes]
    results = [lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in points]
    evidence.exact(
        "first-order conditions solved over the rationals at general points: the generators and nothing else",
        all(r.inside and r.free for r in results),
        on="condition",
        figures={"unexplained": equal([r.unexplained for r in results], [0, 0])},
        cases=len(results),
    )
    poles = [
        measure_poles(ComplexLayer.random(5, 3, 2, 3, n), ComplexLayer.random(5, 3, 2, 3, n + 9)) for n in range(3)
    ]
    evidence.numeric(
        "contour integrals around the predicted poles: the predicted residues, also for a gauge-equivalent layer, and "
        "nothing for a layer with other parameters",
        on="condition",
        figures={
            "relative error": at_most(max(max(m.own, m.moved) for m in poles), 1e-9),
            "other parameters": at_most(max(m.other for m in poles), 1e-9),
        },
        cases=sum(m.cases for m in poles),
    )
    evidence.control(
        "the residues predicted for one layer are not those of another",
        figures={"relative error": at_least(1 - max(m.other for m in poles), 0.5)},
    )
    record_permutations(evidence)
    record_sampled(evidence)


def record_permutations(evidence: EvidenceLog) -> None:
    """The discrete part, by enumeration, and finite elements in exact arithmetic."""
    kept, tried = [], 0
    for heads in (2, 3):
        a = Architecture(5, heads, 2, 3, context=3, **ALONE)
        function = ExactFunction(a)
        orders = [torch.tensor(p) for p in permutations(range(heads))]
        for chosen in product(orders, repeat=3):  # a common permutation is taken out: the queries stay
            tried += 1
            moved = {r: function.roles[r].index_select(0, p) for r, p in zip(ROLES[1:], chosen, strict=True)}
            if function.keeps(moved):
                kept.append([heads, *(p.tolist() for p in chosen)])
    trivial = [[h, *([list(range(h))] * 3)] for h in (2, 3)]
    evidence.exact(
        "of all permutations of keys, values and outputs against the queries, only the identity keeps the function: "
        "the discrete part is $S_h$",
        on="condition",
        figures={"kept": equal(kept, trivial), "tried": tried},
        cases=tried,
    )
    a = Architecture(5, 3, 2, 4, context=3, **ALONE)
    function, element = ExactFunction(a, seed=3), partial(general_element, a)
    evidence.exact(
        r"finite elements ($\det A_i = \det C_i = -1$, not symmetric, heads shifted) keep the function over GF(p)",
        all(function.keeps(partial(element, seed=100 * seed)) for seed in range(4)),
        on="condition",
        cases=4,
    )
    evidence.control(
        "a key map moved alone",
        not function.keeps(lambda r: {ROLES[1]: r[ROLES[1]] @ unimodular(a.d_k, 1)[0]}),
        kind="exact",
    )
    module = ReferenceModel(a.replace(heads=2, groups=2), seed=1)
    with torch.no_grad():  # M_1 = M_2 at the module's own point
        for name in ("query", "key"):
            weight = getattr(module, f"layers__0__attention__{name}__weight")
            weight[1] = weight[0]
    degenerate = dimension(module, Vectors(3, a.d_model), point="own").require_decided().nullity
    evidence.control(
        "at a point with $M_1 = M_2$ the same engine finds more",
        kind="exact",
        figures={"nullity": at_least(degenerate, 2 * (a.d_k**2 + a.d_v**2) + 1)},
    )


def record_sampled(evidence: EvidenceLog) -> None:
    worst, weakest = 0.0, 1.0

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, s: general_element(a, r, s), seed % 1000, x)
        worst = max(worst, found.ratio)
        broken = roles[ROLES[1]] @ torch.stack([unimodular(a.d_k, seed % 1000 + i)[1] for i in range(a.heads)])
        query = roles[ROLES[0]] @ torch.stack([unimodular(a.d_k, seed % 1000 + i)[0] for i in range(a.heads)])
        if a.d_k > 1:
            what = "A⁻¹ for A⁻ᵀ"
            weakest = min(weakest, assert_changes(a, roles, {ROLES[0]: query, ROLES[1]: broken}, x, what=what))
        return found.holds

    drawn = sg.architectures(
        kinds=["attention"], max_parameters=250, max_layers=1, attention="softmax", rotary=None, groups=0,
        query_bias=False, key_bias=False, value_bias=False, output_bias=False, residual=False,
    )  # fmt: skip
    run = for_all(keeps, a=drawn, seed=st.integers(0, 999))
    evidence.property(
        "drawn layers and elements: the relative change stays below what rounding explains",
        run,
        on="condition",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$, for every drawn layer", figures={"smallest change": at_least(weakest, 1e-3)}
    )
    a = Architecture(5, 2, 2, 3, context=3, **ALONE)
    found = [
        fibre_dimension_float(ReferenceModel(a, seed=s), random_inputs(a, s, batch=30)) for s in range(scale(2, 10, 1))
    ]
    evidence.numeric(
        f"float64 singular values have a gap, and the same nullity ({describe(a)}, P = {parameters(a)})",
        on="condition",
        figures={
            "nullity": equal([f.nullity for f in found], [a.heads * (a.d_k**2 + a.d_v**2)] * len(found)),
            "smallest gap": at_least(min(f.singular.gap for f in found), 1e4),
        },
        cases=len(found),
    )
    evidence.control(
        "a head that writes nothing: more is free",
        figures={"nullity": at_least(nullity_with_a_silent_head(a, 0, batch=30), found[0].nullity + 1)},
    )
