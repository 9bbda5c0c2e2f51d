"""Sides of thresholds, counted by place."""

from __future__ import annotations

import pytest
import torch

from symgauge.arithmetic.record import Record, Sides


@pytest.mark.parametrize(("distinct", "above", "below"), [(False, [3, 1], [1, 3]), (True, [1, 1], [1, 1])])
def test_places_that_are_the_same_count_once_where_asked(distinct: bool, above: list[int], below: list[int]) -> None:
    """Three inputs that begin alike are one place; one that rests on a missing root is none."""
    distance = torch.tensor([[1.0, -1.0]] * 3 + [[-1.0, 1.0], [5.0, 5.0]], dtype=torch.float64)
    record = Record(distinct=distinct)
    record.start(len(distance))
    record.side("relu", distance, torch.tensor([[False]] * 4 + [[True]]).expand(5, 2))
    (sides,) = record.sides.values()
    assert (sides.above.tolist(), sides.below.tolist()) == (above, below)


@pytest.mark.parametrize(
    ("second", "above"), [((2, 5, 3), [20, 20, 20]), ((2, 4, 3), [18, 18, 18]), ((2, 4, 2), 46), ((3,), 33)]
)
def test_counts_are_kept_as_far_as_shapes_agree(second: tuple[int, ...], above: object) -> None:
    """Numbers of routed tokens vary from run to run: units are told apart while there are as many."""
    record = Record()
    shapes = ((2, 5, 3), second)
    for shape in shapes:
        record.start(2)
        record.side("relu", torch.ones(shape), None)
    (sides,) = record.sides.values()
    found = sides.above
    if found.dim() == 2:
        found = found.sum(0)
    assert found.tolist() == above
    assert int(sides.below.sum()) == 0


@pytest.mark.parametrize(
    ("shape", "flips"),
    [
        ((3, 2), [True, False, False]),
        ((6, 2), [True, False, False]),
        ((4, 2), [False, False, False]),
        ((3, 5), [False, False, False]),
        ((3,), [False, False, False]),
    ],
    ids=["as before", "two rows for each input", "rows that are no input's", "other units", "no units"],
)
def test_inputs_that_put_a_stuck_unit_on_its_other_side(shape: tuple[int, ...], flips: list[bool]) -> None:
    """Of two units the second was never above its threshold. Where the shape is another, nothing tells whose it is."""
    first = Record()
    first.start(2)
    first.side("relu", torch.tensor([[1.0, -1.0], [-1.0, -2.0]]), None)
    ((key, sides),) = first.sides.items()
    record = Record(wanted={key: sides.stuck()})
    record.start(3)
    distance = torch.full(shape, -1.0)
    distance[0] = 1.0
    record.side("relu", distance, None)
    assert record.flips is not None
    assert record.flips.tolist() == flips


def test_units_come_before_positions_where_as_many_are_stuck() -> None:
    """Nothing at two positions of two units: one cannot tell, and units are what a module names."""
    nowhere = torch.zeros(2, 2, dtype=torch.int64)
    axis, off, on = Sides(nowhere, nowhere + 1, torch.zeros(1, 2, 2)).stuck()
    assert (axis, off.tolist(), on.tolist()) == (1, [True, True], [False, False])


def test_a_run_on_no_inputs_widens_nothing() -> None:
    record = Record()
    record.start(0)
    record.made(0)
    assert record.widest == 0
