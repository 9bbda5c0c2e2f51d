"""Two tokens: what the function then says about the heads, and the sign flips that it does not see."""

from __future__ import annotations

import sympy as sp
import torch

from proofs_checks.support.attention_points import flipped, generic, head, layer, second_orbit, subsets, vanishing
from proofs_checks.support.census import census
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.profiles import scale

E1, E2 = [1, 0], [0, 1]


@checks("true-two-tokens")
def test_two_tokens(evidence: EvidenceLog) -> None:
    t, x, y, n, lam = sp.symbols("t x y N λ", real=True)
    weight = 1 / (1 + sp.exp(t))  # of the other token y
    row = (x - weight * (x - y)) * n
    odd = (x + y) / 2 * n + sp.tanh(t / 2) / 2 * (x - y) * n
    evidence.proof("the formula, for one head", sp.simplify((row - odd).rewrite(sp.exp)) == 0)
    flip = odd.subs({t: -t, n: -n}, simultaneous=True) - odd
    evidence.proof(
        r"$(M, N)\mapsto(-M, -N)$ changes a head's part by $-(x+y)N$, so flips of $S$ change the row by "
        r"$-(x+y)\sum_SN_i$",
        sp.simplify(flip + (x + y) * n) == 0,
    )
    numerator, denominator = sp.sinh(lam * t / 2), sp.cosh(lam * t / 2)
    pole = {lam: sp.I * sp.pi / t}
    simple = denominator.subs(pole) == 0
    residue = sp.simplify((numerator / denominator.diff(lam)).subs(pole))
    even = sp.simplify(residue * n - (residue * n).subs({t: -t, n: -n}, simultaneous=True)) == 0
    evidence.proof(
        r"the nearest poles of head $i$ are at $\pm i\pi/t_i$, with residue a multiple of $N_i/t_i$: they determine "
        r"$\pm(M_i, N_i)$, and the part linear in $x+y$ then fixes $\sum_iN_i$, hence which flips are possible",
        simple and even and sp.simplify(residue - 2 / t) == 0,
    )
    record_flips(evidence)
    opposite = layer(head(E1, E2, [1, 2], [1, 1]), head(E1, [0, -1], [1, 2], [1, 1]))
    elsewhere = layer(head([2, 1], [1, 1], [1, 2], [1, 1]), head([2, 1], [-1, -1], [1, 2], [1, 1]))
    third = layer(head(E1, E2, [1, 2], [1, 1]), head(E1, [0, -1], [2, 1], [1, 1]), head([1, 1], E2, [1, -1], [1, 1]))
    absorbed = layer(
        head(E1, E2, [2, 1], [1, 1]), head(E1, [0, -1], [3, 0], [1, 1]), head([1, 1], [0, -1], [-1, 1], [1, 1])
    )
    evidence.exact(
        r"$M_2 = -M_1$, $N_1 = N_2$: $M_1$ may be anything ($h = 2$); $M_2 = -M_1$ and a third head: "
        r"$(M_1, N_1+N_3), (-M_1, N_2+N_3), (-M_3, -N_3)$ is the same function, though no partial sum vanishes",
        second_orbit(opposite, elsewhere, tokens=2)
        and second_orbit(third, absorbed, tokens=2)
        and vanishing(third) == [()]
        and generic(third)
        and generic(absorbed),
        cases=12,
    )
    evidence.control(
        "both pairs on three tokens",
        not same(opposite, elsewhere, tokens=3, cases=6) and not same(third, absorbed, tokens=3, cases=6),
        kind="exact",
    )
    layers = [Architecture(w, h, k, v, context=2, **ALONE) for w, h, k, v in ((4, 2, 1, 2), (5, 2, 3, 2), (5, 3, 2, 1))]
    found = census(layers, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "at general points the exact nullity at $n = 2$ is that at $n = 3$", figures=found.figures, cases=found.cases
    )


def record_flips(evidence: EvidenceLog) -> None:
    """Every set of heads flipped, over ℚ(e) and in float64."""
    one, two, three = [1, 2], [2, -1], [1, 1]
    points = {
        "no vanishing sum": layer(head(E1, E2, one, E1), head([1, 1], E2, two, E1), head([2, 1], E1, three, E2)),
        "$N_1+N_2 = 0$": layer(head(E1, E2, one, E1), head([1, 1], E2, one, [-1, 0]), head([2, 1], E1, three, E2)),
        "$N_1+N_2+N_3 = 0$": layer(head(E1, E2, one, E1), head([1, 1], E2, two, E1), head([2, 1], E1, [3, 1], [-1, 0])),
    }  # fmt: skip
    kept = {name: [s for s in subsets(3) if same(p, flipped(p, s), tokens=2, cases=4)] for name, p in points.items()}
    expected = {name: vanishing(p) for name, p in points.items()}
    evidence.exact(
        r"all $2^h$ sets of heads flipped at integer points over $\mathbb Q(e)$, $h = 3$: the function of two tokens "
        r"stays exactly for those with $\sum_SN_i = 0$",
        all(generic(p) for p in points.values()),
        figures={name: equal(kept[name], expected[name]) for name in points},
        cases=8 * len(points),
    )
    point = points["$N_1+N_2+N_3 = 0$"]
    evidence.control(
        "the flip of all three heads on three tokens",
        not same(point, flipped(point, (0, 1, 2)), tokens=3, cases=4),
        kind="exact",
    )
    worst, weakest = 0.0, 1.0
    key, value, output = (f"layers.0.attention.{name}.weight" for name in ("key", "value", "output"))
    for seed in range(scale(3, 12)):
        a = Architecture(5, 3, 2, 4, context=2, **ALONE)
        roles = random_parameters(a, seed)
        roles[output] = roles[output][:1] * torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)[:, None, None]
        roles[value][2] = roles[value][0] + roles[value][1]  # so N_3 = −N_1 − N_2
        x = random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, _: {key: -r[key], output: -r[output]}, None, x)
        worst = max(worst, found.ratio)
        longer = a.replace(context=3)
        moved = {**roles, key: -roles[key], output: -roles[output]}
        weakest = min(weakest, assert_changes(longer, roles, moved, random_inputs(longer, seed)))
    evidence.numeric(
        "all heads flipped in float64, $N_1+N_2+N_3 = 0$, two tokens",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control("the same flip on three tokens", figures={"change": at_least(weakest, 1e-3)})
