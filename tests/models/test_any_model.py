"""Any model type: as it stands where it is small, scaled down with its parts where it is not, or one true sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Arrays, Tokens
from symgauge.models.huggingface.any_model import AS_IT_STANDS, any_model
from symgauge.models.huggingface.feeding import influence, unreached
from symgauge.models.huggingface.shrink import PLANS, shrink

PHI = {
    "model_type": "phi3", "hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 3,
    "num_hidden_layers": 1, "vocab_size": 17, "max_position_embeddings": 64, "pad_token_id": None,
}  # fmt: skip
BERT = {
    "model_type": "bert", "hidden_size": 4, "num_attention_heads": 2, "intermediate_size": 3, "num_hidden_layers": 1,
    "vocab_size": 11, "max_position_embeddings": 5,
}  # fmt: skip


def count(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_a_small_configuration_is_measured_as_it_stands() -> None:
    made = any_model(PHI)
    assert made.scaled == {}
    assert type(made.model).__name__ == "Phi3ForCausalLM"
    assert made.model.config.vocab_size == made.inputs.vocabulary == 17
    assert any("as it stands, at a random point" in note for note in made.notes)
    # Two planes per head, value-output 2 · 4², gate/up/down 3, gains of three norms, rotations of the stream.
    assert dimension(made.module, made.inputs, primes=(2147483579,)).nullity == 2 * 4 + 32 + 3 + 3 * 8 + 28


def test_a_class_without_a_head_is_taken_by_name() -> None:
    made = any_model({**BERT, "architectures": ["BertModel"]})
    assert type(made.model).__name__ == "BertModel"
    assert not any("is taken" in note for note in made.notes)


@pytest.mark.parametrize(
    ("named", "expected"), [(["TFBertModel"], "'TFBertModel', which transformers does not have"), (None, "no class")]
)
def test_a_class_that_is_chosen_is_said(named: Any, expected: str) -> None:
    made = any_model({**BERT, "architectures": named})
    assert type(made.model).__name__ == "BertForMaskedLM"
    assert any(expected in note and "BertForMaskedLM is taken" in note for note in made.notes)


def test_a_class_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="names GPT2Model, which is no model of type bert"):
        any_model({**BERT, "architectures": ["GPT2Model"]})


@pytest.mark.parametrize("positions", [5, 9])
def test_sequences_reach_every_position(positions: int) -> None:
    made = any_model({**BERT, "max_position_embeddings": positions})
    assert made.inputs.length == positions


def test_positions_that_are_kept_back_are_left_out() -> None:
    # RoBERTa numbers positions from pad_token_id + 1 on, so that two rows of six are never read.
    made = any_model({**BERT, "model_type": "roberta", "max_position_embeddings": 8, "pad_token_id": 1})
    assert made.inputs.length == 6
    assert any("roberta.embeddings.position_embeddings.weight" in note for note in made.notes)


def test_sequences_reach_every_distance() -> None:
    t5 = {
        "model_type": "t5", "d_model": 4, "d_kv": 2, "num_heads": 2, "d_ff": 3, "num_layers": 1,
        "num_decoder_layers": 1, "vocab_size": 11,
        "relative_attention_num_buckets": 6, "relative_attention_max_distance": 9,
    }  # fmt: skip
    made = any_model(t5)
    name = "model.decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    bias = influence(made.module, made.inputs)[name]
    assert bias.any(1).all()
    assert any("first half is encoded" in note for note in made.notes)


@pytest.mark.parametrize(
    ("model_type", "inputs"),
    [
        ("mamba", Tokens), ("vit", Arrays), ("rwkv", Tokens), ("clip_vision_model", Arrays), ("qwen3_moe", Tokens),
        ("audio-spectrogram-transformer", Arrays), ("whisper", Tokens), ("t5", Tokens), ("gpt_oss", Tokens),
    ],
)  # fmt: skip
def test_large_ones_are_scaled_down_and_run(model_type: str, inputs: type[Any]) -> None:
    made = any_model({"model_type": model_type})
    assert made.scaled
    assert count(made.module) <= AS_IT_STANDS
    assert isinstance(made.inputs, inputs)
    batch = made.inputs.draw(2, torch.Generator().manual_seed(0))
    with torch.no_grad():
        made.module(**{made.inputs.keyword: batch}) if made.inputs.keyword else made.module(batch)


def test_every_kind_of_layer_stays() -> None:
    made = any_model({"model_type": "qwen3_next"})
    assert made.model.config.layer_types == ["linear_attention", "full_attention"]


@pytest.mark.parametrize(("groups", "small"), [(32, (2, 2)), (1, (2, 1)), (8, (4, 2))])
def test_sharing_stays_none_partial_or_total(groups: int, small: tuple[int, int]) -> None:
    fields = {"num_attention_heads": 32, "num_key_value_heads": groups, "hidden_size": 4096}
    result = shrink(fields, PLANS[0])
    assert (result["num_attention_heads"], result["num_key_value_heads"]) == small


def test_parts_that_are_not_fed_are_held_fixed() -> None:
    made = any_model({"model_type": "llava"})
    frozen = {name.split(".")[0] for name, p in made.module.named_parameters() if not p.requires_grad}
    assert frozen == {"vision_tower", "multi_modal_projector"}
    assert any("held fixed: vision_tower, multi_modal_projector" in note for note in made.notes)


def test_a_padding_row_is_a_row() -> None:
    made = any_model({**BERT, "pad_token_id": 0})
    mask = influence(made.module, made.inputs)["bert.embeddings.word_embeddings.weight"]
    assert unreached(mask) == 0


def test_what_cannot_be_fed_is_one_sentence() -> None:
    fields = {"model_type": "time_series_transformer", "prediction_length": 3, "d_model": 4, "encoder_layers": 1,
              "decoder_layers": 1, "encoder_ffn_dim": 3, "decoder_ffn_dim": 3}  # fmt: skip
    with pytest.raises(UnsupportedModel, match=r"does not run on past_values alone .*write a factory"):
        any_model(fields)


def test_nothing_in_the_folder_is_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(UnsupportedModel, match=r"auto_map.*never run"):
        any_model({"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config"}})
    any_model({**BERT, "auto_map": {"AutoModel": "mine.Model"}})
    assert not (tmp_path / "ran").exists()


def saved(folder: Path, **sizes: Any) -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = BertModel(BertConfig(**{**BERT, **sizes}))
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("parts", [1, 3])
def test_own_weights_are_the_folders(tmp_path: Path, parts: int) -> None:
    model = saved(tmp_path)
    if parts > 1:
        (tmp_path / "model.safetensors").unlink()
        model.save_pretrained(tmp_path, max_shard_size=800)
        assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    made = any_model(json.loads((tmp_path / "config.json").read_text()), folder=tmp_path)
    theirs = {name: p.double() for name, p in model.named_parameters()}
    assert all(torch.equal(p, theirs[name]) for name, p in made.module.named_parameters())
    assert any("at the folder's own weights" in note for note in made.notes)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "holds no weights"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "pickled weights only"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x" * 100), "cannot be loaded into BertModel"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "a") and
            (folder / "model.safetensors.index.json").write_text('{"weight_map": {"x": "../a"}}'),
            "does not lie in the folder",
        ),
    ],
)  # fmt: skip
def test_own_weights_that_are_not_there_are_refused(tmp_path: Path, spoil: Any, message: str) -> None:
    saved(tmp_path)
    spoil(tmp_path)
    with pytest.raises(InvalidInput, match=message):
        any_model(json.loads((tmp_path / "config.json").read_text()), folder=tmp_path)


def test_own_weights_of_another_class_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    fields = {**json.loads((tmp_path / "config.json").read_text()), "architectures": ["BertForMaskedLM"]}
    with pytest.raises(InvalidInput, match=r"the weights lack cls\.predictions"):
        any_model(fields, folder=tmp_path)


def test_more_parameters_than_memory_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match=r"124,439,808 parameters need some [\d,]+ GB"):
        any_model({"model_type": "gpt2"}, as_is=True)
