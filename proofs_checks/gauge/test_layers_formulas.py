"""Formulas of a block's parts: LayerNorm (52), the feed-forward network (55)–(56), the residual recursion (61)."""

from __future__ import annotations

import sympy as sp
import torch
from torch.nn import functional as F

from proofs_checks.gauge.attention_formulas import (
    AGREEMENT,
    DIGITS,
    exact,
    feed_forward_output,
    gap,
    module_output,
    norm_output,
)
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs
from symgauge.symbolic.identities import d, d_ff, matrix, n
from symgauge.symbolic.proof import prove_equal

OUTPUT = "layers.0.attention.output.weight"


def silenced(a: Architecture, seed: int) -> dict[str, torch.Tensor]:
    """Random roles with W_O = 0 in the first layer, so that attention writes nothing."""
    roles = random_parameters(a, seed)
    return {**roles, OUTPUT: torch.zeros_like(roles[OUTPUT])}


@checks("eq-52")
def test_layer_norm(evidence: EvidenceLog) -> None:
    agree, other = [], []
    for seed, width in enumerate((3, 5, 8)):
        a = Architecture(width, 1, 2, 1, norm="layer", norm_offset=True, placement="post", epsilon=0.0)
        roles, x = silenced(a, seed), random_inputs(a, seed, batch=1)[0]
        gain, offset = (exact(roles[f"layers.0.norm_1.{part}"]) for part in ("gain", "offset"))
        module = module_output(a, roles, x)
        agree.append(gap(module, norm_output(exact(x), gain, offset)))
        bessel = sp.sqrt(sp.Rational(width - 1, width))
        other.append(gap(module, norm_output(exact(x), gain * bessel, offset)))
        with_epsilon = module_output(a.replace(epsilon=1e-5), roles, x)
        other.append(gap(with_epsilon, norm_output(exact(x), gain, offset)))
        agree.append(gap(with_epsilon, norm_output(exact(x), gain, offset, sp.Rational(*(1e-5).as_integer_ratio()))))
    evidence.numeric(
        r"the reference module's norm is the formula ($\varepsilon = 0$), and with $\varepsilon$ added to the variance "
        r"otherwise; 60 digits",
        figures={"largest difference": at_most(max(agree), AGREEMENT)},
        cases=len(agree),
    )
    evidence.control(
        r"variance divided by $d-1$; $\varepsilon$ left out of the formula",
        figures={"smallest difference": at_least(min(other), 1e-9)},
    )
    row = sp.Matrix([[0, 1, 5, -2]])
    plain = norm_output(row, sp.ones(1, 4), sp.zeros(1, 4))
    mean, square = sp.simplify(sum(plain)), sp.simplify(plain.dot(plain) / 4)
    doubled = norm_output(2 * row, sp.ones(1, 4), sp.zeros(1, 4))
    evidence.exact(
        "on a rational row the result has mean 0 and mean square 1, and does not change when the row is doubled",
        mean == 0 and square == 1 and is_zero(doubled - plain),
    )
    z = torch.randn(4, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gain, offset = z[0] + 2, z[1]
    ours = norm_output(exact(z), exact(gain), exact(offset))
    theirs = exact(F.layer_norm(z, (6,), gain, offset, eps=0.0))
    evidence.numeric("torch's layer_norm in float64", figures={"difference": at_most(gap(theirs, ours), 1e-13)})
    with_epsilon = exact(F.layer_norm(z, (6,), gain, offset, eps=1e-5))
    evidence.control(
        r"torch's layer_norm with $\varepsilon = 10^{-5}$",
        figures={"difference": at_least(gap(with_epsilon, ours), 1e-9)},
    )


@checks("eq-55..56")
def test_feed_forward(evidence: EvidenceLog) -> None:
    agree, other = [], []
    for seed, (width, hidden) in enumerate(((3, 5), (4, 2))):
        a = Architecture(width, 1, 2, 1, d_ff=hidden, ff_bias=True)
        roles, x = silenced(a, seed), random_inputs(a, seed, batch=1)[0]
        names = ("up.weight", "up.bias", "down.weight", "down.bias")
        weights = [exact(roles[f"layers.0.ff.{name}"]) for name in names]
        module, z = module_output(a, roles, x) - exact(x), exact(x)
        agree.append(gap(module, feed_forward_output(z, *weights)))
        tanh = module_output(a.replace(activation="gelu_tanh"), roles, x) - exact(x)
        other.append(gap(tanh, feed_forward_output(z, *weights)))
    evidence.numeric(
        r"the reference module's network is the formula, in 60 digits but for $\sqrt{1/2}$, a float64 constant",
        figures={"largest difference": at_most(max(agree), 1e-15)},
        cases=len(agree),
    )
    evidence.control(
        "the tanh form of GELU, which GPT-2 uses", figures={"smallest difference": at_least(min(other), 1e-6)}
    )
    z, w_1, b_1, w_2 = matrix("Z", n, d), matrix("W_1", d, d_ff), matrix("b_1", n, d_ff), matrix("W_2", d_ff, d)
    m, m_ = matrix("M", d_ff, d_ff), matrix("M'", d_ff, d_ff)
    evidence.proof(
        r"for every size: acting by $M$ and then $M'$ is acting by $MM'$, the hidden layer becomes $HM$, and $HMM^{-1}"
        r"W_2 = HW_2$",
        proves(lambda: prove_equal(m_.I * (m.I * w_2), (m * m_).I * w_2))
        and proves(lambda: prove_equal(z * (w_1 * m) + b_1 * m, (z * w_1 + b_1) * m))
        and proves(lambda: prove_equal((z * w_1 + b_1) * m * (m.I * w_2), (z * w_1 + b_1) * w_2)),
    )
    evidence.control(
        "the order $M'M$", not proves(lambda: prove_equal(m_.I * (m.I * w_2), (m_ * m).I * w_2)), kind="proof"
    )


@checks("eq-61")
def test_residual_recursion(evidence: EvidenceLog) -> None:
    after = Architecture(2, 1, 1, 1, norm="layer", norm_offset=True, placement="post", epsilon=0.0)
    x = sp.Matrix([[3, 1], [0, 4]])
    received = norm_output(x, sp.ones(1, 2), sp.zeros(1, 2))
    roles = silenced(after, 0) | {
        "layers.0.norm_1.gain": torch.ones(2, dtype=torch.float64),
        "layers.0.norm_1.offset": torch.zeros(2, dtype=torch.float64),
    }
    module = module_output(after, roles, torch.tensor([[3.0, 1.0], [0.0, 4.0]], dtype=torch.float64))
    evidence.exact(
        "a block that writes nothing passes the stream on",
        received == x or gap(module, received) > AGREEMENT,
        counterexample=r"Post-LN, $d = 2$, $W_O = 0$: of $(3,1)$ layer $l+1$ receives $\mathrm{LN}(3,1) = (1,-1)$",
        figures={"digits of the module's value": DIGITS},
    )
    gaps: list[float] = []
    apart: list[float] = []
    twice: list[float] = []
    for seed, (placement, norm) in enumerate((("pre", "layer"), ("pre", "rms"), ("pre", "none"), ("post", "layer"))):
        a = Architecture(4, 2, 3, 1, d_ff=5, layers=2, placement=placement, norm=norm, context=3)  # type: ignore[arg-type]
        roles, stream = random_parameters(a, seed), random_inputs(a, seed)
        total = forward(a, roles, stream)
        output = forward(a.replace(layers=1), roles, stream)  # Y of the first layer, with H in it
        twice.append(float(stream.norm() / output.norm()))
        for index in range(2):  # attention, then the feed-forward network, each written to the stream
            stream = stream + written(a, roles, stream, index)
        (gaps if placement == "pre" else apart).append(float((stream - total).norm() / total.norm()))
    evidence.numeric(
        "two layers with LayerNorm, RMSNorm or none before them: the recursion gives the module's output in float64",
        on="condition",
        figures={"largest difference": at_most(max(gaps), 1e-13), "placements": equal(len(gaps), 3)},
        cases=len(gaps),
    )
    evidence.control("the recursion on Post-LN layers", figures={"difference": at_least(min(apart), 1e-3)})
    evidence.control(
        "$H+Y$ with the output $Y$ of a layer for Block", figures={"difference": at_least(min(twice), 1e-3)}
    )


def written(a: Architecture, roles: dict[str, torch.Tensor], stream: torch.Tensor, layer: int) -> torch.Tensor:
    """Block(H) of one layer: what it adds, found by running the layer alone and its halves without a residual."""
    one = a.replace(layers=1)
    own = {name.replace(f"layers.{layer}.", "layers.0."): x for name, x in roles.items() if f"layers.{layer}." in name}
    attention = forward(one.replace(d_ff=0, residual=False), own, stream)
    middle = stream + attention
    network = {**own, OUTPUT: torch.zeros_like(own[OUTPUT])}
    return attention + forward(one, network, middle) - middle
