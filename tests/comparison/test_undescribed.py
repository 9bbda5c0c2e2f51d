"""Models that no family describes: tensors by name, both functions run, and nothing said that neither shows."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import symgauge
from symgauge.cli import app
from symgauge.comparison import compare
from tests.comparison.edits import draw
from tests.comparison.undescribed import FIELDS, Fused, Own, model, own

UP, DOWN = (f"model.layers.0.mlp.{part}_proj.weight" for part in ("up", "down"))
INPUTS = symgauge.Vectors(2, 5)


def with_change(state, name, change):
    return {**state, name: change(state[name])}


def one_number(x):
    return x + torch.zeros_like(x).index_put((torch.tensor(0), torch.tensor(1)), torch.tensor(0.5, dtype=x.dtype))


def scaled_neurons(state, dtype=torch.float64):
    """Of a SwiGLU layer, by factors that the function does not see."""
    factors = draw(FIELDS["olmo"]["intermediate_size"]).exp()
    state = with_change(with_change(state, UP, lambda x: factors[:, None] * x), DOWN, lambda x: x / factors)
    return {name: x.to(dtype) for name, x in state.items()}


@pytest.mark.parametrize("model_type", FIELDS)
def test_a_folder_is_what_was_saved(model_type, tmp_path):
    model(model_type).save_pretrained(tmp_path)
    found = compare(tmp_path, model(model_type))
    assert (found.verdict, found.function.logits < 1e-12) == ("equal", True)


@pytest.mark.parametrize("model_type", FIELDS)
@pytest.mark.parametrize(
    ("dtype", "verdict"), [(torch.float32, "equal"), (torch.bfloat16, "equal-to-stored-precision")]
)
def test_casts(model_type, dtype, verdict):
    cast = {name: x.to(dtype) for name, x in model(model_type).state_dict().items()}
    for pair in ((model(model_type), cast), (cast, model(model_type))):
        assert compare(*pair).verdict == verdict


PLANTED = {
    "olmo": (UP, one_number, "1 of its 192 numbers"),
    "gptj": ("transformer.h.0.attn.k_proj.weight", lambda x: x.mT, "transposed"),
    "t5": ("decoder.block.0.layer.1.EncDecAttention.v.weight", lambda x: 1.5 * x, "1.5 times"),
    "mamba": ("backbone.layers.0.mixer.in_proj.weight", lambda x: x + draw(len(x), 1) @ draw(1, x.shape[1]), "rank 1"),
    "vit": ("layers.0.mlp.fc1.weight", lambda x: x.index_add(0, torch.tensor([2]), draw(1, 16)), "of its 12 rows (2)"),
}  # fmt: skip


@pytest.mark.parametrize("model_type", PLANTED)
def test_planted_mistakes_are_named(model_type):
    name, change, words = PLANTED[model_type]
    found = compare(model(model_type), with_change(model(model_type).state_dict(), name, change))
    assert (found.verdict, found.tensor) == ("different", name)
    assert words in found.reason


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_gauge_that_nobody_described_keeps_the_function(dtype):
    found = compare(model("olmo"), scaled_neurons(model("olmo").state_dict(), dtype))
    assert (found.verdict, found.tensor) == ("equal", None)
    assert "no family describes olmo" in found.reason
    if dtype == torch.float64:
        assert found.function.float64 < 1e-6 * found.function.float32


def test_half_of_a_gauge_does_not():
    state = model("olmo").state_dict()
    found = compare(model("olmo"), {**scaled_neurons(state), DOWN: state[DOWN]})
    assert (found.verdict, found.tensor) == ("different", UP)


def test_a_gauge_that_was_rounded_away_is_left_undecided():
    with pytest.raises(symgauge.Undecided, match="hides a small mistake"):
        compare(model("olmo"), scaled_neurons(model("olmo").state_dict(), torch.bfloat16))


@pytest.mark.parametrize("config", [False, True])
def test_tensors_alone_are_not_called_different(config):
    state = model("olmo").state_dict()
    assert compare(state, dict(state)).verdict == "equal"
    fields = model("olmo").config.to_dict() if config else None
    other = with_change(state, UP, one_number)
    if config:
        assert compare(state, other, config=fields).verdict == "different"
    else:
        with pytest.raises(symgauge.Undecided, match=re.escape(UP)):
            compare(state, other)
        with pytest.raises(symgauge.Undecided, match="missing in B"):
            compare(state, {name: x for name, x in state.items() if name != UP})


def test_numbers_that_no_input_reaches_are_left_undecided():
    """A neuron that sleeps on all of them."""
    mine, other = own(), own()
    for module in (mine, other):
        module.up.bias.data[2] = -1e6
    other.up.weight.data[2] += 1
    with pytest.raises(symgauge.Undecided, match=re.escape("up.weight differs")):
        compare(mine, other, inputs=INPUTS)


def test_modules_of_ones_own():
    mine, other = own(), own()
    assert compare(mine, other, inputs=INPUTS).verdict == "equal"
    other.up.weight.data[1] *= 4
    other.up.bias.data[1] *= 4
    with pytest.raises(symgauge.Undecided, match="give inputs="):
        compare(mine, other)
    assert compare(mine, other, inputs=INPUTS).verdict == "different"
    other.down.weight.data[:, 1] /= 4
    assert compare(mine, other, inputs=INPUTS).verdict == "equal"
    assert [x.dtype for x in (*mine.parameters(), *other.parameters())] == [torch.float32] * 8


def test_another_implementation_is_the_same_function():
    mine, fused = own(), Fused()
    fused.load_state_dict({f"layers.{2 * (n[0] == 'd')}.{n.split('.')[1]}": x for n, x in mine.state_dict().items()})
    assert compare(mine, fused, inputs=INPUTS).verdict == "equal"
    fused.layers[0].weight.data[0, 0] += 1
    found = compare(mine, fused, inputs=INPUTS)
    assert found.verdict == "different"
    assert "missing in A" in found.reason


def test_equal_tensors_are_no_function():
    class Other(Own):
        def forward(self, x):
            return self.down(torch.tanh(self.up(x)))

    other = Other()
    other.load_state_dict(own().state_dict())
    found = compare(own(), other, inputs=INPUTS)
    assert (found.verdict, found.tensor) == ("different", None)
    with pytest.raises(symgauge.Undecided, match="A is Own and B is Other"):
        compare(own(), other)


def test_a_function_that_is_random_is_left_undecided():
    class Noisy(Own):
        def forward(self, x):
            return super().forward(x) + torch.rand(())

    with pytest.raises(symgauge.Undecided, match="random"):
        compare(Noisy(), Noisy(), inputs=INPUTS)


def test_given_tokens_show_differences_and_make_nothing_equal():
    mine, other = torch.nn.Embedding(5, 3), torch.nn.Embedding(5, 3)
    other.load_state_dict(mine.state_dict())
    other.weight.data[4] += 1
    assert compare(mine, other, tokens=torch.tensor([[1, 4]])).verdict == "different"
    with pytest.raises(symgauge.Undecided, match="given"):
        compare(mine, other, tokens=torch.tensor([[1, 2]]))


def test_configurations_that_differ_make_nothing_equal(tmp_path):
    model("olmo").save_pretrained(tmp_path)
    fields = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**fields, "clip_qkv": 1e9}))
    with pytest.raises(symgauge.Undecided, match="clip_qkv"):
        compare(model("olmo"), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**fields, "clip_qkv": 0.1}))
    assert compare(model("olmo"), tmp_path).verdict == "different"


def test_code_beside_a_configuration_is_not_run(tmp_path):
    state = {name: x.contiguous() for name, x in own().state_dict().items()}
    fields = {"model_type": "of_ones_own", "auto_map": {"AutoModel": "modeling.Own"}, "heads": 2}
    for name, its, change in (("a", {}, ""), ("b", {}, ""), ("c", {"heads": 4}, ""), ("d", {}, "up.bias")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "modeling.py").write_text("raise SystemExit")
        (tmp_path / name / "config.json").write_text(json.dumps(fields | its))
        changed = {n: x + 1 if n == change else x for n, x in state.items()}
        save_file(changed, tmp_path / name / "model.safetensors")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert (found.verdict, "never run" in "".join(found.notes)) == ("equal", True)
    with pytest.raises(symgauge.Undecided, match="configurations differ in heads"):
        compare(tmp_path / "a", tmp_path / "c")
    with pytest.raises(symgauge.Undecided, match=r"up\.bias differs"):
        compare(tmp_path / "a", tmp_path / "d")


def test_a_tied_tensor_that_is_stored_twice_and_differs_is_not_passed_over():
    state = model("mamba").state_dict()
    with pytest.raises(symgauge.Undecided, match=r"lm_head\.weight"):
        compare(model("mamba"), with_change(state, "lm_head.weight", one_number))


def test_as_it_is_typed(tmp_path):
    for name in "abc":
        model("gptj").save_pretrained(tmp_path / name)
    file = tmp_path / "b" / "model.safetensors"
    state = load_file(file)
    name = "transformer.h.0.mlp.fc_in.weight"
    save_file(with_change(state, name, one_number), file, metadata={"format": "pt"})

    def run(*arguments):
        return CliRunner().invoke(app, ["compare", *(str(x) for x in arguments)])

    result = run(tmp_path / "a", tmp_path / "b", "--json", "--report", tmp_path / "page.md")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"], found["tensor"]) == (1, "different", name)
    assert "# different" in (tmp_path / "page.md").read_text()
    assert run(tmp_path / "a", tmp_path / "c").exit_code == 0
    result = run(tmp_path / "a", tmp_path / "b", "--tensors-only")
    assert (result.exit_code, name in result.stderr, "Traceback" in result.stderr) == (2, True, False)
    result = run(tmp_path / "a", tmp_path / "c", "--element", tmp_path / "g")
    assert (result.exit_code, "no element" in result.stderr, (tmp_path / "g").exists()) == (2, True, False)
