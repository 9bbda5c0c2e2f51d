"""Every family of the zoo against transformers' own class, tiny and at full size; all that is known is in its file.

A family that is added is found, and these tests run on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from symgauge.errors import UnsupportedModel
from symgauge.full_size import full_size
from symgauge.layout import Layout, Slot, flatten
from symgauge.model_graph import graph_of
from symgauge.models.huggingface import adapt, from_config, tiny
from symgauge.symmetries import dimension
from symgauge.symmetries.symbols import evaluate, layer_of
from symgauge.zoo import families, model_types
from tests.models.agreement import AGREES, distance
from tests.models.published import CONFIGS, MODELS, OTHERS
from tests.symmetries.evidence import accounted

NAMES = model_types()
VARIANTS = [(name, case) for name, family in families().items() for case in family.cases.variants]
REFUSED = [(name, *case) for name, family in families().items() for case in family.cases.refused]
ACCOUNTED = [(name, *case) for name, family in families().items() for case in family.cases.accounted]


def _short(value: object) -> str:
    return str(value)[:60]


def test_a_file_is_named_after_its_model_type() -> None:
    assert {name: family.model_type for name, family in families().items()} == {name: name for name in NAMES}


def test_the_documentation_lists_every_family() -> None:
    text = (Path(__file__).parents[2] / "docs" / "zoo.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in text] == []


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("model_type", NAMES)
def test_reference_computes_the_same_logits(model_type: str, layers: int) -> None:
    model = tiny(model_type, layers)
    assert adapt(model).architecture.layers == layers
    assert distance(model) < AGREES


@pytest.mark.parametrize(("model_type", "fields"), VARIANTS, ids=_short)
def test_variants_of_a_family_agree(model_type: str, fields: dict[str, Any]) -> None:
    assert distance(tiny(model_type, 2, **fields)) < AGREES


@pytest.mark.parametrize("model_type", NAMES)
def test_every_entry_belongs_to_one_role_and_none_is_at_its_initial_value(model_type: str) -> None:
    model = tiny(model_type, 2)
    layout = adapt(model).layout
    theta, names = flatten(model)
    assert names == layout.names
    assert layout.unused.numel() == 0
    assert not torch.isin(theta, torch.tensor([0.0, 1.0], dtype=theta.dtype)).any()
    gains = torch.cat([value.flatten() for role, value in layout.read(theta).items() if role.endswith(".gain")])
    assert gains.min() < 0 < gains.max()


def with_indices(layout: Layout, changes: dict[str, Tensor]) -> Layout:
    """The layout with other positions for some roles."""
    slots = {role: Slot(changes.get(role, slot.index), slot.shift) for role, slot in layout.slots.items()}
    return Layout(slots, layout.size, layout.names)


@pytest.mark.parametrize("model_type", NAMES)
def test_each_slot_matters(model_type: str) -> None:
    """Entries of any one role in a wrong order change the logits, save for biases that attention cannot see."""
    model = tiny(model_type, 2)
    adapted = adapt(model)
    a = adapted.architecture
    unmoved = []
    for role, slot in adapted.layout.slots.items():
        rolled = slot.index.flatten().roll(1).reshape(slot.index.shape)
        if not distance(model, layout=with_indices(adapted.layout, {role: rolled})) > 1e-6:
            unmoved.append(role)
    # Without rotary encoding softmax cancels the key bias.
    still = [layer for layer, encoding in enumerate(a.encodings) if encoding is None]
    invisible = [r for r in adapted.layout.slots if r.endswith("key.bias") and layer_of(r) in still]
    # The first rows of positions may be there for nothing.
    assert unmoved == [r for r in adapted.layout.slots if r in (*invisible, "unused_positions")]


@pytest.mark.parametrize(("model_type", "word", "fields"), REFUSED, ids=_short)
def test_fields_that_would_change_the_symmetries_are_refused(
    model_type: str, word: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(UnsupportedModel, match=word):
        tiny(model_type, **fields)


@pytest.mark.parametrize(("model_type", "layers", "fields"), ACCOUNTED, ids=_short)
def test_nothing_is_unexplained(model_type: str, layers: int, fields: dict[str, Any]) -> None:
    """Activations are smooth here: what ReLU leaves free depends on the point."""
    found = accounted(tiny(model_type, layers, **fields))
    assert found.decided
    assert found.unexplained == 0, dict(found.tensors)
    assert found.fibre.nullity == evaluate(dimension(found.architecture), found.architecture)


def own_count(fields: dict[str, Any]) -> int:
    """Parameters of transformers' class at full size, built without memory."""
    import transformers

    family = families()[fields["model_type"]]
    given = {key: value for key, value in fields.items() if key not in ("model_type", "architectures")}
    with torch.device("meta"):
        model = getattr(transformers, family.class_name)(transformers.CONFIG_MAPPING[family.model_type](**given))
        model.tie_weights()
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("model_type", NAMES)
def test_roles_add_up_to_the_count_of_the_class_with_its_defaults(model_type: str) -> None:
    fields = {"model_type": model_type, **families()[model_type].example}
    assert graph_of(from_config(fields).architecture).parameters == own_count(fields)


@pytest.mark.parametrize("name", CONFIGS)
def test_roles_add_up_to_the_published_count(name: str) -> None:
    found, published = graph_of(from_config(CONFIGS[name]).architecture).parameters, MODELS[name].parameters
    assert found == own_count(CONFIGS[name])
    assert published == (found if isinstance(published, int) else pytest.approx(round(found / 1e9, 2) * 1e9))


@pytest.mark.parametrize("name", OTHERS)
def test_small_instances_keep_the_parts(name: str) -> None:
    result = from_config(CONFIGS[name])
    full, small = result.architecture, adapt(result.model).architecture
    same = ("placement", "norm", "norm_offset", "gated", "tied", "qk_norm", "qk_norm_across", "activation", "causal")
    same += ("embedding_norm", "final_norm", "position_table", "unused_positions", "head_transform", "head_bias")
    same += tuple(field for field in vars(full) if field.endswith("_bias"))
    assert {field: getattr(full, field) for field in same} == {field: getattr(small, field) for field in same}
    assert bool(full.alibi) == bool(small.alibi)
    if small.layers > 1:
        assert {e is None for e in full.encodings} == {e is None for e in small.encodings}
    for kind in (lambda a: a.groups == a.heads, lambda a: a.groups == 1, lambda a: 1 < a.groups < a.heads):
        assert kind(full) == kind(small)
    assert [e and e.unrotated > 0 for e in full.encodings[:1]] == [e and e.unrotated > 0 for e in small.encodings[:1]]
    assert distance(result.model) < AGREES


def test_layers_of_two_kinds_are_each_counted_at_full_size() -> None:
    """SmolLM3: of 36 layers nine have no rotary encoding, where d_k² maps of a group commute and not d_k."""
    found = full_size(from_config(CONFIGS["smollm3-3b"]).architecture)
    query_key = next(share for share in found.families if share.name == "query-key")
    assert query_key.dimension == 4 * (27 * 128 + 9 * 128**2)
    claimed = next(count for count in found.claimed if count.source == "gauge")
    assert claimed.dimension == 36 * 4 * 128**2 + query_key.dimension
