"""What someone else's code raises, as one sentence with its place."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symgauge.blame import blaming
from symgauge.errors import ForeignError, InvalidInput


class Failing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError("not\nyet")


def test_errors_inside_a_module_name_its_path() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Failing()))
    with pytest.raises(InvalidInput) as caught, blaming("running it", module):
        module(torch.zeros(1, 2))
    text = str(caught.value)
    assert text.startswith("running it raised NotImplementedError: not, in module '1.0' (Failing), at test_blame.py")
    assert "\n" not in text


def test_the_error_itself_is_kept() -> None:
    error = ValueError("x")
    with (
        pytest.raises(ForeignError, match=r"raised ValueError: x, at test_blame.py line \d+$") as caught,
        blaming("it"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_our_own_errors_pass() -> None:
    with pytest.raises(InvalidInput, match=r"^said before$"), blaming("it"):
        raise InvalidInput("said before")
