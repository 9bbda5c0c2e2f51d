"""Algorithm 1 and the error it is judged by, (88)."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
import torch

from proofs_checks.gauge.published_algorithms import algorithm_1
from proofs_checks.support.attention_layers import drawn_layers, inputs_for, layer_outputs, relative_change_of_outputs
from symgauge.algorithms import apply, random_attention, random_element, relative_change
from symgauge.algorithms.transform import permute
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.numeric.error_model import relative_error

Scalars = tuple[Fraction, Fraction, Fraction, Fraction]


def listing(head: Scalars, a: Fraction, c: Fraction) -> tuple[Scalars, bool]:
    """Algorithm 1 line by line for d = d_k = d_v = 1, in rationals: (q, k, v, o) after it, and whether it warns.

    cond(a) = cond(c) = 1, so nothing is rejected; c appears in no further line.
    """
    q, k, v, o = head
    sign = 1 if a > 0 else -1
    inverse = sign / max(abs(a), Fraction(1, 10**10))
    after = (q * a, k * inverse, v, o)
    return after, abs(after[0] * after[1] - q * k) > Fraction(1, 10**12)


@checks("alg-1")
def test_algorithm_1(evidence: EvidenceLog) -> None:
    one, small = Fraction(1), Fraction(1, 10**7)
    after, _ = listing((one, one, one, one), one, Fraction(2))
    evidence.exact(
        "$C$ acts on the values",
        after[2] == 2,
        counterexample=r"$h = d = d_k = d_v = 1$, all weights 1, $A = 1$, $C = 2$: the listing returns "
        r"$W_V = W_O = 1$, not "
        r"2 and $\frac12$; $C_i$ is looked at for its condition and never applied",
    )
    after, warned = listing((small, small, one, one), Fraction(1, 10**11), one)
    evidence.exact(
        "an element that is not rejected keeps $W_QW_K^\\top$, or a warning comes",
        after[0] * after[1] == small * small or warned,
        counterexample=r"$W_Q = W_K = 10^{-7}$, $A = 10^{-11}$ (condition 1): the clamp at $10^{-10}$ makes "
        r"$W_QW_K = 10^{-15}$ of $10^{-14}$, and the absolute test at $10^{-12}$ stays silent",
        figures={"product after / before": str(after[0] * after[1] / (small * small)), "warned": warned},
    )
    p = random_attention(8, 2, 3, 3, seed=1)
    a, c = (random_element(p, seed, 50).query_key for seed in (1, 2))
    large = p.replace(query=1e3 * p.query, key=1e3 * p.key)
    found = algorithm_1(large, a, c)
    lost = float(relative_change(large, found.parameters).scores.max())
    evidence.numeric(
        "a transformation right to rounding gives no warning",
        not bool(found.warned.any()),
        counterexample=r"weights of order $10^3$: the relative error is some $10^{-15}$, the absolute one above "
        r"$10^{-12}$",
        figures={"relative error": at_most(lost, 1e-13)},
    )
    scalar = random_attention(1, 1, 1, 1).map(torch.ones_like)
    tiny = scalar.replace(query=1e-7 * scalar.query, key=1e-7 * scalar.key)
    program = algorithm_1(tiny, torch.full((1, 1, 1), 1e-11, dtype=torch.float64), torch.ones_like(tiny.value))
    ratio = float(program.parameters.query * program.parameters.key / (tiny.query * tiny.key))
    evidence.control(
        "the listing as a program on the same scalars, against the product kept",
        figures={"change": at_least(abs(1 - ratio), 0.5)},
    )
    worst, moved, weakest, cases = 0.0, 1.0, 1.0, 0
    for layer, seed in drawn_layers():
        element = random_element(layer, seed)
        after_all = apply(layer, element)
        matched = permute(layer, element.heads)
        worst = max(worst, relative_change(matched, after_all).worst / (layer.epsilon * element.condition))
        moved = min(moved, layer.distance(after_all) / layer.norm())
        wrong = after_all.replace(value=matched.value)  # C left out, as published
        weakest = min(weakest, relative_change_of_outputs(matched, wrong, seed))
        cases += 1
    evidence.numeric(
        r"`symgauge.apply`: relative change of both invariants over $\varepsilon\,\mathrm{cond}$, general "
        r"elements, sharing, "
        "biases and rotary encoding included",
        on="correction",
        figures={"largest": at_most(worst, 64.0), "least relative move": at_least(moved, 0.1)},
        cases=cases,
    )
    evidence.control("values left as they were", figures={"change of outputs": at_least(weakest, 1e-3)})


@checks("eq-88")
def test_relative_error(evidence: EvidenceLog) -> None:
    change, size, epsilon = sp.symbols("delta y varepsilon", positive=True)
    ratio = sp.simplify((change / (size + epsilon)) / (change / size) - 1 / (1 + epsilon / size))
    evidence.proof(
        r"(88) is the plain relative error over $1+\varepsilon/\|Y\|$, a factor of 1 within rounding for outputs of "
        "ordinary size",
        ratio == 0,
    )
    evidence.exact(
        "at $\\|Y\\| = \\varepsilon$",
        figures={"ratio": equal(str((1 / (1 + epsilon / size)).subs(size, epsilon)), "1/2")},
    )
    gap, apart, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers("plain", "shared"):
        element = random_element(layer, seed, 30)
        x = inputs_for(layer, seed)
        y, z = layer_outputs(layer, x), layer_outputs(apply(layer, element), x)
        reported = float((z - y).norm() / (y.norm() + layer.epsilon))
        ours = relative_error(y, z)
        gap = max(gap, abs(reported / ours - 1))
        apart = min(apart, abs(float((z - y).norm()) / ours - 1))
        cases += 1
    evidence.numeric(
        "the error measure of our experiments and (88), on transformed layers: they differ by rounding",
        figures={"largest relative difference": at_most(gap, 1e-14)},
        cases=cases,
    )
    evidence.control("the absolute error in place of it", figures={"difference": at_least(apart, 1e-3)})
