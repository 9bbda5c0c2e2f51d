"""Products of centred residues against flint and Python integers, at the largest sums that can occur."""

import flint
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symgauge.arithmetic.modular_products import BASE, CHUNK, add_product, centre_, centred, matmul, residues
from symgauge.arithmetic.primes import DEFAULT_PRIMES

P = DEFAULT_PRIMES[0]


def flint_product(a: torch.Tensor, b: torch.Tensor, p: int) -> torch.Tensor:
    x, y = (flint.nmod_mat(*m.shape, m.flatten().tolist(), p) for m in (a, b))
    return torch.tensor([int(e) for e in (x * y).entries()], dtype=torch.int64).reshape(len(a), b.shape[1])


@given(
    st.sampled_from((7, 11, 23, *DEFAULT_PRIMES)),
    st.tuples(st.integers(1, 40), st.integers(0, 600), st.integers(1, 40)),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=60)
def test_products_are_those_of_flint(
    p: int, shape: tuple[int, int, int], extended: tuple[bool, bool], high: bool, seed: int
) -> None:
    (m, k, n), g = shape, torch.Generator().manual_seed(seed)
    a, b = (
        tuple(torch.randint(max(0, p - 3) if high else 0, p, size, generator=g) for _ in range(1 + e))
        for size, e in (((m, k), extended[0]), ((k, n), extended[1]))
    )
    zero_a, zero_b = torch.zeros_like(a[0]), torch.zeros_like(b[0])
    (ar, ai), (br, bi) = (*a, zero_a)[:2], (*b, zero_b)[:2]
    re = (flint_product(ar, br, p) - flint_product(ai, bi, p)) % p
    im = (flint_product(ar, bi, p) + flint_product(ai, br, p)) % p
    found = matmul(a, b, p)
    assert len(found) == 1 + any(extended)
    assert all(torch.equal(x, y) for x, y in zip(found, (re, im), strict=False))


def test_batches_are_those_of_torch() -> None:
    a, b = torch.randint(0, P, (5, 1, 30, 20)), torch.randint(0, P, (7, 20, 11))
    (found,) = matmul((a,), (b,), P)
    assert found.shape == (5, 7, 30, 11)
    assert torch.equal(found[3, 4], flint_product(a[3, 0], b[4], P))
    (flat,) = matmul((a,), (b[0],), P)
    assert torch.equal(flat[2, 0], flint_product(a[2, 0], b[0], P))


LARGEST_LOW, LARGEST_HIGH = BASE // 2, (P // 2) // BASE * BASE + BASE // 2
"""Centred residues whose digits are as large as can be, one each."""


@pytest.mark.parametrize("inner", [CHUNK - 1, CHUNK, CHUNK + 1, *range(363, 1024, 20)])
@pytest.mark.parametrize("worst", [LARGEST_LOW, min(LARGEST_HIGH, P // 2), P // 2])
def test_the_largest_sums_are_exact(inner: int, worst: int) -> None:
    """All summands of one sign and odd: any inner chunk longer than 362 would be rounded here."""
    a = torch.full((2, inner), float(worst), dtype=torch.float64)
    b = torch.full((inner, 3), float(P // 2), dtype=torch.float64)
    for x, y in ((a, b), (b.mT.contiguous(), a.mT.contiguous())):
        zero = torch.zeros(len(x), y.shape[1], dtype=torch.float64)
        (found,) = add_product((zero,), (x,), (y,), P)
        assert set(residues(found, P).flatten().tolist()) == {inner * worst * (P // 2) % P}


@pytest.mark.parametrize("inner", [63, 65, 129, 255, 257, 511])
def test_the_largest_sums_are_exact_over_the_extension_and_uncentred(inner: int) -> None:
    """Sums of two parts and residues in [0, p) are twice as large; odd ones would be rounded if nothing was done."""
    # Both digits odd, and nearly the largest.
    large = 46339 * BASE + BASE // 2
    for m, n in ((20, 40), (40, 20)):
        a = torch.full((m, inner), large)
        b = torch.full((inner, n), P - 2)
        assert set(matmul((a,), (b,), P)[0].flatten().tolist()) == {inner * large * (P - 2) % P}
        zero = torch.zeros(m, n, dtype=torch.float64)
        x = tuple(torch.full((m, inner), float(BASE // 2), dtype=torch.float64) for _ in range(2))
        y = tuple(torch.full((inner, n), float(P // 2 - i), dtype=torch.float64) for i in range(2))
        re, im = (set(residues(z, P).flatten().tolist()) for z in add_product((zero,), x, y, P))
        assert re == {inner * (BASE // 2) % P}
        assert im == {inner * (BASE // 2) * (2 * (P // 2) - 1) % P}


@pytest.mark.parametrize("inner", [64, 96, 128, 256, 512])
def test_residues_near_p_multiply_exactly(inner: int) -> None:
    """Roundings of equal summands may undo each other; those of different ones do not. The higher digit is odd."""
    g, large = torch.Generator().manual_seed(inner), 46339 * BASE
    for m, n in ((20, 40), (40, 20)):
        sizes = ((m, inner), (inner, n))
        a, b = (torch.randint(large - BASE // 2, large + BASE // 2, size, generator=g) for size in sizes)
        assert torch.equal(matmul((a,), (b,), P)[0], flint_product(a, b, P))


@given(st.sampled_from((7, 11, *DEFAULT_PRIMES)), st.lists(st.integers(-(2**53) + 2**31, 2**53 - 2**31), min_size=1))
def test_centring_is_exact_and_zero_just_at_multiples(p: int, numbers: list[int]) -> None:
    numbers = [*numbers, *(x // p * p for x in numbers if x > 0)]
    found = [int(x) for x in centre_(torch.tensor(numbers, dtype=torch.float64), p).tolist()]
    for x, y in zip(numbers, found, strict=True):
        assert (x - y) % p == 0
        assert 2 * abs(y) <= p + 4
        assert (y == 0) == (x % p == 0)


def test_residues_come_back() -> None:
    x = torch.cat([torch.arange(5), torch.arange(P // 2 - 3, P // 2 + 3), torch.arange(P - 5, P)])
    assert torch.equal(residues(centred(x, P), P), x)
