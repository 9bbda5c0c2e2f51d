"""Cohere's Command R: parallel blocks with one LayerNorm, no offsets, scaled logits, neighbouring channels turn."""

from typing import Any

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import EVEN
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import require_nonzero
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import even_sizes, parallel
from symgauge.zoo.parts.slots import layout


def architecture(config: Config, **changes: Any) -> Architecture:
    require_nonzero(config, "logit_scale")
    return decoder(
        config,
        epsilon_field="layer_norm_eps",
        interleaved=True,
        norm="layer",
        placement="parallel_shared",
        logit_scale=config.logit_scale,
        **changes,
    )


FAMILY = Family(
    "cohere",
    "CohereForCausalLM",
    architecture,
    layout(),
    lambda c, layers: parallel(even_sizes(c, layers)),
    required={"use_qk_norm": (False, None)},
    understood=frozenset({"model_max_length"}),
    published={
        "command-r": Published(34.98e9, {
            "attention_bias": False, "hidden_size": 8192, "intermediate_size": 22528, "layer_norm_eps": 1e-5,
            "logit_scale": 0.0625, "max_position_embeddings": 8192, "model_max_length": 131072,
            "num_attention_heads": 64, "num_hidden_layers": 40, "num_key_value_heads": 64, "rope_theta": 8000000.0,
            "use_qk_norm": False, "vocab_size": 256000,
        }),
    },
    cases=Cases(
        variants=(
            {"attention_bias": True, "tie_word_embeddings": False, "logit_scale": 0.3},
            {"num_attention_heads": 4, "num_key_value_heads": 2},
        ),
        refused=(("use_qk_norm", {"use_qk_norm": True}), ("logit_scale", {"logit_scale": 0.0})),
        accounted=((1, EVEN),),
    ),
)  # fmt: skip
