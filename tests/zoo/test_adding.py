"""A family that is a new file in the zoo is found and used everywhere, and a file that lies elsewhere is not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from symgauge import zoo
from symgauge.cli import app
from symgauge.errors import UnsupportedModel
from symgauge.models.huggingface import from_config
from symgauge.presets import preset, presets
from tests.zoo import test_families as generic

PAGE = Path(__file__).parents[2] / "docs" / "zoo.md"
NAME, MODEL = "cwm", "cwm-32b"
SMALL = {"model_type": NAME, "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
         "intermediate_size": 5, "num_hidden_layers": 1, "vocab_size": 2000, "max_position_embeddings": 7}  # fmt: skip


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The family that docs/zoo.md shows, in a folder of its own."""
    source, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / f"{NAME}.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(zoo, "__path__", [*zoo.__path__, str(tmp_path)])
    yield
    sys.modules.pop(f"{zoo.__name__}.{NAME}", None)


def test_without_its_file_the_family_is_unknown() -> None:
    assert NAME not in zoo.model_types()
    with pytest.raises(UnsupportedModel, match="'cwm' has no adapter"):
        zoo.family_of(NAME)
    with pytest.raises(UnsupportedModel, match="'cwm' has no adapter"):
        from_config(SMALL)


@pytest.mark.usefixtures("added")
def test_a_file_is_enough(tmp_path: Path) -> None:
    """Its configurations are adapted, by name and from a file, and its published model is a preset."""
    assert NAME in zoo.model_types()
    assert MODEL in presets()
    full = from_config(zoo.family_of(NAME).config_file(MODEL)).architecture
    assert preset(MODEL) == full.replace(name=MODEL, rotary=preset(MODEL).rotary)
    (tmp_path / "config.json").write_text(json.dumps(SMALL))
    done = CliRunner().invoke(app, ["dim", str(tmp_path / "config.json"), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    # Only an adapter knows the formula of the full size.
    assert found["full_size"]["parameters"] == generic.own_count(SMALL)


@pytest.mark.usefixtures("added")
def test_the_tests_of_families_run_on_it() -> None:
    family = zoo.family_of(NAME)
    for layers in (1, 2):
        generic.test_reference_computes_the_same_logits(NAME, layers)
    for fields in family.cases.variants:
        generic.test_variants_of_a_family_agree(NAME, dict(fields))
    generic.test_every_entry_belongs_to_one_role_and_none_is_at_its_initial_value(NAME)
    generic.test_each_slot_matters(NAME)
    generic.test_roles_add_up_to_the_count_of_the_class_with_its_defaults(NAME)
    for layers, fields in family.cases.accounted:
        generic.test_nothing_is_unexplained(NAME, layers, dict(fields))


@pytest.mark.usefixtures("added")
def test_a_file_that_says_something_wrong_fails_these_tests(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.py"
    source = path.read_text(encoding="utf-8")
    path.write_text(source.replace("layout()", 'layout(feed_forward=plain("mlp.up_proj", "mlp.down_proj"))').replace(
        "import layout", "import layout, plain"), encoding="utf-8")  # fmt: skip
    with pytest.raises(UnsupportedModel, match="do not match its configuration"):
        generic.test_reference_computes_the_same_logits(NAME, 1)
    path.write_text(source.replace("decoder,\n", "lambda c: decoder(c, interleaved=True),\n"), encoding="utf-8")
    sys.modules.pop(f"{zoo.__name__}.{NAME}", None)
    with pytest.raises(AssertionError):
        generic.test_reference_computes_the_same_logits(NAME, 1)


def test_names_of_presets_need_neither_torch_nor_transformers() -> None:
    code = "import sys; from symgauge.presets import preset, presets; [preset(name) for name in presets()]; " \
        "print({'torch', 'transformers'} & set(sys.modules))"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
