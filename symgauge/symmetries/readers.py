"""A constant at the input of linear readers: what it adds to their results, and taking that back."""

from __future__ import annotations

from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries.attention_biases import moved, through_heads
from symgauge.symmetries.base import Roles
from symgauge.symmetries.spaces import Reader


def reading(roles: Roles, reader: Reader, c: Tensor) -> Tensor:
    """What a reader makes of the vector ``c`` (d,): (…, columns)."""
    weight = roles[reader.weight].mT if reader.tied else roles[reader.weight]
    return (c.unsqueeze(0) @ weight).squeeze(-2)


def take_back(a: Architecture, roles: Roles, reader: Reader, constant: Tensor) -> dict[str, Tensor]:
    """The roles that undo ``constant`` (…, columns), zero outside ``reader.columns``, in a reader's result."""
    if reader.bias is not None:
        return {reader.bias: roles[reader.bias] - constant}
    if reader.through is not None and reader.sink is not None:
        return moved(roles, reader.sink, -through_heads(a, roles, reader.through, constant))
    return {}
