"""Sets of tensors that move alone, against looking at every set, and on modules whose trades are known."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch
from torch import Tensor, nn

from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension
from symgauge.exact.supports import Motion, TensorSet, supports


class Chain(nn.Module):
    """x ↦ x A B C + tanh(x D): any two of the product trade by GL(2), in 8 directions together; D is fixed."""

    def __init__(self) -> None:
        super().__init__()
        for name, shape in {"a": (3, 2), "b": (2, 2), "c": (2, 3), "d": (3, 3)}.items():
            setattr(self, name, nn.Parameter(torch.randn(shape, dtype=torch.float64)))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.a @ self.b @ self.c + torch.tanh(x @ self.d)


@pytest.fixture(scope="module")
def chain() -> FibreDimension:
    return dimension(Chain(), Vectors(1, 3))


def with_kernel(fibre: FibreDimension, sizes: list[int], vectors: Tensor) -> FibreDimension:
    """A fibre whose kernel these vectors span, and whose tensors have these sizes."""
    field = fibre.echelon.field
    span = Echelon(field, sum(sizes))
    span.add(Residues(vectors))
    rows = Echelon(field, sum(sizes))
    rows.add(span.kernel())
    names = tuple((f"t{i}", size) for i, size in enumerate(sizes))
    return dataclasses.replace(
        fibre, parameters=sum(sizes), rank=rows.rank, nullity=span.rank, names=names, echelon=rows
    )


def brute(fibre: FibreDimension, at_most: int) -> list[TensorSet]:
    """Every set of so many tensors, smallest first."""
    kernel, starts = fibre.kernel(), list(itertools.accumulate([0, *(count for _, count in fibre.names)]))
    spanned, found = Echelon(fibre.echelon.field, fibre.parameters), []
    for size in range(1, at_most + 1):
        for members in itertools.combinations(range(len(fibre.names)), size):
            rest = [c for t in range(len(fibre.names)) if t not in members for c in range(starts[t], starts[t + 1])]
            moved = Echelon(spanned.field, fibre.nullity)
            moved.add(kernel.map(lambda x, rest=rest: x[:, rest].mT.contiguous()))  # type: ignore[misc]
            inside = spanned.field.matmul(moved.kernel(), kernel)
            if new_directions := spanned.add(inside):
                found.append(TensorSet(tuple(fibre.names[t][0] for t in members), inside.shape[0], new_directions))
    return found


def test_factors_of_a_product_trade(chain: FibreDimension) -> None:
    found = supports(chain)
    assert [(s.tensors, s.dimension, s.new_directions) for s in found.sets] == [(("a", "b"), 4, 4), (("a", "c"), 4, 4)]
    assert (found.left, found.remaining) == (0, {})
    # b may stay still, for a and c trade through it; a and c may not.
    assert found.unknown == {"a": Motion(4, 4), "b": Motion(4, 4), "c": Motion(4, 4)}


def test_what_is_known_is_not_told_again(chain: FibreDimension) -> None:
    first = supports(chain, at_most=2).sets[0]
    known = Echelon(chain.echelon.field, chain.parameters)
    # The part of the kernel that leaves c and d alone is what a and b trade.
    kernel = chain.kernel()
    moved = Echelon(known.field, chain.nullity)
    moved.add(kernel.map(lambda x: x[:, 10:].mT.contiguous()))
    known.add(known.field.matmul(moved.kernel(), kernel))
    assert known.rank == first.dimension
    found = supports(chain, known=known)
    assert [(s.tensors, s.new_directions) for s in found.sets] == [(("a", "c"), 4)]
    assert found.unknown["a"] == Motion(0, 4)
    assert found.unknown["c"] == Motion(4, 4)


@pytest.mark.parametrize("seed", range(12))
def test_against_every_set(chain: FibreDimension, seed: int) -> None:
    """Random kernels: vectors on one to five of eight tensors, mixed by a random basis."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 5, (8,), generator=generator).tolist()
    owner = torch.repeat_interleave(torch.arange(8), torch.tensor(sizes))
    rows = []
    for _ in range(9):
        tensors = torch.randperm(8, generator=generator)[: int(torch.randint(1, 6, (), generator=generator))]
        inside = (owner.unsqueeze(1) == tensors).any(1)
        rows.append(torch.where(inside, torch.randint(1, 2**31 - 1, (len(owner),), generator=generator), 0))
    p = chain.echelon.field.p
    mix = torch.randint(0, p, (9, 9), generator=generator)
    vectors = chain.echelon.field.matmul(Residues(mix % p), Residues(torch.stack(rows) % p)).re
    fibre = with_kernel(chain, sizes, vectors)
    found = supports(fibre)
    assert list(found.sets) == brute(fibre, 3)
    assert found.left == fibre.nullity - sum(s.new_directions for s in found.sets)
    everything = brute(fibre, 8)
    assert sum(s.new_directions for s in everything) == fibre.nullity


def test_what_is_left_names_the_tensors_that_it_needs(chain: FibreDimension) -> None:
    """One vector on four tensors, one on two: the first is left, and needs all of its four."""
    vectors = torch.tensor([[1, 0, 2, 3, 4, 0], [0, 5, 0, 0, 0, 6]])
    found = supports(with_kernel(chain, [1] * 6, vectors))
    assert [(s.tensors, s.new_directions) for s in found.sets] == [(("t1", "t5"), 1)]
    assert found.left == 1
    assert {name for name, motion in found.remaining.items() if motion.need} == {"t0", "t2", "t3", "t4"}
    assert found.remaining["t1"] == Motion(0, 1)


def test_no_kernel_no_sets() -> None:
    found = supports(dimension(nn.Linear(3, 2), Vectors(1, 3)))
    assert (found.sets, found.left, found.unknown, found.remaining) == ((), 0, {}, {})


def test_many_tensors_take_seconds(chain: FibreDimension) -> None:
    """Sixty tensors with a trade between neighbours: all are found, where looking at 34,220 triples would take long."""
    sizes, rows = [4] * 60, []
    for i in range(0, 57, 2):
        row = torch.zeros(240, dtype=torch.int64)
        row[4 * i : 4 * i + 12] = torch.randint(1, 1000, (12,), generator=torch.Generator().manual_seed(i))
        rows.append(row)
    found = supports(with_kernel(chain, sizes, torch.stack(rows)))
    assert [s.tensors for s in found.sets] == [(f"t{i}", f"t{i + 1}", f"t{i + 2}") for i in range(0, 57, 2)]
    assert found.left == 0
