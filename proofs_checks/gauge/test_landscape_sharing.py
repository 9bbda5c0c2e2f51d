"""The Hessian's kernel under head sharing, with and without rotary positions: Corollary 5.2 and Appendix E.5."""

from __future__ import annotations

from random import Random
from typing import Any

import sympy as sp
import torch

from proofs_checks.gauge.critical_points import hessian_nullity, kernel_residual
from proofs_checks.gauge.landscape_losses import CriticalLayer, any_function_of_products, score_rank, shared_key_loss
from proofs_checks.support.algebra.commutant import rotation_matrix
from proofs_checks.support.rotary_commutant import FIRST, SECOND
from proofs_checks.support.symbolic_evidence import is_zero, record_identity
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.symbolic.instances import general_matrix

LONE: dict[str, Any] = {"residual": False}
# Plain grouped heads; one group; rotary; rotary with two unrotated channels; and stacks of two, with a residual stream.
PLAIN = (
    Architecture(5, 4, 2, 1, groups=2, context=3, **LONE),
    Architecture(4, 3, 1, 2, groups=1, context=3, **LONE),
    Architecture(3, 2, 2, 1, groups=1, layers=2, context=3),
)
ROTARY = (
    Architecture(4, 4, 2, 3, groups=2, context=4, rotary=Rotary.standard(2), **LONE),
    Architecture(5, 2, 4, 1, groups=1, context=5, rotary=Rotary.standard(2, unrotated=2), **LONE),
    Architecture(3, 2, 2, 1, groups=1, layers=2, context=4, rotary=Rotary.standard(2)),
)


def bound(a: Architecture) -> int:
    """L·g·(d_k² + d_v²), with dim C in place of d_k² for rotary positions."""
    query_key = a.d_k**2 if a.rotary is None else a.rotary.commutant_dimension
    return a.layers * a.groups * (query_key + a.d_v**2)


@checks("cor-5.2", "App-E.5")
def test_kernel_under_sharing(evidence: EvidenceLog) -> None:
    general = any_function_of_products(2, 2)
    evidence.proof(
        r"two heads sharing $W_K$, every twice differentiable loss of $W_Q^{(1)}W_K^\top$, $W_Q^{(2)}W_K^\top$ ($d = "
        r"2$, $d_k = 1$, derivatives as letters): $\nabla^2L\,v = -X^\top\nabla L$",
        (general.hessian() * general.vertical + general.generator.T * general.gradient()).expand().is_zero_matrix,
    )
    record_identity(evidence, "shared_group")
    record_identity(evidence, "rotary_commutant")
    record_rational(evidence)
    for what, layers in (("plain", PLAIN), ("rotary", ROTARY)):
        record_softmax(evidence, what, layers)


def record_rational(evidence: EvidenceLog) -> None:
    """Square losses of all scores: at zero residual, with rotations, and at a saddle."""
    rng, nullities, expected = Random(3), [], []
    for d, d_k, heads in ((3, 2, 2), (5, 2, 3), (5, 4, 2)):
        queries, key = [general_matrix(d, d_k, rng) for _ in range(heads)], general_matrix(d, d_k, rng)
        turn = rotation_matrix([FIRST, SECOND][: d_k // 2]).to_Matrix()
        for rotations, size in (([sp.eye(d_k)], d_k**2), ([turn**p for p in range(d_k + 1)], d_k)):
            nullities.append((heads + 1) * d * d_k - score_rank(queries, key, rotations))
            expected.append(size)
    evidence.exact(
        r"$\frac12\sum_{i,p}\|W_Q^{(i)}R_pW_K^\top-T_{i,p}\|^2$ with one $W_K$ for 2 or 3 heads, at rational minima: "
        r"nullity $d_k^2$ without rotations, $d_k$ with rational ones",
        figures={"nullity": equal(nullities, expected)},
        cases=len(nullities),
    )
    target = sp.diag(3, 2, 1)
    loss, point = shared_key_loss([target, target]), (0, 2, 0, 0, 2, 0, 0, 1, 0)
    slope, bend, v = (loss.at(e, point) for e in (loss.gradient(), loss.hessian(), loss.vertical))
    descends = (sp.Matrix([1, 0, 0, 1, 0, 0, 1, 0, 0]).T * bend * sp.Matrix([1, 0, 0, 1, 0, 0, 1, 0, 0]))[0] < 0
    evidence.exact(
        "at a rational saddle of two heads that share a key map: the generator is in the kernel",
        is_zero(slope, bend * v) and descends,
    )
    one_head = sp.Matrix([0, 2, 0, 0, 0, 0, 0, -1, 0])  # the generator without the second head
    evidence.control("the same direction for one head of the two only", not is_zero(bend * one_head), kind="exact")


def record_softmax(evidence: EvidenceLog, what: str, layers: tuple[Architecture, ...]) -> None:
    found = [CriticalLayer.of(a, seed) for seed, a in enumerate(layers)]
    nullity = [hessian_nullity(c.loss, c.theta) for c in found]
    expected = [bound(a) for a in layers]
    evidence.numeric(
        f"softmax layers, {what}, and a stack of two, at exact critical points: independent generators in the kernel, "
        "and the nullity",
        figures={
            "residual": at_most(max(kernel_residual(c.loss, c.theta, c.vectors) for c in found), 1e-12),
            "generators": equal([int(torch.linalg.matrix_rank(c.vectors)) for c in found], expected),
            "nullity": equal([n.dimension for n in nullity], expected),
            "smallest gap": at_least(min(n.singular.gap for n in nullity), 1e3),
        },
        cases=len(found),
    )
    evidence.control(
        f"{what}: random directions, and generators away from critical points",
        figures={
            "random": at_least(min(kernel_residual(c.loss, c.theta, c.random_vectors()) for c in found), 1e-3),
            "away": at_least(min(kernel_residual(c.loss, c.away, c.away_vectors) for c in found), 1e-4),
        },
    )
