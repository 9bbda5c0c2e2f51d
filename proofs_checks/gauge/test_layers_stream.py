"""The sketch of Theorem 4.3: can a transformation act on the whole residual stream? (§4.3, first step.)"""

from __future__ import annotations

from random import Random
from typing import Any

import sympy as sp
import torch

from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.group_elements import rotate_stream
from proofs_checks.support.small_architectures import MANY, llama
from proofs_checks.support.symbolic_evidence import is_zero, record_identity
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.models.reference import random_parameters
from symgauge.numeric import action, assert_changes, measure_invariance, random_element, random_inputs
from symgauge.symbolic.instances import general_matrix
from symgauge.symmetries import families

# A Transformer of attention and a network without norms, tokens in and logits out.
PLAIN: dict[str, Any] = {"norm": "none", "ff_bias": True, "output_bias": True}


@checks("sec4-sk1")
def test_whole_stream(evidence: EvidenceLog) -> None:
    rng = Random(1)
    token, write, read = sp.Matrix([[1, 2]]), sp.Matrix([[0, 1], [1, 1]]), sp.Matrix([[1], [3]])
    m = sp.Matrix([[1, 1], [0, 1]])
    before = token * (sp.eye(2) + write) * read
    after = (token * m) * (sp.eye(2) + m.inv() * write * m) * (m.inv() * read)
    evidence.exact(
        "only the identity acts on the stream and the block's output alike",
        before != after,
        counterexample=r"$d = 2$, token $(1,2)$, a block that adds $xW$: $M = \begin{pmatrix}1&1\\0&1\end{pmatrix}$ in "
        r"the embedding ($EM$), the block ($M^{-1}WM$) and the head ($M^{-1}U$) leaves the logit as it is",
        figures={"logit": [str(before[0]), str(after[0])]},
    )
    stream, block, head = general_matrix(3, 4, rng), general_matrix(4, 4, rng), general_matrix(4, 2, rng)
    turn = general_matrix(4, 4, rng)
    alone = stream * (sp.eye(4) + turn.inv() * block * turn) * head - stream * (sp.eye(4) + block) * head
    evidence.control("the block alone transformed", not is_zero(alone), kind="exact")
    for name in ("unnormalised_stream", "rms_rotation", "layer_norm_rotation", "residual_permutation"):
        record_identity(evidence, name, on="correction")
    a = llama(3, 2, 1, 2, 4, 5, 2, **MANY)
    function = ExactFunction(a, batch=1200, length=2)
    integers = torch.eye(3, dtype=torch.float64) * 5
    integers[1:, 1:] = torch.tensor([[3.0, 4.0], [-4.0, 3.0]])
    rotation = function.lift(integers) / 5.0
    evidence.exact(
        "a two-layer LLaMA-like model, its stream rotated by $(3/5, 4/5)$ in all layers, embedding and head: equal "
        "logits over GF(p²)",
        function.keeps(lambda r: rotate_stream(a, r, rotation)),
        on="correction",
        figures={"primes": [2147483579]},
    )
    evidence.control(
        "the first layer alone rotated",
        not function.keeps(lambda r: rotate_stream(a, r, rotation, layers=range(1))),
        kind="exact",
    )
    worst, weakest = 0.0, 1.0
    for seed in range(3):
        plain = Architecture(4, 2, 3, 1, d_ff=5, vocabulary=9, layers=2, context=4, **PLAIN)
        family = next(f for f in families(plain) if f.name == "stream-map")
        roles, x = random_parameters(plain, seed), random_inputs(plain, seed)
        element = random_element(family, plain, seed)
        worst = max(worst, measure_invariance(plain, roles, action(family, plain), element, x).ratio)
        table = action(family, plain)(roles, element)["token_table"]
        weakest = min(weakest, assert_changes(plain, roles, {"token_table": table}, x))
    evidence.numeric(
        "a two-layer model without norms under drawn $M$, far from the identity, in float64",
        on="correction",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
        cases=3,
    )
    evidence.control("the embedding alone moved", figures={"smallest change": at_least(weakest, 1e-3)})
