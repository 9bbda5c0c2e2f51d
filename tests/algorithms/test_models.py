"""Whole models: through roles, and through the adapters of unmodified transformers modules."""

from __future__ import annotations

import pytest
import torch

from symgauge.algorithms import (
    Canonical,
    align_model,
    apply,
    attention_layers,
    canonicalize_model,
    equivalent_layers,
    feed_forward_layers,
    random_element,
    with_layers,
)
from symgauge.architecture import Architecture, Experts, Rotary
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.layout import flatten
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward, random_parameters
from symgauge.numeric import random_inputs
from symgauge.symmetries.catalogue.neuron_permutation import NeuronPermutation
from symgauge.symmetries.catalogue.neuron_rescaling import GatedRescale

LLAMA = Architecture(
    d_model=9, heads=4, groups=2, d_k=6, d_v=3, d_ff=7, vocabulary=12, layers=2, norm="rms", final_norm=True,
    activation="silu", gated=True, rotary=Rotary.standard(6),
)  # fmt: skip
GPT = Architecture(
    d_model=9, heads=3, d_k=4, d_v=2, d_ff=7, vocabulary=12, layers=2, norm="layer", norm_offset=True, final_norm=True,
    position_table=True, query_bias=True, key_bias=True, value_bias=True, output_bias=True, ff_bias=True, tied=True,
)  # fmt: skip


def change(a: Architecture, one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> float:
    inputs = random_inputs(a)
    before, after = forward(a, one, inputs), forward(a, two, inputs)
    return float((after - before).norm() / before.norm())


def displaced(a: Architecture, roles: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Another point of the same fibre: gauge elements, renumbered and rescaled neurons."""
    layers = {name: apply(p, random_element(p, 7, 30)) for name, p in attention_layers(a, roles).items()}
    moved, graph, g = with_layers(a, roles, layers), graph_of(a), torch.Generator().manual_seed(1)
    family = NeuronPermutation()
    moved = family.act(a, graph, moved, family.sample(a, graph, g))
    if a.gated:
        rescale = GatedRescale()
        moved = {**moved, **rescale.act(a, graph, moved, rescale.sample(a, graph, g))}
    return moved


@pytest.mark.parametrize("a", [LLAMA, GPT], ids=["llama", "gpt"])
def test_equal_models_meet(a: Architecture) -> None:
    roles = random_parameters(a, 3)
    moved = displaced(a, roles)
    assert change(a, roles, moved) < 1e-12
    aligned, reports = align_model(a, roles, moved)
    assert len(reports) == 4
    for name, x in roles.items():
        assert float((aligned[name] - x).norm()) < 1e-10 * float(1 + x.norm()), name
        assert name not in reports
    one, found = canonicalize_model(a, roles)
    two, _ = canonicalize_model(a, moved)
    assert all(isinstance(c, Canonical) and c.unique for c in found.values())
    assert change(a, roles, one) < 1e-12
    for name in one:
        if ".attention." in name:
            assert float((one[name] - two[name]).norm()) < 1e-10 * float(1 + one[name].norm()), name
    answers = equivalent_layers(a, roles, moved)
    assert set(answers) == {"layers.0.attention", "layers.1.attention"}
    assert all(answers.values())


@pytest.mark.parametrize("a", [LLAMA, GPT], ids=["llama", "gpt"])
def test_different_models_keep_their_functions(a: Architecture) -> None:
    one, two = random_parameters(a, 1), random_parameters(a, 2)
    aligned, _ = align_model(a, one, two)
    assert change(a, two, aligned) < 1e-10
    assert not any(equivalent_layers(a, one, two).values())
    assert all(equivalent_layers(a, two, aligned).values())


def test_experts_are_feed_forward_layers() -> None:
    a = LLAMA.replace(experts=Experts(count=3, active=2, d_ff=5, shared=1), layers=1, d_ff=0)
    names = set(feed_forward_layers(a, random_parameters(a)))
    assert names == {*(f"layers.0.ff.experts.{i}" for i in range(3)), "layers.0.ff.shared.0"}


def test_other_attention_is_refused() -> None:
    a = GPT.replace(attention="linear")
    with pytest.raises(UnsupportedModel, match="softmax"):
        attention_layers(a, random_parameters(a))
    roles = random_parameters(GPT)
    with pytest.raises(InvalidInput, match="no layer"):
        with_layers(GPT, roles, {"layers.9.attention": attention_layers(GPT, roles)["layers.0.attention"]})
    del roles["layers.1.attention.key.bias"]
    with pytest.raises(InvalidInput, match="missing"):
        attention_layers(GPT, roles)


@pytest.mark.parametrize("family", ["gpt2", "llama", "gpt_neox", "falcon", "bert"])
def test_transformers_models_keep_their_logits(family: str) -> None:
    pytest.importorskip("transformers")
    from symgauge.models.huggingface import adapt, tiny
    from symgauge.models.huggingface.adapter import load

    model = tiny(family).double().eval()
    adapted, (theta, _) = adapt(model), flatten(model)
    roles, _ = canonicalize_model(adapted.architecture, adapted.layout.read(theta))
    moved = adapted.layout.write(roles, theta)
    assert float((moved - theta).norm()) > 0.1
    ids = torch.arange(4)[None]
    with torch.no_grad():
        before = model(ids).logits
        load(model, moved)
        after = model(ids).logits
        load(model, theta * 1.01)
        control = model(ids).logits
    # softmax, norms and rotary tables of these classes run in float32 whatever the weights are
    assert float((after - before).norm() / before.norm()) < 1e-6
    assert float((control - before).norm() / before.norm()) > 1e-4
