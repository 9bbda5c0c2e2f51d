"""Probes are spread over the tokens, and what could not be looked at is said."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.exact.acceptance import Acceptance, Usable
from symgauge.exact.agreement import check_agreement
from symgauge.exact.dimension import dimension
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.outputs import clean
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.point import random_point
from symgauge.exact.probes import Tokens, Vectors
from symgauge.models.huggingface import tiny


@pytest.mark.parametrize("kind", ["llama", "deepseek_v3"])
def test_every_token_is_looked_at_in_company(kind: str) -> None:
    """At a plain random point, where three quarters of all tokens have no root in GF(p) for both primes."""
    model = tiny(kind)
    inputs = Tokens(model.config.vocab_size, 4)
    function = ParameterFunction(model, inputs)
    evaluation = Evaluation(function, random_point(function, 3), Calculus(FiniteField(DEFAULT_PRIMES[0], 3)))
    check_agreement(evaluation, 3)
    acceptance = Acceptance(evaluation, torch.Generator().manual_seed(0))
    seen = Counter(int(x[p]) for x, keys in acceptance.take(20) for p in keys if p)
    assert not acceptance.misses_a_token
    assert min(seen[v] for v in range(inputs.vocabulary)) >= 2


def test_clean_prefixes_are_kept_and_the_rest_drawn_anew() -> None:
    """Few sequences of ten tokens are usable as a whole when all are drawn; far more are that have grown."""
    model = tiny("llama")
    inputs = Tokens(model.config.vocab_size, 10)
    function = ParameterFunction(model, inputs)
    evaluation = Evaluation(function, random_point(function, 3), Calculus(FiniteField(DEFAULT_PRIMES[0], 3)))
    check_agreement(evaluation, 3)
    whole = []
    for rounds in (1, 5):
        acceptance = Acceptance(evaluation, torch.Generator().manual_seed(0), rounds=rounds)
        found = acceptance.take(10**6)
        assert acceptance.tried == 512 * rounds
        good = clean(evaluation(torch.stack([sequence for sequence, _ in found])))
        whole.append(int(good.all(1).sum()))
    assert whole[1] > 10 * (whole[0] + 1)


def nested_root(x: Tensor) -> Tensor:
    """√(2 + √(1 + x²)): half of all numbers have it neither in GF(p) nor in GF(p²)."""
    return torch.sqrt(torch.sqrt(1 + x**2) + 2)


class SumOfRoots(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 1)

    def forward(self, ids: Tensor) -> Tensor:
        return nested_root(self.table(ids)).cumsum(1)


def test_prefixes_without_missing_roots_grow() -> None:
    """Of sequences of 16 tokens that are drawn as a whole one in 2¹⁶ is usable to its end."""
    function = ParameterFunction(SumOfRoots(), Tokens(40, 16))
    evaluation = Evaluation(function, random_point(function, 3), Calculus(FiniteField(DEFAULT_PRIMES[0], 3)))
    check_agreement(evaluation, 3)
    found = Acceptance(evaluation, torch.Generator().manual_seed(0), rounds=5).take(10**6)
    assert sum(len(keys) == 16 for _, keys in found) > 10


class RootOfAParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return x * nested_root(self.w)


def test_where_nothing_can_be_looked_at_no_input_is_named() -> None:
    found = dimension(RootOfAParameter(), Vectors(1, 1), point="own", primes=DEFAULT_PRIMES[:1], rounds=1)
    assert (found.rank, found.saturated, len(found.inputs)) == (0, False, 0)


def test_a_token_is_seen_where_it_meets_others() -> None:
    """Not at the first position, where attention has nothing else to look at, but where there is no other."""
    keys = {0: (0, 1), 2: (2, 1)}
    assert Usable(torch.tensor([7, 8, 9]), keys).own() == [9]
    assert Usable(torch.tensor([7]), {0: (0, 1)}).own() == [7]
    assert Usable(torch.tensor([7, 8, 9]), keys, aligned=False).own() == [7, 8, 9]
    assert Usable(torch.zeros(3, 2), keys).own() == []


class Lost(nn.Module):
    """Sums of token rows. Row 7 has a factor √(2 + √(1 + w²)), which half of all points lack outside GF(p)."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(vocabulary, 2), nn.Linear(2, 4, bias=False)
        self.inner = nn.Parameter(torch.zeros(1))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids)
        rooted = x * nested_root(self.inner)
        return self.out(torch.where((ids == 7)[..., None], rooted, x).cumsum(1))


@pytest.mark.parametrize("vocabulary", [9, 60])
def test_a_token_that_cannot_be_looked_at_leaves_the_rank_unsettled(vocabulary: int) -> None:
    """Of 9 tokens all sequences are looked at, of 60 there are always more, of the other tokens.

    The nullity is that of a table times a matrix, 4, and one for the root, which the table undoes. A lost row has two
    directions more, and as other probes bring nothing new, only the lost token tells.
    """
    settled = []
    for seed in range(12):
        found = dimension(Lost(vocabulary), Tokens(vocabulary, 3), seed=seed, primes=DEFAULT_PRIMES[:1], rounds=3)
        settled.append(found.saturated)
        assert found.nullity == (5 if found.saturated else 7)
    assert set(settled) == {True, False}
