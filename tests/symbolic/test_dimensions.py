"""Formulas against numbers measured elsewhere, and against the exact first-order kernels where these apply."""

from typing import Any

import pytest
import sympy as sp

from symgauge.errors import InvalidInput
from symgauge.symbolic import dimensions as dims
from symgauge.symbolic.tangent import first_order_kernel, random_attention

SMALL = {"d": 4, "h": 2, "d_k": 2, "d_v": 2, "d_ff": 5}


@pytest.mark.parametrize(
    ("formula", "sizes", "expected"),
    [
        (dims.pre_ln_block(), SMALL, 58),
        (dims.gpt2_model(tied=False, positions=False), SMALL | {"L": 2, "V": 5}, 152),
        (dims.gpt2_model(tied=False, positions=False, epsilon=False), SMALL | {"L": 2, "V": 5}, 153),
        (dims.gpt2_model(tied=True, positions=False), SMALL | {"L": 2}, 136),
        (dims.gpt2_model(tied=True, positions=False, epsilon=False), SMALL | {"L": 2}, 137),
        (dims.llama_model(tied=True), {"L": 2, "d": 4, "g": 2, "d_k": 2, "d_v": 2, "d_ff": 5}, 2 * (2 * 6 + 8 + 5)),
        (
            dims.gpt2_model(tied=True),
            {"d": 768, "h": 12, "d_k": 64, "d_v": 64, "d_ff": 3072, "L": 12, "n_ctx": 1024},
            1_346_584,
        ),
        (dims.llama_model(tied=False), {"g": 8, "d": 4096, "d_k": 128, "d_v": 128, "d_ff": 14336, "L": 32}, 13_338_624),
        (dims.query_key_norm(), {"h": 4, "g": 2, "d_k": 4, "d_v": 2}, 10),
        (dims.query_key_norm(epsilon=False), {"h": 4, "g": 2, "d_k": 4, "d_v": 2}, 16),
        (dims.feed_forward("relu"), {"d_ff": 6}, 6),
        (dims.feed_forward("swiglu"), {"d_ff": 6}, 6),
        (dims.feed_forward("gelu"), {}, 0),
    ],
)
def test_numbers(formula, sizes, expected):
    assert formula.at(**sizes) == expected


def test_probabilities_and_positions():
    token = SMALL | {"L": 1, "V": 7, "n_ctx": 3}
    assert dims.gpt2_model(tied=True, output="probabilities").total - dims.gpt2_model(tied=True).total == dims.d
    with_positions, without = dims.gpt2_model(tied=False), dims.gpt2_model(tied=False, positions=False)
    assert with_positions.at(**token) - without.at(**{k: v for k, v in token.items() if k != "n_ctx"}) == 3 + 3


def test_bert_scales_without_epsilon():
    assert sp.expand(dims.bert_model(epsilon=False).total - dims.bert_model().total - 2 * dims.L - 1) == 0


@pytest.mark.parametrize(
    ("formula", "point"),
    [
        (dims.mha(), {"groups": (0, 1, 2)}),
        (dims.gqa(), {"groups": (0, 0, 1)}),
        (dims.mha_biased(), {"groups": (0, 1), "biases": "qkvo"}),
        (dims.mha_biased(output_bias=False), {"groups": (0, 1), "biases": "qkv"}),
    ],
)
def test_attention_formulas_are_the_exact_kernel_dimensions(formula, point):
    sizes: dict[str, Any] = {"d": 5, "d_k": 2, "d_v": 3}
    groups = point["groups"]
    symbols = {str(symbol) for symbol in formula.total.free_symbols}
    given = {"h": len(groups), "g": max(groups) + 1} | sizes
    expected = formula.at(**{name: value for name, value in given.items() if name in symbols})
    assert first_order_kernel(random_attention(**sizes, **point)).dimension == expected


def test_parts_add_up():
    block = dims.pre_ln_block()
    assert sp.expand(block.total - sum(part for _, part in block.parts)) == 0
    assert len({name for name, _ in block.parts}) == len(block.parts)


def test_bad_input_is_named():
    with pytest.raises(InvalidInput, match="no symbol named heads"):
        dims.mha().at(heads=2)
    with pytest.raises(InvalidInput, match="missing: d_v"):
        dims.mha().at(h=2, d_k=2)
    with pytest.raises(InvalidInput, match="probabilities"):
        dims.gpt2_model(tied=True, output="odds")
    with pytest.raises(InvalidInput, match="not one of"):
        dims.feed_forward("sine")  # type: ignore[arg-type]
