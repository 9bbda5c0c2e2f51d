"""Algebras that are known, in bases that hide it: name, signature and ideals are found again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symgauge.lie import LieAlgebra, common_name, from_matrices
from symgauge.lie import classical as c
from symgauge.lie.real_forms import real_forms
from symgauge.lie.simple_types import SimpleType, types_of_dimension
from tests.lie.cases import CASES
from tests.lie.constructions import keeping_form, over_number_field, scrambled, simply_laced, skew_quaternionic


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "scrambled"])
@pytest.mark.parametrize("case", CASES)
def test_known_algebras(case, hidden):
    matrices, name, signature, dimensions = CASES[case]
    algebra = from_matrices(matrices)
    if hidden:
        algebra = scrambled(algebra, seed=len(case))
    assert algebra.name == name
    assert tuple(algebra.signature()) == signature
    ideals = algebra.ideals()
    assert sorted(ideal.dimension for ideal in ideals) == dimensions
    assert all(ideal.indecomposable for ideal in ideals)


@given(
    case=st.sampled_from([name for name, (matrices, *_) in CASES.items() if len(matrices) <= 10]),
    seed=st.integers(0, 2**30),
)
@settings(max_examples=30, deadline=None)
def test_any_basis_gives_the_same_name(case, seed):
    matrices, name, signature, _ = CASES[case]
    algebra = scrambled(from_matrices(matrices), seed)
    assert (algebra.name, tuple(algebra.signature())) == (name, signature)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (c.so(2, 1), c.so(3)),
        (c.complexified(c.sl(2)), c.so(4)),
        (c.so(4), c.so(2, 2)),
        (c.so(2, 2), c.so(3, 1)),
        (c.so(7), c.quaternionic(3)),
        (c.so(4, 3), c.sp(3)),
        (c.affine(c.sl(2)), c.block_sum(c.sl(2), c.gl(1), c.gl(1))),
        (c.heisenberg(1), c.affine(c.so(2))),
    ],
    ids=str,
)
def test_of_one_dimension_and_yet_different(one, other):
    first, second = from_matrices(one), from_matrices(other)
    assert first.dimension == second.dimension
    assert first.name != second.name


ROOT_2, CUBE_ROOT_2, THREE_REAL = [-2, 0, 1], [-2, 0, 0, 1], [-1, -2, 1, 1]


@pytest.mark.parametrize(
    ("last", "polynomial", "name"),
    [
        ([1], ROOT_2, "so(4)"),
        ([0, 1], ROOT_2, "so(3) ⊕ sl(2, ℝ)"),
        ([3, 1], ROOT_2, "so(4)"),
        ([1], [1, 0, 1], "sl(2, ℂ)"),
        ([0, 1], CUBE_ROOT_2, "so(3) ⊕ sl(2, ℂ)"),
        ([0, -1], CUBE_ROOT_2, "sl(2, ℂ) ⊕ sl(2, ℝ)"),
        ([0, 1], THREE_REAL, "so(3) ⊕ sl(2, ℝ) ⊕ sl(2, ℝ)"),
        ([3, 1], THREE_REAL, "so(3) ⊕ so(3) ⊕ so(3)"),
    ],
)
def test_simple_over_the_rationals_but_not_over_the_reals(last, polynomial, name):
    """x² + y² + c z² over a number field: at each real root of f it is definite where c is positive there."""
    algebra = scrambled(over_number_field(keeping_form([1], [1], last), 3, polynomial), seed=5)
    (ideal,) = algebra.ideals()
    assert algebra.name == ideal.name == name
    assert len(ideal.field) == len(polynomial)


def test_exceptional():
    e6 = simply_laced(6, [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5)])
    assert e6.name == "e6(6)"
    assert simply_laced(4, [(0, 1), (1, 2), (1, 3)]).name == "so(4, 4)"


def test_the_same_dimension_and_character_as_e6():
    assert from_matrices(c.sp(6)).name == "sp(12, ℝ)"
    assert types_of_dimension(78) == [SimpleType("B", 6), SimpleType("C", 6), SimpleType("E", 6)]


@pytest.mark.parametrize("size", [7, 8])
def test_larger_classical_algebras(size):
    assert from_matrices(c.gl(size)).name == f"gl({size})"
    assert from_matrices(c.so(2 * size - 1)).name == f"so({2 * size - 1})"
    assert from_matrices(c.so(size, size)).name == f"so({size}, {size})"


def test_the_character_tells_real_forms_of_small_rank_apart():
    for letter, first in {"A": 1, "B": 2, "C": 3, "D": 4}.items():
        for rank in range(first, 9):
            named: dict[int, set[str]] = {}
            for name, character in real_forms(SimpleType(letter, rank)):
                named.setdefault(character, set()).add(name)
            assert all(len(names) == 1 for names in named.values()), (letter, rank, named)


@pytest.mark.parametrize(
    ("simple", "centre", "name"),
    [
        ([], 0, "abelian(0)"),
        ([], 3, "abelian(3)"),
        (["sl(3, ℝ)"], 1, "gl(3)"),
        (["sl(3, ℝ)"], 0, "sl(3, ℝ)"),
        (["sl(2, ℝ)", "sl(3, ℝ)"], 3, "gl(3) ⊕ gl(2) ⊕ abelian(1)"),
        (["sl(2, ℂ)"], 2, "gl(2, ℂ)"),
        (["sl(2, ℂ)"], 1, "sl(2, ℂ) ⊕ abelian(1)"),
        (["su(3)"], 1, "u(3)"),
        (["so(3)", "so(3)"], 1, "so(4) ⊕ abelian(1)"),
        (["so(3)"] * 3, 0, "so(3) ⊕ so(3) ⊕ so(3)"),
    ],
)
def test_common_names(simple, centre, name):
    assert common_name(simple, centre) == name


def test_the_quaternionic_module_of_so_6_2_is_not_two_copies_of_the_defining_one():
    """Both have dimension 16, and what acts spans 64 dimensions: M(4, ℍ) here, M(8, ℝ) there."""
    star = skew_quaternionic(4)
    assert from_matrices(star).name == "so(6, 2)"
    assert from_matrices(c.affine(star)).name == "so(6, 2) ⋉ abelian(16)"
    assert from_matrices(c.affine(c.so(6, 2), 2)).name == "so(6, 2) ⋉ (ℝ⁸)²"


def test_what_has_no_name_is_described():
    """sl(2) acting on the Heisenberg algebra x, y, z by its defining module: the nilradical is not abelian."""
    constants = {(0, 1): {2: 1}, (0, 2): {0: -2}, (1, 2): {1: 2}}
    constants |= {(0, 4): {3: 1}, (1, 3): {4: 1}, (2, 3): {3: 1}, (2, 4): {4: -1}, (3, 4): {5: 1}}
    assert LieAlgebra(constants, 6).name == "dimension 6: Levi factor sl(2, ℝ), radical heisenberg(3)"


def test_large_and_far_from_perfect_is_left_undecided():
    ideals = from_matrices(c.triangular(10, strict=True)).ideals()
    assert [(i.dimension, i.indecomposable, i.name) for i in ideals] == [(45, None, "nilpotent(45), step 9")]


def test_a_general_element_of_the_radical_is_taken():
    """In this basis a combination with small coefficients acted by zero on the translations."""
    matrices, name, _, _ = CASES["two columns"]
    assert scrambled(from_matrices(matrices), 751).name == name
