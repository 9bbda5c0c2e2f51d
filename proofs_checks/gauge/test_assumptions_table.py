"""Table 1 and §2 on their own terms: which models the assumptions cover, and what A2′ and A6 do."""

from __future__ import annotations

from random import Random

import flint
import sympy as sp

from proofs_checks.gauge.reported import TABLE_6
from proofs_checks.gauge.shared_heads import ROTARY, SIZES, shared
from proofs_checks.support.attention_points import head, layer, on_theta_0
from proofs_checks.support.census import census
from proofs_checks.support.poles import prove_poles
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.model_graph import graph_of
from symgauge.presets import preset
from symgauge.symbolic.instances import general_matrix

# Abstract and §2.1: the models the family is said to encompass, as published configurations (gpt2-xl stands for the
# shape of GPT-3, whose configuration has no file).
FAMILY = ("gpt2", "bert-base", "gpt2-xl", "llama-2-7b", "llama-3-8b", "qwen2.5-7b", "qwen3-8b")
# What a wide reading of §2.1's words lets in.
WIDER = ("no LayerNorm", "gated network", "shared keys and values", "normalised queries and keys")
PRIME = 2_147_483_647


def departures(a: Architecture) -> list[str]:
    """Where an architecture leaves §2.1 and A1: softmax attention, LayerNorm, a plain smooth network, no sharing."""
    found = {
        "no softmax": a.attention != "softmax",
        "no LayerNorm": a.norm != "layer",
        "gated network": a.gated,
        "shared keys and values": a.groups != a.heads,
        "normalised queries and keys": a.qk_norm,
        "kink in the activation": a.activation in ("relu", "relu2"),
    }
    return [name for name, holds in found.items() if holds]


@checks("sec2-1", "tab1-A1")
def test_models_covered(evidence: EvidenceLog) -> None:
    family, sharing = "sec2-1", "tab1-A1"
    outside = {name: departures(preset(name)) for name in FAMILY}
    evidence.exact(
        "models named that leave the family",
        not any(outside.values()),
        counterexample="by (52) and (55) LLaMA-3-8B does not belong: it has RMSNorm and a gated network (SwiGLU)",
        figures={"models": [name for name, why in outside.items() if why]},
        cases=len(FAMILY),
        only=family,
    )
    members = [name for name, why in outside.items() if not why]
    evidence.exact(
        "which belong to it in the strict sense by their published configurations (gpt2-xl stands for GPT-3), and why "
        "the others do not",
        on="condition",
        figures={
            "members": equal(members, ["gpt2", "bert-base", "gpt2-xl"]),
            "others": [f"{name}: {', '.join(why)}" for name, why in outside.items() if why],
        },
        only=family,
    )
    wider = {name: [why for why in reasons if why not in WIDER] for name, reasons in outside.items()}
    evidence.exact(
        "in the wider sense all of them belong",
        not any(wider.values()),
        on="condition",
        figures={"left out": [f"{name}: {', '.join(why)}" for name, why in wider.items() if why]},
        cases=len(FAMILY),
        only=family,
    )
    kinked = departures(preset("llama-3-8b").replace(activation="relu"))
    evidence.control(
        "with a rectified gate LLaMA-3-8B would not belong in the wider sense either",
        [why for why in kinked if why not in WIDER] == ["kink in the activation"],
        kind="exact",
        only=family,
    )
    other = preset("gpt2").replace(norm="rms", norm_offset=False)
    evidence.control(
        "GPT-2 with RMSNorm is seen to leave it", departures(other) == ["no LayerNorm"], kind="exact", only=family
    )
    names = ("llama-3-8b", "mistral-7b", "qwen2.5-7b", "gemma-2-9b", "falcon-7b")
    grouped = {name: (preset(name).heads, preset(name).groups) for name in names}
    evidence.exact(
        "production models whose heads share keys and values",
        all(h == g for h, g in grouped.values()),
        counterexample="LLaMA-3-8B: 32 query heads read 8 key and value heads",
        figures={"heads and groups": [f"{name}: {h}, {g}" for name, (h, g) in grouped.items()]},
        cases=len(grouped),
        only=sharing,
    )
    plain = [preset(name) for name in ("gpt2", "bert-base", "llama-2-7b")]
    evidence.control(
        "GPT-2, BERT and LLaMA-2-7B share none",
        all(a.heads == a.groups for a in plain),
        kind="exact",
        only=sharing,
    )
    turned = [(a.rotary.commutant_dimension, a.d_k) for a in map(preset, names) if a.rotary is not None]
    evidence.exact(
        r"all of them have rotary positions, with $\dim\mathcal C_{RoPE} = d_k$",
        on="correction",
        figures={"dim C": equal([c for c, _ in turned], [d_k for _, d_k in turned]), "models": equal(len(turned), 5)},
        cases=len(names),
        only=sharing,
    )
    found = census([shared(s, Rotary.standard(s[3])) for s in ROTARY], lambda a: a.groups * (a.d_k + a.d_v**2))
    layers = [a.architecture for a in found.accounts if a.architecture is not None]
    evidence.exact(
        r"exact nullity of rotary layers with shared keys and values is $g(d_k+d_v^2)$, nothing unexplained",
        on="correction",
        figures=found.figures | {"without sharing": [a.heads * (a.d_k + a.d_v**2) for a in layers]},
        cases=found.cases,
        only=sharing,
    )
    unturned = census([shared(s) for s in ROTARY[:1]], lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    evidence.control(
        "without rotary positions the same engine finds more",
        kind="exact",
        figures={"nullity": at_least(unturned.accounts[0].fibre.nullity, found.predicted[0] + 1)},
        only=sharing,
    )


@checks("tab1-A6")
def test_stacked_rank(evidence: EvidenceLog) -> None:
    sizes = TABLE_6["GPT-2"][0]
    evidence.audit(
        r"$d$ against $2d_k$ in GPT-2", figures={"d": at_least(sizes.d_model, 2 * sizes.d_k), "2 d_k": 2 * sizes.d_k}
    )
    a, rng = preset("gpt2"), Random(0)
    ranks = []
    for columns in (2 * a.d_k, 2 * a.d_model):  # the second is more than d columns can bear
        entries = [rng.randrange(PRIME) for _ in range(a.d_model * columns)]
        ranks.append(flint.nmod_mat(a.d_model, columns, entries, PRIME).rank())
    evidence.exact(
        r"$[W_Q\mid W_K]$ at GPT-2's size has full column rank at a random point modulo $p$, hence on a dense open set",
        figures={"rank": equal(ranks[0], 2 * a.d_k), "prime": PRIME, "seed": 0},
    )
    evidence.control("$2d$ columns do not fit", ranks[1] < 2 * a.d_model, kind="exact")


@checks("sec2-2")
def test_relaxed_assumption(evidence: EvidenceLog) -> None:
    e1, e2 = [1, 0], [0, 1]
    equal_keys = layer(head(e1, e2, e1, [1, 2]), head([1, 1], e2, e2, [1, -1]))
    meets_a2 = equal_keys.w_q[0].rows == equal_keys.heads * equal_keys.w_v[0].cols
    evidence.audit(
        "a relaxation would hold wherever A2 does: two heads with equal keys meet A2, and not this",
        not meets_a2 or apart(*equal_keys.w_k),
    )
    evidence.control(
        "a condition that A2 does imply, $d\\le hd_v$, holds at the same point",
        not meets_a2 or equal_keys.w_q[0].rows <= equal_keys.heads * equal_keys.w_v[0].cols,
        kind="audit",
    )
    rng = Random(1)
    wide = [general_matrix(5, 1, rng) for _ in range(4)]
    evidence.exact(
        r"$d = h = 2$, $d_k = d_v = 1$, $W_K^{(1)} = W_K^{(2)} = (0,1)^\top$ meets A1–A6 without (A2′); general "
        r"weights with $d = 5$, $h = 2$, $d_v = 1$ meet (A2′) without A2",
        on_theta_0(equal_keys)
        and not apart(*equal_keys.w_k)
        and apart(*wide[:2])
        and apart(*wide[2:])
        and wide[0].rows != 2 * wide[0].cols,
        on="correction",
        cases=2,
    )
    a = shared(SIZES[0])
    keys = [name for name in graph_of(a).shapes if name.endswith("key.weight")]
    evidence.exact(
        "with sharing there are fewer key maps than heads, against A1",
        on="correction",
        figures={"key maps": equal([graph_of(a).shapes[k][0] for k in keys], [a.groups]), "heads": a.heads},
    )


def apart(one: sp.Matrix, two: sp.Matrix) -> bool:
    """Whether two maps have different column spaces."""
    return bool(sp.Matrix.hstack(one, two).rank() > one.rank())


@checks("sec2-4")
def test_controllability(evidence: EvidenceLog) -> None:
    rng = Random(5)
    first, second = general_matrix(2, 2, rng), general_matrix(2, 2, rng)  # [W_Q | W_K] of each head: A6 holds
    active = sp.Matrix([[1, 1]]) * first.inv()
    evidence.exact(
        "the token that activates head 1 leaves head 2 without query and key",
        first.rank() < 2 or second.rank() < 2 or is_zero(active * second),
        counterexample=r"$d = h = 2$, $d_k = 1$, general weights: $[W_Q^{(1)}\mid W_K^{(1)}]$ is invertible (A6), so "
        r"$vW_Q^{(1)} = vW_K^{(1)} = 1$ determines $v$, and $v[W_Q^{(2)}\mid W_K^{(2)}]\ne0$",
        figures={"query and key of head 2": [str(e) for e in active * second]},
    )
    wide = [general_matrix(4, 2, rng) for _ in range(2)]  # d = 2 h d_k
    silent = sp.Matrix([[1, 1, 0, 0]]) * sp.Matrix.hstack(*wide).inv()
    evidence.control(
        "with $d = 4$ a token activates head 1 and leaves head 2 without query and key, by the same test",
        is_zero(silent * wide[1]),
        kind="exact",
    )
    weights = (sp.zeros(2) * 3).applyfunc(sp.exp)
    share = [weights[i, 0] / sum(weights.row(i)) for i in range(2)]
    evidence.exact(
        "a head whose scores vanish contributes nothing",
        share == [0, 0],
        counterexample=r"two tokens, scores 0: weights $\tfrac12$; the head adds the mean of its values",
    )
    evidence.proof(
        r"query $x$, other tokens $x-\delta$, $x\mapsto\lambda x$, $n\ge3$: heads with different "
        r"$xM_i\delta^\top$ have disjoint sets of poles",
        prove_poles(),
        on="correction",
    )
    narrow = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in ((5, 2, 4, 3), (3, 2, 2, 1))]
    found = census(narrow, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        r"where $d<2d_k$, so that A6 fails, the exact nullity is still $h(d_k^2+d_v^2)$, nothing unexplained",
        on="correction",
        figures=found.figures,
        cases=found.cases,
    )
