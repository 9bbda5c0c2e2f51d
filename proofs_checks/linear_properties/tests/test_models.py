"""Exact models, the equivalence's reasons, drawing, and the errors of each."""

from __future__ import annotations

from random import Random

import pytest
import torch

from proofs_checks.linear_properties.drawing import Room, invertible, of_rank, partner, random_model
from proofs_checks.linear_properties.equivalence import Inequivalence, equivalence
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field
from proofs_checks.linear_properties.fibre import LogBilinear
from proofs_checks.linear_properties.model import Model, model_of_ratios
from proofs_checks.linear_properties.properties import Query, transported_space
from symgauge.errors import InvalidInput


def test_probabilities_are_those_of_softmax() -> None:
    model = random_model(Random(1), 2, Room(1, 1, 1), contexts=4, tokens=5)
    logits = LogBilinear.of(model)(torch.arange(4)[:, None])[:, 0]
    found = torch.tensor(model.probabilities(), dtype=torch.float64)
    torch.testing.assert_close(found, logits.softmax(-1))
    other = partner(Random(2), model, Room(2, 0, 1))
    torch.testing.assert_close(torch.tensor(other.probabilities(), dtype=torch.float64), found)


def test_the_pivot_changes_nothing_that_matters() -> None:
    model = random_model(Random(3), 2, Room(1, 1, 1), contexts=4, tokens=5)
    moved = Model(model.f, model.g, 3)
    assert (moved.G, moved.M, moved.N) == (model.G, model.M, model.N)
    assert moved.same_distribution(model)
    assert equivalence(model, moved)


@pytest.mark.parametrize("field", [RATIONALS, Field(101)])
def test_each_way_of_not_being_equivalent_is_named(field) -> None:
    model = random_model(Random(4), 2, contexts=5, tokens=5, field=field)
    f, g = ([list(row) for row in table.table] for table in (model.f, model.g))
    once = [[2 * x for x in row] for row in f]
    context = [*f[:-1], [a + b for a, b in zip(f[-1], model.g0.table[1], strict=True)]]
    token = [*g[:-1], [a + 3 * b for a, b in zip(g[-1], f[0], strict=True)]]
    wrong = {"pairing": (once, g), "A": (context, g), "B": (f, token), "complexity": ([f[0]] * 5, g)}
    for condition, tables in wrong.items():
        found = equivalence(model, Model.of(*tables, field=field))
        assert isinstance(found, Inequivalence)
        assert not found
        assert found.condition == condition, found.reason
        assert found.reason


def test_a_partner_may_have_any_dimension() -> None:
    model = random_model(Random(5), 3, Room(2, 2, 1), contexts=6, tokens=6)
    dimensions = [partner(Random(i), model, Room(0, 0, i)).dimension for i in range(3)]
    assert model.dimension == 8
    assert dimensions == [3, 4, 5]


def test_invertible_matrices_are_general() -> None:
    drawn = [invertible(Random(seed), 3) for seed in range(10)]
    assert all(m.rank == 3 for m in drawn)
    assert any(m != m.T for m in drawn)
    dets = {int(m.raw.det().p) for m in drawn}
    assert dets == {1, -1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Model.of([[1, 2]], [[1]]), "no dot products"),
        (lambda: Model.of([[1]], [[1]]), "two tokens"),
        (lambda: Model.of([[1]], [[1], [2]], pivot=2), "numbered from 0 to 1"),
        (lambda: equivalence(Model.of([[1]], [[1], [2]]), Model.of([[1], [2]], [[1], [2]])), "same contexts"),
        (lambda: model_of_ratios(RATIONALS.matrix([[1, 2]])), "must be zero"),
        (lambda: of_rank(Random(0), 2, 2, 3), "no matrix of shape"),
        (lambda: Query((0,), (1, 2)), "as many contexts after"),
        (lambda: Query((), ()), "at least one"),
        (lambda: LogBilinear.of(Model.of([["1/3"]], [[0], [1]])), "dyadic"),
        (lambda: Model.of([[1]], [[0], [1]], Field(7)).probabilities(), "real numbers"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(make, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_only_spaces_in_n_can_be_transported() -> None:
    model = Model.of([[1, 0], [2, 0]], [[0, 0], [1, 1]])
    found = equivalence(model, partner(Random(1), model, Room(1, 1, 1)))
    assert found
    assert transported_space(model.N, found).rank == 1  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="does not lie in N"):
        transported_space(RATIONALS.matrix([[1, 0]]), found)  # type: ignore[arg-type]
