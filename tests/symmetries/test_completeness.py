"""In exact arithmetic the known generators span the kernel of the Jacobian: nothing is unexplained.

Vocabularies are wide enough for the tokens to act as generic vectors: on a handful of tokens a first layer has further,
accidental freedom.
"""

from __future__ import annotations

from typing import Any

import pytest

from symgauge.architecture import Architecture
from symgauge.symmetries import dimension, families
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Output
from tests.symmetries import cases as c
from tests.symmetries.evidence import accounted

SMALL: dict[str, Any] = {
    "d_model": 4, "heads": 2, "groups": 2, "d_k": 2, "d_v": 3, "d_ff": 5, "layers": 1, "vocabulary": 17, "context": 3,
}  # fmt: skip
TURNING = c.Rotary((c.Fraction(1, 7),))
POST: dict[str, Any] = {"norm": "layer", "placement": "post", "d_ff": 0}
CASES: list[tuple[str, dict[str, Any], Output]] = [
    ("attention", {**c.ALONE, **c.BIASES, **SMALL, "vocabulary": 0, "d_ff": 0}, "logits"),
    ("linear", {**c.ALONE, **SMALL, "vocabulary": 0, "d_ff": 0, "attention": "linear", "groups": 1}, "logits"),
    ("values-biased", {**c.GPT2, **SMALL, "vocabulary": 0, "position_table": False, "final_norm": False,
                       "output_bias": False}, "logits"),
    ("values-offset", {**c.GPT2, **SMALL, "position_table": False, "final_norm": False, "output_bias": False,
                       "value_bias": False}, "logits"),
    ("values-against-an-offset", {**c.BIASED_VALUES, **SMALL, "vocabulary": 0, "embedding_norm": True, "d_ff": 0,
                                  "value_bias": False, "layers": 2}, "logits"),
    ("values-against-a-table", {**c.SIZES, **SMALL, "norm": "layer", "d_ff": 0, "value_bias": True}, "logits"),
    ("gpt2", {**c.GPT2, **SMALL, "tied": True, "head_bias": True}, "logits"),
    ("gpt2-untied", {**c.GPT2, **SMALL}, "probabilities"),
    ("bert", {**c.BERT, **SMALL}, "logits"),
    ("post-norm", {**c.BERT, **SMALL, "embedding_norm": False, "tied": False, "head_transform": False, "layers": 2},
     "logits"),
    ("post-norm-values", {**c.SIZES, **SMALL, **POST, "norm_offset": True, "value_bias": True, "d_v": 1, "d_k": 1},
     "logits"),
    ("post-norm-values-unbiased", {**c.SIZES, **SMALL, **POST, "norm_offset": True, "layers": 2, "vocabulary": 0},
     "logits"),
    ("post-norm-handed-on", {**c.SIZES, **SMALL, **POST, "query_bias": True}, "logits"),
    ("post-rms-values", {**c.SIZES, **SMALL, **POST, "norm": "rms", "value_bias": True, "query_bias": True}, "logits"),
    ("llama", {**c.LLAMA, **SMALL, "groups": 1, "rotary": TURNING}, "probabilities"),
    ("qwen3", {**c.LLAMA, **SMALL, "rotary": TURNING, "qk_norm": True, "epsilon": 0.0}, "logits"),
    ("gemma2", {**c.GEMMA, **SMALL, "rotary": TURNING}, "logits"),
    ("opt", {**c.GPT2, **SMALL, "tied": True, "unused_positions": 2}, "logits"),
    ("bloom", {**c.GPT2, **SMALL, "d_ff": 3, "position_table": False, "embedding_norm": True, "tied": True,
               "alibi": (0.5, 0.25)}, "probabilities"),
    ("smollm3", {**c.LLAMA, **SMALL, "d_v": 2, "d_ff": 2, "layers": 2, "rotary": None, "windows": (0, 3),
                 "rotary_by_layer": (TURNING, None), "context": 4, "key_bias": True}, "logits"),
    ("olmo2", {**c.OLMO2, **SMALL, "rotary": TURNING, "d_ff": 6}, "logits"),
    ("olmo2-scale-free", {**c.OLMO2, **SMALL, "rotary": TURNING, "d_ff": 6, "groups": 1, "epsilon": 0.0},
     "logits"),
    ("granite", {**c.LLAMA, **c.BIASES, **SMALL, "rotary": TURNING, **c.SCALED}, "logits"),
    ("mixtral", {**c.LLAMA, **SMALL, "rotary": TURNING, "experts": c.Experts(3, 2, 3)}, "logits"),
    ("layernorm-mixture", {**c.GPT2, **SMALL, "norm_offset": False, "experts": c.Experts(2, 2, 3)}, "logits"),
    ("no-norm-handed-on", {**c.SIZES, **SMALL, "query_bias": True, "ff_bias": True}, "logits"),
    ("no-norm-handed-on-twice", {**c.SIZES, **SMALL, "d_model": 5, "d_k": 1, "d_ff": 0, "layers": 2, "head_bias": True},
     "logits"),
    ("no-norm-values-past-a-router", {**c.SIZES, **SMALL, "d_v": 1, "d_ff": 0, "vocabulary": 0, "value_bias": True,
                                      "ff_bias": True, "experts": c.Experts(2, 2, 1)}, "logits"),
    ("no-norm-mixture", {**c.SIZES, **c.BIASES, **SMALL, "experts": c.Experts(3, 2, 3)}, "logits"),
    ("deepseek", {**c.LLAMA, **SMALL, "rotary": TURNING, "d_k": 4, "latent": c.Latent(3, 3, 2)}, "logits"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "output"), CASES, ids=[name for name, _, _ in CASES])
def test_nothing_is_unexplained(name: str, fields: dict[str, Any], output: Output) -> None:
    a = Architecture(**fields, name=name)
    result = accounted(a, output=output)
    assert result.decided
    assert result.unexplained == 0, dict(result.tensors)
    assert result.fibre.nullity == s.evaluate(dimension(a, output), a)
    new_directions = {share.name: share.new_directions for share in result.families}
    assert new_directions == {family.name: s.evaluate(family.dimension(a), a) for family in families(a, output)}
