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
from torch.utils.weak import WeakIdKeyDictionary

from symgauge.arithmetic import decompositions
from symgauge.arithmetic.arguments import leaves, mapped
from symgauge.arithmetic.complex_pairs import Pair
from symgauge.arithmetic.places import current, where
from symgauge.arithmetic.record import Record
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, exactly
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
        return self._homes.get(_address(x), []) if x.numel() else []  # what is empty has no memory of its own


def _address(x: Tensor) -> int:
    try:
        return x.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
        return 0


class Run(TorchDispatchMode):
    """Active around one call of a module's forward whose parameters are the given wrapper tensors."""

    def __init__(self, memory: Memory, wrappers: Mapping[str, WrapperTensor], record: Record) -> None:
        super().__init__()
        self.memory, self.wrappers, self.record = memory, dict(wrappers), record
        self.scratch = Memory()
        """Memory of ordinary tensors that exact values were written into."""
        self._kept: list[Tensor] = []
        self._decided = WeakIdKeyDictionary()
        for wrapper in wrappers.values():
            wrapper.run = self

    def adopt(self, wrappers: Iterable[Any]) -> None:
        for x in wrappers:
            if isinstance(x, WrapperTensor):
                x.run = self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [x for x in leaves((args, kwargs)) if isinstance(x, Tensor)]
        if _views(func) and not any(isinstance(x, (WrapperTensor, Pair)) for x in tensors):
            result = func(*args, **kwargs)  # it shares its memory, by which it is recognised when it is used
            if any(x in self._decided for x in tensors):
                self._decide(result)
            return result
        if _writes(func, args) and any(
            isinstance(x, (WrapperTensor, Pair)) or self._is_parameter(x) for x in tensors[1:]
        ):
            self._make_exact(args[0])
        scratch = None
        if func._schema.is_mutable and args and isinstance(args[0], Tensor) and self.scratch.find(args[0]):
            scratch = args[0]
        exact = False
        for x in tensors:
            if isinstance(x, WrapperTensor):
                exact = True
                if x.run is not None and x.run is not self:
                    raise UnsupportedOperation(
                        f"a tensor that was computed in an earlier call is used again{where()}: the "
                        "module keeps values "
                        "that depend on its parameters from one call to the next; compute them in every call"
                    )
            elif isinstance(x, Pair):
                exact = True
            elif self.memory.find(x) or self.scratch.find(x):
                exact = True
                args, kwargs = mapped(lambda y, x=x: self._exact_of(x) if y is x else y, (args, kwargs))  # type: ignore[misc]
            elif x.requires_grad:
                raise UnsupportedOperation(
                    f"a tensor of shape {tuple(x.shape)} that requires gradients is used{where()} but is no registered "
                    "parameter of the module; register it (nn.Parameter as an attribute, "
                    "nn.ParameterList), or detach it"
                )
        if exact:
            result = exactly(func, args, kwargs)
            self.adopt(leaves(result))
            if scratch is not None:
                self._write_back(scratch, result)
            if any(isinstance(x, WrapperTensor) and x.element.depends for x in leaves((args, kwargs))):
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
        for x in leaves(result):
            if isinstance(x, Tensor) and not isinstance(x, (WrapperTensor, Pair)):
                self._decided[x] = True

    def _is_parameter(self, x: Any) -> bool:
        return isinstance(x, Tensor) and bool(self.memory.find(x) or self.scratch.find(x))

    def resolve(self, x: Tensor) -> Tensor:
        """What the module returned: for an ordinary tensor with exact memory, the wrapper tensor that it stands for."""
        return self._exact_of(x) if not isinstance(x, WrapperTensor) and self._is_parameter(x) else x

    # ----- ordinary tensors that exact values are written into: torch.zeros(…) filled piece by piece

    def _make_exact(self, x: Any) -> None:
        """From here on the memory of an ordinary tensor holds exact values."""
        if isinstance(x, (WrapperTensor, Pair)) or not isinstance(x, Tensor) or self._is_parameter(x):
            return
        if not x.is_floating_point():
            raise UnsupportedOperation(
                f"an exact value is written into a tensor of {x.dtype}{where()}; write it into one of "
                "floating-point numbers"
            )
        whole = x.new_empty(0).set_(x.untyped_storage())  # all of its memory, in a row
        calculus = next(iter(self.wrappers.values())).calculus
        name = f"scratch {len(self.wrappers)}"
        self.wrappers[name] = WrapperTensor(calculus.lift(whole.clone()), calculus)
        self.wrappers[name].run = self
        self.scratch.add(name, whole)
        self._kept.append(whole)

    def _write_back(self, target: Tensor, result: Any) -> None:
        """Put what was written into a part of exact memory where it belongs."""
        ((name, whole),) = self.scratch.find(target)
        entries = _entries(target, whole).reshape(-1)
        base, new = self.wrappers[name], result.element
        base.element = base.calculus.concatenate(
            lambda parts: parts[0].index_put((entries,), parts[1].reshape(-1)), [base.element, new]
        )

    def _exact_of(self, x: Tensor) -> Tensor:
        """The wrapper tensor, or the same view of it, of a parameter or exact memory met as an ordinary tensor."""
        found = self.memory.find(x) or self.scratch.find(x)
        for name, home in found:
            wrapper = self.wrappers[name]
            if (x.shape, x.stride(), x.storage_offset()) == (home.shape, home.stride(), home.storage_offset()):
                return wrapper
            entries = _entries(x, home)
            if bool((entries >= 0).all()):
                view = exactly(aten.index.Tensor, (exactly(aten.view.default, (wrapper, [-1]), {}), [entries]), {})
                view.run = self
                return view
        raise UnsupportedOperation(
            f"a tensor that shares the memory of {' and '.join(repr(name) for name, _ in found)} "
            "without being a part of it "
            f"is used{where()}; register it, or compute it from the parameter in every call"
        )


def _writes(func: Any, args: Any) -> bool:
    first = func._schema.arguments[0] if func._schema.arguments else None
    return bool(args) and first is not None and first.alias_info is not None and first.alias_info.is_write


def _views(func: Any) -> bool:
    """Whether results share memory with an argument that is only read."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


def _entries(x: Tensor, home: Tensor) -> Tensor:
    """For each entry of ``x``, which entry of ``home`` lies in the same place in memory; −1 for none."""
    numbers = torch.full((x.untyped_storage().nbytes() // x.element_size(),), -1)
    order = torch.arange(home.numel()).reshape(home.shape)
    numbers.as_strided(home.shape, home.stride(), home.storage_offset()).copy_(order)
    return numbers.as_strided(x.shape, x.stride(), x.storage_offset())
