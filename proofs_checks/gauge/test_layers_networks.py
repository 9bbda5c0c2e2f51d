"""Fully connected networks: Lemma C.3 for GELU again, and §8's comparison with their permutation symmetries."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import sympy as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs_checks.gauge.algebra.activations import curvatures_are_independent, gelu, odd_part_excess, x
from proofs_checks.gauge.feed_forward_network import Network, record_signed_permutations
from proofs_checks.support.census import census
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_most, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.symbolic.identities import identity


class Deep(nn.Module):
    """A fully connected network x → f(xW + b) → … → linear, in float64."""

    def __init__(self, widths: tuple[int, ...], activation: Callable[[Tensor], Tensor], seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.activation = activation
        pairs = list(pairwise(widths))
        self.weights = nn.ParameterList(
            torch.randn(pair, generator=generator, dtype=torch.float64) / pair[0] ** 0.5 for pair in pairs
        )
        self.biases = nn.ParameterList(torch.randn(out, generator=generator, dtype=torch.float64) for _, out in pairs)

    def forward(self, z: Tensor) -> Tensor:
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            z = (self.activation(z) if index else z) @ weight + bias
        return z


def nullities(widths: tuple[tuple[int, ...], ...], activation: Callable[[Tensor], Tensor]) -> list[int]:
    return [dimension(Deep(w, activation), Vectors(1, w[0])).require_decided().nullity for w in widths]


@checks("lem-C.3a")
def test_lemma_of_permutations(evidence: EvidenceLog) -> None:
    before, after = gelu(x) - gelu(-x), (gelu(2 * x) - gelu(-2 * x)) / 2
    evidence.exact(
        "networks with equal functions differ by a permutation of units",
        not (sp.simplify(before - after) == 0 and sp.simplify(before - x) == 0),
        counterexample=r"$d = 1$, $b = 0$: units $(w,v) = (1,1),(-1,-1)$ and $(2,\tfrac12),(-2,-\tfrac12)$ both give "
        r"$x$, as $\mathrm{GELU}(z)-\mathrm{GELU}(-z) = z$",
    )
    evidence.control("without the factor in front they differ", sp.simplify(before - 2 * after) != 0, kind="exact")
    record_identity(evidence, "hidden_permutation", on="condition")
    evidence.proof(
        r"on a general line the $\mathrm{GELU}''(w_j\cdot z+b_j)$ with $w_j\ne0$ and $(w_j,b_j)$ pairwise different up "
        r"to sign are independent, so second derivatives determine the $\pm(w_j,b_j)$ and $v_j$",
        curvatures_are_independent(),
        on="condition",
    )
    second = sp.diff(gelu(x), x, 2)
    evidence.proof(
        r"$\mathrm{GELU}''$ is even and $\mathrm{GELU}(z)-\mathrm{GELU}(-z) = z$, so the signs of the units in $S$ "
        r"leave $\sum_S(w_j\cdot z+b_j)v_j$ over",
        sp.simplify(second - second.subs(x, -x)) == 0 and odd_part_excess("gelu") == 0,
        on="condition",
    )
    shapes = ((3, 4), (2, 5), (5, 2))
    found = [dimension(Network(d, f, seed=1), Vectors(1, d)).require_decided() for d, f in shapes]
    evidence.exact(
        "no continuous freedom: exact nullity 0",
        on="condition",
        figures={
            "(d, d_ff)": [list(s) for s in shapes],
            "nullity": equal([f.nullity for f in found], [0] * len(found)),
            "failure bound": at_most(max(f.failure_bound for f in found), 1e-6),
            "primes": list(found[0].primes),
        },
        cases=len(found),
    )
    record_signed_permutations(evidence)


@checks("lem-C.3b")
def test_gated_networks(evidence: EvidenceLog) -> None:
    gated = identity("gated_rescaling")
    evidence.proof(
        "one gated unit, its up column doubled and its down row halved, is another function",
        not proves(gated.prove),
        counterexample=r"$\mathrm{SiLU}(z)\cdot2z\cdot\frac12 = \mathrm{SiLU}(z)\cdot z$, no permutation; so for "
        r"every gated network, of every size",
    )
    record_identity(evidence, "gated_rescaling", on="correction")
    shapes = ((3, 4), (2, 5))
    plain = [dimension(Network(d, f, seed=1), Vectors(1, d)).require_decided().nullity for d, f in shapes]
    evidence.exact(
        "networks with GELU and without a gate have no continuous freedom: exact nullity 0",
        on="correction",
        figures={"(d, d_ff)": [list(s) for s in shapes], "nullity": equal(plain, [0] * len(shapes))},
        cases=len(shapes),
    )


@checks("sec8-1")
def test_fully_connected_networks(evidence: EvidenceLog) -> None:
    record_identity(evidence, "hidden_permutation")
    widths = ((2, 4, 3), (3, 4, 2, 1))
    smooth = {name: nullities(widths, f) for name, f in (("gelu", F.gelu), ("silu", F.silu), ("tanh", torch.tanh))}
    evidence.exact(
        "what permutes neurons is a finite group: exact nullity 0 with GELU, SiLU and tanh, one hidden layer and two",
        figures={name: equal(found, [0, 0]) for name, found in smooth.items()},
        cases=3 * len(widths),
    )
    layers = [Architecture(w, 2, k, v, context=3, **ALONE) for w, k, v in ((4, 1, 2), (5, 2, 1))]
    found = census(layers, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        "attention layers have $h(d_k^2+d_v^2)$ dimensions, nothing unexplained",
        figures=found.figures,
        cases=found.cases,
    )
    relu = nullities(widths, F.relu)
    evidence.control(
        "the same count with ReLU finds a rescaling for every hidden unit",
        kind="exact",
        figures={"nullity": equal(relu, [sum(w[1:-1]) for w in widths])},
    )
