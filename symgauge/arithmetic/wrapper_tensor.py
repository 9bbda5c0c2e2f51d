"""A torch.Tensor that wraps an element of an arithmetic, so that unmodified PyTorch code computes exactly.

:class:`WrapperTensor` looks like a float tensor to Python code; every aten operation on it is looked up in the rule
table (:mod:`symgauge.arithmetic.rules`) and carried out on elements. An operation without a rule is refused by name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic import complex_pairs, decompositions
from symgauge.arithmetic.arguments import leaves, mapped
from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.places import where
from symgauge.errors import UnsupportedOperation

Rule = Callable[..., Any]
_RULES: dict[Any, Rule] = {}
_VIEWS: set[Any] = set()


def rule(*operations: Any, view: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for aten operations (packets such as ``torch.ops.aten.gelu``, or single overloads).

    The decorated function is called as ``f(arithmetic, *args, **kwargs)`` with the operation's own arguments, in which
    every wrapper tensor is an :class:`~symgauge.arithmetic.interface.Element`. It returns an element, a tuple of
    elements and tensors, or an ordinary tensor. ``view=True`` marks results that share memory with their argument in
    ordinary PyTorch: writing through one of them in place is refused, because the element behind it would not see it.

    Example:
        >>> import torch, symgauge
        >>> @torch.library.custom_op("example::cubed", mutates_args=())
        ... def cubed(x: torch.Tensor) -> torch.Tensor:
        ...     return x**3
        ...
        >>> @symgauge.rule(torch.ops.example.cubed)
        ... def cubed_rule(arithmetic, x):
        ...     return arithmetic.mul(x, arithmetic.mul(x, x))
        ...
        >>> class Cubed(torch.nn.Linear):
        ...     def forward(self, x):
        ...         return torch.ops.example.cubed(super().forward(x))
        ...
        >>> symgauge.dimension(Cubed(3, 2), symgauge.Vectors(length=1, width=3)).nullity
        0
    """

    def register(function: Rule) -> Rule:
        for operation in operations:
            _RULES[operation] = function
            if view:
                _VIEWS.add(operation)
        return function

    return register


def supported() -> list[str]:
    """Names of the aten operations that have a rule, sorted.

    Example:
        >>> import symgauge
        >>> "aten.mm" in symgauge.supported()
        True
    """
    return sorted(str(operation) for operation in _RULES)


def _find(func: Any, table: Any) -> Any:
    return func if func in table else getattr(func, "overloadpacket", None)


class WrapperTensor(Tensor):
    """A tensor whose entries are those of an element. Created by :func:`wrap`; operations on wrappers give wrappers."""

    element: Any
    """An :class:`~symgauge.arithmetic.interface.Element` of its arithmetic."""
    calculus: Arithmetic
    parent: WrapperTensor | None
    """The wrapper this one is a view of: writing to either must reach the other."""
    reading: Callable[[Any], Any]
    """What makes this view out of its parent's element, or out of an ordinary tensor of the same shape."""
    views: weakref.WeakSet[WrapperTensor]
    run: Any
    """The run it belongs to, if it was made in one (see :mod:`symgauge.arithmetic.run`)."""
    parameter: str
    """Name of the parameter it stands for, or empty."""

    @staticmethod
    def __new__(cls, element: Element, calculus: Arithmetic, dtype: torch.dtype = torch.float64) -> WrapperTensor:
        self: WrapperTensor = Tensor._make_wrapper_subclass(
            cls, element.shape, dtype=dtype, device=element.reference.device
        )
        self.element = element
        self.calculus = calculus
        self.parent = None
        calculus.watcher.made(element.reference.numel())
        self.views = weakref.WeakSet()
        self.run, self.parameter = None, ""
        return self

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"WrapperTensor(shape={tuple(self.shape)}, degree={self.element.degree})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return exactly(func, args, kwargs or {})


def exactly(func: Any, args: Any, kwargs: Any) -> Any:
    """An aten operation on arguments that have a wrapper tensor, by its rule or by what it is made of."""
    if complex_pairs.involved(func, args, kwargs):
        return complex_pairs.dispatch(func, args, kwargs)
    key = _find(func, _RULES)
    if key not in _RULES:
        return _without_rule(func, args, kwargs)
    return _by_rule(func, key, args, kwargs)


def _by_rule(func: Any, key: Any, args: Any, kwargs: Any) -> Any:
    first = _first_wrapper(args, kwargs)
    schema = func._schema
    mutates = [i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    if mutates and mutates[0] >= len(args):
        raise UnsupportedOperation(f"{decompositions.refusal(func)}{where()}")
    target = args[mutates[0]] if mutates else None
    if target is not None and not isinstance(target, WrapperTensor):
        raise UnsupportedOperation(_ordinary_target(func))
    calculus = first.calculus
    plain_args, plain_kwargs = mapped(_to_element, (args, kwargs))
    outcome = _RULES[key](calculus, *plain_args, **plain_kwargs)
    dtype = kwargs.get("dtype") or _result_dtype(args, first)
    if target is not None:
        if not isinstance(outcome, Element) or outcome.shape != target.element.shape:
            raise UnsupportedOperation(f"the rule for {func} must return one element of the shape of its target")
        _write(target, outcome)
        return target

    def box(x: Any) -> Any:
        return WrapperTensor(x, calculus, dtype) if isinstance(x, Element) else x

    boxed = tuple(box(x) for x in outcome) if isinstance(outcome, (tuple, list)) else box(outcome)
    if _find(func, _VIEWS) in _VIEWS:
        _link(boxed, first, func, args[1:], kwargs)
    return boxed


def _without_rule(func: Any, args: Any, kwargs: Any) -> Any:
    """An operation made of others; one that writes in place is the plain one and a write."""
    plain = decompositions.plain_of_in_place(func)
    if plain is not None:
        if not isinstance(args[0], WrapperTensor):
            raise UnsupportedOperation(_ordinary_target(func))
        result = plain(*args, **kwargs)
        return args[0].copy_(result) if result.shape == args[0].shape else _reshaped(func, args[0], result)
    made_of = decompositions.find(func)
    if made_of is None:
        refused = decompositions.refusal(func)
        raise UnsupportedOperation(_explain(func) if refused is None else refused + where())
    return made_of(*args, **kwargs)


def _ordinary_target(func: Any) -> str:
    return (
        f"{func} writes an exact value into an ordinary tensor{where()}; create that tensor from one of the "
        "module's activations (torch.zeros_like, new_zeros) so that it can hold exact values"
    )


def _reshaped(func: Any, target: WrapperTensor, view: Any) -> WrapperTensor:
    """``target`` takes the shape that a view of it has (squeeze_, unsqueeze_)."""
    if not isinstance(view, WrapperTensor) or view.parent is not target or len(target.views) > 1:
        raise UnsupportedOperation(f"{func} changes a tensor's shape in place{where()}; use the plain operation")
    if target.parent is not None:
        outer, inner = target.reading, view.reading
        target.reading = lambda x: inner(outer(x))
    target.element = view.element
    target.data = view
    return target


def _first_wrapper(args: Any, kwargs: Any) -> WrapperTensor:
    return next(x for x in leaves((args, kwargs)) if isinstance(x, WrapperTensor))


def _to_element(x: Any) -> Any:
    return x.element if isinstance(x, WrapperTensor) else x


def _result_dtype(args: Any, first: WrapperTensor) -> torch.dtype:
    """The dtype that the result pretends to have: the widest of its arguments', as type promotion would give."""
    dtypes = [x.dtype for x in leaves(args) if isinstance(x, WrapperTensor)]
    result = dtypes[0] if dtypes else first.dtype
    for dtype in dtypes[1:]:
        result = torch.promote_types(result, dtype)
    return result


def _link(boxed: Any, parent: WrapperTensor, func: Any, rest: Any, kwargs: Any) -> None:
    """Remember how each view reads its parent, so that in-place writes can follow the shared memory."""
    several = isinstance(boxed, tuple)
    for i, view in enumerate(boxed if several else (boxed,)):

        def reading(x: Any, i: int = i) -> Any:
            result = (
                _RULES[_find(func, _RULES)](parent.calculus, x, *rest, **kwargs)
                if isinstance(x, Element)
                else func(x, *rest, **kwargs)
            )
            return result[i] if several else result

        view.parent, view.reading = parent, reading
        parent.views.add(view)


def _write(target: WrapperTensor, element: Element) -> None:
    """Give a wrapper tensor a new value in place: up to the memory it is a view of, and down to every view of that."""
    target.element = element
    while target.parent is not None:
        parent = target.parent
        numbers = torch.arange(parent.element.reference.numel(), device=element.reference.device).reshape(
            parent.element.shape
        )
        places = target.reading(numbers).flatten()

        def put(parts: Any, places: Tensor = places, shape: Any = parent.element.shape) -> Tensor:
            return parts[0].reshape(-1).index_put((places,), parts[1].reshape(-1)).reshape(shape)

        parent.element = parent.calculus.concatenate(put, [parent.element, target.element])
        target = parent
    if target.parameter:
        raise UnsupportedOperation(
            f"the module writes to its parameter {target.parameter!r} in forward{where()}, so it is "
            "another function after "
            "each call; compute the new weights without writing them back"
        )
    _refresh(target)


def _refresh(parent: WrapperTensor) -> None:
    for view in parent.views:
        view.element = view.reading(parent.element)
        _refresh(view)


def _explain(func: Any) -> str:
    return (
        f"no exact rule for {func}{where()}. Add one in a few lines: write a function of elements and register it with "
        f"@symgauge.rule(torch.ops.{str(func).rsplit('.', 1)[0]}); docs/rules.md has a worked example"
    )


def wrap(element: Element, calculus: Arithmetic) -> WrapperTensor:
    """A wrapper tensor for an element."""
    return WrapperTensor(element, calculus)
