"""Small instances on which the formulas of production models are checked: references, and transformers' own classes.

All have the parts of the model they stand for. Sizes are as distinct as a few hundred parameters allow; sequences and
vocabularies are long enough for the rank to settle, which two layers of norms make the harder, the more must be a
square.
"""

from __future__ import annotations

from typing import Any

from proofs_checks.support.measured_instances import Instance, layers_in_words, measure, reference
from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.presets import preset, scaled_down


def transformers(model_type: str, layers: int, **sizes: Any) -> Instance:
    """A tiny random instance of the class that transformers has for a model."""
    from symgauge.models.huggingface import tiny

    model = tiny(model_type, layers, **sizes)
    return measure(f"{type(model).__name__} of transformers, {layers_in_words(layers)}", model)


def small(name: str, layers: int, **sizes: Any) -> Architecture:
    """The architecture of a preset with small sizes; heads are not grouped unless ``groups`` says so."""
    return scaled_down(preset(name)).replace(**{"layers": layers, "groups": sizes["heads"], **sizes})


def gpt2() -> list[Instance]:
    return [
        reference(small("gpt2", 1, d_model=5, heads=2, d_k=3, d_v=4, d_ff=6, vocabulary=9, context=7)),
        reference(small("gpt2", 2, d_model=4, heads=2, d_k=3, d_v=2, d_ff=5, vocabulary=13, context=6)),
        transformers("gpt2", 1, n_embd=6, n_head=2, n_inner=5, vocab_size=9, n_positions=7),
    ]


BERT = small("bert-base", 1, d_model=5, heads=2, d_k=3, d_v=4, d_ff=6, vocabulary=11, context=4)


def bert() -> list[Instance]:
    return [
        reference(BERT),
        reference(small("bert-base", 2, d_model=4, heads=1, d_k=3, d_v=2, d_ff=3, vocabulary=23, context=3)),
        transformers("bert", 1, hidden_size=6, num_attention_heads=2, vocab_size=9, max_position_embeddings=4),
    ]


_TWO, _FOUR, _PARTIAL = Rotary.standard(2), Rotary.standard(4), Rotary.standard(2, unrotated=2)
_GROUPED = {"d_model": 5, "heads": 4, "groups": 2, "d_k": 2, "d_v": 3, "d_ff": 6, "vocabulary": 9, "rotary": _TWO}
_SINGLE = {"d_model": 5, "heads": 2, "groups": 1, "d_k": 4, "d_v": 3, "d_ff": 3, "vocabulary": 7, "rotary": _FOUR}
_TINY = {"hidden_size": 6, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 9}


def decoder(name: str, model_type: str) -> list[Instance]:
    """LLaMA and its relatives: two key/value groups of two heads, and two layers of two heads that share one group."""
    return [
        reference(small(name, 1, context=7, **_GROUPED)),
        reference(small(name, 2, context=7, **_SINGLE)),
        transformers(model_type, 1, **_TINY),
    ]


def llama() -> list[Instance]:
    """With an instance of LLaMA-2's kind too, in which no head shares anything."""
    own = {"d_model": 6, "heads": 2, "d_k": 4, "d_v": 3, "d_ff": 5, "vocabulary": 9, "rotary": _FOUR}
    return [reference(small("llama-2-7b", 1, context=7, **own)), *decoder("llama-3-8b", "llama")]


def qwen3() -> list[Instance]:
    """Every query and key head has a norm, so narrow heads and more tokens are needed to find probes."""
    narrow = {"d_model": 4, "heads": 2, "groups": 1, "d_k": 2, "d_v": 3, "d_ff": 2, "vocabulary": 13, "rotary": _TWO}
    return [
        reference(small("qwen3-8b", 1, context=7, **_GROUPED)),
        reference(small("qwen3-8b", 2, context=5, **narrow)),
        transformers("qwen3", 1, **_TINY),
    ]


def gemma2() -> list[Instance]:
    """Two more norms in every layer: two layers need many tokens before enough probes have all their roots."""
    narrow = {"d_model": 4, "heads": 2, "groups": 1, "d_k": 2, "d_v": 3, "d_ff": 3, "vocabulary": 37, "rotary": _TWO}
    return [
        reference(small("gemma-2-9b", 1, context=7, **_GROUPED)),
        reference(small("gemma-2-9b", 2, context=5, **narrow)),
        transformers("gemma2", 1, **_TINY),
    ]


def falcon() -> list[Instance]:
    """The first layer's network sees nothing but single tokens here and in GPT-NeoX: few neurons, many tokens."""
    sizes = {"heads": 3, "groups": 1, "d_k": 4, "d_v": 2, "rotary": _FOUR, "context": 5}
    return [
        reference(small("falcon-7b", 1, d_model=5, d_ff=3, vocabulary=17, **sizes)),
        reference(small("falcon-7b", 2, d_model=5, d_ff=3, vocabulary=17, **sizes)),
        transformers("falcon", 1, hidden_size=8, num_attention_heads=2, vocab_size=23, ffn_hidden_size=3),
    ]


def gpt_neox() -> list[Instance]:
    sizes = {"d_k": 4, "d_v": 3, "d_ff": 2, "rotary": _PARTIAL, "context": 5}
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 2 / 3}
    tiny = {"hidden_size": 6, "num_attention_heads": 2, "intermediate_size": 2, "vocab_size": 17}
    return [
        reference(small("gpt-neox-20b", 1, d_model=5, heads=2, vocabulary=17, **sizes)),
        # As at full size, with too few tokens for the first layer.
        reference(small("gpt-neox-20b", 1, d_model=4, heads=2, vocabulary=8, **sizes)),
        reference(small("gpt-neox-20b", 2, d_model=5, heads=1, vocabulary=13, **sizes)),
        transformers("gpt_neox", 1, rope_parameters=rope, **tiny),
    ]


def mixtral() -> list[Instance]:
    experts = Experts(3, 2, 2)
    return [
        reference(small("mixtral-8x7b", 1, context=7, experts=experts, **{**_GROUPED, "d_ff": 0})),
        reference(small("mixtral-8x7b", 2, context=7, experts=experts, **{**_SINGLE, "d_ff": 0})),
        transformers("mixtral", 1, **{**_TINY, "vocab_size": 15}, intermediate_size=2, max_position_embeddings=4),
    ]


def deepseek_v3() -> list[Instance]:
    """With experts in the only layer, and behind a dense layer."""
    turned = Rotary.standard(2, interleaved=True)
    wide = {"d_model": 5, "d_k": 4, "latent": Latent(query=4, key_value=3, d_rope=2), "d_ff": 6, "vocabulary": 15}
    narrow = {"d_model": 4, "d_k": 3, "latent": Latent(query=3, key_value=3, d_rope=2), "d_ff": 2, "vocabulary": 17}
    both = {"heads": 2, "d_v": 2, "rotary": turned}
    experts = Experts(3, 2, 1, shared=1, routing="sigmoid")
    late = Experts(3, 2, 1, shared=1, routing="sigmoid", first=1)
    tiny = {
        "hidden_size": 5, "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 4, "kv_lora_rank": 3,
        "qk_rope_head_dim": 2, "v_head_dim": 2, "n_routed_experts": 3, "n_group": 1, "n_shared_experts": 1,
        "moe_intermediate_size": 1, "vocab_size": 15, "max_position_embeddings": 4,
    }  # fmt: skip
    few = {**wide, "latent": Latent(query=4, key_value=4, d_rope=2), "d_v": 3, "vocabulary": 9}
    return [
        reference(small("deepseek-v3", 1, context=7, experts=experts, **wide, **both)),
        # As at full size, with too few tokens for both latents of the first layer.
        reference(small("deepseek-v3", 1, context=7, experts=late, **{**both, **few})),
        reference(small("deepseek-v3", 2, context=5, experts=late, **narrow, **both)),
        transformers("deepseek_v3", 1, **tiny),
    ]
