"""Rows of all sequences in one backward pass are those of each sequence alone, however a module lays out its batch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401
from symgauge.arithmetic.cotangents import NOBODY, Cotangent, one_owner, summed
from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.tape import pull
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import wrap
from tests.arithmetic.real_field import RealField

GROUPS, LENGTH, WIDTH = 4, 3, 5
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(GROUPS, LENGTH, WIDTH, generator=GENERATOR, dtype=torch.float64)
W = torch.randn(WIDTH, WIDTH, generator=GENERATOR, dtype=torch.float64)
TOKENS = torch.tensor([[0, 1, 1], [2, 2, 2], [4, 0, 3], [1, 1, 0]])


def _routed(w: Tensor, x: Tensor) -> Tensor:
    """Two experts; each sees the rows that are sent to it, of whatever sequence."""
    flat = x.reshape(-1, WIDTH)
    side = flat.sum(1) > 0
    result = torch.zeros_like(flat) * w[0, 0]
    for which, expert in ((side, w), (~side, w.T)):
        rows = torch.nonzero(which).flatten()
        result = result.index_add(0, rows, flat[rows] @ expert)
    return result.reshape(x.shape)


def _attention(w: Tensor, x: Tensor) -> Tensor:
    q, k = x @ w, x @ w.T
    weights = torch.softmax((q @ k.mT).masked_fill(torch.ones(LENGTH, LENGTH).triu(1) > 0, -torch.inf), -1)
    return weights @ x + w[1] * x.mean(-1, keepdim=True)


def _grid(w: Tensor, x: Tensor) -> Tensor:
    """The batch as a grid: rows and columns of one product belong to several sequences at once."""
    return ((w[:2] @ w[:, :2]) * x.sum((1, 2)).reshape(2, 2)).reshape(GROUPS, 1)


LAYOUTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "batch first": lambda w, x: torch.tanh(x @ w),
    "flattened": lambda w, x: (x.reshape(-1, WIDTH) @ w).reshape(x.shape) + w[0],
    "time first": lambda w, x: (x.transpose(0, 1).flatten(0, 1) @ w).tanh().reshape(LENGTH, -1, WIDTH).movedim(0, 1),
    "columns": lambda w, x: (w @ x.reshape(-1, WIDTH).T).T.reshape(x.shape),
    "heads in the batch": lambda w, x: (x.mT.reshape(-1, 1, LENGTH) @ w[:3, :2]).reshape(x.shape[0], -1),
    "embedding": lambda w, x: F.embedding(TOKENS, w) * F.embedding(torch.arange(LENGTH), w) @ w,
    "attention": _attention,
    "experts": _routed,
    "gain and bias": lambda w, x: F.layer_norm(x * w[2], (WIDTH,), w[0], w[1]) + w[:3],
    "convolution": lambda w, x: F.conv1d(x.mT, w.reshape(WIDTH, WIDTH, 1).expand(-1, -1, 2)),
    "a function of the weights first": lambda w, x: x @ torch.softmax(w @ w, -1) / (w.square().sum() + 1).sqrt(),
    "an outer product with all": lambda w, x: (w[0, :, None] @ x.reshape(1, -1)).reshape(WIDTH, *x.shape).movedim(1, 0),
    "a grid": _grid,
    "a common part": lambda w, x: torch.cat([x @ w, w[:3].expand(GROUPS, -1, -1)], 1),
}  # fmt: skip


def _rows(f: Callable[[Tensor, Tensor], Tensor], field: FiniteField, groups: int, rows: Tensor) -> Residues:
    """(n, groups, entries of w): combinations ``rows`` (n, batch, …) of the outputs of each sequence, or of all."""
    calculus = Calculus(field)
    w = calculus.variable(W)
    with torch.no_grad():
        out = f(wrap(w, calculus), X)
    element = out.element  # type: ignore[attr-defined]
    owner = torch.arange(GROUPS).reshape(-1, *[1] * (len(element.shape) - 1)).expand(element.shape)
    assert element.node is not None
    assert w.node is not None
    found = pull(field, [(element.node, field.lift(rows), owner)], groups)[w.node]
    return found.map(lambda t: t.flatten(2))


def _jacobian(f: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    return torch.autograd.functional.jacobian(lambda w: f(w, X), W).flatten(-2)


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_of_a_batch_are_those_of_each_sequence(name: str) -> None:
    f = LAYOUTS[name]
    wanted = _jacobian(f)  # (batch, …, entries of w)
    rows = torch.randn(3, *wanted.shape[:-1], generator=GENERATOR, dtype=torch.float64)
    each = torch.einsum("nbo,boe->nbe", rows.flatten(2), wanted.flatten(1, -2))
    torch.testing.assert_close(_rows(f, RealField(), GROUPS, rows).re, each)
    torch.testing.assert_close(_rows(f, RealField(), 1, rows).re[:, 0], each.sum(1))
    assert not torch.allclose(each[:, 0], each[:, 1])  # rows that were mixed up would show


@pytest.mark.parametrize("name", LAYOUTS)
def test_modulo_a_prime_too(name: str) -> None:
    """By owners or one sequence after the other: the same residues, square roots outside GF(p) too."""
    f, field = LAYOUTS[name], FiniteField(2147483579, seed=1)
    shape = _jacobian(f).shape[:-1]
    rows = torch.randint(-9, 9, (3, *shape), generator=GENERATOR).double()
    together = _rows(f, field, GROUPS, rows)
    for g in range(GROUPS):
        alone = _rows(f, field, 1, torch.where(torch.arange(GROUPS).reshape(-1, *[1] * (len(shape) - 1)) == g, rows, 0))
        for a, b in zip(alone.parts(), together.parts(), strict=True):
            assert torch.equal(a[:, 0], b[:, g])


def test_owners_that_meet_are_kept_apart() -> None:
    field = RealField()
    one = Residues(torch.ones(2, 3, dtype=torch.float64))
    a, b = torch.tensor([0, 1, NOBODY]), torch.tensor([0, NOBODY, 1])
    same = summed(field, [Cotangent(one, a), Cotangent(one, b)], 2)
    assert same.owner is not None
    assert same.owner.tolist() == [0, 1, 1]
    apart = summed(field, [Cotangent(one, a), Cotangent(one, b.flip(0))], 2)
    assert apart.owner is None
    assert apart.rows.re.reshape(2, 2, 3)[0].tolist() == [[1, 0, 1], [1, 1, 0]]
    assert one_owner(torch.tensor([[0, NOBODY], [1, 1]]), 1).tolist() == [0, 1]  # type: ignore[union-attr]
    assert one_owner(torch.tensor([[0, NOBODY], [1, 1]]), 0) is None
    assert one_owner(torch.zeros(2, 0, dtype=torch.int64), 1).tolist() == [NOBODY] * 2  # type: ignore[union-attr]
