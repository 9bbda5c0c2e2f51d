"""Modules that read the stream: routers with their ties (Appendix C.4), and any other consumer of h_t (§9)."""

from __future__ import annotations

from functools import partial
from random import Random

import sympy as sp
import torch
from hypothesis import strategies as st
from torch import Tensor

from proofs_checks.gauge.relabelings import record_routing_of_relabelings
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.norm_blocks import block, keys_left_out
from proofs_checks.support.small_architectures import EPSILON
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.architecture import Architecture, Experts
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs
from symgauge.symbolic.instances import general_matrix


def consumers(width: int, seed: int) -> dict[str, torch.nn.Module]:
    """Modules with the hidden state as their only input, with random weights."""
    torch.manual_seed(seed)
    made = {
        "linear probe": torch.nn.Linear(width, 3),
        "gated network": torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.GLU(), torch.nn.Linear(4, 2)),
        "router and softmax": torch.nn.Sequential(torch.nn.Linear(width, 5), torch.nn.Softmax(-1)),
        "recurrent reader": Recurrent(width),
    }
    return {name: module.double() for name, module in made.items()}


class Recurrent(torch.nn.Module):
    """A GRU over the sequence of hidden states."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = torch.nn.GRU(width, 4, batch_first=True)

    def forward(self, h: Tensor) -> Tensor:
        return self.cell(h)[0]


@checks("App-C.4", "sec9-4")
def test_consumers_of_the_stream(evidence: EvidenceLog) -> None:
    routing = "App-C.4"
    for name in ("query_key", "value_output", "shared_group"):
        record_identity(evidence, name)
    mixture = Architecture(5, 4, 2, 3, groups=2, context=2, norm="rms", gated=True, activation="silu",
                           experts=Experts(4, 2, 3), **EPSILON)  # fmt: skip
    record_routing_of_relabelings(evidence, mixture, routing)
    function = ExactFunction(mixture, batch=200, seed=1)
    evidence.exact(
        r"a layer with four experts, two active: elements of determinant $-1$ keep its output over GF(p²)",
        all(function.keeps(partial(head_element, mixture, seed=s)) for s in range(3)),
        cases=3,
        figures={"primes": [2147483579]},
        only=routing,
    )
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$",
        not function.keeps(partial(head_element, mixture, wrong_inverse=True)),
        kind="exact",
        only=routing,
    )
    rng = Random(6)
    hidden = sp.Matrix([[*sp.symbols("h0:4")]])
    router, bias = general_matrix(4, 3, rng), general_matrix(1, 3, rng)
    logits = hidden * router + bias
    gaps = [sp.Poly(logits[i] - logits[j], *hidden) for i in range(3) for j in range(i)]
    evidence.proof(
        r"general $W_r$, $b$: the difference of two logits is a polynomial in $h_t$ that is not zero, so ties are "
        r"hyperplanes",
        all(not gap.is_zero and gap.total_degree() == 1 for gap in gaps),
        cases=len(gaps),
        only=routing,
    )
    twins = router.copy()
    twins[:, 1] = twins[:, 0]
    flat = sp.expand((hidden * twins)[0] - (hidden * twins)[1])
    evidence.control("two equal columns of $W_r$ tie everywhere", flat == 0, kind="proof", only=routing)
    worst, weakest, chosen, misled = 0.0, 1.0, [], []

    def inherits(seed: int, placement: str) -> bool:
        nonlocal worst, weakest
        a = block(placement)
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        elements = (head_element(a, roles, seed), keys_left_out(a, roles, seed))
        h, turned, wrong = (forward(a, {**roles, **e}, x) for e in ({}, *elements))
        with torch.no_grad():
            for name, module in consumers(a.d_model, seed).items():
                before, after, broken = (module(state) for state in (h, turned, wrong))
                worst = max(worst, float((after - before).norm() / before.norm()))
                weakest = min(weakest, float((broken - before).norm() / before.norm()))
                if name == "router and softmax":
                    chosen.append(torch.equal(before.topk(2).indices, after.topk(2).indices))
                    misled.append(torch.equal(before.topk(2).indices, broken.topk(2).indices))
        return worst < 1e-10

    run = for_all(inherits, seed=st.integers(0, 9999), placement=st.sampled_from(["pre", "post"]))
    evidence.property(
        "a linear probe, a gated network, a router and a recurrent reader on drawn blocks: outputs within rounding",
        run,
        figures={"largest change": at_most(worst, 1e-10), "consumers": sorted(consumers(5, 0))},
    )
    evidence.control("keys left as they were", figures={"smallest change": at_least(weakest, 1e-6)})
    evidence.numeric(
        "the two largest router logits are at the same experts in every trial",
        figures={"trials with another choice": equal(chosen.count(False), 0)},
        cases=len(chosen),
        only=routing,
    )
    evidence.control(
        "keys left as they were: in some trials others are chosen",
        figures={"trials with another choice": at_least(misled.count(False), 1)},
        only=routing,
    )
