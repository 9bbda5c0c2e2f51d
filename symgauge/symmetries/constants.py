"""A constant vector added to a space: by which roles, what linear readers make of it, and taking that back."""

from __future__ import annotations

from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries.base import Roles
from symgauge.symmetries.space import Constant, Reader
from symgauge.symmetries.value_constants import through_heads


def moved(roles: Roles, constant: Constant, by: Tensor) -> dict[str, Tensor]:
    """The roles of a constant after it has moved by a vector (or by one number, in every channel)."""
    return {role: roles[role] + by / constant.factor for role in constant.roles}


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
