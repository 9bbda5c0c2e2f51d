"""Small configurations of any model type, by the names of their fields: same parts and kinds, small sizes.

No list of models is kept here. Fields of one meaning get one small value wherever they stand, so that what had to agree
still does; whether the result builds and runs is for the caller to see (:mod:`symgauge.models.huggingface.any_model`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

WIDTH = 8
INNER = 3
VOCABULARY = 21
"""More tokens than what a network beside attention adds and reads in the first layer has numbers, per channel: see
:func:`symgauge.symmetries.degenerate_cases`."""
POSITIONS = 6
SEEN_TWICE = 3
"""Positions of an encoder-decoder, which has them twice, and where all that is encoded must have its roots at once."""


@dataclass(frozen=True)
class Plan:
    """What may have to differ from model to model: ``ratios`` keeps the ratio of inner widths to the stream's where
    they are computed and not free; ``special`` keeps small ids of special tokens where a class cannot do without."""

    ratios: bool = False
    special: bool = False
    equal: bool = False
    """Every width is the stream's, where parts are added to each other."""
    both: bool = False
    """An encoder and a decoder."""
    flat: bool = False
    """One layer, where each output needs the roots of all positions of all layers at once."""


PLANS = (Plan(), Plan(ratios=True), Plan(special=True), Plan(equal=True), Plan(ratios=True, special=True),
         Plan(equal=True, special=True))  # fmt: skip

_LAYERS = re.compile(
    r"(num_|n_|encoder_|decoder_)?(hidden_|encoder_|decoder_|self_|cross_|text_|block_)*(layers?|blocks|depth)"
    r"|num_\w+_layers|\w+_(depth|num_layers|num_hidden_layers)|(encoder|decoder)_num_layers|num_layers_\w+"
)
_LAYER_KEEP = re.compile(r"num_(kv_shared|lstm|adapter|feat_extract)_layers|num_postnet\w*")
_HEADS = re.compile(r"(?!linear_|mamba_|index_)\w*(num_attention_heads|attention_heads|n_heads?|num_heads)")
_KEY_HEADS = re.compile(r"\w*(num_key_value_heads|num_kv_heads|n_kv_heads|kv_n_heads)")
_POSITIONS = re.compile(
    r"(\w*max_position_embeddings|n_positions|n_ctx|\w*max_(source|target)_positions|max_seq_len\w*|max_sequence_length"
    r"|block_size|context_length|model_max_length|prediction_length|max_2d_position_embeddings|max_length|seq_length"
    r"|max_text_tokens|max_pos_emb|prompt_length|num_position_embeddings|max_rel_(2d_)?pos)"
)
_INNER = re.compile(
    r"\w*(intermediate_size|intermediate_dim|ffn_dim|n_inner|d_ff|dff|mlp_dim|ffn_hidden_size|linear_units|inner_dim"
    r"|feed_forward_hidden_size|dim_feedforward|d_inner)"
)
_WIDTHS = re.compile(
    r"(?!num_|max_|image|patch|kernel|window|batch|chunk|type_vocab|\w*vocab)"
    r"(\w*(hidden_size|d_model|n_embd|embed_dim|embedding_dim|emb_dim|embd|hidden_dim|embedding_size|projection_dim"
    r"|projection_size|output_dim|out_dim|in_dim|proj_dim|project_dim|input_dim|output_size|channels|filters|lru_width"
    r"|attention_hidden_size|pooler_output_size|latent_dim|codebook_dim|_units|query_dim|proj_size|feature_size"
    r"|d_rel|stem_size|out_features_dim)|dim|d_text|d_latents|width)"
)
_EXACT: dict[str, Any] = {
    "head_dim": 4, "d_kv": 4, "d_head": 4, "dim_head": 4, "kv_channels": 4, "attention_head_dim": 4, "key_dim": 4,
    "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "qk_head_dim": 4, "v_head_dim": 3, "rotary_dim": 2,
    "rope_head_dim": 2,
    "kv_lora_rank": 4, "q_lora_rank": 5, "o_lora_rank": 4, "lora_rank": 4, "index_head_dim": 4, "index_n_heads": 2,
    "index_topk": 3, "linear_key_head_dim": 4, "linear_value_head_dim": 4, "linear_num_key_heads": 2,
    "linear_num_value_heads": 2, "linear_head_dim": 4, "linear_num_heads": 2, "query_pre_attn_scalar": 4,
    "num_experts_per_tok": 2, "num_experts_per_token": 2, "moe_topk": 2, "moe_k": 2, "n_group": 2, "topk_group": 1,
    "state_size": 3, "ssm_state_size": 3, "mamba_d_state": 3, "time_step_rank": 2, "mamba_dt_rank": 2, "n_groups": 1,
    "mamba_n_groups": 1, "mamba_n_heads": 4, "mamba_num_heads": 4, "mamba_d_head": 4, "mamba_head_dim": 4,
    "mamba_d_ssm": 16, "mamba_chunk_size": 4, "chunk_size": 4, "attention_chunk_size": 4, "sliding_window": 3,
    "sliding_window_size": 3,
    "window_size": 2, "local_attention": 4, "relative_attention_num_buckets": 4, "relative_attention_max_distance": 3,
    "image_size": 8, "patch_size": 4, "num_mel_bins": 4, "conv_kernel_size": 3,
    "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "codebook_size": 4, "num_codebooks": 2,
    "num_queries": 3, "num_query_tokens": 3, "num_latents": 3, "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 4, "type_vocab_size": 2, "original_max_position_embeddings": 4,
    "num_hash_buckets": 7, "num_hash_functions": 2, "num_buckets": 4, "rel_pos_bins": 4, "rel_2d_pos_bins": 4,
    "num_global_layers": 1, "max_window_layers": 1, "num_labels": 3, "num_landmarks": 2, "num_random_blocks": 1,
    "num_groups": 2,
}  # fmt: skip
_EXPERTS = re.compile(r"\w*(num_experts|num_local_experts|moe_num_experts|num_routed_experts|n_(routed_)?experts)")
_SHARED = re.compile(r"(n_shared_experts|\w*num_shared_experts|num_dense_layers|first_k_dense_replace)")
_PERIOD = re.compile(r"\w*(_interval|_period|_pattern|_step|_frequency)")
_KERNEL = re.compile(r"\w*(kernel|kernel_size|d_conv|conv_kernel_dim|conv_width|patch_kernel)")
_SPECIAL = re.compile(r"\w*(_token_id|_token_index|_token_ids|_idx|_index)")
_DERIVED = re.compile(r"_?out_features|_?out_indices|stage_names|per_layer_config")
"""What a class makes from its other fields, or from its number of layers."""
_KEPT = re.compile(r"\w*(model_type|problem_type)|num_channels|in_chans|num_ln\w*")


def shrink(fields: dict[str, Any], plan: Plan) -> dict[str, Any]:
    """The fields of a small configuration; ``fields`` are all fields of the original, as ``to_dict`` gives them."""
    kept = _layers_kept(fields)
    if fields.get("is_encoder_decoder"):
        plan = replace(plan, both=True, flat=True)
    if {"image_size", "patch_size", "conv_stride", "num_mel_bins"} & set(fields):
        plan = replace(plan, flat=True)
    fields = {name: value for name, value in fields.items() if not _DERIVED.fullmatch(name)}
    return {name: _small(name, value, fields, kept, plan) for name, value in fields.items()}


def _layers_kept(fields: dict[str, Any]) -> list[int] | None:
    """Which layers stay where a list says what each one is: the first of every kind, and two at least."""
    for name in ("layer_types", "layers_block_type", "mlp_layer_types", "attention_types", "block_types"):
        kinds = fields.get(name)
        if isinstance(kinds, (list, tuple)) and kinds and all(isinstance(k, str) for k in kinds):
            pairs = list(zip(kinds, fields.get("mlp_layer_types") or kinds, strict=False))
            first = sorted({pair: i for i, pair in reversed(list(enumerate(pairs)))}.values())
            return first if len(first) > 1 or len(kinds) == 1 else [0, 1]
    return None


def _depth(fields: dict[str, Any]) -> int | None:
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        if isinstance(fields.get(name), int):
            return int(fields[name])
    return None


def _small(name: str, value: Any, fields: dict[str, Any], kept: list[int] | None, plan: Plan) -> Any:
    if isinstance(value, dict):
        if name.startswith("rope_") or "factor" in name:
            return {k: _small(k, v, fields, kept, plan) for k, v in value.items()}
        return shrink(value, plan) if value and all(isinstance(k, str) for k in value) else value
    if isinstance(value, (list, tuple)):
        return _small_list(name, list(value), fields, kept, plan)
    if name in ("decoder_start_token_id",):
        return min(value, 2) if isinstance(value, int) else value
    if _SPECIAL.fullmatch(name):
        return _token(name, value, plan)
    if isinstance(value, bool) or not isinstance(value, int) or value < 2 or _KEPT.fullmatch(name):
        return value
    return min(value, _size(name, value, fields, kept, plan))


def _token(name: str, value: Any, plan: Plan) -> Any:
    """Ids of special tokens: none, or small ones; those that stand for an image or sound are the last ones."""
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    media = ("image", "video", "audio", "vision", "boi", "eoi", "boa", "eoa", "speech")
    if name.startswith(media):
        return VOCABULARY - 1 - sum(map(ord, name)) % 7 if value >= VOCABULARY else value
    if "token" not in name:
        return min(value, 1)
    return min(value, VOCABULARY - 1 - len(name) % 5) if plan.special else None


def _heads(fields: dict[str, Any]) -> tuple[int, int]:
    """Heads and groups: as many groups as heads, one, or some."""
    count = next((v for k, v in fields.items() if _HEADS.fullmatch(k) and isinstance(v, int) and v > 0), 2)
    groups = next((v for k, v in fields.items() if _KEY_HEADS.fullmatch(k) and isinstance(v, int) and v > 0), count)
    if "expand" in fields and "state_size" in fields:
        # Heads of a state-space layer, which share expand × stream.
        return (4, 4)
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return (2, 1)
    if count == 1:
        return (1, 1)
    return (2, 2) if groups >= count else (2, 1) if groups == 1 else (4, 2)


def _size(name: str, value: int, fields: dict[str, Any], kept: list[int] | None, plan: Plan) -> int:
    heads, groups = _heads(fields)
    stream = next((fields[k] for k in ("hidden_size", "d_model", "n_embd", "embed_dim", "dim")
                   if isinstance(fields.get(k), int)), 0)  # fmt: skip
    ratio = value // stream if stream and value % stream == 0 else 1
    if name in _EXACT:
        return int(_EXACT[name])
    if _KEY_HEADS.fullmatch(name):
        return groups
    if _HEADS.fullmatch(name):
        return heads
    if _EXPERTS.fullmatch(name):
        return 4
    if _SHARED.fullmatch(name):
        return 1
    if _PERIOD.fullmatch(name):
        return 2
    if name.endswith("_offset"):
        return 1
    if _LAYERS.fullmatch(name) and not _LAYER_KEEP.fullmatch(name):
        return len(kept) if kept and value == _depth(fields) else 1 if plan.flat else 2
    if _POSITIONS.fullmatch(name):
        return SEEN_TWICE if plan.both else POSITIONS
    if re.fullmatch(r"\w*vocab_size|num_embeddings", name):
        return VOCABULARY
    if _KERNEL.fullmatch(name):
        # Some have to be odd.
        return 3 if value % 2 else 4
    if _INNER.fullmatch(name):
        return WIDTH * min(ratio, 4) if plan.ratios else WIDTH if plan.equal else INNER
    if _WIDTHS.fullmatch(name):
        return WIDTH * (min(ratio, 4) if plan.ratios else 1)
    return value


def _small_list(name: str, value: list[Any], fields: dict[str, Any], kept: list[int] | None, plan: Plan) -> Any:
    if kept is not None and len(value) == _depth(fields):
        value = [value[i] for i in kept]
    stages = fields.get("depths")
    if isinstance(stages, (list, tuple)) and len(value) == len(stages):
        value = value[:2]
    if _SPECIAL.fullmatch(name) and "token" in name and not any(isinstance(v, bool) for v in value):
        return None
    if re.fullmatch(r"(layer_)?depths|num_blocks|blocks_per_stage|stage_num_blocks|num_layers|encoder_layers", name):
        return [min(v, 1) for v in value]
    if name.startswith("mrope_section"):
        # Half of the channels that turn, which may be a part of a head's.
        width = 4 if isinstance(fields.get("head_dim"), int) else WIDTH // _heads(fields)[0]
        partial = (fields.get("rope_parameters") or {}).get("partial_rotary_factor", 1)
        return [1, 1, 0] if width * partial >= 4 else [1, 0, 0]
    if name in ("image_size",):
        return [8 for _ in value]
    if all(isinstance(v, int) and not isinstance(v, bool) for v in value) and value:
        rule: Callable[[int], int] = lambda v: min(v, _size(name.removesuffix("s"), v, fields, kept, plan))  # noqa: E731
        if re.fullmatch(r"(hidden_sizes|embed_dims|\w*hidden_sizes|conv_dim|widths|dims|embed_dim|\w*channels)", name):
            return [min(v, WIDTH // 2) for v in value]
        if re.fullmatch(r"(num_attention_heads|num_heads|\w*heads\w*)", name):
            return [min(v, 2) for v in value]
        return [rule(v) for v in value]
    return value
