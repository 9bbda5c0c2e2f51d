"""The feed-forward network with GELU (Lemma 4.2): permutations of hidden units, and when signs join them."""

from __future__ import annotations

from itertools import permutations, product

import sympy as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from proofs_checks.gauge.algebra.activations import gelu, homogeneous_scales, odd_part_excess, x
from proofs_checks.gauge.symbolic_support import record_identity
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors


class Network(nn.Module):
    """GELU(x W_1 + b_1) W_2 + b_2 in float64."""

    def __init__(self, d: int, d_ff: int, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        shapes = ((d, d_ff), (d_ff,), (d_ff, d), (d,))
        tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        self.w_1, self.b_1, self.w_2, self.b_2 = (nn.Parameter(t) for t in tensors)

    def forward(self, z: Tensor) -> Tensor:
        return F.gelu(z @ self.w_1 + self.b_1) @ self.w_2 + self.b_2


def signed(network: Network, order: tuple[int, ...], signs: tuple[int, ...], z: Tensor) -> Tensor:
    """Outputs with units renumbered and (w, b, v) → (±w, ±b, ±v), the constant b_2 corrected as well as it can be."""
    index, sign = torch.tensor(order), torch.tensor(signs, dtype=torch.float64)
    w_1, b_1 = network.w_1[:, index] * sign, network.b_1[index] * sign
    return F.gelu(z @ w_1 + b_1) @ (network.w_2[index] * sign.unsqueeze(-1))


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
        r"$\mathrm{GELU}''(z) = (2-z^2)\varphi(z)$ is even, so second derivatives see a unit up to its sign and "
        r"determine the "
        r"$\pm(w_j,b_j)$ and $v_j$; a flip of the units in $S$ leaves the linear map $\sum_S(xw_j+b_j)v_j$ over",
        even and gaussian and odd_part_excess("gelu") == 0,
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


def record_signed_permutations(evidence: EvidenceLog) -> None:
    """All 2³·3! signed permutations of three units, in float64, up to a constant."""
    network = Network(2, 3, seed=1)
    z = torch.randn(40, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    with torch.no_grad():
        target = signed(network, (0, 1, 2), (1, 1, 1), z)
        kept, smallest, largest = [], 1.0, 0.0
        for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
            gap = signed(network, order, signs, z) - target
            # Flipped v too would be odd units; GELU's identity keeps v: (w, b, v) → (−w, −b, v).
            flipped = signed_inner(network, order, signs, z) - target
            for difference in (gap, flipped):
                change = float((difference - difference.mean(0)).norm() / target.norm())
                if change < 1e-12:
                    kept.append(signs)
                    largest = max(largest, change)
                else:
                    smallest = min(smallest, change)
    evidence.numeric(
        "of all signed permutations of three units (signs inside, or inside and outside), only those without signs "
        "keep the "
        "function up to a constant",
        on="condition",
        figures={
            "kept": equal(sorted(set(kept)), [(1, 1, 1)]),
            "number": equal(len(kept), 2 * 6),
            "largest change of those": at_most(largest, 1e-12),
        },
        cases=96,
    )
    evidence.control("the others change it", figures={"smallest change": at_least(smallest, 1e-3)})


def signed_inner(network: Network, order: tuple[int, ...], signs: tuple[int, ...], z: Tensor) -> Tensor:
    """As :func:`signed`, with v left alone."""
    index, sign = torch.tensor(order), torch.tensor(signs, dtype=torch.float64)
    return F.gelu(z @ (network.w_1[:, index] * sign) + network.b_1[index] * sign) @ network.w_2[index]
