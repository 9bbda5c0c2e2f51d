"""The short version of the paper: its abstract and summary line: the group and what it keeps."""

from __future__ import annotations

from typing import Any

import torch

from proofs_checks.support.attention_points import head, layer, on_theta_0
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.explicit_attention import same, scalar
from proofs_checks.support.factor_count import factor_count
from proofs_checks.support.group_elements import only_layer
from proofs_checks.support.head_identifiability import SILENT, record_sectors_factorise, record_weights_identified
from proofs_checks.support.maximality_counterexamples import record_counterexamples
from proofs_checks.support.norm_blocks import record_norm_compatibility
from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.relative_positions import Biased
from proofs_checks.support.rotary_commutant import record_standard_rotary_commutant
from proofs_checks.support.small_architectures import ALONE, BIASED, EPSILON, MANY, gpt2, llama
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.model_graph import graph_of
from symgauge.models.reference import ReferenceModel, random_parameters
from symgauge.numeric import action, assert_changes, measure_invariance, random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.tangent import random_attention
from symgauge.symmetries import dimension as families_dimension
from symgauge.symmetries.catalogue.stream_permutation import StreamPermutation
from symgauge.symmetries.symbols import evaluate

LLAMA: dict[str, Any] = {"norm": "rms", "gated": True, "activation": "silu", **EPSILON}


@checks("s1")
def test_complete_group(evidence: EvidenceLog) -> None:
    rotary = Rotary.standard(2)
    parts = [
        Architecture(5, 2, 3, 4, context=3, **ALONE, **BIASED),
        Architecture(5, 2, 2, 3, d_ff=4, context=3, rotary=rotary, **LLAMA),
        Architecture(5, 2, 2, 3, context=3, residual=False, rotary=rotary, qk_norm=True, norm="rms", **EPSILON),
    ]
    found = census(parts, lambda a: evaluate(families_dimension(a), a))
    claimed = [evaluate(factor_count(a), a) for a in parts]
    evidence.exact(
        "the exact fibre of these parts of models has the dimension of the claimed group",
        [a.fibre.nullity for a in found.accounts] == claimed and not same(scalar(0), scalar(1), tokens=3, cases=8),
        counterexample=r"$d = d_k = 1$, $W_Q = W_K = 1$, $b_Q = 0$: $b_K = 0$ and $b_K = 1$ give the same layer",
        figures={"claimed": claimed, "nullity": [a.fibre.nullity for a in found.accounts]},
        cases=found.cases,
    )
    evidence.exact(
        "it is that of the known families, nothing unexplained: biased attention, a LLaMA block, attention with "
        "normalised queries and keys",
        on="correction",
        figures=found.figures,
        cases=found.cases,
    )
    for name in ("key_bias", "value_bias", "gated_rescaling", "norm_gain_fold", "query_key_norm_gains"):
        record_identity(evidence, name, on="correction")


@checks("s2")
def test_maximal_group(evidence: EvidenceLog) -> None:
    record_counterexamples(evidence)
    evidence.proof(
        r"for $n\ge3$ the poles give the multiset of $(M_i,N_i)$, and full ranks give $A_i$ and $C_i$, for every size",
        prove_poles() and prove_factors(),
        on="condition",
    )
    layers = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in ((6, 2, 1, 3), (4, 2, 3, 1), (5, 3, 1, 2))]
    found = census(layers, lambda a: a.heads * (a.d_k**2 + a.d_v**2))
    evidence.exact(
        r"exact nullity is $h(d_k^2+d_v^2)$, nothing unexplained",
        on="condition",
        figures=found.figures,
        cases=found.cases,
    )
    plain = layers[0]
    outside = {
        "RMSNorm": plain.replace(norm="rms", **EPSILON),
        "LayerNorm": plain.replace(norm="layer", **EPSILON),
        "rotary positions": plain.replace(d_k=2, rotary=Rotary.standard(2)),
    }
    more = {
        name: dimension(ReferenceModel(a), Vectors(3, a.d_model)).nullity - a.heads * (a.d_k**2 + a.d_v**2)
        for name, a in outside.items()
    }
    evidence.control(
        "with a norm before it, or with rotary positions, the layer has another nullity: how much it is off",
        all(more.values()),
        kind="exact",
        figures=more,
    )


@checks("s3")
def test_position_encodings(evidence: EvidenceLog) -> None:
    layers = [Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in ((4, 2, 2, 1), (5, 1, 4, 2))]
    additive = [dimension(Biased(a, learned=False, seed=2), Vectors(3, a.d_model)).require_decided() for a in layers]
    nullity = [f.nullity for f in additive]
    full, reduced = ([a.heads * (size + a.d_v**2) for a, size in zip(layers, sizes, strict=True)]
                     for sizes in ([a.d_k**2 for a in layers], [a.d_k for a in layers]))  # fmt: skip
    evidence.exact(
        "layers with a table of relative positions added to the scores have the reduced group",
        nullity == reduced,
        counterexample=r"one head, $d_k = 2$, scores $q_t\cdot k_s+b_{t-s}$: $A = \mathrm{diag}(2,1)$ keeps "
        r"them, and no rotation by an angle outside $\pi\mathbb Z$ commutes with it",
        figures={"nullity": nullity, "claimed": reduced},
        cases=len(layers),
    )
    as_wide = [
        Architecture(w, h, k, v, context=3, **ALONE) for w, h, k, v in ((2, 2, 2, 2), (3, 2, 2, 3), (4, 1, 4, 4))
    ]
    turned = [a.replace(rotary=Rotary.standard(a.d_k)) for a in layers + as_wide]
    turning = census(turned, lambda a: a.heads * (a.d_k + a.d_v**2))
    evidence.exact("with rotary positions it is reduced", on="condition", figures=turning.figures, cases=turning.cases)
    record_identity(evidence, "rotary_commutant", on="condition")
    plain = Architecture(5, 2, 2, 3, context=3, rotary=Rotary.standard(2), **ALONE)
    outside = {
        "shared heads": plain.replace(groups=1),
        "biases": plain.replace(**BIASED),
        "normalised queries and keys": plain.replace(qk_norm=True, norm="rms", **EPSILON),
        "a norm before it": plain.replace(norm="rms", **EPSILON),
        "values wider than the stream": plain.replace(d_model=4, heads=1, groups=1, d_v=5),
        "one token": plain.replace(context=1),
        "queries wider than the stream, two tokens": plain.replace(
            d_model=2, heads=1, groups=1, d_k=4, d_v=1, context=2, rotary=Rotary.standard(4)
        ),
    }
    stated = {name: a.heads * (a.d_k + a.d_v**2) for name, a in outside.items()}
    found = {name: dimension(ReferenceModel(a), Vectors(a.context, a.d_model)).nullity for name, a in outside.items()}
    evidence.control(
        "outside of the condition the exact nullity is not $h(d_k+d_v^2)$, and with the encoding added to the scores "
        "it is $h(d_k^2+d_v^2)$",
        nullity == full and all(found[name] != stated[name] for name in outside),
        kind="exact",
        figures={name: f"{found[name]}, claimed {stated[name]}" for name in outside} | {"added to the scores": nullity},
    )


@checks("s4")
def test_standard_rotary_commutant(evidence: EvidenceLog) -> None:
    record_standard_rotary_commutant(evidence)


@checks("s5")
def test_lie_algebra(evidence: EvidenceLog) -> None:
    def unexplained(point: Any) -> int:
        found = lie.characterise(point, [lie.query_key_generators(point), lie.value_output_generators(point)])
        return found.unexplained if found.inside and found.free else -1

    outside = [unexplained(point) for point in SILENT]
    general = random_attention(d=5, d_k=3, d_v=1, groups=range(2), seed=0)
    e1, e2 = [1, 0], [0, 1]
    alike = layer(head(e1, e2, e1, e1), head(e1, e2, e2, e2))
    evidence.exact(
        r"at a point of $\Theta_0$ with all ranks full, $W_O$ included, the kernel of the derivative is this algebra",
        unexplained(alike) == 0 or not on_theta_0(alike),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_Q^{(i)} = e_1$, $W_K^{(i)} = e_2$, $W_V = W_O = I_2$: with "
        r"$M_1 = M_2$ only $N_1+N_2$ shows, and $\delta W_V = W_VP$, $\delta W_O = -PW_O$ is free for every $P$",
        figures={"directions outside": unexplained(alike)},
    )
    evidence.exact(
        r"at points of $\Theta_0$ the kernel of the derivative is this algebra",
        outside == [0, 0],
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$ (A1–A6 hold): $\delta W_Q^{(1)}$, $\delta "
        r"W_K^{(1)}$ and $\delta W_V^{(1)}$ are free",
        figures={"directions outside": outside},
        cases=2,
    )
    half = lie.characterise(general, [lie.query_key_generators(general)]).unexplained
    evidence.control(
        "without the maps of values and outputs the algebra is too small at a general point as well",
        kind="exact",
        figures={"directions outside": [unexplained(general), half], "more than none": at_least(half, 1)},
    )
    evidence.proof(
        "for every size: the generators are tangent to the fibre and closed under the bracket",
        proves(lie.prove_tangency) and proves(lie.prove_bracket_closure),
        on="condition",
    )
    points = [random_attention(d=w, d_k=k, d_v=v, groups=range(h), seed=w + k) for w, h, k, v in
              ((4, 2, 1, 3), (5, 2, 3, 1), (3, 3, 2, 1))]  # fmt: skip
    evidence.exact(
        "first-order conditions solved over the rationals at general points",
        on="condition",
        figures={"unexplained": equal([unexplained(p) for p in points], [0, 0, 0])},
        cases=len(points),
    )


@checks("s6")
def test_weights_and_factors(evidence: EvidenceLog) -> None:
    record_weights_identified(evidence, "s6")
    record_sectors_factorise(evidence, "s6")


@checks("s7")
def test_norms(evidence: EvidenceLog) -> None:
    record_identity(evidence, "value_output")
    record_norm_compatibility(evidence, ("pre", "post"), sizes={"d": 7, "h": 2, "d_k": 4, "d_v": 3})


@checks("s8")
def test_product_over_layers(evidence: EvidenceLog) -> None:
    family = StreamPermutation()
    models = (gpt2(4, 2, 3, 1, 5, 2, tied=True, **MANY), llama(4, 2, 1, 2, 3, 5, 2, **MANY))
    together, alone = [], []
    for a in models:
        graph, function = graph_of(a), ExactFunction(a, batch=1200, length=2)
        element = family.sample(a, graph, torch.Generator().manual_seed(3))
        changed = {k: x for k, x in family.act(a, graph, function.roles, element).items() if x is not function.roles[k]}
        together.append(function.keeps(changed))
        alone += [function.keeps(only_layer(graph, changed, layer)) for layer in range(a.layers)]
    evidence.exact(
        "the layer's part of every symmetry is a symmetry",
        not all(together) or all(alone),
        counterexample=r"renumber the coordinates of the stream, $d = 4$, in embedding, head and both "
        r"layers of a small GPT-2 and a small LLaMA: the logits are equal over GF(p²), and the part of any one layer "
        r"alone changes them",
        figures={"kept together": together, "kept alone": alone},
        cases=len(models),
    )
    for name in ("residual_permutation", "rms_rotation"):
        record_identity(evidence, name, on="correction")
    a = models[1]
    roles, x = random_parameters(a, 4), random_inputs(a, 4)
    element = family.sample(a, graph_of(a), torch.Generator().manual_seed(4))
    found = measure_invariance(a, roles, action(family, a), element, x)
    evidence.numeric(
        "the renumbering in float64", on="correction", figures={"observed / allowed": at_most(found.ratio, 1.0)}
    )
    part = only_layer(graph_of(a), family.act(a, graph_of(a), roles, element), 1)
    evidence.control(
        "the part of the second layer alone", figures={"change": at_least(assert_changes(a, roles, part, x), 1e-3)}
    )
