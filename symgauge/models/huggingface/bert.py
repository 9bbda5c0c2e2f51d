"""BERT and DistilBERT with their masked-language-model head: Post-LN, and a dense layer before the unembedding."""

from __future__ import annotations

from typing import Any

from symgauge.architecture import Architecture
from symgauge.layout import Slot
from symgauge.models.huggingface.entries import Assignment, Entries
from symgauge.models.huggingface.family import Config, Family, activation, even_share
from symgauge.models.huggingface.llama import biases


def architecture(config: Config) -> Architecture:
    width = even_share(config)
    return Architecture(
        name="bert",
        d_model=config.hidden_size,
        heads=config.num_attention_heads,
        d_k=width,
        d_v=width,
        d_ff=config.intermediate_size,
        layers=config.num_hidden_layers,
        vocabulary=config.vocab_size,
        context=config.max_position_embeddings,
        causal=config.is_decoder,
        query_bias=True,
        key_bias=True,
        value_bias=True,
        output_bias=True,
        ff_bias=True,
        activation=activation(config, "hidden_act"),
        norm="layer",
        placement="post",
        norm_offset=True,
        embedding_norm=True,
        position_table=True,
        token_types=config.type_vocab_size,
        head_transform=True,
        head_bias=True,
        tied=True,
        epsilon=config.layer_norm_eps,
    )


def slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    embeddings = "bert.embeddings"
    to.put("token_table", entries[f"{embeddings}.word_embeddings.weight"])
    to.put("position_table", entries[f"{embeddings}.position_embeddings.weight"])
    to.put("type_table", entries[f"{embeddings}.token_type_embeddings.weight"])
    to.norm("embedding_norm", f"{embeddings}.LayerNorm")
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"bert.encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            to.heads(f"{role}.attention.{part}", f"{module}.attention.self.{part}", a.heads)
        to.output(f"{role}.attention.output", f"{module}.attention.output.dense", a.heads)
        to.norm(f"{role}.norm_1", f"{module}.attention.output.LayerNorm")
        to.linear(f"{role}.ff.up", f"{module}.intermediate.dense")
        to.linear(f"{role}.ff.down", f"{module}.output.dense")
        to.norm(f"{role}.norm_2", f"{module}.output.LayerNorm")
    to.linear("head.transform", "cls.predictions.transform.dense")
    to.norm("head.norm", "cls.predictions.transform.LayerNorm")
    to.put("unembedding.bias", entries["cls.predictions.decoder.bias"])
    return to.slots


def sizes(config: Config, layers: int) -> dict[str, Any]:
    return {
        "hidden_size": 6,
        "num_attention_heads": 3,
        "intermediate_size": 5,
        "num_hidden_layers": layers,
        "vocab_size": 11,
        "max_position_embeddings": 4,
    }


BERT = Family(
    "bert",
    "BertForMaskedLM",
    architecture,
    slots,
    sizes,
    required={
        "add_cross_attention": (False,),
        "position_embedding_type": ("absolute",),
        "tie_word_embeddings": (True,),
    },
)


def distilbert(config: Config) -> Architecture:
    width = even_share(config)
    return Architecture(
        name="distilbert",
        d_model=config.dim,
        heads=config.n_heads,
        d_k=width,
        d_v=width,
        d_ff=config.hidden_dim,
        layers=config.n_layers,
        vocabulary=config.vocab_size,
        context=config.max_position_embeddings,
        causal=False,
        activation=activation(config, "activation"),
        norm="layer",
        placement="post",
        norm_offset=True,
        embedding_norm=True,
        position_table=True,
        head_transform=True,
        head_bias=True,
        tied=config.tie_word_embeddings,
        epsilon=1e-12,
        **biases(True),
    )


def distilbert_slots(a: Architecture, entries: Entries) -> dict[str, Slot]:
    to = Assignment(entries)
    embeddings = "distilbert.embeddings"
    to.put("token_table", entries[f"{embeddings}.word_embeddings.weight"])
    to.put("position_table", entries[f"{embeddings}.position_embeddings.weight"])
    to.norm("embedding_norm", f"{embeddings}.LayerNorm")
    for layer in range(a.layers):
        role, module = f"layers.{layer}", f"distilbert.transformer.layer.{layer}"
        for part in ("query", "key", "value"):
            to.heads(f"{role}.attention.{part}", f"{module}.attention.{part[0]}_lin", a.heads)
        to.output(f"{role}.attention.output", f"{module}.attention.out_lin", a.heads)
        to.norm(f"{role}.norm_1", f"{module}.sa_layer_norm")
        to.linear(f"{role}.ff.up", f"{module}.ffn.lin1")
        to.linear(f"{role}.ff.down", f"{module}.ffn.lin2")
        to.norm(f"{role}.norm_2", f"{module}.output_layer_norm")
    to.linear("head.transform", "vocab_transform")
    to.norm("head.norm", "vocab_layer_norm")
    to.head(a, "vocab_projector")
    return to.slots


def distilbert_sizes(config: Config, layers: int) -> dict[str, Any]:
    return {
        "dim": 6, "n_heads": 3, "hidden_dim": 5, "n_layers": layers, "vocab_size": 11, "max_position_embeddings": 4,
    }  # fmt: skip


DISTILBERT = Family(
    "distilbert",
    "DistilBertForMaskedLM",
    distilbert,
    distilbert_slots,
    distilbert_sizes,
    understood=frozenset({"tie_weights_"}),
)
