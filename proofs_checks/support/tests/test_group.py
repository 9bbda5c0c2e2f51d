"""The wreath product: a right action that keeps the function, its law, and what sharing leaves of the permutations."""

from itertools import permutations

import pytest

from proofs_checks.support.algebra.group import (
    GaugeElement,
    act,
    compose,
    invariants,
    inverse,
    random_element,
    stabiliser,
    stabiliser_order,
)
from symgauge.errors import InvalidInput
from symgauge.symbolic.tangent import Attention, random_attention

POINT = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1, 2))


@pytest.mark.parametrize("seed", range(5))
def test_composition_is_a_right_action(seed):
    first, second, third = (random_element(3, 2, 3, 3 * seed + i) for i in range(3))
    assert act(act(POINT, first), second) == act(POINT, compose(first, second))
    assert compose(compose(first, second), third) == compose(first, compose(second, third))


def test_it_is_not_a_left_action():
    first = random_element(3, 2, 3, 0, sigma=(1, 2, 0))
    second = random_element(3, 2, 3, 1, sigma=(1, 0, 2))
    assert act(act(POINT, second), first) != act(POINT, compose(first, second))


@pytest.mark.parametrize("seed", range(3))
def test_inverse(seed):
    element = random_element(3, 2, 3, seed)
    assert act(act(POINT, element), inverse(element)) == POINT
    assert act(act(POINT, inverse(element)), element) == POINT


def test_the_action_keeps_the_invariants_and_moves_the_point():
    element = random_element(3, 2, 3, 7, sigma=(2, 0, 1))
    moved = act(POINT, element)
    assert moved != POINT
    assert invariants(moved) == invariants(POINT)
    broken = GaugeElement(element.a, tuple(c.T for c in element.c), element.sigma)
    wrong = act(POINT, element).w_o, act(POINT, broken).w_o
    assert wrong[0] != wrong[1]


def test_head_scalings_do_not_commute_with_a_swap():
    scale = random_element(3, 2, 3, 2, sigma=(0, 1, 2))
    swap = random_element(3, 2, 3, 3, sigma=(1, 0, 2))
    assert compose(scale, swap) != compose(swap, scale)


@pytest.mark.parametrize(
    ("groups", "order"),
    [((0, 0, 1, 1), 8), ((0, 1, 2), 6), ((0, 0, 0), 6), ((0, 0, 1), 2), ((0, 0, 1, 1, 2), 8), ((0, 1, 0, 1), 8)],
)
def test_stabiliser_enumerated_against_its_order(groups, order):
    assert len(list(stabiliser(groups))) == stabiliser_order(groups) == order


def relabel(point, sigma, tau):
    """Query heads permuted by σ and key/value groups by τ, the grouping of heads to groups as it was."""
    return Attention(
        tuple(point.w_q[i] for i in sigma),
        tuple(point.w_k[r] for r in tau),
        tuple(point.w_v[r] for r in tau),
        tuple(point.w_o[i] for i in sigma),
        point.groups,
    )


def test_only_the_stabiliser_keeps_a_shared_function():
    groups = (0, 0, 1, 1)
    point = random_attention(d=4, d_k=2, d_v=3, groups=groups)
    keeping = {
        (sigma, tau)
        for sigma in permutations(range(4))
        for tau in permutations(range(2))
        if invariants(relabel(point, sigma, tau)) == invariants(point)
    }
    assert keeping == set(stabiliser(groups))
    assert len(keeping) == 8 < 48


def test_bad_elements_are_named():
    element = random_element(2, 2, 3, 0)
    with pytest.raises(InvalidInput, match="as many heads"):
        act(POINT, element)
    with pytest.raises(InvalidInput, match="as many A and C"):
        GaugeElement(element.a, element.c, (0, 1, 2))
