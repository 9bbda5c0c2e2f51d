"""Tiny models to start from, and what a model computes, by ``transformers`` in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from symgauge.models.huggingface import tiny
from tests.models.float64_only import Float64Only
from tests.pairs.pair import Tensors

SIZES: dict[str, dict[str, Any]] = {
    # Blocks of Q4_1 need rows of a multiple of 32.
    "llama": {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
              "intermediate_size": 64, "vocab_size": 50, "tie_word_embeddings": True},
    "bert": {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 50,
             "max_position_embeddings": 32},
}  # fmt: skip


def tiny_source(family: str) -> tuple[Tensors, dict[str, Any]]:
    """Tensors (float64) and configuration of a random model of three layers; of BERT the encoder alone."""
    model = tiny(family, 3, **SIZES[family])
    config = model.config.to_dict()
    if family == "bert":
        config["architectures"] = ["BertModel"]
        return {n: x.detach() for n, x in model.bert.named_parameters()}, config
    config["architectures"] = ["LlamaForCausalLM"]
    return {n: x.detach() for n, x in model.named_parameters()}, config


def computed(tensors: Mapping[str, Tensor], config: Mapping[str, Any], ids: Tensor) -> Tensor:
    """Logits (LLaMA) or the last hidden state (BERT) for token ids (batch, length), in float64."""
    import transformers

    fields = {**config, "attn_implementation": "eager", "use_cache": False}
    made = transformers.AutoConfig.for_model(**fields)
    kind = getattr(transformers, config["architectures"][0])
    with torch.device("meta"):
        model = kind(made, add_pooling_layer=False) if config["model_type"] == "bert" else kind(made)
    model = model.to_empty(device="cpu").double().eval()
    own = {n: x.double() for n, x in tensors.items() if n in model.state_dict()}
    _, unexpected = model.load_state_dict(own, strict=False)
    assert not unexpected
    model.tie_weights()
    _fill_buffers(model, kind, made)
    with torch.no_grad(), Float64Only():
        out = model(input_ids=ids)
    return out.logits if "logits" in out else out.last_hidden_state


def _fill_buffers(model: Any, kind: Any, config: Any) -> None:
    """Buffers that no file holds (frequencies, position ids), from a model of one layer."""
    config = type(config)(**{**config.to_dict(), "num_hidden_layers": 1, "vocab_size": 8, "pad_token_id": None})
    buffers = dict(kind(config).named_buffers())
    for name, buffer in model.named_buffers():
        found = buffers[name]
        buffer.copy_(found if found.shape == buffer.shape else torch.zeros_like(buffer))


def difference(one: Tensor, two: Tensor) -> float:
    """Largest difference relative to the largest entry."""
    return float((one - two).abs().max() / one.abs().max())
