"""Elements of G_max on blocks with norms: exact and drawn, with the wrong inverse as control."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from torch import Tensor

from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.small_architectures import BLOCK
from symgauge import strategies as sg
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, for_all
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs


def block(placement: str, **sizes: int) -> Architecture:
    """A block with LayerNorm, biases and a GELU network, from stream to stream."""
    a = Architecture(sizes.get("d", 5), sizes.get("h", 2), sizes.get("d_k", 3), sizes.get("d_v", 4), d_ff=6,
                     context=3, **BLOCK)  # fmt: skip
    return a.replace(placement=placement)


def keys_left_out(a: Architecture, roles: Roles, seed: int) -> dict[str, Tensor]:
    """An element without its key part: a break for every drawn A (a symmetric one forgives A⁻¹ for A⁻ᵀ)."""
    return {name: x for name, x in head_element(a, roles, seed).items() if ".key." not in name}


def record_norm_compatibility(
    evidence: EvidenceLog, placements: Sequence[str], *, sizes: dict[str, int] | None = None, only: Sequence[str] = ()
) -> None:
    """Elements of determinant −1 on blocks with norms in each placement, exactly and on drawn blocks in float64."""
    functions = [(p, ExactFunction(block(p, **(sizes or {})), batch=400, length=2)) for p in placements]
    kept = [f.keeps(partial(head_element, f.architecture, seed=s)) for _, f in functions for s in range(2)]
    wrong = [not f.keeps(partial(head_element, f.architecture, wrong_inverse=True)) for _, f in functions]
    evidence.exact(
        r"integer elements of determinant $-1$, biases along, keep whole blocks over GF(p²)",
        all(kept),
        cases=len(kept),
        figures={"placements": list(placements), "primes": [2147483579]},
        only=only,
    )
    evidence.control(r"$A^{-1}$ in place of $A^{-\top}$, each placement", all(wrong), kind="exact", only=only)
    worst, weakest = 0.0, 1.0

    def keeps(a: Architecture, placement: str, seed: int) -> bool:
        nonlocal worst, weakest
        a = a.replace(placement=placement)
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        found = measure_invariance(a, roles, lambda r, s: head_element(a, r, s), seed, x)
        worst = max(worst, found.ratio)
        weakest = min(weakest, assert_changes(a, roles, keys_left_out(a, roles, seed), x, margin=1e-6))
        return found.holds

    fixed: dict[str, Any] = {"norm": "layer", "norm_offset": True, "rotary": None, "gated": False}
    drawn = sg.architectures(kinds=["block"], max_parameters=400, **fixed)
    run = for_all(keeps, a=drawn, placement=st.sampled_from(list(placements)), seed=st.integers(0, 999))
    evidence.property(
        "drawn blocks, placements and elements in float64",
        run,
        figures={"largest observed / allowed": at_most(worst, 1.0)},
        only=only,
    )
    evidence.control(
        "keys left as they were, on drawn blocks", figures={"smallest change": at_least(weakest, 1e-6)}, only=only
    )
