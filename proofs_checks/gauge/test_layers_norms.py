"""G_max acts inside attention, so nothing around it notices: norms, residuals, networks, and other layers."""

from __future__ import annotations

from functools import partial

from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.group_elements import head_element, only_layer
from proofs_checks.support.norm_blocks import block, record_norm_compatibility
from proofs_checks.support.small_architectures import MANY, gpt2
from proofs_checks.support.symbolic_evidence import proves, record_identity
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.symbolic.functions import layer_norm
from symgauge.symbolic.identities import d, d_v, matrix, n
from symgauge.symbolic.identities_attention import ALPHA, W_O, W_V, C
from symgauge.symbolic.proof import prove_equal


@checks("thm-C.1", "abs-8", "tab1-A5")
def test_norms_keep_the_group(evidence: EvidenceLog) -> None:
    record_norm_compatibility(evidence, ("pre", "post"), sizes={"d": 6, "h": 3, "d_k": 2, "d_v": 1})
    x = matrix("X", n, d)
    after = layer_norm(x + ALPHA * x * (W_V * C) * (C.I * W_O))
    before = layer_norm(x + ALPHA * x * W_V * W_O)
    evidence.proof(
        r"(49)–(51) for every size: $\mathrm{LN}(X+\alpha XW_VC\,C^{-1}W_O) = \mathrm{LN}(X+\alpha XW_VW_O)$, the norm "
        r"of equal arguments",
        proves(lambda: prove_equal(after, before)),
    )
    record_identity(evidence, "covariant_biases")
    evidence.control(
        "a $C$ that acts on the values alone",
        not proves(lambda: prove_equal(layer_norm(x + ALPHA * x * (W_V * C) * W_O), before)),
        kind="proof",
    )


@checks("App-C.5")
def test_activations(evidence: EvidenceLog) -> None:
    outputs = matrix("H", n, d_v)
    evidence.proof(
        r"for every size: what attention writes is $HW_O = (HC)(C^{-1}W_O)$; the rest of the block depends on it alone",
        proves(lambda: prove_equal((outputs * C) * (C.I * W_O), outputs * W_O)),
    )
    worst, moved, weakest = 0.0, 1.0, 1.0
    for seed, placement in enumerate(("pre", "post", "sandwich")):
        a = block(placement, d=5, h=2, d_k=2, d_v=3)
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        turned = {**roles, **head_element(a, roles, seed)}
        broken = {**roles, **head_element(a, roles, seed, wrong_inverse=True)}
        half = a.replace(d_ff=0)
        for part in (half, a):  # the stream after attention, and after the network
            before, after, wrong = (forward(part, r, x) for r in (roles, turned, broken))
            worst = max(worst, float((after - before).norm() / before.norm()))
            weakest = min(weakest, float((wrong - before).norm() / before.norm()))
        inside = [r["layers.0.attention.query.weight"] for r in (roles, turned)]
        moved = min(moved, float((inside[1] - inside[0]).norm() / inside[0].norm()))
    evidence.numeric(
        "the stream after attention and after the network, three placements, float64",
        figures={"largest change": at_most(worst, 1e-12), "the parameters moved by": at_least(moved, 0.1)},
        cases=6,
    )
    evidence.control(r"$A^{-1}$ for $A^{-\top}$", figures={"smallest change": at_least(weakest, 1e-6)})


@checks("sec9-3")
def test_one_layer_at_a_time(evidence: EvidenceLog) -> None:
    a = gpt2(5, 2, 3, 4, 6, 2, tied=True, **MANY)
    function, graph = ExactFunction(a, batch=600, length=2), graph_of(a)

    def rewritten(roles: Roles, seed: int, layer: int, wrong: bool = False) -> Roles:
        return only_layer(graph, head_element(a, roles, seed, wrong_inverse=wrong), layer)

    kept = [function.keeps(partial(rewritten, layer=i, seed=s)) for i in range(a.layers) for s in range(2)]
    evidence.exact(
        r"a two-layer GPT-2-like model, one layer rewritten by an element of determinant $-1$ and the other not: equal "
        r"logits over GF(p²)",
        all(kept),
        cases=len(kept),
        figures={"primes": [2147483579]},
    )
    broken = [not function.keeps(partial(rewritten, layer=i, seed=0, wrong=True)) for i in range(a.layers)]
    evidence.control(r"$A^{-1}$ for $A^{-\top}$ in either layer", all(broken), kind="exact")
    record_identity(evidence, "covariant_biases")
    worst, weakest = 0.0, 1.0
    for layer in range(a.layers):
        roles, x = random_parameters(a, layer), random_inputs(a, layer)
        found = measure_invariance(a, roles, partial(rewritten, layer=layer), layer, x)
        worst = max(worst, found.ratio)
        weakest = min(weakest, assert_changes(a, roles, rewritten(roles, layer, layer, wrong=True), x))
    evidence.numeric(
        "the same in float64",
        figures={"largest observed / allowed": at_most(worst, 1.0), "layers": equal(a.layers, 2)},
        cases=a.layers,
    )
    evidence.control("the wrong inverse in float64", figures={"smallest change": at_least(weakest, 1e-3)})
