"""The random parameter point, and its token rows that are drawn again until their roots exist."""

from __future__ import annotations

import pytest
import torch

from symgauge.accounting import account, describe, natural_inputs
from symgauge.architecture import Architecture, Rotary
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.exact.point import random_point, with_rooted_embeddings
from symgauge.exact.subject import Subject

SANDWICH = Architecture(
    7, 2, 4, 5, d_ff=9, vocabulary=8, context=3, rotary=Rotary.standard(4), attention_softcap=5.0,
    activation="gelu_tanh", gated=True, norm="rms", placement="sandwich", final_norm=True, tied=True,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_no_two_numbers_of_a_point_are_equal_after_rows_are_drawn_again(seed: int) -> None:
    module, a, _ = describe(SANDWICH)
    subject = Subject(module, natural_inputs(a))
    first = random_point(subject, seed)
    theta = with_rooted_embeddings(subject, first, DEFAULT_PRIMES, seed)
    assert not theta.equal(first)
    assert len(torch.unique(theta)) == len(theta)


def test_as_many_tokens_as_channels_plus_one_are_enough_behind_an_output_norm() -> None:
    """With two equal tokens some u had n u = 1 for every normalised row n: a value bias that W_O does not show."""
    assert account(SANDWICH).complete
