"""A model and its image under any element of any known family are one function, and are said to be."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from symgauge.checkpoints import StoredModel, open_checkpoint, stored_model
from symgauge.comparison import compare
from symgauge.errors import Undecided
from symgauge.models.huggingface import tiny
from symgauge.symmetries.finding import finite_families
from symgauge.symmetries.group import families

UNTOLD = {"unused-token-types"}
"""What is no symmetry of a model that may be fed token types."""


def images(model: StoredModel) -> Iterator[tuple[str, Mapping[str, Tensor]]]:
    a, graph = model.architecture, model.graph
    roles = {role: model.roles[role] for role in model.parts}
    for family in (*families(a), *(kind() for kind in finite_families() if kind().applies(a))):
        element = family.sample(a, graph, torch.Generator().manual_seed(11))
        moved = {**roles, **family.act(a, graph, roles, element)}  # type: ignore[arg-type]
        if family.name not in UNTOLD and any(not torch.equal(moved[role], roles[role]) for role in roles):
            yield family.name, {role: x for role, x in moved.items() if role in model.parts}


def stored(model: StoredModel, roles: Mapping[str, Tensor]) -> dict[str, Tensor]:
    tensors = {name: model.checkpoint.stored(name) for name in model.checkpoint}
    for parameter, x in model.put(roles).items():
        tensors[model.stored[parameter]] = (x.mT if parameter in model.transposed else x).contiguous()
    return tensors


def test_what_rounding_drowns_is_undecided():
    """Constants that values pass on where a norm's offset stands for their bias are not solved for."""
    module = tiny("stablelm", 2).double()
    model = stored_model(open_checkpoint(module))
    other = stored(model, dict(images(model))["value-bias"])
    rounded = {name: x.to(torch.bfloat16) for name, x in other.items()}
    with pytest.raises(Undecided, match="before they were rounded"):
        compare(module, replace(open_checkpoint(rounded), config=model.checkpoint.config))
    name = "model.layers.0.mlp.down_proj.weight"
    rounded = {
        n: x.to(torch.bfloat16) for n, x in model.checkpoint.tensors.items() for x in [model.checkpoint.stored(n)]
    }
    rounded[name] = rounded[name] * 2
    found = compare(module, replace(open_checkpoint(rounded), config=model.checkpoint.config))
    assert (found.verdict, found.tensor) == ("different", name)


KNOWN = ["bloom", "gemma2", "bert", "gpt2", "qwen2", "olmo2", "mixtral", "phi", "gpt_neox", "deepseek_v3"]


@pytest.mark.parametrize("model_type", ["bert", "phi", "olmo2", "mixtral", "deepseek_v3"])
def test_images_in_bfloat16_are_explained(model_type):
    module = tiny(model_type, 2).double()
    model = stored_model(open_checkpoint(module))
    for name, roles in images(model):
        rounded = {n: x.to(torch.bfloat16) for n, x in stored(model, roles).items()}
        found = compare(module, replace(open_checkpoint(rounded), config=model.checkpoint.config))
        assert found.verdict == "equal-to-stored-precision", f"{name}: {found}"


@pytest.mark.parametrize("model_type", KNOWN)
def test_images_are_equal(model_type):
    module = tiny(model_type, 2).double()
    model = stored_model(open_checkpoint(module))
    seen = []
    for name, roles in images(model):
        found = compare(module, replace(open_checkpoint(stored(model, roles)), config=model.checkpoint.config))
        assert found.verdict == "equal", f"{name}: {found}"
        assert "none of the known" not in found.reason, f"{name}: {found}"
        seen.append(name)
    assert len(seen) >= 5
    assert "stream-permutation" in seen
