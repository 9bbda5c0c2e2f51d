"""BERT with its masked-language-model head: Post-LN, and a dense layer before the unembedding."""

from symgauge.architecture import Architecture
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.family import Cases, Config, Family, Fields, Published
from symgauge.zoo.parts.fields import activation
from symgauge.zoo.parts.slots import layout, plain, separate

ENCODER: Fields = {
    "placement": "post", "embedding_norm": True, "final_norm": False, "position_table": True, "head_transform": True,
    "head_bias": True,
}  # fmt: skip


def architecture(config: Config) -> Architecture:
    return gpt.decoder(
        config,
        d_ff=config.intermediate_size,
        context=config.max_position_embeddings,
        causal=config.is_decoder,
        activation=activation(config),
        token_types=config.type_vocab_size,
        epsilon=config.layer_norm_eps,
        **ENCODER,
    )


def preset(config: Fields) -> Architecture:
    return gpt.published(
        config["hidden_size"],
        config["num_attention_heads"],
        config["num_hidden_layers"],
        vocabulary=config["vocab_size"],
        context=config["max_position_embeddings"],
        causal=False,
        token_types=config["type_vocab_size"],
        epsilon=config["layer_norm_eps"],
        tied=True,
        **ENCODER,
    )


def published(parameters: int, width: int, heads: int, layers: int) -> Published:
    config = {
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "pad_token_id": 0,
        "position_embedding_type": "absolute", "gradient_checkpointing": False, "type_vocab_size": 2,
        "vocab_size": 30522, "hidden_size": width, "num_attention_heads": heads, "intermediate_size": 4 * width,
        "num_hidden_layers": layers,
    }  # fmt: skip
    return Published(parameters, config)


FAMILY = Family(
    "bert",
    "BertForMaskedLM",
    architecture,
    layout(
        block="bert.encoder.layer",
        norms={"norm_1": "attention.output.LayerNorm", "norm_2": "output.LayerNorm"},
        attention=separate("attention.self.{part}", "attention.output.dense"),
        feed_forward=plain("intermediate.dense", "output.dense"),
        outside={
            "token_table": "bert.embeddings.word_embeddings",
            "position_table": "bert.embeddings.position_embeddings",
            "type_table": "bert.embeddings.token_type_embeddings",
            "embedding_norm": "bert.embeddings.LayerNorm",
            "head.transform": "cls.predictions.transform.dense",
            "head.norm": "cls.predictions.transform.LayerNorm",
        },
        head="cls.predictions.decoder",
    ),
    lambda c, layers: {
        "hidden_size": 6, "num_attention_heads": 3, "intermediate_size": 5, "num_hidden_layers": layers,
        "vocab_size": 11, "max_position_embeddings": 4,
    },
    required={
        "add_cross_attention": (False,), "position_embedding_type": ("absolute",), "tie_word_embeddings": (True,),
    },
    published={
        "bert-base": published(109_514_298, 768, 12, 12), "bert-large": published(335_174_458, 1024, 16, 24),
    },
    preset=preset,
    cases=Cases(
        variants=({"is_decoder": True, "type_vocab_size": 3, "hidden_act": "gelu_new"},),
        refused=(("tie_word_embeddings", {"tie_word_embeddings": False}),),
    ),
)  # fmt: skip
