"""The published algorithms do what the paper says, on the numbers worked out by hand in its ledger."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from proofs_checks.gauge.published_algorithms import (
    algorithm_1,
    algorithm_2,
    algorithm_3,
    algorithm_4,
    formula_84,
    geometric_mean,
    power,
)
from symgauge.algorithms import AttentionParameters, random_attention
from symgauge.architecture import Rotary
from symgauge.errors import InvalidInput

SIZES: dict[str, Any] = {"d_model": 9, "heads": 3, "d_k": 2, "d_v": 4}


def scalars(q: float, k: float, v: float = 1.0, o: float = 1.0) -> AttentionParameters:
    return AttentionParameters(*(torch.full((1, 1, 1), x, dtype=torch.float64) for x in (q, k, v, o)))


def values(p: AttentionParameters) -> list[float]:
    return [float(x) for x in p.tensors().values()]


def positive(n: int, seed: int) -> Tensor:
    x = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x @ x.mT + 0.1 * torch.eye(n, dtype=torch.float64)


def test_formula_84_on_scalars() -> None:
    one, sixteen = (torch.full((1, 1), x, dtype=torch.float64) for x in (1.0, 16.0))
    assert float(formula_84(one, sixteen)) == pytest.approx(4)


def test_geometric_mean_solves_its_equation() -> None:
    p, r = positive(4, 1), positive(4, 2)
    mean = geometric_mean(torch.linalg.inv(p), r)
    assert torch.allclose(mean @ p @ mean, r)
    assert torch.allclose(mean, mean.mT)
    root = power(mean, 0.5)
    assert torch.allclose(root @ p @ root, torch.linalg.inv(root) @ r @ torch.linalg.inv(root))
    published = formula_84(p, r)
    assert not torch.allclose(
        published @ p @ published, torch.linalg.inv(published) @ r @ torch.linalg.inv(published), rtol=1e-2
    )


def test_algorithm_1_keeps_scores_and_forgets_values() -> None:
    p = random_attention(8, 3, 2, 2, seed=1)
    a = torch.stack([torch.eye(2, dtype=torch.float64) + 0.1 * i for i in range(3)])
    a[2] = torch.diag(torch.tensor([1.0, 1e-4], dtype=torch.float64))
    found = algorithm_1(p, a, a)
    assert found.rejected.tolist() == [False, False, True]
    assert torch.allclose(found.parameters.query @ found.parameters.key.mT, p.query @ p.key.mT)
    assert torch.equal(found.parameters.value, p.value)
    assert not torch.equal(found.parameters.query[1], p.query[1])
    assert not found.warned.any()


def test_algorithm_2_swaps_the_gram_matrices() -> None:
    p = random_attention(**SIZES)
    found = algorithm_2(p)
    before = [p.query.mT @ p.query, p.key.mT @ p.key]
    after = [found.query.mT @ found.query, found.key.mT @ found.key]
    order = (torch.linalg.matrix_norm(p.query) + torch.linalg.matrix_norm(p.key)).argsort(descending=True)
    assert torch.allclose(after[0], before[1][order])
    assert torch.allclose(after[1], before[0][order])
    assert torch.allclose(found.value.mT @ found.value, torch.eye(4, dtype=torch.float64).repeat(3, 1, 1), atol=1e-12)


def test_algorithm_3_on_scalars() -> None:
    assert values(algorithm_3(scalars(1, 2), scalars(2, 1)))[:2] == pytest.approx([1.25, 2.5])


def test_algorithm_4_on_scalars() -> None:
    one, two = algorithm_4(scalars(1, 1), scalars(2**0.5, 2**0.5))
    assert values(one)[:2] == pytest.approx([1, 1])
    assert values(two)[:2] == pytest.approx([1, 2])
    one, two = algorithm_4(scalars(1, 1), scalars(1, 1, -1, -1))
    assert one.distance(two) == pytest.approx(2 * 2**0.5)


def test_other_layers_are_refused() -> None:
    for change in ({"groups": 1}, {"biases": ("key_bias",)}, {"rotary": Rotary.standard(2)}):
        with pytest.raises(InvalidInput, match="without sharing"):
            algorithm_2(random_attention(**(SIZES | change)))
