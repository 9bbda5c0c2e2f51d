"""All pairs, with what is to be found of each."""

from __future__ import annotations

from tests.pairs import bert_changes as bert
from tests.pairs import llama_gauges as llama
from tests.pairs import llama_mistakes as mistakes
from tests.pairs.llama_gauges import FOLDED, HEADS, NEURONS, UNTIED
from tests.pairs.pair import Change, Pair

TURNED: tuple[Change, ...] = (*FOLDED, llama.turn_stream)
EVERYTHING = (*TURNED, *HEADS, *NEURONS)


def _at(*names: str) -> tuple[str, ...]:
    return tuple(llama.layer(mistakes.AT, name) for name in names)


def _bert(*names: str) -> tuple[str, ...]:
    return tuple(bert.layer(bert.AT, name) for name in names)


def _wrong(name: str, *changes: Change, at: tuple[str, ...], reason: str = "", untied: bool = False) -> Pair:
    return Pair(name, "llama", changes, "different", at, reason, config=UNTIED if untied else {})


def _wrong_bert(name: str, change: Change, at: tuple[str, ...], reason: str = "", disguised: bool = False) -> Pair:
    return Pair(name, "bert", (*(bert.GAUGES if disguised else ()), change), "different", at, reason)


STORED = "equal-to-stored-precision"
PAIRS = (
    # LLaMA, one function
    Pair("norms of the layers folded", "llama", (llama.fold_inner_norms,), "equal"),
    Pair("all norms folded, head untied", "llama", FOLDED, "equal", config=UNTIED),
    Pair("stream turned", "llama", TURNED, "equal", config=UNTIED),
    Pair("heads and groups renumbered", "llama", (llama.renumber_heads,), "equal"),
    Pair("rotary planes turned and scaled", "llama", (llama.mix_keys,), "equal"),
    Pair("values mixed with outputs", "llama", (llama.mix_values,), "equal"),
    Pair("neurons renumbered and scaled", "llama", NEURONS, "equal"),
    Pair("everything at once, in three parts", "llama", EVERYTHING, "equal", config=UNTIED, layout="parts"),
    Pair("one projection for q, k, v (Phi-3)", "llama", (), "equal", layout="fused"),
    Pair("folded, fused", "llama", (llama.fold_inner_norms, *NEURONS), "equal", layout="fused"),
    Pair("rotary channels interleaved (Meta)", "llama", (), "equal", layout="meta"),
    Pair("stream turned, then bfloat16", "llama", TURNED, STORED, stored="bfloat16", config=UNTIED),
    Pair("heads changed, then float16", "llama", HEADS, STORED, stored="float16"),
    Pair("stream turned, then int8", "llama", TURNED, STORED, stored="int8", config=UNTIED),
    Pair("stream turned, then Q4_1", "llama", TURNED, STORED, stored="Q4_1", config=UNTIED),
    # LLaMA, mistakes
    _wrong("means subtracted under RMSNorm", mistakes.subtract_means, at=(llama.EMBEDDING,), reason="mean"),
    _wrong("mean subtracted in one map, stream turned", *FOLDED, mistakes.subtract_means_of_one_writer,
           llama.turn_stream, at=_at("down_proj"), reason="mean", untied=True),
    _wrong("final norm folded into a tied table", mistakes.fold_into_tied_table,
           at=(llama.EMBEDDING, llama.HEAD, llama.FINAL), reason="tied|fold"),
    _wrong("final norm folded by dividing", mistakes.fold_by_dividing, at=(llama.HEAD, llama.FINAL), untied=True),
    _wrong("keys renumbered without values", mistakes.renumber_keys_alone, at=_at("k_proj"), reason="key"),
    _wrong("A⁻¹ in place of A⁻ᵀ", mistakes.conjugate_keys, at=_at("k_proj", "q_proj"), reason="A⁻|transpos|inverse"),
    _wrong("γ − 1 in place of γ", mistakes.gains_less_one,
           at=_at("post_attention_layernorm", "gate_proj", "up_proj"), reason="1"),
    _wrong("rotary channels interleaved unsaid", mistakes.interleave, at=_at("q_proj", "k_proj"), reason="interleav"),
    _wrong("a group of keys and values missing", mistakes.lose_group, at=_at("k_proj", "v_proj"), reason="group"),
    _wrong("adapter of rank 2 merged", mistakes.merge_adapter, at=_at("q_proj"), reason="rank 2"),
    _wrong("adapter merged after everything else", *EVERYTHING, mistakes.merge_adapter, at=_at("q_proj"),
           reason="rank 2", untied=True),
    _wrong("one number of the gate map", mistakes.perturb_neuron, at=_at("gate_proj")),
    _wrong("one number, everything else done rightly", mistakes.perturb_neuron, *EVERYTHING, at=_at("gate_proj"),
           untied=True),
    _wrong("two tokens exchanged in the head", mistakes.exchange_tokens, at=(llama.HEAD,), untied=True),
    _wrong("neurons renumbered in the down map alone", mistakes.renumber_down_alone, at=_at("down_proj")),
    # BERT, one function
    Pair("queries mixed with keys", "bert", (bert.mix_keys,), "equal"),
    Pair("values mixed with outputs", "bert", (bert.mix_values,), "equal"),
    Pair("heads renumbered", "bert", (bert.renumber_heads,), "equal"),
    Pair("neurons renumbered", "bert", (bert.renumber_neurons,), "equal"),
    Pair("key and value biases moved", "bert", (bert.move_biases,), "equal"),
    Pair("positions moved to tokens, mean added", "bert", (bert.move_tables,), "equal"),
    Pair("everything at once", "bert", bert.GAUGES, "equal"),
    Pair("old names, PyTorch file", "bert", (), "equal", layout="old names"),
    Pair("heads changed, then bfloat16", "bert", (bert.renumber_heads,), STORED, stored="bfloat16"),
    Pair("stored as float16", "bert", (), STORED, stored="float16"),
    Pair("stored as int8", "bert", (), STORED, stored="int8"),
    Pair("stored as Q4_1", "bert", (), STORED, stored="Q4_1"),
    # BERT, mistakes
    _wrong_bert("A⁻¹ in place of A⁻ᵀ", bert.invert_without_transposing, _bert("key.weight", "query.weight"),
                "A⁻|transpos|inverse"),
    _wrong_bert("keys renumbered without values", bert.renumber_keys_alone, _bert("key.weight"), "key"),
    _wrong_bert("value bias lost", bert.lose_value_bias, _bert("value.bias", "attention.output.dense.bias")),
    _wrong_bert("queries and keys exchanged", bert.exchange_queries_and_keys, _bert("query.weight", "key.weight")),
    _wrong_bert("neurons renumbered without their biases", bert.renumber_neurons_without_bias,
                _bert("intermediate.dense.bias")),
    _wrong_bert("adapter of rank 2 merged, all else done rightly", bert.merge_adapter, _bert("value.weight"), "rank 2",
                disguised=True),
    _wrong_bert("one number of the down map", bert.perturb_neuron, _bert("output.dense.weight")),
    _wrong_bert("γ + 1 in place of γ", bert.gains_more_one, _bert("attention.output.LayerNorm.weight"), "1"),
)  # fmt: skip
