"""Every family on random architectures: general elements keep the function, and spoiling any role does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from symgauge import profiles, strategies
from symgauge.architecture import Architecture
from symgauge.numeric import action, assert_changes, assert_invariant, negative_controls
from symgauge.numeric.invariance import Output
from symgauge.symmetries import DiscreteSymmetry, Symmetry, discrete_families, families

profiles.activate()

MARGIN = 1e-5
"""Some roles of a random model weigh little; rounding is still a million times smaller."""


def all_families(a: Architecture) -> Iterator[tuple[Symmetry | DiscreteSymmetry, Output]]:
    for output in ("logits", "probabilities"):
        for family in families(a, output):
            if family.outputs[0] == output:
                yield family, output
    for finite in discrete_families(a):
        yield finite, "logits"


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
        alone = {role: unseen for role in changed if (unseen := family.unseen_alone(a, role))}
        hidden = {role: unseen.why for role, unseen in alone.items() if unseen.wholly}
        if changed == {role for role in hidden if role.endswith("key.bias")}:
            # Nothing of it is visible here; without softmax the same change is.
            visible = a.replace(attention="linear")
            assert_changes(visible, parameters, after, inputs, output=output, margin=MARGIN, what=family.name)
        elif changed != hidden.keys():
            # What may be put back alone is displaced instead.
            kind = "displace" if alone.keys() - hidden or len(changed) == 1 else "undo"
            options: dict[str, Any] = {"kind": kind, "redundant": hidden, "output": output, "margin": MARGIN}
            negative_controls(a, parameters, act, element, inputs, **options)
        checked += 1
    assert checked >= 2
