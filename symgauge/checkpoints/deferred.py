"""Tensors that remember how they are cut out of named ones, so that a layout is known before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map_only


class Deferred(Tensor):
    """A tensor without storage. What is done to it is written down, and done later by :func:`evaluate`."""

    source: str | None
    made: tuple[Any, ...]

    @staticmethod
    def named(name: str, shape: tuple[int, ...]) -> Deferred:
        """A tensor that will be read under ``name``."""
        leaf = torch.empty(shape, device="meta", dtype=torch.int64).as_subclass(Deferred)
        leaf.source = name
        return leaf

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            results = func(*args, **(kwargs or {}))
        several = isinstance(results, (tuple, list)) and any(isinstance(x, Tensor) for x in results)
        if not several and not isinstance(results, Tensor):
            return results
        out = []
        for index, result in enumerate(results if several else [results]):
            deferred = result.as_subclass(cls)
            deferred.source, deferred.made = None, (func, args, kwargs or {}, index if several else None)
            out.append(deferred)
        return tuple(out) if several else out[0]


def evaluate(deferred: Tensor, read: Callable[[str], Tensor]) -> Tensor:
    """The tensor, from those that ``read`` gives for names: views of these wherever torch makes views."""
    assert isinstance(deferred, Deferred)
    if deferred.source is not None:
        return read(deferred.source)
    func, args, kwargs, index = deferred.made
    if func is Tensor.contiguous:  # so that what is written into the result reaches the tensor it was cut from
        return evaluate(args[0], read)
    done = tree_map_only(Deferred, lambda x: evaluate(x, read), (args, kwargs))
    result = func(*done[0], **done[1])
    return result if index is None else result[index]


def leaves(deferred: Tensor) -> Iterator[str]:
    """The names of the tensors that it is made of."""
    assert isinstance(deferred, Deferred)
    if deferred.source is not None:
        yield deferred.source
        return
    for x in tree_flatten(deferred.made[1:3])[0]:
        if isinstance(x, Deferred):
            yield from leaves(x)
