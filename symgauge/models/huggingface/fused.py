"""Phi-3 and GLM: gate and up rows fused, queries, keys and values too in Phi-3; GLM turns neighbouring channels."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.models.huggingface.entries import Assignment
from symgauge.models.huggingface.family import Config, Family
from symgauge.models.huggingface.llama import decoder, layout, partial_sizes


def fused_heads(to: Assignment, a: Architecture, role: str, module: str) -> None:
    parts = {f"{role}.query": a.heads, f"{role}.key": a.groups, f"{role}.value": a.groups}
    to.split(parts, to.weight(f"{module}.qkv_proj"), to.bias(f"{module}.qkv_proj"))
    to.output(f"{role}.output", f"{module}.o_proj", a.heads)


def fused_gate(to: Assignment, a: Architecture, role: str, module: str) -> None:
    gate, up = to.weight(f"{module}.gate_up_proj").chunk(2, dim=-1)
    to.put(f"{role}.gate.weight", gate)
    to.put(f"{role}.up.weight", up)
    to.linear(f"{role}.down", f"{module}.down_proj")


def glm(config: Config, prefix: str, **changes: Any) -> Architecture:
    return decoder(config, prefix, interleaved=True, output_bias=False, **changes)


_GLM4_NORMS = {
    "norm_1": "input_layernorm",
    "output_norm_1": "post_self_attn_layernorm",
    "norm_2": "post_attention_layernorm",
    "output_norm_2": "post_mlp_layernorm",
}

PHI3 = Family(
    "phi3",
    "Phi3ForCausalLM",
    lambda c: decoder(c, "Phi3"),
    layout(attention=fused_heads, feed_forward=fused_gate),
    partial_sizes,
    understood=frozenset({"head_dim"}),
)
GLM = Family("glm", "GlmForCausalLM", lambda c: glm(c, "Glm"), layout(feed_forward=fused_gate), partial_sizes)
GLM4 = Family(
    "glm4",
    "Glm4ForCausalLM",
    lambda c: glm(c, "Glm4", placement="sandwich"),
    layout(norms=_GLM4_NORMS, feed_forward=fused_gate),
    partial_sizes,
)
