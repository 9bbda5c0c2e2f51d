"""Just outside a family the function changes: each role that an element moves is put back alone, and that must show.

Where a role may move alone by the family's own statement, :data:`ALONE` says why; putting it back must then *not* show,
and a random displacement of the same size must.
"""

from __future__ import annotations

import pytest
import torch

from symgauge.architecture import Architecture
from symgauge.symmetries.base import Output
from symgauge.symmetries.spaces import unseen_key_channels
from symgauge.symmetries.symbols import layer_of
from symgauge.wiring import wire
from tests.symmetries.cases import ARCHITECTURES, acting, family_of
from tests.symmetries.evidence import VISIBLE, difference, inputs, point, rounding

ALONE = {
    "key-bias": "softmax does not see it",
    "token-key-shift": "softmax does not see it",
    "router-shift": "softmax over the chosen experts does not see it",
    "unused-token-types": "the rows are never read",
    "unused-positions": "the rows are never read",
    "layernorm-input-mean": "each writer's mean is unseen by itself",
    "logit-shift": "softmax does not see it",
    "qk-norm-scale": "the norm after each map does not see its size",
}


def hidden(a: Architecture, role: str) -> bool:
    """Whether softmax sees no constant in the keys of the role's layer."""
    return len(unseen_key_channels(a, a.encodings[layer_of(role) or 0])) == a.d_k


def moves_alone(a: Architecture, family: str, role: str) -> str | None:
    """Why a role that the family moves may be put back without effect, or None if it may not."""
    if family in ALONE:
        return ALONE[family]
    if role.endswith("key.bias") and hidden(a, role):
        return "a key bias is unseen under softmax without rotary encoding, whatever moves it"
    if family == "stream-scale" and role.endswith(("down.weight", "output.weight")) and _read_by_its_own_norm(a, role):
        return "nothing else writes what this norm reads"
    sized = (".query.weight", ".key.weight", ".value.weight", ".up.weight")
    if family == "stream-scale" and a.placement == "output" and role.endswith(sized):
        return "a norm does not see the size of queries, of keys, or of what follows linearly from the map"
    if family == "tied-embedding-shift" and a.embedding_norm and not a.position_table:
        return "along 1 only LayerNorms would see it, and they do not"
    if family == "value-bias" and not a.output_bias:
        return "only what the output map kills moves"
    if family == "layernorm-output-mean" and not a.norm_offset:
        return "without an offset there is no constant to take back"
    constant = family in ("layernorm-output-mean", "token-value-shift")
    if constant and role.endswith("key.weight") and hidden(a, role):
        return "the constant goes into the keys, where softmax does not see it"
    return None


def _read_by_its_own_norm(a: Architecture, role: str) -> bool:
    latent = role.endswith(("query_down.weight", "key_value_down.weight"))
    return latent or (a.placement in ("sandwich", "output") and not a.output_bias and not a.ff_bias)


def wholly_free(a: Architecture, role: str) -> bool:
    """Roles none of whose entries the function sees: no displacement can show."""
    return role == "unused_positions" or (role.endswith("key.bias") and hidden(a, role))


# The router of a single active expert is free until another expert wins: it has a control of its own below.
CASES = [case for case in acting() if case != ("switch", "logits", "router-shift")]


@pytest.mark.parametrize(("name", "output", "family"), CASES)
def test_one_role_put_back(name: str, output: Output, family: str) -> None:
    a = ARCHITECTURES[name]
    w, symmetry, generator = wire(a), family_of(a, output, family), torch.Generator().manual_seed(3)
    roles, x = point(a), inputs(a, generator, 24)
    moved = symmetry.act(a, w, roles, symmetry.sample(a, w, generator))
    tolerance = rounding(a, roles, moved, x, output)
    assert tolerance < VISIBLE / 100, "the control could not tell a change from rounding"
    changed = [role for role in roles if not torch.equal(moved[role], roles[role])]
    assert changed
    for role in changed:
        back = {**moved, role: roles[role]}
        reason = moves_alone(a, family, role)
        if reason is None:
            assert difference(a, roles, back, x, output) > VISIBLE, f"putting back {role} does not show"
            continue
        assert difference(a, roles, back, x, output) < tolerance, f"{role} was to move alone: {reason}"
        if not wholly_free(a, role):
            noise = torch.randn(roles[role].shape, generator=generator, dtype=torch.float64)
            noise = noise * (moved[role] - roles[role]).norm() / noise.norm()
            # Experts that are not chosen move unseen by small steps; a displacement must be felt by some token.
            assert difference(a, roles, {**moved, role: moved[role] + noise}, x, output) > VISIBLE / 10, role


def test_large_router_moves_show() -> None:
    a = ARCHITECTURES["switch"]
    w, symmetry, generator = wire(a), family_of(a, "logits", "router-shift"), torch.Generator().manual_seed(4)
    roles, x = point(a), inputs(a, generator)
    coordinates = symmetry.sample(a, w, generator)
    near, far = (symmetry.act(a, w, roles, c) for c in (coordinates, 1e5 * coordinates))
    assert difference(a, roles, near, x, "logits") < rounding(a, roles, near, x, "logits")
    assert difference(a, roles, far, x, "logits") > VISIBLE


@pytest.mark.parametrize("name", ["attention", "gpt2"])
def test_key_bias_is_seen_where_the_family_does_not_apply(name: str) -> None:
    a = ARCHITECTURES[name]
    capped = a.replace(attention_softcap=2.0)
    w, symmetry, generator = wire(a), family_of(a, "logits", "key-bias"), torch.Generator().manual_seed(4)
    roles, x = point(a), inputs(a, generator)
    moved = symmetry.act(a, w, roles, symmetry.sample(a, w, generator))
    assert not symmetry.applies(capped)
    assert difference(capped, roles, moved, x, "logits") > VISIBLE


def test_inverse_in_place_of_inverse_transpose() -> None:
    """The slip that a sampler of symmetric matrices would never notice."""
    a = ARCHITECTURES["attention-classes"].replace(rotary=None)
    w, symmetry, generator = wire(a), family_of(a, "logits", "query-key"), torch.Generator().manual_seed(5)
    roles, x = point(a), inputs(a, generator)
    coordinates = symmetry.sample(a, w, generator)
    moved = symmetry.act(a, w, roles, coordinates)
    matrices = torch.eye(a.d_k, dtype=torch.float64) + coordinates.reshape(a.groups, a.d_k, a.d_k)
    key = next(role for role in roles if role.endswith("key.weight"))
    assert difference(a, roles, moved, x, "logits") < rounding(a, roles, moved, x, "logits")
    wrong = {**moved, key: roles[key] @ torch.linalg.inv(matrices)}
    assert difference(a, roles, wrong, x, "logits") > VISIBLE
