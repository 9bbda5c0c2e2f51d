"""GLM-4: GLM with a norm after each sublayer too."""

from symgauge.zoo import glm
from symgauge.zoo.parts.cases import NARROW, TIED
from symgauge.zoo.parts.family import Cases, Family, Published
from symgauge.zoo.parts.sizes import partial_sizes
from symgauge.zoo.parts.slots import PRE, fused_gate, layout

_NORMS = {**PRE, "output_norm_1": "post_self_attn_layernorm", "output_norm_2": "post_mlp_layernorm"}

FAMILY = Family(
    "glm4",
    "Glm4ForCausalLM",
    lambda c: glm.architecture(c, "sandwich"),
    layout(norms=_NORMS, feed_forward=fused_gate),
    partial_sizes,
    published={"glm-4-9b-0414": Published(9.4e9, {**glm.PUBLISHED, "rms_norm_eps": 1e-5})},
    cases=Cases(
        variants=({"attention_bias": False, "num_key_value_heads": 4},),
        accounted=((1, {**NARROW, **TIED, "head_dim": 5}),),
    ),
)
