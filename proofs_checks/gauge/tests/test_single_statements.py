"""Balancing, projection, norms, activations, logarithms, head mixing, the scalar model: exact values that can fail."""

from random import Random

import pytest
import sympy as sp

from proofs_checks.gauge.algebra import activations, balancing, head_mixing, logarithm, norms, projection, scalar_model
from symgauge.errors import InvalidInput
from symgauge.symbolic.identities import d_k, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import NotProved, prove_equal
from symgauge.symbolic.words import Facts


def column(*entries):
    return sp.Matrix(entries)


# --- balancing


def test_only_the_root_of_the_mean_balances():
    pair = balancing.EXAMPLE
    assert pair.imbalance(pair.root_of_mean).is_zero_matrix
    assert not pair.imbalance(pair.mean).is_zero_matrix
    assert not pair.imbalance(pair.formula_84).is_zero_matrix
    assert pair.after(pair.mean) == (pair.g_k, pair.g_q)
    assert pair.g_q * pair.g_k != pair.g_k * pair.g_q  # a case in which nothing commutes


def test_scalar_grams():
    pair = balancing.SCALARS
    assert (pair.g_q[0], pair.g_k[0]) == (1, 16)
    assert [m[0] for m in pair.after(pair.formula_84)] == [16, 1]
    assert [m[0] for m in pair.after(pair.root_of_mean)] == [4, 4]


def test_balancing_proofs_and_their_limits():
    for proof in (balancing.prove_mean_solves(), balancing.prove_root_balances(), balancing.prove_orthogonal_freedom()):
        assert proof.normal_form
    assert len(balancing.prove_mean_swaps()) == 2
    s, g_q = matrix("S", d_k, d_k), matrix("G_Q", d_k, d_k)
    g_k, facts = s**2 * g_q * s**2, Facts(symmetric=(s, g_q))
    with pytest.raises(NotProved):  # A = T does not balance
        prove_equal(s**2 * g_q * s**2, s**-2 * g_k * s**-2, facts)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_balance_removes_only_the_symmetric_directions(size):
    base = general_matrix(size, size, Random(size))
    assert balancing.balance_constraint_rank(base * base.T) == size * (size + 1) // 2


def test_balanced_form_is_not_unique():
    w_q, w_k, v_q, v_k = balancing.same_gram_different_weights()
    assert w_q * w_k.T == v_q * v_k.T
    assert w_q.T * w_q == w_k.T * w_k
    assert v_q.T * v_q == v_k.T * v_k
    assert all(w_q * sp.diag(a, b) != v_q for a in (1, -1) for b in (1, -1))
    assert balancing.kept_and_removed(12, 64, 64) == (49_920, 48_384)


def test_gram_pairs_must_be_positive_definite():
    with pytest.raises(InvalidInput, match="positive definite"):
        balancing.GramPair(sp.Matrix([[1, 2], [2, 1]]), sp.eye(2))


# --- projection


def test_algorithm_3_on_the_scalar_model():
    weights, gradient = (column(1), column(2)), (column(2), column(1))
    assert projection.pairing(weights, gradient).is_zero_matrix
    published = projection.algorithm_3(weights, gradient)
    assert [m[0] for m in published] == [sp.Rational(5, 4), sp.Rational(5, 2)]
    assert projection.pairing(weights, published)[0] == sp.Rational(-15, 4)
    assert projection.orthogonal_projection(weights, gradient) == gradient


def test_the_sylvester_projector():
    rng = Random(5)
    weights = general_matrix(4, 2, rng), general_matrix(4, 2, rng)
    update = general_matrix(4, 2, rng), general_matrix(4, 2, rng)
    assert not projection.pairing(weights, update).is_zero_matrix
    once = projection.orthogonal_projection(weights, update)
    assert projection.pairing(weights, once).is_zero_matrix
    assert projection.orthogonal_projection(weights, once) == once
    moved = projection.algorithm_3(weights, update)
    assert not projection.pairing(weights, moved).is_zero_matrix
    removed = [a - b for a, b in zip(update, once, strict=True)]
    assert sum((r.T * o).trace() for r, o in zip(removed, once, strict=True)) == 0


def test_algorithm_3_is_an_oblique_projector():
    rng = Random(6)
    weights = general_matrix(4, 2, rng), general_matrix(4, 2, rng)
    update = general_matrix(4, 2, rng), general_matrix(4, 2, rng)
    once = projection.algorithm_3(weights, update)
    assert projection.algorithm_3(weights, once) == once
    z = general_matrix(2, 2, rng)
    vertical = weights[0] * z, -weights[1] * z.T
    assert all(m.is_zero_matrix for m in projection.algorithm_3(weights, vertical))


def test_projection_proofs():
    assert projection.prove_sylvester().normal_form
    assert projection.prove_gradient_is_horizontal().normal_form == "0"


# --- norms


@pytest.mark.parametrize("name", norms.commuting_examples())
def test_maps_that_commute_with_layer_norm(name):
    m = norms.commuting_examples()[name]
    assert m != sp.eye(3)
    assert norms.commutes_with_layer_norm(m)
    for row in (sp.Matrix([[0, 1, 5]]), sp.Matrix([[2, -3, 7]])):
        assert norms.commutator_at(m, row).is_zero_matrix


@pytest.mark.parametrize(
    "m",
    [
        sp.diag(2, 1, 1),
        2 * sp.eye(3),
        sp.Matrix([[3, 4, 0], [-4, 3, 0], [0, 0, 5]]) / 5,
        sp.eye(3) + sp.Matrix([[0, 1, -1]] * 3),
    ],
)
def test_maps_that_do_not(m):
    assert not norms.commutes_with_layer_norm(m)
    rows = (sp.Matrix([[0, 1, 5]]), sp.Matrix([[2, -3, 7]]))
    assert any(not norms.commutator_at(m, row).is_zero_matrix for row in rows)


def test_constant_rows_have_no_norm():
    with pytest.raises(InvalidInput, match="constant"):
        norms.layer_norm(sp.ones(1, 3))


# --- activations


@pytest.mark.parametrize("name", activations.ACTIVATIONS)
def test_odd_part_and_homogeneity(name):
    assert activations.odd_part_excess(name) == 0
    assert activations.homogeneous_scales(name) == {0, 1}


def test_odd_part_check_can_fail(monkeypatch):
    monkeypatch.setitem(activations.ACTIVATIONS, "tanh", sp.tanh)
    monkeypatch.setitem(activations.ACTIVATIONS, "square", lambda z: z**2 + z)
    assert activations.odd_part_excess("tanh") != 0
    with pytest.raises(InvalidInput, match="no curvature"):
        activations.homogeneous_scales("tanh")
    assert activations.homogeneous_scales("square") == {0, 1}
    with pytest.raises(InvalidInput, match="not one of"):
        activations.odd_part_excess("sine")


# --- the scalar model, logarithms, head mixing


def test_scalar_model():
    sm = scalar_model
    assert sm.orthogonality() == 0
    assert sm.at(sm.product_velocity(), 1, 2) == -5
    assert sm.at(sm.product_velocity(), sp.Rational(1, 2), 4) == sp.Rational(-65, 4)
    assert sp.expand(sm.natural_product_velocity() + sm.PRODUCT - 1) == 0
    assert sm.at(sm.HESSIAN, 1, 2).det() == -5
    assert sm.at(sm.HESSIAN * sm.VERTICAL, 1, 1).is_zero_matrix
    assert not sm.at(sm.HESSIAN * sm.VERTICAL, 1, 2).is_zero_matrix
    assert not sm.orbit_crosses_zero()


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([[-1, 0], [0, -2]], False),
        ([[-1, 1], [0, -1]], False),
        ([[-1, 0], [0, -1]], True),
        ([[0, -1], [1, 0]], True),
        ([[2, 1], [0, 3]], True),
        ([[-1, 0, 0], [0, -1, 0], [0, 0, 5]], True),
        ([[-1, 1, 0], [0, -1, 0], [0, 0, 5]], False),
    ],
)
def test_real_logarithms(entries, expected):
    assert logarithm.has_real_logarithm(sp.Matrix(entries)) is expected


def test_logarithm_needs_an_invertible_matrix():
    with pytest.raises(InvalidInput, match="invertible"):
        logarithm.has_real_logarithm(sp.Matrix([[1, 1], [1, 1]]))


@pytest.mark.parametrize(("heads", "d_v"), [(2, 1), (2, 2), (3, 1)])
def test_mixing_that_keeps_every_head_is_block_diagonal(heads, d_v):
    rng = Random(9)
    w_v, w_o = general_matrix(5, heads * d_v, rng), general_matrix(heads * d_v, 5, rng)
    basis = head_mixing.preserving_basis(w_v, w_o, heads)
    assert len(basis) == heads * d_v**2
    for element in basis:
        entries = element.to_Matrix()
        assert all(entries[i, j] == 0 for i in range(heads * d_v) for j in range(heads * d_v) if i // d_v != j // d_v)


def test_mixing_on_explicit_maps():
    rng = Random(10)
    w_v, w_o = general_matrix(5, 2, rng), general_matrix(2, 5, rng)
    change = {
        name: all(m.is_zero_matrix for m in head_mixing.head_changes(w_v, w_o, mixing, 2))
        for name, mixing in {
            "blocks": sp.diag(2, -3),
            "swap": sp.Matrix([[0, 1], [1, 0]]),
            "shear": sp.Matrix([[1, 1], [0, 1]]),
        }.items()
    }
    assert change == {"blocks": True, "swap": False, "shear": False}
    with pytest.raises(InvalidInput, match="rank 2"):
        head_mixing.preserving_basis(sp.ones(5, 2), w_o, 2)
