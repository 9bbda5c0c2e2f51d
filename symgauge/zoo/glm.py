"""GLM: LLaMA whose rotary planes are neighbouring channels, a half of them, with gate and up map in one projection."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts.cases import NARROW
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.llama import decoder
from symgauge.zoo.parts.sizes import partial_sizes
from symgauge.zoo.parts.slots import fused_gate, layout


def architecture(config: Config, placement: str = "pre") -> Architecture:
    return decoder(config, interleaved=True, output_bias=False, placement=placement)


PUBLISHED: Fields = {
    "attention_bias": True, "head_dim": 128, "hidden_size": 4096, "intermediate_size": 13696,
    "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 2, "partial_rotary_factor": 0.5,
    "rms_norm_eps": 1.5625e-07, "tie_word_embeddings": False, "vocab_size": 151552,
}  # fmt: skip

FAMILY = Family(
    "glm",
    "GlmForCausalLM",
    architecture,
    layout(feed_forward=fused_gate),
    partial_sizes,
    published={"glm-4-9b": Published(9.4e9, PUBLISHED)},
    cases=Cases(
        variants=({"attention_bias": False, "tie_word_embeddings": True},), accounted=((1, {**NARROW, "head_dim": 5}),)
    ),
)
