"""Echelon forms against python-flint: shapes that break hand-written eliminations, sparse and extended matrices."""

import flint
import pytest
import torch

from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.errors import InvalidInput
from symgauge.exact.rank import Echelon, rank

P = DEFAULT_PRIMES[0]
FIELD = FiniteField(P)


def flint_rank(matrix: torch.Tensor) -> int:
    return int(flint.nmod_mat(*matrix.shape, matrix.flatten().tolist(), P).rank())


def random_rank(m: int, n: int, r: int, seed: int, extended: bool = False) -> Residues:
    g = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Residues:
        return Residues(*(torch.randint(0, P, shape, generator=g) for _ in range(1 + extended)))

    return FIELD.matmul(draw(m, r), draw(r, n))


SHAPES = [(0, 5, 0), (5, 0, 0), (1, 1, 1), (1, 1, 0), (4, 90, 3), (90, 4, 3), (70, 70, 70), (200, 150, 97), (6, 6, 0)]


@pytest.mark.parametrize(("m", "n", "r"), SHAPES)
def test_rank_agrees_with_flint(m: int, n: int, r: int) -> None:
    matrix = random_rank(m, n, r, seed=m + n).re if r else torch.zeros(m, n, dtype=torch.int64)
    assert rank(matrix, P) == flint_rank(matrix) == r


@pytest.mark.parametrize("seed", range(5))
def test_sparse_matrices_with_zero_rows_and_columns(seed: int) -> None:
    g = torch.Generator().manual_seed(seed)
    matrix = torch.randint(0, P, (120, 90), generator=g) * (torch.rand(120, 90, generator=g) < 0.02)
    assert rank(matrix, P) == flint_rank(matrix)


def test_negative_entries_reduce() -> None:
    assert rank(torch.tensor([[-1, P - 1], [1, 1]]), P) == 1


@pytest.mark.parametrize(("m", "n", "r"), [(40, 30, 17), (30, 40, 30), (100, 64, 50)])
def test_extension_rank_is_half_the_real_form(m: int, n: int, r: int) -> None:
    a = random_rank(m, n, r, seed=7, extended=True)
    assert a.im is not None
    real_form = torch.cat([torch.cat([a.re, (P - a.im) % P], 1), torch.cat([a.im, a.re], 1)])
    echelon = Echelon(FIELD, n)
    echelon.add(a.map(lambda x: x[: m // 2]))
    echelon.add(a.map(lambda x: x[m // 2 :]))
    assert echelon.rank == r
    assert flint_rank(real_form) == 2 * r


@pytest.mark.parametrize("extended", [False, True])
def test_kernel_annihilates_every_row_and_is_complete(extended: bool) -> None:
    a = random_rank(50, 40, 23, seed=3, extended=extended)
    echelon = Echelon(FIELD, 40)
    echelon.add(a)
    kernel = echelon.kernel()
    assert kernel.shape == (17, 40)
    assert bool(FIELD.is_zero(FIELD.matmul(a, kernel.map(lambda x: x.mT))).all())
    independent = Echelon(FIELD, 40)
    independent.add(kernel)
    assert independent.rank == 17


def test_real_rows_may_follow_extended_ones_and_the_other_way_round() -> None:
    real, extended = random_rank(10, 30, 10, seed=1), random_rank(10, 30, 10, seed=2, extended=True)
    for first, second in ((real, extended), (extended, real)):
        echelon = Echelon(FIELD, 30)
        echelon.add(first)
        echelon.add(second)
        assert echelon.rank == 20
        assert bool(echelon.contains(first).all())
        assert bool(echelon.contains(second).all())


def test_membership_can_be_denied() -> None:
    a = random_rank(10, 30, 10, seed=1)
    echelon = Echelon(FIELD, 30)
    echelon.add(a)
    changed = a.re.clone()
    changed[4, 7] += 1
    assert echelon.contains(Residues(changed % P)).tolist() == [i != 4 for i in range(10)]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two-dimensional integer"):
        rank(torch.zeros(3), P)
    with pytest.raises(InvalidInput, match="not prime"):
        rank(torch.zeros(3, 3, dtype=torch.int64), 15)
    with pytest.raises(InvalidInput, match="rows of length 4"):
        Echelon(FIELD, 4).reduce(Residues(torch.zeros(2, 5, dtype=torch.int64)))
