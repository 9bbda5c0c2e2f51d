"""G_max acts inside attention, so nothing around it notices: norms, residuals, networks, and other layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import sympy as sp

from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.explicit_attention import FIELD
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

E = FIELD.to_sympy(FIELD.gens[0])


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
        on="condition",
        cases=len(kept),
        figures={"primes": [2147483579]},
    )
    broken = [not function.keeps(partial(rewritten, layer=i, seed=0, wrong=True)) for i in range(a.layers)]
    evidence.control(r"$A^{-1}$ for $A^{-\top}$ in either layer", all(broken), kind="exact")
    record_cached_keys(evidence)
    record_identity(evidence, "covariant_biases", on="condition")
    worst, weakest = 0.0, 1.0
    for layer in range(a.layers):
        roles, x = random_parameters(a, layer), random_inputs(a, layer)
        found = measure_invariance(a, roles, partial(rewritten, layer=layer), layer, x)
        worst = max(worst, found.ratio)
        weakest = min(weakest, assert_changes(a, roles, rewritten(roles, layer, layer, wrong=True), x))
    evidence.numeric(
        "the same in float64",
        on="condition",
        figures={"largest observed / allowed": at_most(worst, 1.0), "layers": equal(a.layers, 2)},
        cases=a.layers,
    )
    evidence.control("the wrong inverse in float64", figures={"smallest change": at_least(weakest, 1e-3)})


def record_cached_keys(evidence: EvidenceLog) -> None:
    """One step of decoding after a rewrite, with the keys and values of two earlier tokens as they were, and moved."""
    w_q, w_k = sp.Matrix([[1, 0], [0, 1], [1, 1]]), sp.Matrix([[1, 1], [0, 1], [1, 0]])
    w_v, w_o = sp.Matrix([[0, 1], [1, 0], [2, 1]]), sp.Matrix([[1, 0, 1], [0, 1, 1]])
    a, c = sp.Matrix([[1, 1], [0, -1]]), sp.Matrix([[0, 1], [1, 0]])
    earlier, token = sp.Matrix([[1, 0, 0], [0, 1, 1]]), sp.Matrix([[1, 1, 0]])
    before = Head(w_q, w_k, w_v, w_o)
    after = Head(w_q * a, w_k * a.inv().T, w_v * c, c.inv() * w_o)
    keys, values = earlier * w_k, earlier * w_v
    expected = before.decode(token, keys, values)
    evidence.exact(
        "a token decoded after the rewrite, with keys and values cached before it, has the output of before",
        after.decode(token, keys, values) == expected,
        counterexample=r"$d = 3$, $d_k = d_v = 2$, $A = \begin{pmatrix}1&1\\0&-1\end{pmatrix}$, $C$ the exchange of "
        r"two channels: over $\mathbb Q(e)$ the last of three tokens has another output",
    )
    evidence.exact(
        r"the same, with the cache moved by $A^{-\top}$ and $C$: equal over $\mathbb Q(e)$",
        after.decode(token, keys * a.inv().T, values * c) == expected,
        on="condition",
    )
    other = Head(w_k, w_q, w_v * c, w_o)
    heads, cache = (before, other), [(earlier * h.w_k, earlier * h.w_v) for h in (before, other)]
    together = decode(heads, token, cache)
    evidence.exact(
        "the same for two heads that exchange their places, $A_i = C_i = 1$, with the cache as it was",
        decode(heads[::-1], token, cache) == together,
        counterexample=r"head 1 as before, head 2 with $W_Q$ and $W_K$ exchanged and $W_VC$: each head reads the keys "
        "and values of the other",
    )
    evidence.exact(
        "with the cache exchanged along with its heads: equal",
        decode(heads[::-1], token, cache[::-1]) == together,
        on="condition",
    )
    evidence.control(
        "keys moved and values not",
        after.decode(token, keys * a.inv().T, values) != expected,
        kind="exact",
    )


class Head(NamedTuple):
    """One head, d_k = d_v = 2, without the scale 1/√d_k."""

    w_q: sp.Matrix
    w_k: sp.Matrix
    w_v: sp.Matrix
    w_o: sp.Matrix

    def decode(self, token: sp.Matrix, keys: sp.Matrix, values: sp.Matrix) -> sp.Matrix:
        """The output at a token (1, d) that follows those of the cache, as rational functions of e."""
        keys, values = keys.col_join(token * self.w_k), values.col_join(token * self.w_v)
        powers = (token * self.w_q * keys.T).applyfunc(lambda score: E**score)
        return (powers / sum(powers) * values * self.w_o).applyfunc(sp.cancel)


def decode(heads: Sequence[Head], token: sp.Matrix, cache: Sequence[tuple[sp.Matrix, sp.Matrix]]) -> sp.Matrix:
    """The sum over heads, each with the keys and values at its place in the cache."""
    outputs = [head.decode(token, *cached) for head, cached in zip(heads, cache, strict=True)]
    return sum(outputs[1:], outputs[0]).applyfunc(sp.cancel)
