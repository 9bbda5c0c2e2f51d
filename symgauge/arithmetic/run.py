"""One forward pass in exact arithmetic, watched: every operation is seen, also those on ordinary tensors alone.

So a parameter that is reached around the registry (kept in a list, captured by a closure) is recognised by its memory,
and randomness, tensors kept from an earlier call, and branches on values that depend on parameters are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakIdKeyDictionary

from symgauge.arithmetic import decompositions
from symgauge.arithmetic.carrier import Carrier, exactly
from symgauge.arithmetic.complex_pairs import Pair
from symgauge.arithmetic.places import current, where
from symgauge.arithmetic.record import Record
from symgauge.errors import UnsupportedOperation

aten = torch.ops.aten
_READS = {aten._local_scalar_dense, aten.nonzero, aten.equal, aten.is_nonzero}
"""What Python code branches by."""


class Memory:
    """Where the counted parameters lie: the memory of each, with the name and the tensor that lies there."""

    def __init__(self) -> None:
        self._homes: dict[int, list[tuple[str, Tensor]]] = {}

    def add(self, name: str, parameter: Tensor) -> None:
        self._homes.setdefault(_address(parameter), []).append((name, parameter))

    def find(self, x: Tensor) -> list[tuple[str, Tensor]]:
        return self._homes.get(_address(x), [])


def _address(x: Tensor) -> int:
    try:
        return x.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return 0


class Run(TorchDispatchMode):
    """Active around one call of a module's forward whose parameters are the given carriers."""

    def __init__(self, memory: Memory, carriers: Mapping[str, Carrier], record: Record) -> None:
        super().__init__()
        self.memory, self.carriers, self.record = memory, carriers, record
        self._decided = WeakIdKeyDictionary()
        for carrier in carriers.values():
            carrier.run = self

    def adopt(self, carriers: Iterable[Any]) -> None:
        for x in carriers:
            if isinstance(x, Carrier):
                x.run = self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        exact = False
        for x in tensors:
            if isinstance(x, Carrier):
                exact = True
                if x.run is not None and x.run is not self:
                    raise UnsupportedOperation(
                        f"a tensor that was computed in an earlier call is used again{where()}: the module keeps values "
                        "that depend on its parameters from one call to the next; compute them in every call"
                    )
            elif isinstance(x, Pair):
                exact = True
            elif self.memory.find(x):
                exact = True
                args, kwargs = tree_map(lambda y, x=x: self._registered(x) if y is x else y, (args, kwargs))
            elif x.requires_grad:
                raise UnsupportedOperation(
                    f"a tensor of shape {tuple(x.shape)} that requires gradients is used{where()} but is no registered "
                    "parameter of the module; register it (nn.Parameter as an attribute, nn.ParameterList), or detach it"
                )
        if exact:
            result = exactly(func, args, kwargs)
            self.adopt(tree_leaves(result))
            if any(isinstance(x, Carrier) and x.jet.depends for x in tree_leaves((args, kwargs))):
                self._decide(result)
            return result
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise UnsupportedOperation((decompositions.refusal(func) or f"{func} draws random numbers") + where())
        result = func(*args, **kwargs)
        if any(x in self._decided for x in tensors):
            if getattr(func, "overloadpacket", None) in _READS:
                self.record.branches[current()] += 1
            self._decide(result)
        return result

    def _decide(self, result: Any) -> None:
        """Ordinary tensors that come out of exact ones are decisions by the float64 reference."""
        for x in tree_leaves(result):
            if isinstance(x, Tensor) and not isinstance(x, (Carrier, Pair)):
                self._decided[x] = True

    def _registered(self, x: Tensor) -> Tensor:
        """The carrier of a parameter, or the same view of it, that was met as an ordinary tensor."""
        for name, parameter in self.memory.find(x):
            carrier = self.carriers[name]
            if x.shape == parameter.shape and x.stride() == parameter.stride() and (
                x.storage_offset() == parameter.storage_offset()
            ):
                return carrier
            numbers = torch.full((x.untyped_storage().nbytes() // x.element_size(),), -1)
            order = torch.arange(parameter.numel()).reshape(parameter.shape)
            numbers.as_strided(parameter.shape, parameter.stride(), parameter.storage_offset()).copy_(order)
            entries = numbers.as_strided(x.shape, x.stride(), x.storage_offset())
            if bool((entries >= 0).all()):
                view = exactly(aten.index.Tensor, (exactly(aten.view.default, (carrier, [-1]), {}), [entries]), {})
                view.run = self
                return view
        names = [name for name, _ in self.memory.find(x)]
        raise UnsupportedOperation(
            f"a tensor that shares the memory of {' and '.join(map(repr, names))} without being a part of it is used"
            f"{where()}; register it, or compute it from the parameter in every call"
        )
