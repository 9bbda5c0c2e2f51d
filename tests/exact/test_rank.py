"""Echelon forms against python-flint: shapes that break hand-written eliminations, sparse and extended matrices."""

from itertools import pairwise

import flint
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("extended", [False, True])
def test_what_is_left_of_rows_differs_from_them_inside_the_span(extended: bool) -> None:
    echelon = Echelon(FIELD, 30)
    echelon.add(random_rank(12, 30, 9, seed=1, extended=extended))
    rows = random_rank(300, 30, 20, seed=2)
    rest = echelon.reduce(rows)
    assert (rest.im is None) == (not extended)
    assert bool(FIELD.is_zero(rest.map(lambda x: x[:, echelon.pivots])).all())
    assert bool(echelon.contains(FIELD.sub(rows, rest)).all())
    assert not bool(FIELD.is_zero(rest).all(1).any())


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two-dimensional integer"):
        rank(torch.zeros(3), P)
    with pytest.raises(InvalidInput, match="not prime"):
        rank(torch.zeros(3, 3, dtype=torch.int64), 15)
    with pytest.raises(InvalidInput, match="rows of length 4"):
        Echelon(FIELD, 4).reduce(Residues(torch.zeros(2, 5, dtype=torch.int64)))


# ----- against flint, for many shapes

SMALL_PRIMES = (7, 11, 23)
PRIMES = (*SMALL_PRIMES, *DEFAULT_PRIMES)


def flint_matrix(matrix: torch.Tensor, p: int) -> flint.nmod_mat:
    return flint.nmod_mat(*matrix.shape, matrix.flatten().tolist(), p)


def real_form(a: Residues, p: int) -> torch.Tensor:
    im = torch.zeros_like(a.re) if a.im is None else a.im
    return torch.cat([torch.cat([a.re, (p - im) % p], 1), torch.cat([im, a.re], 1)])


def matrix_with(p: int, shape: tuple[int, int, int], density: float, high: bool, extended: bool, seed: int) -> Residues:
    """A product of matrices (m, r) and (r, n), sparse or not; its entries are close to p if ``high`` and r is small."""
    m, n, r = shape
    g = torch.Generator().manual_seed(seed)

    def draw(*size: int) -> Residues:
        parts = [torch.randint(0, p, size, generator=g) for _ in range(1 + extended)]
        if high:
            parts = [p - 1 - x % 3 for x in parts]
        return Residues(*(x * (torch.rand(size, generator=g) < density) for x in parts))

    return FiniteField(p).matmul(draw(m, r), draw(r, n))


def assert_is_the_form_of(echelon: Echelon, a: Residues) -> None:
    """With the pivots' columns first it must be flint's reduced form; over GF(p²) of the real form."""
    p, n = echelon.field.p, a.shape[1]
    free = torch.tensor([j for j in range(n) if j not in set(echelon.pivots.tolist())], dtype=torch.int64)
    order = torch.cat([echelon.pivots, free])
    pivots, rest = (torch.cat([x, x + n]) for x in (echelon.pivots, free))
    doubled = torch.cat([pivots, rest])
    reduced, found = flint_matrix(real_form(a, p)[:, doubled], p).rref()
    assert found == 2 * echelon.rank
    ours = real_form(echelon.basis, p)[:, doubled]
    theirs = [[int(reduced[i, j]) for j in range(2 * n)] for i in range(found)]
    assert ours.tolist() == theirs
    assert sorted(order.tolist()) == list(range(n))


@given(
    st.sampled_from(PRIMES),
    st.tuples(st.integers(0, 90), st.integers(0, 60), st.integers(0, 60)),
    st.sampled_from([1.0, 0.3, 0.05]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
    st.lists(st.integers(0, 90), max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_streamed_rows_give_the_form_that_flint_finds(
    p: int,
    shape: tuple[int, int, int],
    density: float,
    high: bool,
    extended: bool,
    seed: int,
    cuts: list[int],
) -> None:
    field = FiniteField(p)
    a = matrix_with(p, shape, density, high, extended, seed)
    m, n, _ = shape
    whole, streamed = Echelon(field, n), Echelon(field, n)
    assert whole.add(a) == whole.rank
    bounds = [0, *sorted(min(c, m) for c in cuts), m]
    gained = sum(streamed.add(a.map(lambda x, s=s, e=e: x[s:e])) for s, e in pairwise(bounds))
    assert gained == streamed.rank == whole.rank
    for echelon in (whole, streamed):
        assert_is_the_form_of(echelon, a)
        assert bool(echelon.contains(a).all())
        assert bool(field.is_zero(echelon.reduce(a)).all())
        kernel = echelon.kernel()
        assert kernel.shape == (n - echelon.rank, n)
        assert bool(field.is_zero(field.matmul(a, kernel.map(lambda x: x.mT))).all())
        assert (echelon.basis.im is None) <= (not extended or not echelon.rank)


def test_no_row_is_lost_where_a_window_is_deficient() -> None:
    """Rows that are equal in the first columns, so that one window gives one pivot and the others come later."""
    g = torch.Generator().manual_seed(0)
    for count, same in ((32, 80), (33, 200), (300, 700)):
        rows = torch.randint(0, P, (count, same + count), generator=g)
        rows[:, :same] = rows[0, :same]
        # One dead row in between, and one that only the last column tells from another.
        rows[count // 2] = 0
        rows[3] = rows[2]
        rows[3, -1] += 1
        rows %= P
        echelon = Echelon(FIELD, same + count)
        assert echelon.add(Residues(rows)) == flint_rank(rows) == count - 1


def test_block_structure_with_duplicates() -> None:
    blocks = [random_rank(40, 30, r, seed=r).re for r in (1, 5, 30)]
    matrix = torch.block_diag(*blocks)
    matrix = torch.cat([matrix, matrix.flip(0), torch.zeros_like(matrix), 2 * matrix % P])
    for rows in (matrix, matrix[torch.randperm(len(matrix), generator=torch.Generator().manual_seed(0))]):
        echelon = Echelon(FIELD, 90)
        assert echelon.add(Residues(rows)) == 36
        assert_is_the_form_of(echelon, Residues(rows))


def test_a_copy_grows_on_its_own() -> None:
    a, b = random_rank(20, 60, 20, seed=1), random_rank(20, 60, 20, seed=2, extended=True)
    echelon = Echelon(FIELD, 60)
    echelon.add(a)
    twin, before = echelon.copy(), echelon.basis
    twin.add(b)
    assert (echelon.rank, twin.rank) == (20, 40)
    assert torch.equal(echelon.basis.re, before.re)
    assert echelon.basis.im is None


def test_larger_matrices_have_the_rank_that_flint_finds() -> None:
    for shape in ((700, 600, 411), (520, 900, 520), (900, 260, 260)):
        matrix = random_rank(*shape, seed=0).re
        assert rank(matrix, P) == flint_rank(matrix) == shape[2]
