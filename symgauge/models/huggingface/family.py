"""What an adapter declares about one family of Hugging Face models, and the checks all adapters share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.layout import Slot
from symgauge.models.huggingface.config_file import quoted
from symgauge.models.huggingface.entries import Entries

Config = Any
"""A ``transformers`` configuration object; its class depends on the family."""

Activation = Literal["gelu", "gelu_tanh", "relu", "relu2", "silu", "tanh"]
_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "relu2": "relu2",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}

# Bookkeeping of checkpoints, training and generation, found in published config.json files.
# fmt: off
_HARMLESS = frozenset({
    "_attn_implementation", "_attn_implementation_autoset", "_commit_hash", "_experts_implementation",
    "_model_name_or_path", "_name_or_path", "architectures",
    "attention_probs_dropout_prob", "attn_implementation", "auto_map", "aux_loss_alpha", "bos_token_id",
    "cache_implementation", "classifier_dropout", "directionality", "do_sample", "dtype", "embd_pdrop",
    "eos_token_id", "ep_size", "experts_implementation", "gradient_checkpointing", "id2label",
    "initializer_range", "label2id", "language", "max_length", "max_window_layers", "model_type", "n_ctx",
    "num_nextn_predict_layers", "output_past", "pad_token_id", "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "predict_special_tokens", "pretraining_tp",
    "problem_type", "quantization_config", "resid_pdrop", "seq_aux", "task_specific_params", "torch_dtype",
    "transformers_version", "use_cache", "vocab_file",
})
# What `PreTrainedConfig.to_dict` wrote in earlier versions for every model: defaults of text generation and the like.
_WRITTEN_BY_TRANSFORMERS = frozenset({
    "add_cross_attention", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "is_decoder", "is_encoder_decoder", "length_penalty", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_scores", "prefix", "pruned_heads", "remove_invalid_values", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "sep_token_id", "suppress_tokens", "temperature", "tf_legacy_loss",
    "tie_encoder_decoder", "tie_word_embeddings", "tokenizer_class", "top_k", "top_p", "torchscript",
    "transformers.js_config", "typical_p", "use_bfloat16",
})
# Of these, those that change the function unless they are unset.
_CHANGING = frozenset({"add_cross_attention", "is_encoder_decoder", "pruned_heads", "tie_encoder_decoder"})
# fmt: on


@dataclass(frozen=True)
class Family:
    """One family: how its configuration becomes an architecture, and its parameters roles.

    ``required`` names configuration fields with the only values this adapter knows; ``sizes`` gives, for a
    configuration and a number of layers, the fields of a small instance of the same shape.
    """

    model_type: str
    class_name: str
    architecture: Callable[[Config], Architecture]
    slots: Callable[[Architecture, Entries], dict[str, Slot]]
    sizes: Callable[[Config, int], dict[str, Any]]
    required: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    understood: frozenset[str] = frozenset()
    """Fields that published files have but the configuration class does not declare, and whose meaning is known."""
    derived: frozenset[str] = frozenset()
    """Fields that the configuration class computes from others."""
    example: Mapping[str, Any] = field(default_factory=dict)
    """Configuration of the tiny instance, where the class defaults are not typical of the family."""

    def check(self, config: Config) -> None:
        """Raise :class:`UnsupportedModel`, naming the field, if the configuration asks for something unknown."""
        for name, values in self.required.items():
            value = getattr(config, name, values[0])
            if value not in values:
                wanted = " or ".join(repr(v) for v in values)
                raise UnsupportedModel(
                    f"{self.model_type}: configuration field {name!r} is {quoted(value)}; only {wanted} is supported"
                )
        known = {*type(config)().to_dict(), *self.required, *self.understood, *_HARMLESS, *_WRITTEN_BY_TRANSFORMERS}
        for name, value in config.to_dict().items():
            unknown = name not in known or (name in _CHANGING and name not in self.required)
            if unknown and value not in (None, False, 0, "", [], {}):
                raise UnsupportedModel(
                    f"{self.model_type}: configuration field {quoted(name)} = {quoted(value)} is unknown, so it might "
                    "change the model's symmetries; remove it if it does not"
                )


def activation(config: Config, name: str) -> Activation:
    """Our name of the activation function in configuration field ``name``."""
    value = getattr(config, name)
    if not isinstance(value, str) or value not in _ACTIVATIONS:
        raise UnsupportedModel(
            f"{config.model_type}: activation {name!r} = {quoted(value)} is unknown to the adapter; known are "
            f"{', '.join(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[value]


def even_share(config: Config) -> int:
    """Channels per head where the heads divide the stream evenly."""
    d_model, heads = config.hidden_size, config.num_attention_heads
    if heads < 1 or d_model % heads:
        raise InvalidInput(f"{config.model_type}: a stream of width {d_model} does not divide into {heads} heads")
    return int(d_model // heads)


def head_width(config: Config) -> int:
    """Channels per head: ``head_dim``, or an even share of the stream."""
    return int(getattr(config, "head_dim", None) or even_share(config))


def context(config: Config) -> int:
    """Positions within which neither the position limit nor a sliding window is felt."""
    window = getattr(config, "sliding_window", None)
    return int(min(config.max_position_embeddings, window or config.max_position_embeddings))
