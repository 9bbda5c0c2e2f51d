"""Probes are spread over the tokens, and what could not be looked at is said."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.jet import Calculus
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.exact.acceptance import Acceptance
from symgauge.exact.agreement import check_agreement
from symgauge.exact.dimension import dimension
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.point import random_point
from symgauge.exact.probes import Tokens
from symgauge.exact.subject import Subject
from symgauge.models.huggingface import tiny


@pytest.mark.parametrize("kind", ["llama", "deepseek_v3"])
def test_every_token_is_looked_at_in_company(kind: str) -> None:
    """At a plain random point, where three quarters of all tokens have no root in GF(p) for both primes."""
    model = tiny(kind)
    inputs = Tokens(model.config.vocab_size, 4)
    subject = Subject(model, inputs)
    evaluation = Evaluation(subject, random_point(subject, 3), Calculus(FiniteField(DEFAULT_PRIMES[0], 3)))
    check_agreement(evaluation, 3)
    acceptance = Acceptance(evaluation, torch.Generator().manual_seed(0))
    seen = Counter(int(x[p]) for x, keys in acceptance.take(20) for p in keys if p)
    assert not acceptance.blind
    assert min(seen[v] for v in range(inputs.vocabulary)) >= 4


class Lost(nn.Module):
    """One token's output is a root of minus one times a square: it exists in no field here, for that token alone."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(40, 3), nn.Linear(3, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.table(ids)
        root = torch.sqrt(1 + x[..., :1] ** 2)
        inner = torch.where((ids == 7)[..., None], torch.sqrt(root + 2), torch.ones_like(root))
        return self.out(x * inner)


def test_a_token_that_cannot_be_looked_at_leaves_the_rank_unsettled() -> None:
    """√(2 + √u) exists for half of all u outside GF(p): at some seeds token 7 has none, and then nothing is settled."""
    settled = []
    for seed in range(12):
        found = dimension(Lost(), Tokens(40, 3), seed=seed, primes=DEFAULT_PRIMES[:1], rounds=3)
        settled.append(found.saturated)
        assert found.saturated == (found.nullity == 9)
    assert set(settled) == {True, False}
