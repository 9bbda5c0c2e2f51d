"""Spectra and dimensions of paths, commutators and their shares: values known otherwise."""

from __future__ import annotations

import pytest
import torch

from proofs_checks.manifolds.commutators import bracket, commutator, random_share, share_in
from proofs_checks.manifolds.trajectories import components, entropy_rank, random_walk_spectrum, rank_at, spectrum
from symgauge.errors import InvalidInput


def test_spectrum_is_that_of_the_covariance() -> None:
    path = torch.randn(7, 3, 2, generator=torch.Generator().manual_seed(0))
    covariance = torch.cov(path.flatten(1).double().T, correction=0)
    expected = torch.linalg.eigvalsh(covariance).flip(0)
    torch.testing.assert_close(spectrum(path)[:6], expected)


def test_rank_of_known_spectra() -> None:
    assert [rank_at(torch.ones(k)) for k in (1, 9, 10, 11, 16)] == [1, 9, 9, 10, 15]
    assert rank_at(torch.tensor([9.0, 1.0])) == 1
    assert rank_at(torch.tensor([8.99, 1.01])) == 2
    assert [rank_at(random_walk_spectrum(n)) for n in (10, 20, 40, 1000)] == [5, 6, 6, 6]
    assert float(random_walk_spectrum(40).sum()) == pytest.approx((40**2 - 1) / 6)
    assert entropy_rank(torch.ones(5)) == pytest.approx(5)


def test_a_wide_random_walk_has_that_spectrum() -> None:
    n, wide = 12, 200_000
    walk = torch.randn(n, wide, generator=torch.Generator().manual_seed(0)).cumsum(0)
    found = spectrum(walk)[: n - 1] * n / wide
    torch.testing.assert_close(found, random_walk_spectrum(n), rtol=0.02, atol=0)


def test_components_span_the_path() -> None:
    path = torch.randn(4, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mean, found = components(path, 3)
    torch.testing.assert_close(found @ found.T, torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close((path - mean) @ found.T @ found, path - mean)
    with pytest.raises(InvalidInput, match="fewer than 4"):
        components(path, 4)


def test_commutator_of_quadratic_losses() -> None:
    h_a, h_b = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).double(), torch.tensor([[2.0, 1.0], [1.0, 2.0]]).double()
    at, eta = torch.tensor([3.0, 1.0]).double(), 0.1
    found = commutator(lambda t: h_a @ t, lambda t: h_b @ t, at, eta)
    expected = eta**2 * (h_b @ h_a - h_a @ h_b) @ at
    torch.testing.assert_close(found.delta, expected)
    torch.testing.assert_close(eta**2 * bracket(lambda t: h_a @ t, lambda t: h_b @ t, at), expected)
    assert float(found.defect) == pytest.approx(
        float(expected.norm() / (eta * h_a @ at).norm() / (eta * h_b @ at).norm())
    )


def test_shares() -> None:
    basis = torch.eye(4)[:, :2]
    assert float(share_in(torch.tensor([3.0, 0.0, 4.0, 0.0]), basis)) == pytest.approx(0.6)
    assert random_share(4, 4) == pytest.approx(1)
    assert random_share(1, 2) == pytest.approx(2 / torch.pi)  # mean of |cos|
    assert round(random_share(60, 1_026_184), 7) == 0.0076147


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rank_at(torch.zeros(3)), "does not move"),
        (lambda: rank_at(torch.tensor([float("nan")])), "does not move"),
        (lambda: spectrum(torch.ones(1, 4)), "no path"),
        (lambda: random_walk_spectrum(1), "no spectrum"),
        (lambda: share_in(torch.zeros(3), torch.eye(3)), "norm 0"),
        (lambda: random_share(5, 4), "no plane"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
