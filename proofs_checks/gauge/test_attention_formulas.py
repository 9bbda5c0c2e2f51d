"""The definitions (1)–(3) of attention: the reference module that everything else is checked on computes just these."""

from __future__ import annotations

from typing import Any

import sympy as sp
import torch
from torch.nn import functional as F

from proofs_checks.gauge.attention_formulas import (
    AGREEMENT,
    attention_output,
    exact,
    gap,
    head_output,
    heads_of,
    module_output,
    projections,
)
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs
from symgauge.symbolic.identities import d, d_v, matrix, n

# (d, h, d_k, d_v): more and fewer value channels than d. Many digits need a d_k whose root float64 holds exactly.
ROOTED = ((5, 2, 4, 3), (7, 3, 4, 1), (3, 1, 16, 2))
SIZES = ((5, 2, 3, 4), (7, 3, 2, 1), (4, 1, 6, 3))


def layers(
    sizes: tuple[tuple[int, int, int, int], ...],
) -> list[tuple[Architecture, dict[str, torch.Tensor], torch.Tensor]]:
    """Layers with random roles and one sequence each."""
    chosen = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in sizes]
    return [(a, random_parameters(a, s), random_inputs(a, s, batch=1)[0]) for s, a in enumerate(chosen)]


@checks("eq-1", "eq-2", "eq-3")
def test_attention_formulas(evidence: EvidenceLog) -> None:
    maps, head, joined = "eq-1", "eq-2", "eq-3"
    cases = layers(ROOTED)
    bilinear, broken = [], []
    for a, roles, x in cases:  # without softmax the module is a polynomial in Q, K and V
        module = module_output(a.replace(attention="linear"), roles, x)
        parts = [(projections(exact(x), w), w[3]) for w in heads_of(roles)]
        bilinear.append(gap(module, sum((q * k.T * v * o for (q, k, v), o in parts), sp.zeros(x.shape[0], a.d_model))
                            / sp.sqrt(a.d_k)))  # fmt: skip
        swapped = sum((k * q.T * v * o for (q, k, v), o in parts), sp.zeros(x.shape[0], a.d_model)) / sp.sqrt(a.d_k)
        broken.append(gap(module, swapped))
    evidence.numeric(
        r"the module without softmax is $\sum_i\frac1{\sqrt{d_k}}(XW_Q)(XW_K)^\top(XW_V)W_{O,i}$, weights taken as "
        r"they are; 60 digits",
        figures={"largest difference": at_most(max(bilinear), AGREEMENT)},
        cases=len(cases),
        only=maps,
    )
    evidence.control(
        "queries and keys exchanged", figures={"smallest difference": at_least(min(broken), 1e-3)}, only=maps
    )
    record_integers(evidence, (maps, joined))
    agree, other = [], []
    for a, roles, x in cases:
        module, values = module_output(a, roles, x), heads_of(roles)
        agree.append(gap(module, attention_output(exact(x), values)))
        unscaled: Any = sum((head_output(exact(x), w, scale=1) * w[3] for w in values), sp.zeros(*x.shape))
        other.append(gap(module, unscaled))
    evidence.numeric(
        r"the module is the published formula, concatenation and all; 60 digits",
        figures={"largest difference": at_most(max(agree), AGREEMENT)},
        cases=len(cases),
        only=(head, joined),
    )
    evidence.control(
        r"without $1/\sqrt{d_k}$", figures={"smallest difference": at_least(min(other), 1e-3)}, only=(head, joined)
    )
    record_torch_attention(evidence, head)
    outputs = [matrix(f"A_{i}", n, d_v) for i in range(3)]
    blocks = [matrix(f"W_O{i}", d_v, d) for i in range(3)]
    product = sp.block_collapse(sp.BlockMatrix([outputs]) * sp.BlockMatrix([[w] for w in blocks]))
    total = sp.MatAdd(*(a * w for a, w in zip(outputs, blocks, strict=True)))
    evidence.proof(
        "three heads, every size: the product of block matrices is the sum of products",
        sp.simplify(product - total) == sp.ZeroMatrix(n, d),
        only=joined,
    )
    crossed = sp.MatAdd(*(a * w for a, w in zip(outputs, blocks[::-1], strict=True)))
    evidence.control(
        "blocks paired in reverse", sp.simplify(product - crossed) != sp.ZeroMatrix(n, d), kind="proof", only=joined
    )


def record_integers(evidence: EvidenceLog, only: tuple[str, ...]) -> None:
    """Integer weights and tokens, softmax left out, d_k = 4: float64 is exact, so equality is too."""
    matches, turned = [], []
    for seed, sizes in enumerate(s for s in ROOTED if s[2] == 4):
        a = Architecture(*sizes, context=3, attention="linear", **ALONE)
        generator = torch.Generator().manual_seed(seed)
        roles = {
            name: torch.randint(-4, 5, r.shape, generator=generator).double()
            for name, r in random_parameters(a, seed).items()
        }
        x = torch.randint(-4, 5, (3, a.d_model), generator=generator).double()
        module = exact(forward(a, roles, x.unsqueeze(0))[0])
        heads = heads_of(roles)
        joined = sp.Matrix.hstack(*(q * k.T * v / 2 for q, k, v in (projections(exact(x), head) for head in heads)))
        blocks = [head[3] for head in heads]
        matches.append(module == joined * sp.Matrix.vstack(*blocks))
        turned.append(module != joined * sp.Matrix.vstack(*blocks[::-1]))
    evidence.exact(
        r"integer weights and tokens without softmax: $[\tfrac12Q_1K_1^\top V_1\|\cdots]W_O$ is the module's output, "
        r"entry by entry",
        all(matches),
        cases=len(matches),
        only=only,
    )
    evidence.control("blocks of $W_O$ in reverse", all(turned), kind="exact", only=only)


def record_torch_attention(evidence: EvidenceLog, only: str) -> None:
    """A second implementation, not written for this: torch's scaled_dot_product_attention."""
    worst, weakest = 0.0, 1.0
    for a, roles, x in layers(SIZES):
        w_q, w_k, w_v, w_o = (
            roles[f"layers.0.attention.{part}.weight"] for part in ("query", "key", "value", "output")
        )
        heads = F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)
        ours = forward(a, roles, x.unsqueeze(0))[0]
        worst = max(worst, float(((heads @ w_o).sum(0) - ours).norm() / ours.norm()))
        columns = ((x @ w_q) @ (x @ w_k).mT / a.d_k**0.5).softmax(-2) @ (x @ w_v)
        weakest = min(weakest, float(((columns @ w_o).sum(0) - ours).norm() / ours.norm()))
    evidence.numeric(
        "torch's own attention gives the same in float64",
        figures={"largest difference": at_most(worst, 1e-13)},
        cases=len(SIZES),
        only=only,
    )
    evidence.control("softmax along columns", figures={"smallest difference": at_least(weakest, 1e-3)}, only=only)
