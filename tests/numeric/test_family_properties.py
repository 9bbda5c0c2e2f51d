"""Every family on random architectures: general elements keep the function, and spoiling any role does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgauge import profiles, strategies
from symgauge.architecture import Architecture
from symgauge.numeric import action, assert_changes, assert_invariant, negative_controls
from symgauge.numeric.invariance import Output
from symgauge.symmetries import DiscreteSymmetry, Symmetry, discrete_families, families
from symgauge.wiring import wire

profiles.activate()

FREE = {
    "key-bias": "softmax sees no constant added to every key",
    "layernorm-input-mean": "each writer's mean direction is invisible by itself",
    "layernorm-output-mean": "each reader's null direction is invisible by itself, its bias aside",
    "unused-token-types": "no token has these types",
    "router-shift": "the only role",
    "logit-shift": "the only role",
    "tied-embedding-shift": "the only role where the final norm has no offset",
}
"""Families with roles that may be put back alone; their controls displace roles instead."""
MARGIN = 1e-5
"""Some roles of a random model weigh little; rounding is still a million times smaller."""


def all_families(a: Architecture) -> Iterator[tuple[Symmetry | DiscreteSymmetry, Output]]:
    for output in ("logits", "probabilities"):
        for family in families(a, output):
            if family.outputs[0] == output:
                yield family, output
    for finite in discrete_families(a):
        yield finite, "logits"


def key_biases(a: Architecture) -> dict[str, str]:
    """Key biases, where the function does not see them at all."""
    if a.attention != "softmax" or a.rotary is not None or a.attention_softcap is not None or a.qk_norm:
        return {}
    return {role: FREE["key-bias"] for role in wire(a).shapes if role.endswith("attention.key.bias")}


@given(architecture=strategies.architectures(), data=st.data())
def test_elements_keep_the_function_and_each_role_counts(architecture: Architecture, data: st.DataObject) -> None:
    a = architecture
    parameters = data.draw(strategies.parameters(a))
    # Enough tokens that every expert is chosen by some of them.
    inputs = data.draw(strategies.inputs(a, batch=24 if a.experts else 4))
    checked = 0
    for family, output in all_families(a):
        element = data.draw(strategies.elements(family, a))
        act = action(family, a)
        assert_invariant(a, parameters, act, element, inputs, output=output)
        after = dict(act(parameters, element))
        changed = {role for role, x in after.items() if not x.equal(parameters[role])}
        unseen = {role: why for role, why in key_biases(a).items() if role in changed}
        if changed == set(unseen):
            # Nothing of it is visible here; without softmax the same change is.
            visible = a.replace(attention="linear")
            assert_changes(visible, parameters, after, inputs, output=output, margin=MARGIN, what=family.name)
        else:
            free = family.name in FREE or (family.name == "value-bias" and not a.output_bias)
            kind = "displace" if free or len(changed) == 1 else "undo"
            options: dict[str, Any] = {"kind": kind, "redundant": unseen, "output": output, "margin": MARGIN}
            negative_controls(a, parameters, act, element, inputs, **options)
        checked += 1
    assert checked >= 2


@pytest.mark.parametrize("name", sorted(FREE))
def test_the_list_of_exceptions_is_of_real_families(name: str) -> None:
    from symgauge.symmetries import REGISTRY

    assert name in {family.name for family in REGISTRY}
