"""Routers that read the stream (Corollary 3.5), and relative encodings that only add to the scores (abstract)."""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp
import torch
from hypothesis import strategies as st

from proofs_checks.gauge.relabelings import record_routing_of_relabelings
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.relative_positions import Biased
from proofs_checks.support.small_architectures import ALONE, EPSILON
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge import strategies as sg
from symgauge.architecture import Architecture, Experts, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import d, d_k, matrix, n
from symgauge.symbolic.proof import prove_equal

MIXTURE: dict[str, Any] = {"norm": "rms", "gated": True, "activation": "silu", "experts": Experts(3, 2, 4), **EPSILON}


@checks("cor-3.5", "abs-14")
def test_router(evidence: EvidenceLog) -> None:
    record_identity(evidence, "query_key")
    record_identity(evidence, "value_output")
    record_identity(evidence, "shared_group")
    a = Architecture(5, 4, 2, 3, groups=2, context=2, **MIXTURE)
    for claim in ("cor-3.5", "abs-14"):
        record_routing_of_relabelings(evidence, a, claim)
    function = ExactFunction(a, batch=200)
    evidence.exact(
        "a layer with routed experts: elements of determinant $-1$ keep its output over GF(p²), router and choice "
        "included",
        all(function.keeps(partial(head_element, a, seed=s)) for s in range(3)),
        cases=3,
        figures={"primes": [2147483579]},
    )
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$",
        not function.keeps(partial(head_element, a, wrong_inverse=True)),
        kind="exact",
    )
    worst, weakest, rerouted = 0.0, 1.0, 1.0

    def keeps(a: Architecture, seed: int) -> bool:
        nonlocal worst, weakest, rerouted
        a = a.replace(rotary=None, **EPSILON)
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, s: head_element(a, r, s), seed, x)
        worst = max(worst, found.ratio)
        router = "layers.0.ff.router.weight"
        turned = {router: roles[router].roll(1, -1)}
        rerouted = min(rerouted, assert_changes(a, roles, turned, x, what="tokens sent to other experts"))
        wrong = head_element(a, roles, seed, wrong_inverse=True)
        weakest = min(weakest, assert_changes(a, roles, wrong, x, margin=1e-6))
        return found.holds

    run = for_all(keeps, a=sg.architectures(kinds=["mixtral"]), seed=st.integers(0, 999))
    evidence.property(
        "drawn mixtures: outputs within rounding, so every token keeps its experts",
        run,
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control(r"$A^{-1}$ for $A^{-\top}$ on drawn mixtures", figures={"change": at_least(weakest, 1e-6)})
    evidence.control("tokens sent to other experts", figures={"smallest change": at_least(rerouted, 1e-3)})


@checks("abs-3")
def test_relative_encodings(evidence: EvidenceLog) -> None:
    x, w_q, w_k, a = matrix("X", n, d), matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("A", d_k, d_k)
    table = matrix("B", n, n)

    def weights(q: Any, k: Any) -> RowSoftmax:
        return RowSoftmax(x * q * (x * k).T / sp.sqrt(d_k) + table)

    kept = proves(lambda: prove_equal(weights(w_q, w_k), weights(w_q * a, w_k * a.I.T)))
    evidence.proof("for every size, every invertible $A$ and any table $B$ added to the scores", kept, on="correction")
    evidence.control(
        r"$A^{-1}$ for $A^{-\top}$",
        not proves(lambda: prove_equal(weights(w_q, w_k), weights(w_q * a, w_k * a.I))),
        kind="proof",
    )
    sizes = ((5, 2, 2, 3), (5, 2, 4, 3))
    plain = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in sizes]
    found = [
        [dimension(Biased(p, learned), Vectors(3, p.d_model)).require_decided() for p in plain]
        for learned in (False, True)
    ]
    fixed, learned = ([f.nullity for f in row] for row in found)
    full = [p.heads * (p.d_k**2 + p.d_v**2) for p in plain]
    reduced = [p.heads * (p.d_k + p.d_v**2) for p in plain]
    evidence.exact(
        "the nullity with a fixed additive table is that of the reduced group",
        fixed == reduced,
        counterexample=r"one head, $q_t\cdot k_s+b_{t-s}$: $A = \mathrm{diag}(2,1)$ keeps the scores and "
        r"commutes with "
        r"no rotation of the plane",
        figures={"nullity": fixed, "claimed": reduced, "seed": 0, "primes": list(found[0][0].primes)},
        cases=len(plain),
    )
    evidence.exact(
        r"exact nullity is $h(d_k^2+d_v^2)$, and $h$ more with a learned table",
        on="correction",
        figures={
            "fixed": equal(fixed, full),
            "learned": equal(learned, [n + p.heads for n, p in zip(full, plain, strict=True)]),
            "failure bound": at_most(max(f.failure_bound for row in found for f in row), 1e-6),
        },
        cases=2 * len(plain),
    )
    turning = [p.replace(rotary=Rotary.standard(p.d_k)) for p in plain]
    rotary = census(turning, lambda p: p.heads * (p.d_k + p.d_v**2))
    evidence.exact("with rotary positions the reduction is real", on="correction", figures=rotary.figures, cases=2)
    module, inputs = Biased(plain[1], False), random_inputs(plain[1], 1)
    roles = dict(zip(module.names, module.weights, strict=True))
    moved = head_element(plain[1], roles, 1)
    wrong = head_element(plain[1], roles, 1, wrong_inverse=True)
    with torch.no_grad():
        before = module(inputs)
        changes = [
            float((_with(module, roles | new)(inputs) - before).norm() / before.norm()) for new in (moved, wrong)
        ]
    evidence.numeric(
        "a general element of determinant $-1$ in float64",
        on="correction",
        figures={"relative change": at_most(changes[0], 1e-10)},
    )
    evidence.control(r"$A^{-1}$ for $A^{-\top}$ in float64", figures={"change": at_least(changes[1], 1e-3)})


def _with(module: Biased, roles: dict[str, Any]) -> Biased:
    other = Biased(module.a, module.learned is not None)
    other.weights = torch.nn.ParameterList([roles[name] for name in module.names])
    return other
