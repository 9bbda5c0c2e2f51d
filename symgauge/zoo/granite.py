"""Granite: LLaMA whose embeddings, scores, sublayers and logits are multiplied by factors."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import BIASED, NARROW, TIED
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.fields import require_nonzero
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import GROUPED, sizes
from symgauge.zoo.parts.slots import layout


def architecture(config: Config) -> Architecture:
    require_nonzero(config, "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    return decoder(
        config,
        embedding_scale=config.embedding_multiplier,
        score_scale=config.attention_multiplier,
        residual_scale=config.residual_multiplier,
        logit_scale=1 / config.logits_scaling,
    )


SCALES: Fields = {
    "embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.4,
}  # fmt: skip
"""Visible ones, where the class defaults to 1."""

FAMILY = Family(
    "granite",
    "GraniteForCausalLM",
    architecture,
    layout(),
    sizes,
    understood=frozenset({"head_dim"}),
    example=GROUPED,
    published={
        "granite-3-2b": Published(2.53e9, {
            **SCALES, "attention_multiplier": 0.015625, "hidden_size": 2048, "intermediate_size": 8192,
            "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 40,
            "num_key_value_heads": 8, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "vocab_size": 49155,
        }),
    },
    cases=Cases(
        variants=({**SCALES, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},),
        refused=(("residual_multiplier", {"residual_multiplier": 0.0}),),
        accounted=(
            (1, {**NARROW, **SCALES, **BIASED, "mlp_bias": True}),
            (1, {**NARROW, **SCALES, **TIED}),
        ),
    ),
)  # fmt: skip
