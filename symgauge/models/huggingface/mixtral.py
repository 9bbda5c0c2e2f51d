"""Mixtral: LLaMA's attention, and experts stacked in 3-D tensors (expert, out, in), gate and up rows fused."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture, Experts
from symgauge.layout import Slot
from symgauge.models.huggingface import llama
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family


def architecture(config: Config) -> Architecture:
    experts = Experts(config.num_local_experts, config.num_experts_per_tok, config.intermediate_size)
    return llama.decoder(config, "Mixtral", d_ff=0, experts=experts)


def mixture_slots(to: Assignment, role: str, module: str) -> None:
    """Router and stacked experts; ``gate_up_proj`` has the gate's rows before the up map's."""
    to.put(f"{role}.router.weight", to.weight(f"{module}.gate"))
    fused, down = to.entries[f"{module}.experts.gate_up_proj"], to.entries[f"{module}.experts.down_proj"]
    for i in range(fused.shape[0]):
        gate, up = fused[i].chunk(2)
        for part, index in (("gate", gate), ("up", up), ("down", down[i])):
            to.put(f"{role}.experts.{i}.{part}.weight", index.T)


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"model.layers.{layer}"
        to.norm(f"{role}.norm_1", f"{module}.input_layernorm")
        to.norm(f"{role}.norm_2", f"{module}.post_attention_layernorm")
        llama.attention_slots(to, a, layer)
        mixture_slots(to, f"{role}.ff", f"{module}.mlp")
    llama.outer_slots(to, a)
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    return {
        **llama.sizes(config, layers),
        "num_local_experts": 3,
        "num_experts_per_tok": min(2, config.num_experts_per_tok),
    }


MIXTRAL = Family("mixtral", "MixtralForCausalLM", architecture, slots, sizes)
