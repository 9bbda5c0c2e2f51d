"""The horizontal part is orthogonal to every generator, and a true gradient is horizontal already."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.func import grad, jvp

from symgauge.algorithms import (
    AttentionParameters,
    NonGeneric,
    identity_element,
    project_gradient,
    random_element,
)
from symgauge.algorithms.transform import shift
from symgauge.errors import InvalidInput
from tests.algorithms.cases import KINDS, layer, outputs


def generator_at(p: AttentionParameters, seed: int) -> AttentionParameters:
    """The derivative of a finite action along a random direction of the Lie algebra (no inverse taken by hand)."""
    direction, one, of = random_element(p, seed), identity_element(p), p.group_of_head()

    def act(t: Tensor) -> dict[str, Tensor]:
        a, c = one.query_key + t * direction.query_key, one.value_output + t * direction.value_output
        changes = {"query": p.query @ a[of], "key": p.key @ torch.linalg.inv(a).mT}
        changes |= {"value": p.value @ c, "output": torch.linalg.inv(c)[of] @ p.output}
        if p.query_bias is not None and p.key_bias is not None and p.value_bias is not None:
            changes["query_bias"] = (p.query_bias.unsqueeze(1) @ a[of]).squeeze(1)
            changes["key_bias"] = (p.key_bias.unsqueeze(1) @ torch.linalg.inv(a).mT).squeeze(1)
            changes["value_bias"] = (p.value_bias.unsqueeze(1) @ c).squeeze(1)
        moved = p.replace(**changes)
        shifts = [None if x is None else t * x for x in (direction.key_shift, direction.value_shift)]
        return shift(moved, *shifts).tensors()

    at, along = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    return p.replace(**jvp(act, (at,), (along,))[1])


def inner(one: AttentionParameters, two: AttentionParameters) -> float:
    return float(sum((x * two.tensors()[name]).sum() for name, x in one.tensors().items()))


def cosine(one: AttentionParameters, two: AttentionParameters) -> float:
    return abs(inner(one, two)) / one.norm() / two.norm()


def random_update(p: AttentionParameters, seed: int = 0) -> AttentionParameters:
    g = torch.Generator().manual_seed(seed)
    return p.map(lambda x: torch.randn(x.shape, generator=g, dtype=torch.float64).to(x))


@pytest.mark.parametrize("kind", KINDS)
def test_horizontal_part_is_orthogonal_to_all_generators(kind: str) -> None:
    p = layer(kind)
    update = random_update(p)
    found = project_gradient(p, update)
    vectors = [generator_at(p, seed) for seed in range(20)]
    assert max(cosine(update, v) for v in vectors) > 1e-3
    assert max(cosine(found.horizontal, v) for v in vectors) < 1e-14
    # … and nothing else was removed: what is removed is a generator, so it is removed entirely.
    assert found.vertical.norm() > 1e-2 * update.norm()
    assert project_gradient(p, found.vertical).horizontal.norm() < 1e-13 * update.norm()
    for v in vectors[:3]:
        assert project_gradient(p, v).horizontal.norm() < 1e-13 * v.norm()
    assert (
        abs(update.norm() ** 2 - found.horizontal.norm() ** 2 - found.vertical.norm() ** 2) < 1e-12 * update.norm() ** 2
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_true_gradient_is_left_alone(kind: str) -> None:
    p = layer(kind)

    def loss(tensors: dict[str, Tensor]) -> Tensor:
        return (outputs(p.replace(**tensors)) - 1).square().sum()

    gradient = p.replace(**grad(loss)(p.tensors()))
    assert project_gradient(p, gradient).vertical.norm() < 1e-12 * gradient.norm()
    signs = gradient.map(torch.sign)
    assert project_gradient(p, signs).vertical.norm() > 1e-3 * signs.norm()


def test_generators_are_returned() -> None:
    p, z = layer("plain"), torch.randn(3, 2, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vertical = p.map(torch.zeros_like).replace(query=p.query @ z, key=-p.key @ z.mT)
    found = project_gradient(p, vertical)
    assert torch.allclose(found.query_key, z, atol=1e-13)
    assert float(found.value_output.abs().max()) < 1e-13


def test_float32() -> None:
    p = layer("biases", dtype=torch.float32)
    update = random_update(p)
    exact = project_gradient(p.map(torch.Tensor.double), update.map(torch.Tensor.double)).horizontal
    single = project_gradient(p, update).horizontal
    assert single.query.dtype == torch.float32
    assert single.map(torch.Tensor.double).distance(exact) < 1e-5 * exact.norm()


def test_bad_input() -> None:
    p = layer("plain")
    with pytest.raises(InvalidInput, match="differ in 'key'"):
        project_gradient(p, AttentionParameters(p.query, p.key[:1].expand(1, -1, -1), p.value[:1], p.output))
    with pytest.raises(InvalidInput, match="only one"):
        project_gradient(p, p.replace(output_bias=torch.zeros(9, dtype=torch.float64)))
    with pytest.raises(InvalidInput, match="gradient: 'value'"):
        project_gradient(p, p.replace(value=p.value * float("nan")))
    flat = [torch.cat([x[:, :, :1], x[:, :, :1]], -1) for x in (p.query, p.key)]
    with pytest.raises(NonGeneric, match="lose rank"):
        project_gradient(p.replace(query=flat[0], key=flat[1]), p)
