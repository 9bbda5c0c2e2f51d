"""B.5 and B.7: the isolation argument against mixing heads, (42)–(44), and maximality under sharing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random

import sympy as sp
import torch

from proofs_checks.gauge.algebra import head_mixing
from proofs_checks.gauge.shared_heads import KEY, SIZES, VALUE, record_resplitting, relabelled, shared
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.silent_head import nullity_with_a_silent_head
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import ReferenceModel, random_parameters
from symgauge.numeric import assert_changes, fibre_dimension_float, measure_invariance, random_inputs
from symgauge.profiles import scale
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import random_attention
from symgauge.symbolic.words import Facts

FULL = sp.Symbol("m", integer=True, positive=True)  # h·d_v


@checks("eq-42..44")
def test_isolation_equation(evidence: EvidenceLog) -> None:
    w_v, w_o, p = sp.eye(2), sp.Matrix([[0, 1], [1, 0]]), 2 * sp.eye(2)
    evidence.exact(
        "(44) holds for whatever keeps the function",
        not is_zero(*head_mixing.head_changes(w_v, w_o, p, 1)) or is_zero(p * w_o - w_o),
        counterexample=r"$h = d_k = 1$, $d = d_v = 2$, $P = 2I$: $W_V\mapsto2W_V$, $W_O\mapsto W_O/2$ changes "
        r"nothing, and (44) would say $W_O = 2W_O$",
    )
    full = matrix("P", FULL, FULL)
    e, values, outputs = matrix("E_i", FULL, FULL), matrix("W_V", d, FULL), matrix("W_O", FULL, d)
    left, right = matrix("W_V⁺", FULL, d), matrix("W_O⁺", d, FULL)
    ranks = Facts(equations=((left * values, sp.Identity(FULL)), (outputs * right, sp.Identity(FULL))))
    kept = left * values * full * e * full.I * outputs * right
    evidence.proof(
        r"for every size: between $W_V^+$ and $W_O^+$ the condition reads $PE_iP^{-1} = E_i$, that is $PE_i = E_iP$",
        proves(lambda: prove_equal(kept, full * e * full.I, ranks))
        and proves(lambda: prove_equal(full * e * full.I * full, full * e)),
        on="correction",
    )
    rng, counts, violating = Random(5), [], []
    for heads, size in ((2, 1), (2, 2), (3, 2)):
        count = heads * size
        w_v, w_o = general_matrix(count + 1, count, rng), general_matrix(count, count + 1, rng)
        counts.append(len(head_mixing.preserving_basis(w_v, w_o, heads)))
        blocks = sp.diag(*(general_matrix(size, size, rng) for _ in range(heads)))
        violating.append(is_zero(*head_mixing.head_changes(w_v, w_o, blocks, heads)) and blocks * w_o != w_o)
    evidence.exact(
        r"the $P$ that keep all heads fill $hd_v^2$ dimensions at general $W_V$, $W_O$, and general block-diagonal "
        r"ones break (44)",
        all(violating),
        on="correction",
        figures={"dimensions": equal(counts, [2, 8, 12])},
        cases=len(counts),
    )
    w_v, w_o = general_matrix(3, 2, rng), general_matrix(2, 3, rng)
    shear = head_mixing.head_changes(w_v, w_o, sp.Matrix([[1, 1], [0, 1]]), 2)
    evidence.control("a shear across heads is noticed", not is_zero(*shear), kind="exact")
    record_float_mixing(evidence)


def record_float_mixing(evidence: EvidenceLog) -> None:
    """Drawn block-diagonal P on a layer keep the function, not (44); one entry outside the blocks changes it."""
    a = Architecture(7, 3, 4, 2, context=4, **ALONE)
    value, output = (f"layers.0.attention.{role}.weight" for role in ("value", "output"))
    ratios, misfits, changes = [], [], []
    for seed in range(scale(4, 20)):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        generator = torch.Generator().manual_seed(seed)
        blocks = torch.eye(2, dtype=torch.float64) + torch.randn(3, 2, 2, generator=generator, dtype=torch.float64) / 2
        mixing = torch.block_diag(*blocks)
        stacked = roles[output].reshape(6, 7)
        misfits.append(float((stacked - mixing @ stacked).norm() / stacked.norm()))

        def act(r: Roles, p: torch.Tensor) -> dict[str, torch.Tensor]:
            values = r[value].transpose(0, 1).reshape(7, 6) @ p
            outputs = torch.linalg.solve(p, r[output].reshape(6, 7))
            return {value: values.reshape(7, 3, 2).transpose(0, 1), output: outputs.reshape(3, 2, 7)}

        ratios.append(measure_invariance(a, roles, act, mixing, x).ratio)
        mixing[0, -1] += 1
        changes.append(assert_changes(a, roles, {**roles, **act(roles, mixing)}, x))
    evidence.numeric(
        "drawn block-diagonal $P$ on a layer of three heads keep it in float64, far from satisfying (44)",
        on="correction",
        figures={
            "largest observed / allowed": at_most(max(ratios), 1.0),
            "relative misfit of (44)": at_least(min(misfits), 1e-1),
        },
        cases=len(ratios),
    )
    evidence.control("one entry outside the blocks", figures={"change": at_least(min(changes), 1e-3)})


@checks("B.6-indep")
def test_independence_of_blocks(evidence: EvidenceLog) -> None:
    point = random_attention(d=2, d_k=1, d_v=1, groups=(0, 1))
    point = replace(point, w_o=(sp.zeros(1, 2), sp.zeros(1, 2)))
    ranks = all(w.rank() == w.cols for w in (*point.w_q, *point.w_k, *point.w_v))
    evidence.exact(
        "A4 makes the blocks independent",
        not ranks or sp.Matrix.vstack(*point.w_o).rank() == 2,
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_O = 0$: $W_Q, W_K, W_V$ have full column rank, A4 holds",
    )
    w_o = sp.Matrix([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]])
    blocks = sp.Matrix.hstack(sp.Matrix([*w_o[:2, :]]), sp.Matrix([*w_o[2:, :]]))
    p = sp.eye(4) + sp.Matrix([1, 0, 0, 0]) * sp.Matrix([[0, 1, 1, -1]])
    evidence.exact(
        "blocks independent as matrices force $P = I$",
        blocks.rank() < 2 or p * w_o != w_o or p.det() == 0 or p == sp.eye(4),
        counterexample=r"$h = d_v = 2$, $d = 4$, $W_O$ with rows $e_1, e_2, e_3, e_2+e_3$: the two blocks are linearly "
        r"independent, and $P = I+e_1(0,1,1,-1)$ has $PW_O = W_O$",
        figures={"rank of the two blocks": blocks.rank(), "rank of $W_O$": w_o.rank()},
    )
    mixing, outputs, right = matrix("P", d, d), matrix("W_O", d, d), matrix("W_O⁺", d, d)
    by_rank = Facts(equations=((outputs * right, sp.Identity(d)),))
    kept = Facts(equations=((mixing * outputs, outputs),))
    evidence.proof(
        r"for every size: $PW_OW_O^+$ is $P$ as $W_OW_O^+ = I$, and $W_OW_O^+$ if $PW_O = W_O$",
        proves(lambda: prove_equal(mixing * outputs * right, mixing, by_rank))
        and proves(lambda: prove_equal(mixing * outputs * right, outputs * right, kept)),
        on="condition",
    )
    rng, solutions = Random(6), []
    for size in (2, 4):
        invertible = general_matrix(size, size, rng)
        system = sp.kronecker_product(sp.eye(size), invertible.T)  # vec(P W_O), rows of P one after another
        solutions.append(len(system.nullspace()))
    evidence.exact(
        r"dimension of $\{P-I: PW_O = W_O\}$ at general invertible $W_O$",
        on="condition",
        figures={"dimensions": equal(solutions, [0, 0])},
        cases=2,
    )
    singular = len(sp.kronecker_product(sp.eye(4), w_o.T).nullspace())
    evidence.control("at the singular $W_O$ above", figures={"dimension": at_least(singular, 4)}, kind="exact")


@checks("B.7-max")
def test_maximality_under_sharing(evidence: EvidenceLog) -> None:
    record_resplitting(evidence, shared((5, 2, 1, 2, 3)), "B.7-max")
    record_more_with_biases(evidence, shared((5, 2, 1, 2, 3)), lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    w_k, k_ = matrix("W_K", d, d_k), matrix("W_K'", d, d_k)
    left = matrix("W_K'⁺", d_k, d)
    by_rank = Facts(equations=((left * k_, sp.Identity(d_k)),))

    def tied(head: str) -> bool:
        q, q_ = matrix(f"W_Q{head}", d, d_k), matrix(f"W_Q{head}'", d, d_k)
        word, same_scores = q_ * k_.T * left.T, Facts(equations=((q_ * k_.T, q * w_k.T),))
        by_condition = proves(lambda: prove_equal(word, q * (w_k.T * left.T), same_scores))
        return by_condition and proves(lambda: prove_equal(word, q_, by_rank))

    evidence.proof(
        r"for every size: heads $i$ of a group with $M_i' = M_i$ have $W_Q^{(i)\prime} = W_Q^{(i)}A$ with one $A = "
        r"W_K^\top(W_K^{\prime+})^\top$, in which no head occurs; $C$ likewise, from $W_V$ alone",
        tied("1") and tied("2"),
        on="condition",
    )
    v_, v, o, o_ = matrix("W_V'", d, d_v), matrix("W_V", d, d_v), matrix("W_O", d_v, d), matrix("W_O'", d_v, d)
    inverse = matrix("W_V'⁺", d_v, d)
    facts = Facts(equations=((inverse * v_, sp.Identity(d_v)),))
    evidence.proof(
        r"$W_O' = (W_V^{\prime+}W_V)W_O$ for every head of the group",
        proves(lambda: prove_equal(inverse * (v_ * o_), o_, facts))
        and proves(lambda: prove_equal(inverse * (v_ * o_), inverse * v * o, Facts(equations=((v_ * o_, v * o),)))),
        on="condition",
    )
    found = census([shared(s) for s in SIZES[:3]], lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "exact nullity of grouped layers is $g(d_k^2+d_v^2)$ and nothing is unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    unequal = random_attention(d=4, d_k=2, d_v=2, groups=(0, 0, 1))
    alike = random_attention(d=4, d_k=2, d_v=2, groups=(0, 0, 1, 1), seed=2)
    alike = replace(alike, w_k=(alike.w_k[0], alike.w_k[0]), w_v=(alike.w_v[0], alike.w_v[0]))
    solved = [
        lie.characterise(p, [lie.query_key_generators(p), lie.value_output_generators(p)]) for p in (unequal, alike)
    ]
    evidence.exact(
        "first-order conditions over ℚ: groups of unequal size, and (A2′) violated by two groups with equal $W_K$ and "
        "$W_V$: the generators and nothing else",
        all(r.inside and r.free for r in solved),
        on="condition",
        figures={"kernel": equal([r.kernel.dimension for r in solved], [16, 16])},
        cases=2,
    )
    a = shared((5, 4, 2, 2, 3))
    roles = random_parameters(a, 2)
    twins = {**roles, **{role: roles[role][:1].repeat(2, 1, 1) for role in (KEY, VALUE)}}
    exchanged = partial(relabelled, sigma=(2, 1, 0, 3), tau=(0, 1))
    evidence.control(
        "query heads exchanged across groups keep the function over GF(p) where both have the same $W_K$ and $W_V$, "
        "not at general ones",
        ExactFunction(a, twins).keeps(exchanged) and not ExactFunction(a, roles).keeps(exchanged),
        kind="exact",
    )
    measured = fibre_dimension_float(ReferenceModel(a, seed=3), random_inputs(a, 3, batch=40))
    evidence.numeric(
        "float64 singular values with a gap",
        on="condition",
        figures={"nullity": equal(measured.nullity, 26), "gap": at_least(measured.singular.gap, 1e4)},
    )
    evidence.control(
        "a head that writes nothing: more is free",
        figures={"nullity": at_least(nullity_with_a_silent_head(a, 3, batch=40), measured.nullity + 1)},
    )
