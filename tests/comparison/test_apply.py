"""The element that takes A to B, written to a file and applied to A's folder, gives B, tensor by tensor."""

import pytest
import torch

from symgauge.checkpoints import open_checkpoint
from symgauge.comparison import compare
from symgauge.comparison.applying import apply_element
from symgauge.comparison.element import save_element
from symgauge.layout import flatten
from symgauge.models.huggingface import adapt, tiny
from symgauge.models.huggingface.adapter import load
from symgauge.numeric import action, random_element
from symgauge.symmetries import families
from tests.comparison import edits as e
from tests.comparison.test_compare import RIGHT


def applied(first, second, folder):
    found = compare(first, second)
    save_element(found.element, folder / "element.safetensors", {"untie": found.unties})
    apply_element(first, folder / "element.safetensors", folder / "out")
    return open_checkpoint(folder / "out")


@pytest.mark.parametrize("what", RIGHT)
def test_the_image_is_b(what, tmp_path):
    model = e.model()
    model.save_pretrained(tmp_path / "a")
    expected = RIGHT[what](model.state_dict())
    image = applied(tmp_path / "a", expected, tmp_path)
    assert all(torch.allclose(image.read(name), expected[name], atol=1e-9, rtol=1e-8) for name in expected)


@pytest.mark.parametrize("model_type", ["gpt2", "qwen3", "bert", "phi", "gpt_neox", "mixtral", "bloom", "deepseek_v3"])
def test_of_every_family_of_symmetries(model_type, tmp_path):
    model = tiny(model_type, 2)
    model.save_pretrained(tmp_path / "a")
    adapted, (theta, _) = adapt(model), flatten(model)
    roles = adapted.layout.read(theta)
    for family in families(adapted.architecture):
        move, element = action(family, adapted.architecture), random_element(family, adapted.architecture)
        load(model, adapted.layout.write({**roles, **move(roles, element)}, theta))
        if family.name == "unused-token-types":
            continue
        (tmp_path / family.name).mkdir()
        image = applied(tmp_path / "a", model, tmp_path / family.name)
        model.save_pretrained(tmp_path / "b")
        own = open_checkpoint(tmp_path / "b")
        for name in image:
            one, two = image.read(name), own.read(name)
            assert torch.allclose(one, two, atol=2e-5 * float(two.abs().max())), f"{family.name}: {name}"


def test_a_tied_head_is_untied(tmp_path):
    model = e.model(tie_word_embeddings=True)
    model.save_pretrained(tmp_path / "a")
    state = model.state_dict()
    state["lm_head.weight"] = state["model.embed_tokens.weight"].clone()
    other = e.model()
    other.load_state_dict(e.rotate(e.fold(state)))
    assert compare(tmp_path / "a", other).verdict == "equal"
    image = applied(tmp_path / "a", other, tmp_path)
    assert image.config["tie_word_embeddings"] is False
    assert compare(image, other).verdict == "equal"
