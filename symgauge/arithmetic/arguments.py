"""Arguments of aten operations: tensors, alone or in lists, and plain values (many times faster than any pytree)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(x: Any) -> Iterator[Any]:
    """What is in nested lists, tuples and dicts."""
    if isinstance(x, (list, tuple)):
        for y in x:
            yield from leaves(y)
    elif isinstance(x, dict):
        for y in x.values():
            yield from leaves(y)
    else:
        yield x


def mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """The same nesting of lists, tuples and dicts with every leaf replaced."""
    if isinstance(x, (list, tuple)):
        found = [mapped(function, y) for y in x]
        return found if isinstance(x, list) else tuple(found)
    if isinstance(x, dict):
        return {key: mapped(function, y) for key, y in x.items()}
    return function(x)
