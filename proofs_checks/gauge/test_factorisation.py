"""B.3 and B.4: the identity component, the factorisation theorem, and its steps (37)–(41)."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import sympy as sp
import torch
from sympy import GF

from proofs_checks.gauge.recovered_elements import find_element
from proofs_checks.support.algebra import linearised
from proofs_checks.support.algebra.group import GaugeElement, act, compose, random_element
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.attention_points import general_layer, head, layer, on_theta_0, second_orbit
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.poles import prove_disjoint, prove_reduction, prove_residue
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import proves
from symgauge.architecture import Architecture
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs, rank_with_gap
from symgauge.profiles import scale
from symgauge.symbolic import linear
from symgauge.symbolic.tangent import Attention

E1, E2 = [1, 0], [0, 1]
PRIME = DEFAULT_PRIMES[0]
MIXED = (
    layer(head(E1, E2, E1, E1), head(E1, E2, E2, E2)),
    layer(head(E1, E2, E1, [1, -1]), head(E1, E2, [1, 1], E2)),
)
"""M_1 = M_2 on Θ_0, and W_V ↦ W_V P, W_O ↦ P⁻¹W_O with a shear P across the heads."""


@checks("thm-B.5")
def test_factorisation(evidence: EvidenceLog) -> None:
    evidence.exact(
        "equal functions on $\\Theta_0$ are related by such a factorisation",
        not (all(map(on_theta_0, MIXED)) and second_orbit(*MIXED)),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $M_1 = M_2$, $W_V = W_O = I_2$: $W_V\mapsto W_VP$, "
        r"$W_O\mapsto P^{-1}W_O$ with $P = \begin{pmatrix}1&1\\0&1\end{pmatrix}$ mixes the heads",
        cases=6,
    )
    record_more_with_biases(
        evidence, Architecture(4, 2, 1, 2, context=3, **ALONE), lambda a: a.heads * (a.d_k**2 + a.d_v**2)
    )
    evidence.proof(
        r"poles of the function determine $\{(M_i, N_i)\}$ (see Lemma B.2)",
        prove_reduction() and prove_residue() and prove_disjoint(),
        on="condition",
    )
    evidence.proof(
        r"for every size: full-rank factors of one $M$ differ by one $A$, those of one $N$ by one $C$, and the two "
        r"have no letter in common",
        proves(linearised.prove_factors_of_one_product),
        on="condition",
    )
    shapes = ((3, 2, 1, 2), (4, 2, 2, 1), (4, 3, 2, 2))
    points = [general_layer(*shape, seed=s) for s, shape in enumerate(shapes)]
    planted = [random_element(h, k, v, seed=s) for s, (_, h, k, v) in enumerate(shapes)]
    found = [find_element(p, act(p, g)) for p, g in zip(points, planted, strict=True)]
    evidence.exact(
        r"from two points of one orbit the element is found again, $(A, C, \sigma)$ all at once, over ℚ",
        found == planted,
        on="condition",
        cases=len(points),
    )
    split = [
        compose(compose(*_sectors(g)), GaugeElement(_identities(h, k), _identities(h, v), g.sigma)) == g
        and compose(*_sectors(g)) == compose(*reversed(_sectors(g)))
        for g, (_, h, k, v) in zip(planted, shapes, strict=True)
    ]
    evidence.exact(
        "it is its query–key part, then its value–output part (in either order), then its permutation",
        all(split),
        on="condition",
        cases=len(shapes),
    )
    evidence.control(
        "no element joins points of different orbits",
        find_element(points[0], general_layer(3, 2, 1, 2, seed=9)) is None and find_element(*MIXED) is None,
        kind="exact",
    )
    record_recovery(evidence)


def _identities(count: int, size: int) -> tuple[sp.ImmutableMatrix, ...]:
    return (sp.ImmutableMatrix(sp.eye(size)),) * count


def _sectors(g: GaugeElement) -> tuple[GaugeElement, GaugeElement]:
    """(A, I, id) and (I, C, id)."""
    heads = len(g.sigma)
    nowhere = tuple(range(heads))
    return (
        GaugeElement(g.a, _identities(heads, g.c[0].rows), nowhere),
        GaugeElement(_identities(heads, g.a[0].rows), g.c, nowhere),
    )


def record_recovery(evidence: EvidenceLog) -> None:
    """A and C by least squares in float64, from weights of two gauge-equivalent layers."""
    a = Architecture(7, 2, 3, 2, context=3, **ALONE)
    errors: list[float] = []
    ratios: list[float] = []
    changes: list[float] = []
    query, key, value, output = (f"layers.0.attention.{role}.weight" for role in ("query", "key", "value", "output"))
    for seed in range(scale(5, 30)):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        on_q, on_v = (torch.stack([unimodular(s, 9 * seed + i)[0] for i in range(2)]) for s in (a.d_k, a.d_v))
        moved = {
            query: roles[query] @ on_q, key: roles[key] @ torch.linalg.inv(on_q).mT,
            value: roles[value] @ on_v, output: torch.linalg.inv(on_v) @ roles[output],
        }  # fmt: skip
        for role, planted in ((query, on_q), (value, on_v)):
            found = torch.linalg.lstsq(roles[role], moved[role]).solution
            condition = torch.linalg.cond(roles[role]).max() * torch.linalg.cond(planted).max()
            errors.append(float((found - planted).norm() / planted.norm() / condition))
        crossed = {**roles, value: roles[value] @ on_v, key: moved[key]}  # one half of each sector
        changes.append(assert_changes(a, roles, crossed, x))
        ratios.append(measure_invariance(a, roles, lambda _r, e: e, moved, x).ratio)
    evidence.numeric(
        "in float64: $A$, $C$ found by least squares (relative error over condition), and the function is kept",
        on="condition",
        figures={"error": at_most(max(errors), 1e-13), "largest observed / allowed": at_most(max(ratios), 1.0)},
        cases=len(errors),
    )
    evidence.control("one half of each sector", figures={"change": at_least(min(changes), 1e-3)})


@checks("eq-37..38")
def test_independent_weights(evidence: EvidenceLog) -> None:
    evidence.exact(
        "equal sums have equal terms, on $\\Theta_0$",
        not (all(map(on_theta_0, MIXED)) and same(*MIXED, tokens=3, cases=4)),
        counterexample=r"$M_1 = M_2$ on $\Theta_0$: $N_1+N_2$ is seen, not $N_1$ and $N_2$",
        cases=4,
    )
    one, zero = sp.Matrix([[1]]), sp.zeros(1)
    plain = Attention(
        (one, one),
        (one, 2 * one),
        (one, one),
        (one, one),
        (0, 1),
        b_q=(zero,) * 2,
        b_k=(zero,) * 2,
        b_v=(zero,) * 2,
        b_o=zero,
    )
    traded = replace(plain, b_v=(one, -one))
    evidence.exact(
        "the same with biases of the values",
        not same(plain, traded, tokens=3, cases=4),
        counterexample=r"$d = 1$, $h = 2$, $M_1 = 1$, $M_2 = 2$, all other weights 1: $b_V = 0, 0$ and $b_V = 1, -1$ "
        r"give equal outputs, as rows of $\alpha_i$ sum to one, and $V_i$ differ",
        cases=4,
    )
    paired = layer(*(head(q, k, E1, E2) for q, k in ((E1, E2), (E1, [0, -1]), ([1, 1], E2), ([1, 1], [0, -1]))))
    general = general_layer(2, 4, 1, 1, seed=2)
    ranks = {(name, tokens): weight_rank(p, tokens) for name, p in (("paired", paired), ("general", general))
             for tokens in (2, 3)}  # fmt: skip
    evidence.exact(
        r"four heads with $\pm M$, $\pm M'$ on two tokens: rank of $(\Delta_1,\dots,\Delta_4)\mapsto"
        r"\sum_i\alpha_iX\Delta_i$, per column ($hd = 8$ if independent)",
        figures={"rank": equal(ranks["paired", 2], 8)},
        counterexample=r"$n = 2$, $d = 2$: $\alpha_M+\alpha_{-M} = \mathbf 1\mathbf 1^\top = \alpha_{M'}+\alpha_{-M'}$ "
        r"with $M\ne\pm M'$, all distinct",
    )
    evidence.proof(
        r"a relation $\sum_i\alpha_iX\Delta_i = 0$ has residue $\delta\Delta_i/t_i$ at the poles of head $i$, which "
        r"for $n\ge3$ no other head shares, so $\delta\Delta_i = 0$ for all $\delta$",
        prove_reduction() and prove_residue() and prove_disjoint(),
        on="condition",
    )
    evidence.exact(
        r"the same rank on three tokens is full, also with $\pm M$ among the heads (modulo a prime, $e$ a random "
        r"residue)",
        on="condition",
        figures={"ranks": equal([ranks["paired", 3], ranks["general", 3]], [8, 8])},
        cases=2,
    )
    rng = np.random.default_rng(3)
    maps = rng.standard_normal((3, 3, 3))
    measured = rank_with_gap(torch.tensor(float_weights(np.concatenate([maps, -maps]), 3, 30)))
    few = rank_with_gap(torch.tensor(float_weights(np.concatenate([maps, -maps]), 2, 30)))
    evidence.numeric(
        "float64, six heads $\\pm M_i$, $d = 3$: the rank with its gap",
        on="condition",
        figures={"rank": equal(measured.rank, 18), "gap": at_least(measured.gap, 1e4)},
    )
    evidence.control(
        r"the same six heads on two tokens: two relations $\alpha_M+\alpha_{-M} = \alpha_{M'}+\alpha_{-M'}$, three "
        "columns each",
        figures={"rank": equal(few.rank, 12), "gap": few.gap},
    )


def weight_rank(point: Attention, tokens: int) -> int:
    """Rank of [α_1X, …, α_hX] (h·d columns), rows of eight integer sequences below each other, modulo a prime.

    Scores are integers and e is replaced by a random residue, so a full rank is certain and a smaller one is the rank
    over ℚ(e) up to a chance of about 1e-7.
    """
    field, prime = GF(PRIME), PRIME
    base = Random(tokens).randrange(2, prime)
    inputs, rows = Random(1), []
    for _ in range(8):
        x = [[inputs.randint(-2, 2) for _ in range(point.w_q[0].rows)] for _ in range(tokens)]
        tokens_matrix = sp.Matrix(x)
        powers = [
            [[pow(base, int(s), prime) for s in row] for row in (tokens_matrix * q * (tokens_matrix * k).T).tolist()]
            for q, k in zip(point.w_q, point.w_k, strict=True)
        ]
        for t in range(tokens):
            weights = [[p * pow(sum(head[t]), -1, prime) for p in head[t]] for head in powers]
            rows.append(
                [
                    field(sum(w * x[s][j] for s, w in enumerate(row)))
                    for row in weights
                    for j in range(point.w_q[0].rows)
                ]
            )
    return linear.rank(linear.from_rows(rows, point.heads * point.w_q[0].rows, field))


def float_weights(maps: np.ndarray, tokens: int, sequences: int) -> np.ndarray:
    """The same matrix in float64 at Gaussian tokens: (sequences·tokens, h·d)."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(sequences):
        x = rng.standard_normal((tokens, maps.shape[1]))
        weights = np.exp(x @ maps @ x.T)
        rows.append(np.concatenate(list(weights / weights.sum(-1, keepdims=True) @ x), axis=1))
    return np.concatenate(rows)
