"""What of a module counts, what it is given, and what it returns: taken up, or refused in one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Arrays, Tokens, Vectors


class Named(nn.Module):
    """A matrix 3 × 4 of which the input is chosen by name; other arguments have defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 4, bias=False)

    def forward(self, mask: Tensor | None = None, x: Tensor | None = None) -> Tensor:
        assert mask is None
        return self.a(x)


class Open(Named):
    """The same with any further names."""

    def forward(self, **kwargs: Any) -> Tensor:  # type: ignore[override]
        return self.a(kwargs["x"])


class Two(Named):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return self.a(x) + y


class Number(nn.Module):
    """One number for each input, without an axis of its own: w·x and b."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x)[:, 0, 0]


@pytest.mark.parametrize("module", [Named(), Open()], ids=["named", "open"])
def test_the_input_may_have_a_name(module: nn.Module) -> None:
    assert dimension(module, Vectors(1, 3, keyword="x")).rank == 12


@pytest.mark.parametrize(
    ("module", "inputs", "message"),
    [
        (Named(), Vectors(1, 3, keyword="y"), r"has no argument 'y'; it takes mask, x"),
        (Two(), Vectors(1, 3), r"also needs 'y', and only one input is fed"),
        (Two(), Vectors(1, 3, keyword="y"), r"also needs 'x', and only one input is fed"),
        (nn.Embedding(5, 2), Vectors(1, 3), r"takes symgauge\.Tokens\(vocabulary, length\)"),
        (nn.Embedding(5, 2), Tokens(6, 3), r"the vocabulary or the length is larger than the module's table"),
    ],
)
def test_what_cannot_be_called_is_refused(module: nn.Module, inputs: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        dimension(module, inputs)


def test_advice_is_given_where_it_helps() -> None:
    with pytest.raises(InvalidInput) as caught:
        dimension(nn.Linear(3, 4), Vectors(1, 5))
    assert "symgauge.Tokens" not in str(caught.value)
    with pytest.raises(InvalidInput) as caught:
        dimension(nn.Linear(3, 4), Tokens(5, 3))
    assert "the module's table" not in str(caught.value)


def test_one_number_for_each_input_is_an_output() -> None:
    found = dimension(Number(), Vectors(1, 3))
    assert (found.parameters, found.nullity) == (4, 0)


@pytest.mark.parametrize(
    ("frozen", "count", "note"),
    [
        (("weight", "bias"), 8, "every parameter has requires_grad=False, so all of them count"),
        (("bias",), 6, r"1 parameters with requires_grad=False (2 numbers) are held at their values"),
        ((), 8, None),
    ],
)
def test_notes_say_which_parameters_count(frozen: tuple[str, ...], count: int, note: str | None) -> None:
    module = nn.Linear(3, 2)
    for name in frozen:
        getattr(module, name).requires_grad_(False)
    found = dimension(module, Vectors(1, 3))
    assert (found.parameters, found.notes) == (count, () if note is None else (note,))


@pytest.mark.parametrize("inputs", [Vectors(3, 50), Arrays((3, 50))], ids=["vectors", "arrays"])
def test_vectors_are_drawn_around_zero_and_wide(inputs: Vectors | Arrays) -> None:
    drawn = inputs.draw(100, torch.Generator().manual_seed(0))
    assert drawn.shape == (100, 3, 50)
    assert abs(float(drawn.mean())) < 0.2
    assert 3.8 < float(drawn.std()) < 4.2
