"""Patterns fill the groups they say, and samplers reach general elements."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from symgauge.architecture import Rotary
from symgauge.errors import Undecided
from symgauge.models.rotation import rotate
from symgauge.symmetries.elements import (
    MAX_CONDITION,
    cayley,
    commutant_pattern,
    differences,
    factors,
    fill,
    full_pattern,
    inverse,
    invertible,
    near_identity,
    skew_pattern,
)

ROTATIONS = {
    "distinct": Rotary((Fraction(1, 7), Fraction(2, 9))),
    "equal": Rotary((Fraction(1, 7), Fraction(1, 7))),
    "opposite": Rotary((Fraction(1, 7), Fraction(6, 7), Fraction(1, 7))),
    "half-turns": Rotary((Fraction(1, 2), Fraction(1, 2), Fraction(1, 5))),
    "still": Rotary((Fraction(0), Fraction(1, 5)), unrotated=3),
    "interleaved": Rotary((Fraction(1, 7), Fraction(6, 7), Fraction(1, 2)), unrotated=1, interleaved=True),
}


@pytest.mark.parametrize("name", ROTATIONS)
def test_commutant(name: str) -> None:
    """All matrices of the pattern commute with the rotations, and the rotations' commutant is no larger."""
    rotary = ROTATIONS[name]
    n, pattern = rotary.channels, commutant_pattern(rotary)
    eye = torch.eye(n, dtype=torch.float64)
    turns = rotate(eye.unsqueeze(1).expand(n, 4, n), rotary)[:, 1]
    x = torch.randn(int(pattern.max()), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = fill(x, pattern)
    assert int(pattern.max()) == rotary.commutant_dimension
    assert torch.allclose(matrix @ turns, turns @ matrix, atol=1e-14)
    # The commutator with the rotation, as a linear map of matrices, has a kernel of just this size.
    commutator = torch.kron(eye, turns) - torch.kron(turns.T.contiguous(), eye)
    values = torch.linalg.svdvals(commutator)
    assert int((values < 1e-12).sum()) == rotary.commutant_dimension
    # Any other entry breaks it: an element outside the pattern does not commute.
    outside = torch.randn(n, n, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert float((outside @ turns - turns @ outside).norm()) > 0.1


def test_sampled_matrices_are_general() -> None:
    generator, pattern = torch.Generator().manual_seed(0), full_pattern(5)
    matrices = near_identity(invertible(pattern, 200)(generator).reshape(200, 25), pattern)
    negative = int((torch.linalg.det(matrices) < 0).sum())
    assert 60 < negative < 140
    assert float(torch.linalg.cond(matrices).max()) < MAX_CONDITION
    assert float((matrices - matrices.mT).flatten(1).norm(dim=1).min()) > 0.1


def test_no_element_is_better_than_an_ill_conditioned_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symgauge.symmetries.elements.MAX_CONDITION", 1.0)
    with pytest.raises(Undecided, match="no well-conditioned 3 × 3 element"):
        invertible(full_pattern(3))(torch.Generator().manual_seed(0))


def test_factors_have_both_signs_unless_positive() -> None:
    generator = torch.Generator().manual_seed(0)
    either, positive = 1 + factors(200)(generator), 1 + factors(200, positive=True)(generator)
    assert 60 < int((either < 0).sum()) < 140
    assert 0.3 < float(positive.min()) < 0.5
    assert 2 < float(positive.max()) < 2.6


def test_cayley_is_orthogonal_and_keeps_ones() -> None:
    generator, n = torch.Generator().manual_seed(0), 6
    x = torch.randn((n - 1) * (n - 2) // 2, generator=generator, dtype=torch.float64)
    basis = differences(n, x)
    matrix = cayley(basis @ fill(x, skew_pattern(n - 1)) @ basis.mT)
    ones = torch.ones(n, dtype=torch.float64)
    assert torch.allclose(matrix @ matrix.mT, torch.eye(n, dtype=torch.float64), atol=1e-13)
    assert torch.allclose(ones @ matrix, ones, atol=1e-13)
    assert float((matrix - torch.eye(n, dtype=torch.float64)).norm()) > 0.5


def test_inverse_by_elimination() -> None:
    matrix = torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.allclose(inverse(matrix), torch.linalg.inv(matrix), atol=1e-11)
