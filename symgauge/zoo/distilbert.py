"""DistilBERT with its masked-language-model head: BERT without token types."""

from symgauge.architecture import Architecture
from symgauge.zoo.bert import ENCODER
from symgauge.zoo.parts import gpt
from symgauge.zoo.parts.cases import UNTIED
from symgauge.zoo.parts.family import Cases, Config, Family, Published
from symgauge.zoo.parts.fields import activation
from symgauge.zoo.parts.slots import layout, plain, separate


def architecture(config: Config) -> Architecture:
    return gpt.decoder(
        config,
        d_ff=config.hidden_dim,
        context=config.max_position_embeddings,
        causal=False,
        activation=activation(config, "activation"),
        epsilon=1e-12,
        **ENCODER,
    )


FAMILY = Family(
    "distilbert",
    "DistilBertForMaskedLM",
    architecture,
    layout(
        block="distilbert.transformer.layer",
        norms={"norm_1": "sa_layer_norm", "norm_2": "output_layer_norm"},
        attention=separate("attention.{letter}_lin", "attention.out_lin"),
        feed_forward=plain("ffn.lin1", "ffn.lin2"),
        outside={
            "token_table": "distilbert.embeddings.word_embeddings",
            "position_table": "distilbert.embeddings.position_embeddings",
            "embedding_norm": "distilbert.embeddings.LayerNorm",
            "head.transform": "vocab_transform",
            "head.norm": "vocab_layer_norm",
        },
        head="vocab_projector",
    ),
    lambda c, layers: {
        "dim": 6, "n_heads": 3, "hidden_dim": 5, "n_layers": layers, "vocab_size": 11, "max_position_embeddings": 4,
    },
    understood=frozenset({"tie_weights_"}),
    published={
        "distilbert-base": Published(0.07e9, {
            "activation": "gelu", "dim": 768, "hidden_dim": 3072, "max_position_embeddings": 512, "n_heads": 12,
            "n_layers": 6, "sinusoidal_pos_embds": False, "tie_weights_": True, "vocab_size": 30522,
        }),
    },
    cases=Cases(variants=({"tie_word_embeddings": False, "activation": "relu"},), accounted=((1, UNTIED),)),
)  # fmt: skip
