"""The random parameter point, and its token rows that are drawn again until their roots exist."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from symgauge.accounting import account
from symgauge.architecture import Architecture, Rotary
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.exact.agreement import check_agreement
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.point import _first_shared_root, _radicands, random_point, with_rooted_embeddings
from symgauge.exact.probes import Tokens, Vectors
from symgauge.measurement import dimension
from symgauge.models.huggingface import tiny
from symgauge.subjects import subject_of
from symgauge.symmetries import dimension as formula
from symgauge.symmetries.symbols import evaluate

SANDWICH = Architecture(
    7, 2, 4, 5, d_ff=9, vocabulary=8, context=3, rotary=Rotary.standard(4), attention_softcap=5.0,
    activation="gelu_tanh", gated=True, norm="rms", placement="sandwich", final_norm=True, tied=True,
)  # fmt: skip
POST = SANDWICH.replace(placement="post")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("a", [SANDWICH, POST], ids=["sandwich", "post"])
def test_no_two_numbers_of_a_point_are_equal_after_rows_are_drawn_again(a: Architecture, seed: int) -> None:
    subject = subject_of(a)
    function = ParameterFunction(subject.module, subject.inputs)
    first = random_point(function, seed)
    theta = with_rooted_embeddings(function, first, DEFAULT_PRIMES, seed)
    assert len(torch.unique(theta)) == len(theta)
    assert theta.equal(first) == (a is POST)  # its first radicand is always in GF(p)


@pytest.mark.parametrize(("kind", "share"), [("llama", 0.95), ("bloom", 0.7), ("deepseek_v3", 0.95), ("gpt2", 0.5)])
def test_tokens_enter_the_stream_with_roots_in_the_field(kind: str, share: float) -> None:
    """That share of tokens, places and primes in sequences of random tokens; the plain draw has some 0.2.

    BLOOM has two roots before tokens meet, so the partner must be good at both; GPT-2's depend on the position too.
    """
    model = tiny(kind)
    inputs = Tokens(model.config.vocab_size, 4)
    function = ParameterFunction(model, inputs)
    check_agreement(Evaluation(function, random_point(function, 0), Calculus(FiniteField(DEFAULT_PRIMES[0]))), 0)
    batch = inputs.draw(64, torch.Generator().manual_seed(5))
    before, after = [], []
    for seed in range(3):
        first = random_point(function, seed)
        site = _first_shared_root(function, inputs, first, DEFAULT_PRIMES[0])
        assert site is not None
        for found, theta in (
            (before, first),
            (after, with_rooted_embeddings(function, first, DEFAULT_PRIMES, seed)),
        ):
            for prime in DEFAULT_PRIMES:
                im = _radicands(function, theta, prime, batch, site)[site].value.im
                found.append(1.0 if im is None else float((im == 0).double().mean()))
    assert sum(before) / len(before) < 0.4
    assert sum(after) / len(after) > share


class Rooted(nn.Module):
    """``apart`` norms of each token by itself, then a sum over the tokens before, and ``together`` norms of that."""

    def __init__(self, apart: int, together: int) -> None:
        super().__init__()
        self.table, self.apart, self.together = nn.Embedding(9, 4), apart, together

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids)
        for i in range(self.apart + self.together):
            x = x.cumsum(1) if i == self.apart else x
            x = x * (x.pow(2).mean(-1, keepdim=True) + 1).rsqrt() + i
        return x


@pytest.mark.parametrize(
    ("apart", "together", "site"), [(1, 2, 1), (2, 1, 2), (0, 1, 0), (3, 0, 1), (2, 0, 1), (1, 0, None), (0, 0, None)]
)
def test_the_first_root_that_tokens_share_is_found(apart: int, together: int, site: int | None) -> None:
    function = ParameterFunction(Rooted(apart, together), Tokens(9, 4))
    check_agreement(Evaluation(function, random_point(function, 0), Calculus(FiniteField(DEFAULT_PRIMES[0]))), 0)
    assert _first_shared_root(function, Tokens(9, 4), random_point(function, 0), DEFAULT_PRIMES[0]) == site


def test_as_many_tokens_as_channels_plus_one_are_enough_behind_an_output_norm() -> None:
    """With two equal tokens some u had n u = 1 for every normalised row n: a value bias that W_O does not show."""
    assert account(SANDWICH).complete


GROWING = Architecture(
    4, 1, 2, 5, layers=2, d_ff=2, vocabulary=0, context=4, attention="linear", causal=False, activation="silu"
)


@pytest.mark.parametrize("a", [GROWING, GROWING.replace(activation="tanh", ff_bias=True)], ids=["silu", "tanh"])
def test_numbers_that_grow_beyond_float64_hide_no_parameters(a: Architecture) -> None:
    """Sigmoids of 1e8 are 0 or 1: units of a second layer look free at a point of the usual size."""
    found = dimension(subject_of(a))
    assert found.function.point_size < 1
    assert found.nullity == found.parameters - found.float_rank == evaluate(formula(a), a)


class Masked(nn.Module):
    """Attention under a mask of big numbers, the first row of which sees itself alone at any size of the point."""

    def __init__(self, mask: float) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(3, 3, bias=False) for _ in range(3))
        self.mask = mask

    def forward(self, x: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).mT + self.mask * torch.ones(x.shape[1], x.shape[1]).triu(1)
        return torch.softmax(scores, -1) @ self.value(x)


@pytest.mark.parametrize("mask", [-1e4, -1e9, torch.finfo(torch.float32).min])
def test_masks_leave_a_point_as_it_is(mask: float) -> None:
    found = dimension(Masked(mask), Vectors(4, 3))
    assert found.function.point_size == 1
    assert found.nullity == 9
