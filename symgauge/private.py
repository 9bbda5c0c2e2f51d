"""A private copy of a user's module: what is measured is the copy, and the module itself is left exactly as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput


def private_copy(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode, parameters in float64, that shares no tensor with ``module``.

    The flags are set without calling ``eval()``, which some modules (merged adapters) take for an order to merge.

    Raises:
        InvalidInput: the module is compiled TorchScript, is not initialised yet, cannot be copied, or holds a tensor
            that overlaps with a parameter in memory without being a part of it.
    """
    module = getattr(module, "_orig_mod", module)  # what torch.compile wraps
    for name, part in module.named_modules():
        if isinstance(part, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            raise InvalidInput(
                f"{_called(module, name)} is TorchScript, whose operations cannot be followed; "
                "measure the Python module "
                "it was made from"
            )
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if isinstance(tensor, (nn.parameter.UninitializedParameter, nn.parameter.UninitializedBuffer)):
            raise InvalidInput(
                f"{name!r} has no shape yet, because its module is lazy; run the module once on an example input first"
            )
        if tensor.is_meta:
            raise InvalidInput(f"{name!r} is on the meta device and holds no numbers; give a module with weights")
    # Tensors that came out of a computation cannot be copied by torch; they stay marked by requiring gradients.
    memo: dict[int, Any] = {}
    homes: dict[int, list[tuple[Tensor, Tensor]]] = {}
    for parameter in module.parameters():
        if type(parameter) is nn.Parameter and parameter.is_floating_point():
            twin_of = nn.Parameter(parameter.detach().double().clone(), requires_grad=parameter.requires_grad)
            memo[id(parameter)] = twin_of
            homes.setdefault(_address(parameter), []).append((parameter, twin_of))
    for tensor in _held_tensors(module):
        if id(tensor) in memo:
            continue
        home = _home(tensor, homes.get(_address(tensor), []))
        if home is None and tensor.is_leaf:
            continue
        if home is not None and home[0].stride() == home[1].stride() and tensor.dtype == home[0].dtype:
            # A view of a parameter, kept by hand, stays one.
            offset = tensor.storage_offset() - home[0].storage_offset()
            memo[id(tensor)] = home[1].detach().as_strided(tensor.shape, tensor.stride(), offset)
        else:
            memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    try:
        twin = copy.deepcopy(module, memo)
    except Exception as error:  # whatever a user's class raises
        raise InvalidInput(
            f"{type(module).__name__} cannot be copied ({type(error).__name__}: {str(error)[:120]}), "
            "and it is measured "
            "on a copy so that it stays as it is; make copy.deepcopy(module) work"
        ) from error
    for part in twin.modules():
        part.training = False
    return twin


def _address(x: Tensor) -> int:
    return 0 if x.is_sparse or x.is_meta else x.untyped_storage().data_ptr()


def _home(x: Tensor, homes: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor] | None:
    """The parameter that a tensor is a part of, and its twin; ``homes`` are those that share its memory."""
    own = _span(x)
    for parameter, twin in homes:
        span = _span(parameter)
        if not own or (span.start <= own.start and own.stop <= span.stop):
            return parameter, twin
        if max(own.start, span.start) < min(own.stop, span.stop):
            raise InvalidInput(
                f"a tensor of shape {tuple(x.shape)} that the module holds shares the memory of a parameter of shape "
                f"{tuple(parameter.shape)} without being a part of it; register it, or compute it from the parameter "
                "in every call"
            )
    return None


def _span(x: Tensor) -> range:
    """Places in memory, in bytes, from a tensor's first entry to its last."""
    last = sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
    start = x.storage_offset()
    return range(start * x.element_size(), (start + last + 1) * x.element_size() if x.numel() else 0)


def _called(module: nn.Module, name: str) -> str:
    return f"submodule {name!r}" if name else type(module).__name__


def _held_tensors(module: nn.Module) -> Iterator[Tensor]:
    """Tensors that modules hold beside their parameters and buffers, also in lists, tuples and dicts."""

    def inside(value: Any, depth: int) -> Iterator[Tensor]:
        if isinstance(value, Tensor):
            yield value
        elif depth and isinstance(value, dict):
            for x in value.values():
                yield from inside(x, depth - 1)
        elif depth and isinstance(value, (list, tuple)):
            for x in value:
                yield from inside(x, depth - 1)

    for part in module.modules():
        for key, value in vars(part).items():
            if key not in ("_parameters", "_modules"):
                yield from inside(value, 3)
