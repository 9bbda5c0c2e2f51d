"""The feed-forward network with GELU (Lemma 4.2): permutations of hidden units, and when signs join them."""

from __future__ import annotations

import sympy as sp

from proofs_checks.gauge.algebra.activations import (
    curvatures_are_independent,
    gelu,
    homogeneous_scales,
    odd_part_excess,
    x,
)
from proofs_checks.gauge.feed_forward_network import Network, record_signed_permutations
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.claims import EvidenceLog, at_most, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors


@checks("lem-4.2")
def test_gelu_network(evidence: EvidenceLog) -> None:
    before = gelu(x) - gelu(x + 1)
    after = gelu(-x) - gelu(-x - 1) - 1
    evidence.exact(
        "networks with equal functions differ by a permutation of units",
        sp.simplify(before - after) != 0,
        counterexample=r"$d = 1$, units $(w,b,v) = (1,0,1), (1,1,-1)$: $\mathrm{GELU}(x)-\mathrm{GELU}(x+1) = "
        r"\mathrm{GELU}(-x)-\mathrm{GELU}(-x-1)-1$, the units $(-1,0,1), (-1,-1,-1)$ with $b_2-1$; the reason is "
        r"$\mathrm{GELU}(z)-\mathrm{GELU}(-z) = z$ and $\sum w_jv_j = 0$",
    )
    evidence.control("the same change without the constant", sp.simplify(before - after - 1) != 0, kind="exact")
    record_identity(evidence, "hidden_permutation", on="condition")
    second = sp.simplify(sp.diff(gelu(x), x, 2))
    even = sp.simplify(second - second.subs(x, -x)) == 0
    gaussian = sp.simplify(second - (2 - x**2) * sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)) == 0
    evidence.proof(
        r"$\mathrm{GELU}''(z) = (2-z^2)\varphi(z)$ is even, so second derivatives see a unit up to its sign; as "
        r"these are independent on a general line for $\pm(w_j,b_j)$ that differ, they determine all "
        r"$\pm(w_j,b_j)$ and $v_j$; a flip of the units in $S$ leaves the linear map $\sum_S(xw_j+b_j)v_j$ over",
        even and gaussian and curvatures_are_independent() and odd_part_excess("gelu") == 0,
        on="condition",
    )
    evidence.proof(
        r"$\mathrm{GELU}(\lambda z) = \lambda\,\mathrm{GELU}(z)$ for $\lambda\in\{0,1\}$ only: units cannot be "
        r"rescaled",
        homogeneous_scales("gelu") == {sp.Integer(0), sp.Integer(1)},
        on="condition",
    )
    shapes = ((2, 3), (3, 5), (4, 3), (1, 4))
    found = [dimension(Network(d, f), Vectors(1, d)).require_decided() for d, f in shapes]
    evidence.exact(
        "no continuous freedom: exact nullity 0",
        on="condition",
        figures={
            "(d, d_ff)": [list(s) for s in shapes],
            "nullity": equal([f.nullity for f in found], [0] * len(found)),
            "primes": list(found[0].primes),
            "seed": 0,
            "failure bound": at_most(max(f.failure_bound for f in found), 1e-6),
        },
        cases=len(found),
    )
    record_signed_permutations(evidence)
