"""The same code on CUDA gives the same answers. Skipped where there is no card."""

from __future__ import annotations

import pytest
import torch

from symgauge.algorithms import (
    align,
    apply,
    canonicalize,
    compress,
    equivalent,
    expand,
    project_gradient,
    random_element,
)
from tests.algorithms.cases import KINDS, apart, layer

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


@cuda
@pytest.mark.cuda
@pytest.mark.parametrize("kind", KINDS)
def test_cuda_agrees_with_cpu(kind: str) -> None:
    p = layer(kind)
    card = p.map(lambda x: x.cuda())
    element = random_element(card, 1, 30)
    moved = apply(card, element)
    for form in (None, "minor"):
        here, there = canonicalize(p, form), canonicalize(moved, form)  # type: ignore[arg-type]
        assert there.parameters.query.is_cuda
        assert apart(here.parameters, there.parameters.map(torch.Tensor.cpu)) < 1e-10
    packed = expand(compress(canonicalize(card, "minor")))
    assert packed.query.is_cuda
    answer = equivalent(card, moved)
    assert answer
    assert answer.element is not None
    assert torch.equal(answer.element.heads, element.heads)
    assert align(card, moved).after < 1e-10
    update = card.map(torch.ones_like)
    assert (
        apart(
            project_gradient(p, p.map(torch.ones_like)).horizontal,
            project_gradient(card, update).horizontal.map(torch.Tensor.cpu),
        )
        < 1e-10
    )
