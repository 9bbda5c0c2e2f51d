"""Just outside a family the function changes: each role that an element moves is put back alone, and that must show.

Where a role may move alone by the family's own statement, :meth:`symgauge.symmetries.Family.unseen_alone` says why;
putting it back must then *not* show, and a random displacement of the same size must.
"""

from __future__ import annotations

import pytest
import torch

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.symmetries import Symmetry
from symgauge.symmetries.base import Output
from tests.symmetries.cases import ACTING, ARCHITECTURES, IDS, family_of
from tests.symmetries.evidence import VISIBLE, difference, inputs, point, rounding
from tests.symmetries.family_checks import check_each_role_counts


@pytest.mark.parametrize(("a", "output", "family"), ACTING, ids=IDS)
def test_one_role_put_back(a: Architecture, output: Output, family: Symmetry) -> None:
    check_each_role_counts(a, family, output)


def test_large_router_moves_show() -> None:
    a = ARCHITECTURES["switch"]
    graph, symmetry, generator = graph_of(a), family_of(a, "logits", "router-shift"), torch.Generator().manual_seed(4)
    roles, x = point(a), inputs(a, generator)
    coordinates = symmetry.sample(a, graph, generator)
    near, far = (symmetry.act(a, graph, roles, c) for c in (coordinates, 1e5 * coordinates))
    assert difference(a, roles, near, x, "logits") < rounding(a, roles, near, x, "logits")
    assert difference(a, roles, far, x, "logits") > VISIBLE


@pytest.mark.parametrize("name", ["attention", "gpt2"])
def test_key_bias_is_seen_where_the_family_does_not_apply(name: str) -> None:
    a = ARCHITECTURES[name]
    capped = a.replace(attention_softcap=2.0)
    graph, symmetry, generator = graph_of(a), family_of(a, "logits", "key-bias"), torch.Generator().manual_seed(4)
    roles, x = point(a), inputs(a, generator)
    moved = symmetry.act(a, graph, roles, symmetry.sample(a, graph, generator))
    assert not symmetry.applies(capped)
    assert difference(capped, roles, moved, x, "logits") > VISIBLE


def test_inverse_in_place_of_inverse_transpose() -> None:
    """The slip that a sampler of symmetric matrices would never notice."""
    a = ARCHITECTURES["attention-classes"].replace(rotary=None)
    graph, symmetry, generator = graph_of(a), family_of(a, "logits", "query-key"), torch.Generator().manual_seed(5)
    roles, x = point(a), inputs(a, generator)
    coordinates = symmetry.sample(a, graph, generator)
    moved = symmetry.act(a, graph, roles, coordinates)
    matrices = torch.eye(a.d_k, dtype=torch.float64) + coordinates.reshape(a.groups, a.d_k, a.d_k)
    key = next(role for role in roles if role.endswith("key.weight"))
    assert difference(a, roles, moved, x, "logits") < rounding(a, roles, moved, x, "logits")
    wrong = {**moved, key: roles[key] @ torch.linalg.inv(matrices)}
    assert difference(a, roles, wrong, x, "logits") > VISIBLE
