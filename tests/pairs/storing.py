"""Rounding numbers as checkpoints do, and saving them in the layouts in which one model is published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from tests.pairs.pair import Shape, Tensors, by_head


def int8(x: Tensor) -> Tensor:
    """Rows as multiples of a step that the largest entry sets, read back as float32."""
    step = (x.abs().amax(-1, keepdim=True) / 127).float()
    return (x.float() / step).round() * step


def q4_1(x: Tensor) -> Tensor:
    """Blocks of 32 on 16 levels from the least entry to the largest, step and offset in float16 (llama.cpp's Q4_1)."""
    blocks = x.float().unflatten(-1, (-1, 32))
    least, largest = blocks.aminmax(dim=-1, keepdim=True)
    step = ((largest - least) / 15).half().float()
    offset = least.half().float()
    level = ((blocks - offset) / torch.where(step == 0, 1.0, step)).round().clamp(0, 15)
    return (level * step + offset).flatten(-2)


QUANTISED: dict[str, Callable[[Tensor], Tensor]] = {"int8": int8, "Q4_1": q4_1}


def rounded(tensors: Tensors, stored: str) -> Tensors:
    """Every tensor as ``stored``: a torch dtype's name, or a quantisation, which leaves vectors alone."""
    if stored in QUANTISED:
        return {n: QUANTISED[stored](x) if x.dim() == 2 else x.float() for n, x in tensors.items()}
    return {name: x.to(getattr(torch, stored)) for name, x in tensors.items()}


_META = (
    ("model.embed_tokens", "tok_embeddings"), ("lm_head", "output"), ("model.", ""), ("self_attn.", "attention."),
    ("mlp.gate_proj", "feed_forward.w1"), ("mlp.down_proj", "feed_forward.w2"), ("mlp.up_proj", "feed_forward.w3"),
    ("input_layernorm", "attention_norm"), ("post_attention_layernorm", "ffn_norm"),
)  # fmt: skip


def meta(tensors: Tensors, shape: Shape) -> Tensors:
    """LLaMA's own names, and its order of rotary channels: the two of a plane side by side."""
    found = {}
    for name, x in tensors.items():
        if ".q_proj" in name or ".k_proj" in name:
            halves = by_head(x, shape.heads if ".q_proj" in name else shape.groups).unflatten(1, (2, -1))
            x = halves.transpose(1, 2).flatten(0, 2)
        for old, new in _META:
            name = name.replace(old, new)
        found[re.sub(r"attention\.([qkvo])_proj", r"attention.w\1", name)] = x
    return found


def fused(tensors: Tensors, shape: Shape) -> Tensors:
    """Phi-3's tensors: queries, keys and values in one, gate and up map in another."""
    found = dict(tensors)
    for i in range(shape.layers):
        for part, new, old in (("self_attn", "qkv_proj", ("q_proj", "k_proj", "v_proj")),
                               ("mlp", "gate_up_proj", ("gate_proj", "up_proj"))):  # fmt: skip
            parts = [found.pop(f"model.layers.{i}.{part}.{name}.weight") for name in old]
            found[f"model.layers.{i}.{part}.{new}.weight"] = torch.cat(parts)
    return found


PHI3 = {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "pad_token_id": None}


def save(tensors: Tensors, config: Mapping[str, Any], folder: Path, layout: str = "as A") -> Path:
    """Write a model folder, whose numbers are rounded already."""
    folder.mkdir(parents=True, exist_ok=True)
    shape, fields = Shape.of(config), dict(config)
    if layout == "meta":
        torch.save(meta(tensors, shape), folder / "consolidated.00.pth")
    elif layout == "old names":
        old = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x
               for n, x in tensors.items()}  # fmt: skip
        torch.save({f"bert.{n}": x for n, x in old.items()}, folder / "pytorch_model.bin")
    elif layout == "parts":
        names = sorted(tensors)
        parts = {f"model-0000{i + 1}-of-00003.safetensors": names[i::3] for i in range(3)}
        for file, inside in parts.items():
            save_file({n: tensors[n].contiguous() for n in inside}, folder / file)
        index = {"metadata": {}, "weight_map": {n: file for file, inside in parts.items() for n in inside}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    else:
        if layout == "fused":
            tensors, fields = fused(tensors, shape), {**fields, **PHI3}
        save_file({n: x.contiguous() for n, x in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(fields))
    return folder
