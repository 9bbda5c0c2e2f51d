"""Field arithmetic against Python integers, python-flint and galois."""

from fractions import Fraction

import flint
import galois
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symgauge.arithmetic.finite_field import FiniteField, Residues, _splitmix
from symgauge.arithmetic.fractions import simple_fractions
from symgauge.arithmetic.primes import DEFAULT_PRIMES

P = DEFAULT_PRIMES[0]
FIELD = FiniteField(P, seed=5)


def draw(*shape: int, seed: int = 0, extended: bool = True) -> Residues:
    g = torch.Generator().manual_seed(seed)
    parts = [torch.randint(0, P, shape, generator=g) for _ in range(1 + extended)]
    return Residues(*parts)


def as_pairs(a: Residues) -> list[tuple[int, int]]:
    im = torch.zeros_like(a.re) if a.im is None else a.im
    return list(zip(a.re.flatten().tolist(), im.flatten().tolist(), strict=True))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_lift_as_the_rationals_they_are(x: float) -> None:
    exact = Fraction(x)
    assert (
        FIELD.lift(torch.tensor([x], dtype=torch.float64), exact=True).re.item()
        == exact.numerator * pow(exact.denominator, -1, P) % P
    )


@given(st.integers(-100_000, 100_000), st.integers(1, 10_000))
def test_a_constant_means_the_simple_fraction_it_is_nearest_to(numerator: int, denominator: int) -> None:
    meant = Fraction(numerator, denominator)
    for modulus, part in ((P, 0), ((P - 1) // 2, 2)):
        lifted = FIELD.lift(torch.tensor(numerator / denominator, dtype=torch.float64))[part]
        assert lifted.item() == meant.numerator * pow(meant.denominator, -1, modulus) % modulus


def test_large_numbers_and_large_denominators_make_no_simple_fractions() -> None:
    x = torch.tensor([2.0**21 + 1 / 3, -(2.0**30) / 7, 1 / 10_001], dtype=torch.float64)
    assert torch.equal(FIELD.lift(x).re, FIELD.lift(x, exact=True).re)


def test_what_a_float_holds_exactly_stands_for_no_other_fraction() -> None:
    """A float32 of that size is a multiple of 1/128, and the nearest to 100000 + 1/3 besides."""
    assert simple_fractions(torch.tensor([0.5, 3.0], dtype=torch.float64)) is None
    assert simple_fractions(torch.tensor([100_000 + 1 / 3], dtype=torch.float32)) is None


@given(st.integers(0, 2**32))
def test_a_random_float_is_no_simple_fraction(seed: int) -> None:
    x = torch.randn(50, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert torch.equal(FIELD.lift(x).re, FIELD.lift(x, exact=True).re)


@given(st.integers(-(2**62), 2**62))
def test_integers_lift_to_their_residue(n: int) -> None:
    assert FIELD.lift(torch.tensor([n])).re.item() == n % P


def test_multiplication_agrees_with_galois_in_the_quadratic_extension() -> None:
    small = 1019
    field = FiniteField(small)
    # Without compilation, which would take longer than the test.
    slow = {"compile": "python-calculate"}
    base = galois.GF(small, **slow)
    gf = galois.GF(small**2, irreducible_poly=galois.Poly([1, 0, 1], field=base), **slow)
    g = torch.Generator().manual_seed(1)
    a, b = (Residues(*(torch.randint(0, small, (50,), generator=g) for _ in range(2))) for _ in range(2))
    ours = field.mul(a, b)
    ga, gb = (gf((x.re + small * x.im).numpy()) for x in (a, b))  # galois packs a + b·x as a + small·b
    theirs = np.array(ga * gb).astype(np.int64)
    assert np.array_equal((ours.re + small * ours.im).numpy(), theirs)


@pytest.mark.parametrize("shape", [(3, 0, 4), (1, 1, 1), (5, 64, 3), (4, 65, 2), (7, 300, 5)])
def test_matrix_product_agrees_with_flint(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = draw(m, k, extended=False), draw(k, n, seed=1, extended=False)
    ours = FIELD.matmul(a, b).re
    theirs = flint.nmod_mat(m, k, a.re.flatten().tolist(), P) * flint.nmod_mat(k, n, b.re.flatten().tolist(), P)
    assert ours.flatten().tolist() == [int(x) for x in theirs.entries()]


def test_largest_residues_do_not_overflow_a_product() -> None:
    full = Residues(torch.full((2, 64), P - 1), torch.full((2, 64), P - 1))
    square = FIELD.matmul(full, full.map(lambda x: x.mT))
    # ((-1 - i)(-1 - i)) summed 64 times is 128 i.
    assert as_pairs(square) == [(0, 128)] * 4


def test_inverse_and_power() -> None:
    a = draw(100)
    product = FIELD.mul(a, FIELD.inverse(a))
    assert as_pairs(product) == [(1, 0)] * 100


@pytest.mark.parametrize("extended", [False, True])
def test_roots_square_back_and_failures_are_non_squares(extended: bool) -> None:
    a = draw(400, extended=extended)
    root, failed = FIELD.root(a)
    square = FIELD.mul(root, root)
    for (re, im), got, bad in zip(as_pairs(a), as_pairs(square), failed.tolist(), strict=True):
        norm = (re * re + im * im) % P
        is_square = im == 0 or pow(norm, (P - 1) // 2, P) in (0, 1)  # Euler's criterion, by Python integers
        assert bad != is_square
        assert bad or got == (re, im)
    assert 100 < int(failed.sum()) < 300 if extended else not failed.any()


def test_exponential_is_a_homomorphism_and_separates_arguments() -> None:
    a, b = (FIELD.lift(torch.randn(500, generator=torch.Generator().manual_seed(i))) for i in (0, 1))
    plus, minus = FIELD.exp(a), FIELD.exp(FIELD.neg(a))
    assert as_pairs(FIELD.mul(plus, minus)) == [(1, 0)] * 500
    assert FIELD.mul(plus, minus).ex.tolist() == [1] * 500
    assert torch.equal(FIELD.exp(FIELD.add(a, b)).re, FIELD.mul(plus, FIELD.exp(b)).re)
    assert torch.equal(FIELD.exp(FIELD.scale(a, 2)).re, FIELD.mul(plus, plus).re)
    third = FIELD.exp(FIELD.divide(a, 3))
    assert torch.equal(FIELD.mul(third, FIELD.mul(third, third)).re, plus.re)
    assert len(set(plus.re.tolist())) == 500
    assert FIELD.exp(FIELD.lift(torch.zeros(1))).re.item() == 1
    assert as_pairs(FiniteField(P, seed=6).exp(a)) != as_pairs(plus)


def test_exponential_modulo_the_second_prime_does_not_depend_on_the_route() -> None:
    """The same exponential as a product and as one: the exponential of *it* must be the same."""
    a, b = (FIELD.lift(torch.randn(50, generator=torch.Generator().manual_seed(i))) for i in (0, 1))
    once = FIELD.exp(FIELD.sub(FIELD.add(a, b), b))
    assert torch.equal(once.ex, FIELD.exp(a).ex)
    assert FIELD.exp(FIELD.sub(a, a)).ex.tolist() == [1] * 50
    assert not torch.equal(once.ex, once.re)


def test_logarithms_are_odd_under_inversion() -> None:
    a = draw(100)
    total = FIELD.add(FIELD.log(a), FIELD.log(FIELD.inverse(a)))
    assert as_pairs(total) == [(0, 0)] * 100
    assert FIELD.log(FIELD.lift(torch.ones(1))).re.item() == 0
    assert len(set(as_pairs(FIELD.log(a)))) == 100
    # One has the logarithm 0, and other real numbers, or numbers of real part one, have not.
    some = FIELD.log(Residues(torch.tensor([1, 5, 1]), torch.tensor([0, 0, 3])))
    assert FIELD.is_zero(some).tolist() == [True, False, False]


def test_odd_elements_are_odd() -> None:
    a = draw(200)
    total = FIELD.add(FIELD.odd(a, "erf"), FIELD.odd(FIELD.neg(a), "erf"))
    assert as_pairs(total) == [(0, 0)] * 200
    assert FIELD.odd(Residues(torch.zeros(1, dtype=torch.int64)), "erf").re.item() == 0


def test_fresh_elements_are_told_apart_by_either_part() -> None:
    a = draw(100)
    other = a._replace(im=draw(100, seed=1).im)
    real = a._replace(im=None)
    uninterpreted = [FIELD.uninterpreted(x, "erf").re for x in (a, other, real)]
    assert len(torch.cat(uninterpreted).unique()) == 300
    assert torch.equal(uninterpreted[2], FIELD.uninterpreted(a._replace(im=torch.zeros_like(a.re)), "erf").re)
    assert torch.equal(uninterpreted[0], FIELD.uninterpreted(draw(100), "erf").re)
    for another in (FIELD.uninterpreted(a, "tan"), FiniteField(P, seed=6).uninterpreted(a, "erf")):
        assert not bool((another.re == uninterpreted[0]).any())


def test_every_bit_of_an_argument_reaches_every_bit_of_its_hash() -> None:
    x = torch.randint(0, 2**31, (200,), generator=torch.Generator().manual_seed(0))
    places = 1 << torch.arange(63)
    for bit in range(31):
        changed = (_splitmix(x) ^ _splitmix(x ^ (1 << bit)))[:, None] & places != 0
        share = changed.double().mean(0)
        assert float(share.min()) > 0.3
        assert float(share.max()) < 0.7


@pytest.mark.parametrize("n", [P, (P - 1) // 2])
def test_nothing_is_divided_by_a_multiple_of_either_prime(n: int) -> None:
    with pytest.raises(ZeroDivisionError, match="division by"):
        FIELD.divide(FIELD.lift(torch.ones(1)), n)
