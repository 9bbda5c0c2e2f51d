"""Exact commutators, gauge pairings, orders of drift, and null models of paths; what is broken is not proved."""

from __future__ import annotations

from random import Random

import pytest
import sympy as sp

from proofs_checks.manifolds.algebra import commutators as c
from proofs_checks.manifolds.algebra import trajectories as t
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import NotProved


def loss_value(loss: c.ScoreLoss, at: c.Pair) -> sp.Expr:
    r = loss.x * at[0] * at[1].T * loss.y.T - loss.z
    return sum(entry**2 for entry in r) / 2 + loss.pull * at[0].trace()


@pytest.mark.parametrize("pull", [0, 2])
def test_gradient_and_hessian_are_derivatives_of_the_loss(pull: int) -> None:
    rng = Random(4)
    loss = c.random_loss(rng, pull=pull)
    at, v = ((general_matrix(2, 2, rng), general_matrix(2, 2, rng)) for _ in range(2))
    s = sp.Symbol("s")
    along = sp.expand(loss_value(loss, c.combine(at, v, s)))
    assert along.coeff(s, 1) == c.inner(loss.gradient(at), v)
    assert 2 * along.coeff(s, 2) == c.inner(loss.hessian_times(at, v), v)


def test_proofs_and_what_they_do_not_prove() -> None:
    for attempt in (c.prove_quadratic, c.prove_pairing, c.prove_one_step, c.prove_midpoint, c.prove_balance_kept):
        assert attempt()
    with pytest.raises(NotProved):
        c.prove_pairing(broken=True)
    assert all(c.prove_biased_balance_kept())
    with pytest.raises(NotProved):
        c.prove_biased_balance_kept(forgotten=True)


def test_taylor_coefficients() -> None:
    zero, one, two, three = c.taylor_coefficients()
    assert zero.is_zero_matrix
    assert one.is_zero_matrix
    assert two.is_zero_matrix
    assert not three.is_zero_matrix


def test_drift_of_schemes() -> None:
    assert {name: c.order_of(c.drift(name)) for name in c.SCHEMES} == c.ORDERS
    q, k = 2, 3
    g = c.slope(sp.Matrix([q, k]))
    assert c.drift("gradient step").as_expr() == sp.expand(c.eta**2 * (g[0] ** 2 - g[1] ** 2))


def test_walk_and_path() -> None:
    assert all(t.inverse_on_centred(n) for n in range(2, 8))
    assert t.walk_gram(5).trace() == 4
    assert t.laplacian_eigenvector_gaps() == [0, 0, 0]
    low, high = t.share_bounds(3, 1)
    assert low <= 0.75 <= high  # 1 and 1/3
    assert high - low < 1e-12


def test_planes() -> None:
    u = [sp.Integer(1), sp.Integer(2), sp.Integer(3)]
    assert [t.mean_over_coordinate_planes(u, k) for k in (1, 2, 3)] == [sp.Rational(k, 3) for k in (1, 2, 3)]
    k, p = sp.symbols("k p", positive=True)
    assert sp.gammasimp(t.beta_moment(sp.Integer(1), k, p) - k / p) == 0
    assert sp.gammasimp(t.beta_moment(sp.Integer(2), k, p) - k / p) != 0


def test_entropy_slopes() -> None:
    assert t.entropy_slope_gap(2) == 0
    assert t.entropy_slope_gap(4) == 0
    assert t.entropy_slope_direct() == 0
