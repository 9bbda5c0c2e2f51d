"""What is taken from a transformers model: the last position, the head's bias, distinct contexts, its mode."""

from __future__ import annotations

import pytest
import torch

from proofs_checks.linear_properties.network import evaluating, hidden_states, random_contexts, unembedding
from symgauge import Tokens
from symgauge.errors import UnsupportedModel
from symgauge.models.huggingface import tiny


def test_logits_of_the_last_position_are_dot_products() -> None:
    for family in ("gpt2", "bert"):
        model = tiny(family)
        ids = random_contexts(Tokens(model.config.vocab_size, 3), 70, 3, seed=2)
        f, g = hidden_states(model, ids), unembedding(model)
        torch.testing.assert_close(f @ g.T, model(ids).logits[:, -1])
        assert f.shape[1] == g.shape[1] == model.config.hidden_size + (family == "bert")


def test_contexts_are_distinct_and_all_where_there_are_few() -> None:
    drawn = random_contexts(Tokens(5, 9), 60, 3, seed=0)
    assert drawn.shape == (60, 3)
    assert len(torch.unique(drawn, dim=0)) == 60
    assert torch.equal(drawn, random_contexts(Tokens(5, 9), 60, 3, seed=0))
    assert len(random_contexts(Tokens(3, 9), 60, 2, seed=0)) == 9


def test_evaluation_mode_is_left_as_it_was() -> None:
    module = torch.nn.Linear(2, 2).train()
    with evaluating(module):
        assert not module.training
    assert module.training


def test_a_module_that_scales_its_logits_is_refused() -> None:
    model = tiny("gpt2")
    forward = model.forward

    def scaled(*arguments, **keywords):
        output = forward(*arguments, **keywords)
        output.logits = 2 * output.logits
        return output

    model.forward = scaled
    with pytest.raises(UnsupportedModel, match="not what its output layer gives"):
        hidden_states(model, torch.zeros(1, 3, dtype=torch.int64))
