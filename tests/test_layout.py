"""Layouts that cannot be meant are refused in a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

from symgauge.errors import InvalidInput
from symgauge.layout import Layout, Slot

NAMES = (("weight", 6),)


def slot(*positions: float, **options: Any) -> Slot:
    return Slot(torch.tensor(positions), **options)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ({}, "it names no role"),
        ({"a": slot(0, 6)}, "role 'a' has position 6, outside of the 6 parameter entries"),
        ({"a": slot(-1, 2)}, "role 'a' has position -1, outside of the 6 parameter entries"),
        ({"a": slot(0.0, 1.0)}, "positions of role 'a' are torch.float32; they must be int64"),
        ({"a": Slot(torch.tensor([True]))}, "positions of role 'a' are torch.bool; they must be int64"),
        ({"a": torch.tensor([1])}, "role 'a' is tensor([1]); give a Slot with a tensor of positions"),
        ({"a": Slot([1, 2])}, "give a Slot with a tensor of positions"),  # type: ignore[arg-type]
        ({"a": slot(1, shift=0.5)}, "the shift of role 'a' must be an integer, not 0.5"),
        ({"a": slot(0, 1), "b": slot(1, 2)}, "may belong to one role only; shared by ['a', 'b']"),
        ({"a": slot(0, 0)}, "may belong to one role only; shared by ['a']"),
    ],
)
def test_slots(slots: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Layout(slots, 6, NAMES)


def test_the_size_is_that_of_the_tensors() -> None:
    with pytest.raises(InvalidInput, match="size is 7, but the tensors in names have 6 entries"):
        Layout({"a": slot(0)}, 7, NAMES)
    assert Layout({"a": slot(0, 5)}, 6, NAMES).unused.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({}, "it names no role"),
        ({"a": "wieght"}, "role 'a': the module has no parameter 'wieght'; did you mean 'weight'?"),
        ({"a": "zzz"}, "the module has no parameter 'zzz'; it has weight"),
        ({"a": 3}, "role 'a' is 3; give a parameter's name, or (name, a function that moves its entries)"),
        ({"a": ("weight", lambda w: w.reshape(5))}, "moving the entries of a tensor (2, 3) raised"),
        ({"a": ("weight", lambda w: w.double())}, "positions of role 'a' are torch.float64"),
        ({"a": ("weight", lambda w: 3)}, "give a Slot with a tensor of positions"),
        ("weight", "a dict from roles to parameter names"),
    ],
)
def test_layouts_of_modules(roles: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Layout.of(nn.Linear(3, 2, bias=False), roles)
