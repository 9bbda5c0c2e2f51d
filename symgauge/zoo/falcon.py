"""Falcon in its three layouts: multi-query [queries | key | value], multi-head head by head, and grouped [q… k v]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symgauge.architecture import Architecture, Rotary
from symgauge.errors import UnsupportedModel
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.cases import UNTIED
from symgauge.zoo.parts.entries import Assignment, Entries
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.fields import activation, biases, context
from symgauge.zoo.parts.rope import rotary
from symgauge.zoo.parts.slots import PRE, head_by_head, layout, plain

if TYPE_CHECKING:
    from symgauge.layout import Slot


def _groups(config: Config) -> int:
    if config.new_decoder_architecture:
        return int(config.num_kv_heads)
    return 1 if config.multi_query else int(config.num_attention_heads)


def _placement(config: Config) -> str:
    norms = config.num_ln_in_parallel_attn or (2 if config.new_decoder_architecture else 1)
    if norms not in (1, 2) or (norms == 2 and not (config.new_decoder_architecture and config.parallel_attn)):
        raise UnsupportedModel(
            f"falcon: 'num_ln_in_parallel_attn' = {norms} needs new_decoder_architecture and parallel_attn"
        )
    if not config.parallel_attn:
        return "pre"
    return "parallel" if norms == 2 else "parallel_shared"


def architecture(config: Config) -> Architecture:
    encoding, factor = rotary(config)
    if config.new_decoder_architecture and not config.parallel_attn:
        raise UnsupportedModel("falcon: 'parallel_attn' = False is only known without new_decoder_architecture")
    return gpt.decoder(
        config,
        groups=_groups(config),
        d_ff=config.ffn_hidden_size,
        context=context(config),
        rotary=encoding,
        rotary_scale=factor,
        **biases(config.bias),
        activation=activation(config, "activation"),
        placement=_placement(config),
        epsilon=config.layer_norm_epsilon,
    )


def preset(config: Fields) -> Architecture:
    """Tied, as the class has it, although the published files hold the shared matrix twice."""
    return gpt.published(
        config["hidden_size"],
        config["num_attention_heads"],
        config["num_hidden_layers"],
        groups=1,
        vocabulary=config["vocab_size"],
        context=2048,
        rotary=Rotary.standard(config["hidden_size"] // config["num_attention_heads"]),
        placement="parallel_shared",
        tied=True,
        epsilon=config["layer_norm_epsilon"],
        **biases(config["bias"]),
    )


def _attention(to: Assignment, a: Architecture, role: str, module: str) -> None:
    """Per key/value group: its query heads, its key, its value. One group is the multi-query layout."""
    fused, output = "self_attention.query_key_value", "self_attention.dense"
    # Without sharing both layouts are the same: query, key, value of each head together.
    if a.groups == a.heads:
        return head_by_head(fused, output)(to, a, role, module)
    shared = a.heads // a.groups
    weight, bias = to.weight(f"{module}.{fused}"), to.bias(f"{module}.{fused}")
    # (in, g, s + 2, d): the last two of each group are its key and its value.
    weight = weight.reshape(a.d_model, a.groups, shared + 2, a.d_k).permute(1, 2, 0, 3)
    to.put(f"{role}.query.weight", weight[:, :-2].reshape(a.heads, a.d_model, a.d_k))
    to.put(f"{role}.key.weight", weight[:, -2])
    to.put(f"{role}.value.weight", weight[:, -1])
    if bias is not None:
        bias = bias.reshape(a.groups, shared + 2, a.d_k)
        to.put(f"{role}.query.bias", bias[:, :-2].reshape(a.heads, a.d_k))
        to.put(f"{role}.key.bias", bias[:, -2])
        to.put(f"{role}.value.bias", bias[:, -1])
    to.output(f"{role}.output", f"{module}.{output}", a.heads)


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    return layout(
        block="transformer.h",
        norms={"norm_1": "ln_attn", "norm_2": "ln_mlp"} if a.placement == "parallel" else PRE,
        attention=_attention,
        feed_forward=plain("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
        outside={"token_table": "transformer.word_embeddings", "final_norm": "transformer.ln_f"},
    )(a, entries)


def sizes(config: Config, layers: int) -> dict[str, Any]:
    """Beside attention a first layer's network sees one vector per token: it is narrow and the tokens are many, as in
    the originals (:func:`symgauge.symmetries.degenerate_cases`)."""
    groups = _groups(config)
    small: dict[str, Any] = {
        "hidden_size": 12,
        "num_attention_heads": 3,
        "num_kv_heads": 3,
        "ffn_hidden_size": 3,
        "num_hidden_layers": layers,
        "vocab_size": 21,
        "max_position_embeddings": 7,
    }
    if config.new_decoder_architecture and 1 < groups < config.num_attention_heads:
        small.update(hidden_size=16, num_attention_heads=4, num_kv_heads=2, vocab_size=25)
    elif config.new_decoder_architecture and groups == 1:
        small["num_kv_heads"] = 1
    return small


_NEW: Fields = {"new_decoder_architecture": True}

FAMILY = Family(
    "falcon",
    "FalconForCausalLM",
    architecture,
    slots,
    sizes,
    required={"alibi": (False,), "apply_residual_connection_post_layernorm": (False,)},
    published={
        # The files hold the tied head twice: 7_217_189_760.
        "falcon-7b": Published(7_217_189_760 - 65024 * 4544, {
            "alibi": False, "apply_residual_connection_post_layernorm": False, "bias": False, "hidden_size": 4544,
            "layer_norm_epsilon": 1e-5, "multi_query": True, "new_decoder_architecture": False,
            "num_attention_heads": 71, "num_hidden_layers": 32, "parallel_attn": True, "vocab_size": 65024,
        }),
    },
    preset=preset,
    cases=Cases(
        variants=(
            {"bias": True},
            UNTIED,
            {"multi_query": False, "bias": True},
            {"parallel_attn": False},
            {**_NEW, "num_attention_heads": 6, "num_kv_heads": 3, "bias": True},
            {**_NEW, "num_kv_heads": 1, "num_ln_in_parallel_attn": 1},
        ),
        refused=(
            ("alibi", {"alibi": True}),
            ("num_ln_in_parallel_attn", {"num_ln_in_parallel_attn": 2}),
            ("parallel_attn", {**_NEW, "parallel_attn": False}),
        ),
    ),
)  # fmt: skip
