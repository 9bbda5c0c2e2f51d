"""Which stored tensor a parameter of a ``transformers`` module is, where files have other names for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from symgauge.checkpoints.checkpoint import Checkpoint

_META = (
    (r"model\.embed_tokens\.", "tok_embeddings."),
    (r"model\.norm\.", "norm."),
    (r"lm_head\.", "output."),
    (r"model\.layers\.(\d+)\.self_attn\.([qkvo])_proj\.", r"layers.\1.attention.w\2."),
    (r"model\.layers\.(\d+)\.mlp\.gate_proj\.", r"layers.\1.feed_forward.w1."),
    (r"model\.layers\.(\d+)\.mlp\.down_proj\.", r"layers.\1.feed_forward.w2."),
    (r"model\.layers\.(\d+)\.mlp\.up_proj\.", r"layers.\1.feed_forward.w3."),
    (r"model\.layers\.(\d+)\.input_layernorm\.", r"layers.\1.attention_norm."),
    (r"model\.layers\.(\d+)\.post_attention_layernorm\.", r"layers.\1.ffn_norm."),
)
"""LLaMA's names in ``transformers``, and in the files that Meta publishes; their rotary channels are interleaved."""
_OLD = (
    (r"LayerNorm\.weight$", "LayerNorm.gamma"),
    (r"LayerNorm\.bias$", "LayerNorm.beta"),
    (r"lm_head\.", "embed_out."),
    (r"\.mlp\.gate\.weight$", ".block_sparse_moe.gate.weight"),
)
"""What files call otherwise than modules do: BERT's first files, GPT-NeoX, Mixtral."""
_EXPERTS = re.compile(r"(?P<block>.*)\.mlp\.experts\.(?P<part>gate_up_proj|down_proj)")
_EXPERT_FILES = (
    ("mlp.experts.{}.gate_proj.weight", "mlp.experts.{}.up_proj.weight", "mlp.experts.{}.down_proj.weight"),
    ("block_sparse_moe.experts.{}.w1.weight", "block_sparse_moe.experts.{}.w3.weight",
     "block_sparse_moe.experts.{}.w2.weight"),
)  # fmt: skip
"""Files that hold a tensor for each expert's gate, up and down map, where modules stack those of all experts."""
_NO_PARAMETERS = re.compile(
    r".*(position_ids|token_type_ids|inv_freq|masked_bias|attn\.bias|attention\.bias|num_batches_tracked)"
)
"""Buffers that files of older versions hold, which no function depends on."""


def finder(checkpoint: Checkpoint, prefix: str) -> Callable[[Iterable[str]], str | None]:
    """A function from the names that a parameter has in a module (several, if tied) to the name stored, or None.

    ``prefix`` is what the module with a head puts before the names of the bare one ("model", "bert").
    """

    def find(names: Iterable[str]) -> str | None:
        for name in names:
            for candidate in _candidates(name, prefix):
                if candidate in checkpoint:
                    return candidate
                if checkpoint.aliases.get(candidate) is not None:
                    return checkpoint.aliases[candidate]
        return None

    return find


def _candidates(name: str, prefix: str) -> Iterator[str]:
    yield name
    for pattern, other in (*_META, *_OLD):
        if re.search(pattern, name):
            yield re.sub(pattern, other, name)
    if name.startswith(f"{prefix}."):
        yield from _candidates(name.removeprefix(f"{prefix}."), prefix)
    for wrapper in ("model.", "module.", f"{prefix}."):
        yield f"{wrapper}{name}"


def expert_names(checkpoint: Checkpoint, parameter: str, count: int) -> list[tuple[str, ...]] | None:
    """For each expert the stored tensors that a stacked parameter is made of (gate and up, or down), if it is not
    stored as one."""
    match = _EXPERTS.fullmatch(parameter)
    if match is None or parameter in checkpoint:
        return None
    for gate, up, down in _EXPERT_FILES:
        chosen = (gate, up) if match["part"] == "gate_up_proj" else (down,)
        names = [tuple(f"{match['block']}.{name.format(i)}" for name in chosen) for i in range(count)]
        if all(name in checkpoint for group in names for name in group):
            return names
    return None


def is_from_meta(checkpoint: Checkpoint) -> bool:
    """Whether the names are those of LLaMA's own files, in which the channels of a rotary plane are neighbours."""
    return "tok_embeddings.weight" in checkpoint


def is_parameter(checkpoint: Checkpoint, name: str) -> bool:
    """Whether a stored tensor may matter: it is no buffer of positions or masks."""
    return checkpoint[name].is_floating and not _NO_PARAMETERS.fullmatch(name)
