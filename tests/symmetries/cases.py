"""Small architectures with distinct sizes that between them use every family."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.symmetries import Symmetry, families
from symgauge.symmetries.base import Output
from symgauge.symmetries.finding import continuous_families

SIZES: dict[str, Any] = {
    "d_model": 9, "heads": 4, "groups": 4, "d_k": 3, "d_v": 5, "d_ff": 7, "layers": 2, "vocabulary": 13, "context": 6,
    # A visible ε: with a tiny one every norm nearly has the scale symmetry that only ε = 0 gives.
    "epsilon": 0.1,
}  # fmt: skip
BIASES: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "ff_bias"), True)
TURNING = Rotary((Fraction(1, 7), Fraction(2, 9)))
PARTIAL = Rotary((Fraction(1, 7),), unrotated=2)
LAYER = {"norm": "layer", "norm_offset": True, "final_norm": True}
RMS = {"norm": "rms", "final_norm": True, "gated": True, "activation": "silu"}
GPT2 = {**SIZES, **BIASES, **LAYER, "position_table": True}
LLAMA = {**SIZES, **RMS, "d_k": 4, "rotary": TURNING, "groups": 2}
BERT = {
    **SIZES, **BIASES, "norm": "layer", "norm_offset": True, "placement": "post", "embedding_norm": True,
    "causal": False, "position_table": True, "token_types": 2, "head_transform": True, "tied": True, "head_bias": True,
}  # fmt: skip
NEOX = {**SIZES, **BIASES, **LAYER, "placement": "parallel", "rotary": PARTIAL, "d_k": 4}
FALCON = {**SIZES, **LAYER, "placement": "parallel_shared", "rotary": TURNING, "d_k": 4, "groups": 1}
GEMMA = {**LLAMA, "placement": "sandwich", "tied": True, "attention_softcap": 2.0, "logit_softcap": 3.0}
MIXTRAL = {**LLAMA, "experts": Experts(3, 2, 6)}
DEEPSEEK = {
    **LLAMA, "groups": 4, "d_k": 7, "latent": Latent(6, 8, 4),
    "experts": Experts(3, 2, 5, shared=2, routing="sigmoid", first=1),
}  # fmt: skip
OLMO2 = {**LLAMA, "placement": "output", "qk_norm": True, "qk_norm_across": True}
BIASED_VALUES = {
    **GPT2, "vocabulary": 0, "position_table": False, "final_norm": False, "output_bias": False,
}  # fmt: skip
SCALED = {"epsilon": 0.1, "embedding_scale": 2.0, "residual_scale": 0.375, "score_scale": 0.3, "logit_scale": 0.75}
ALONE = {**SIZES, "vocabulary": 0, "layers": 1, "residual": False, "d_ff": 0}

_CASES: dict[str, dict[str, Any]] = {
    "attention": {**ALONE, **BIASES, "groups": 2},
    "attention-values-biased": {**ALONE, **BIASES, "output_bias": False},
    "attention-linear": {**ALONE, "attention": "linear", "groups": 2, "query_bias": True},
    "attention-classes": {
        **ALONE, "d_k": 10, "d_model": 11, "rotary": Rotary(tuple(Fraction(n, 14) for n in (2, 12, 7, 0)), unrotated=2),
        "key_bias": True,
    },
    "attention-wide-shared": {**ALONE, "groups": 2, "d_model": 3, "d_k": 4, "query_bias": True},
    "attention-wide-values": {**ALONE, "groups": 2, "d_model": 3, "norm": "layer", "norm_offset": True, "d_v": 4},
    "block": {**GPT2, "vocabulary": 0, "layers": 1, "position_table": False, "final_norm": False},
    "block-scale-free": {
        **GPT2, "vocabulary": 0, "layers": 1, "position_table": False, "final_norm": False, "epsilon": 0.0,
    },
    "block-values-biased": {**BIASED_VALUES, "layers": 1},
    "blocks-values-offset": {**BIASED_VALUES, "value_bias": False, "groups": 2},
    "chain": {**ALONE, **BIASES, "layers": 2},
    "gpt2": {**GPT2, "tied": True},
    "gpt2-untied": {**GPT2, "head_bias": True},
    "gpt2-scale-free": {**GPT2, "tied": True, "epsilon": 0.0, "head_bias": True},
    "gpt2-without-offsets": {**GPT2, "norm_offset": False, "activation": "relu"},
    "bert": BERT,
    "post-norm": {**BERT, "embedding_norm": False, "tied": False, "head_transform": False},
    "gpt2-without-biases": {**SIZES, **LAYER, "position_table": True},
    "gpt2-headless-norm": {**GPT2, "final_norm": False},
    "bert-scale-free": {**BERT, "epsilon": 0.0, "activation": "relu"},
    "neox": NEOX,
    "falcon": FALCON,
    "llama": LLAMA,
    "llama-scale-free": {**LLAMA, "epsilon": 0.0, "activation": "relu2"},
    "qwen2": {**LLAMA, "tied": True, "query_bias": True, "key_bias": True, "value_bias": True},
    "qwen3": {**LLAMA, "qk_norm": True, "epsilon": 0.0},
    "gemma2": GEMMA,
    "gemma2-scale-free": {**GEMMA, "epsilon": 0.0},
    "mixtral": MIXTRAL,
    "switch": {**LLAMA, "experts": Experts(3, 1, 6)},
    "layernorm-mixture": {**GPT2, "experts": Experts(3, 2, 6)},
    "layernorm-switch": {**GPT2, "experts": Experts(3, 1, 6)},
    "deepseek": DEEPSEEK,
    "deepseek-grouped": {
        **DEEPSEEK, "experts": Experts(6, 2, 3, routing="sigmoid", first=1, groups=3, active_groups=2, scale=2.5),
    },
    "mixture-biased-scaled": {
        **DEEPSEEK, "ff_bias": True, "experts": Experts(3, 2, 5, shared=1, routing="sigmoid", first=1, scale=2.5),
    },
    "deepseek-scale-free": {**DEEPSEEK, "epsilon": 0.0},
    "no-norm-values-biased": {**SIZES, **BIASES, "output_bias": False},
    "no-norm": {**SIZES, **BIASES, "head_bias": True},
    "no-norm-tied": {**SIZES, **BIASES, "rotary": TURNING, "d_k": 4, "groups": 1, "key_bias": False, "tied": True},
    "no-norm-mixture": {**SIZES, **BIASES, "d_model": 11, "experts": Experts(3, 2, 4)},
    "no-norm-mixture-sigmoid": {**SIZES, **BIASES, "d_model": 11, "experts": Experts(3, 2, 4, routing="sigmoid")},
    "opt": {**GPT2, "tied": True, "unused_positions": 2},
    "bloom": {
        **GPT2, "position_table": False, "embedding_norm": True, "tied": True, "head_bias": True,
        "alibi": (0.5, 0.25, 0.125, 0.0625),
    },
    "smollm3": {**LLAMA, "rotary": None, "rotary_by_layer": (TURNING, None), "windows": (0, 3), "key_bias": True},
    "olmo2": {**OLMO2, "tied": True},
    "olmo2-scale-free": {**OLMO2, "epsilon": 0.0, "groups": 4},
    "granite": {**LLAMA, **BIASES, **SCALED},
    "blocks-scaled": {**BIASED_VALUES, "value_bias": False, "groups": 2, **SCALED},
    "gpt2-scaled": {**GPT2, "tied": True, "head_bias": True, **SCALED},
    "no-norm-scaled": {**SIZES, **BIASES, "output_bias": False, **SCALED},
    "no-norm-handed-on": {
        **SIZES, **SCALED, "layers": 1, "groups": 2, "query_bias": True, "ff_bias": True, "position_table": True,
    },
    "no-norm-handed-on-twice": {**SIZES, "d_model": 7, "heads": 2, "groups": 1, "d_k": 1, "d_ff": 0, "head_bias": True},
    "post-values": {
        **SIZES, "d_model": 5, "heads": 2, "groups": 2, "d_k": 1, "d_v": 3, "d_ff": 0, "residual_scale": 0.375,
        "norm": "layer", "norm_offset": True, "placement": "post", "value_bias": True,
    },
    "few-tokens": {**SIZES, "groups": 2, "vocabulary": 8, "activation": "relu"},
}  # fmt: skip
ARCHITECTURES = {name: Architecture(**fields, name=name) for name, fields in _CASES.items()}


EXAMPLES = [(kind.example, kind.outputs[0], kind()) for kind in continuous_families()]
"""Each family on the architecture that its class gives."""
OF_FAMILY = [family.name for _, _, family in EXAMPLES]


def acting() -> list[tuple[Architecture, Output, Symmetry]]:
    """Every family wherever it acts; probabilities only where the family needs them."""
    found: list[tuple[Architecture, Output, Symmetry]] = []
    for a in ARCHITECTURES.values():
        known = families(a)
        found += [(a, "logits", family) for family in known]
        if a.is_model:
            names = {family.name for family in known}
            more = [family for family in families(a, "probabilities") if family.name not in names]
            found += [(a, "probabilities", family) for family in more]
    return found


ACTING = acting()
"""(architecture, output, family), and what pytest calls each."""
IDS = [f"{a.name}-{output}-{family.name}" for a, output, family in ACTING]


def family_of(a: Architecture, output: Output, name: str) -> Symmetry:
    return next(family for family in families(a, output) if family.name == name)
