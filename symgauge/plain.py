"""A plain module in float64: put at a parameter point, and everything that depends on parameters at full precision.

Modules ask for float32 in the middle of a computation (norms, attention weights). Rounding there would drown
derivatives, so a value that is float64 stays so; constants that a module computes for itself keep their values.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from symgauge.errors import InvalidInput

Forward = Callable[[nn.Module, Any], Sequence[Tensor]]
"""(module, batch) → output tensors, each with the batch on axis 0."""

SMALL = 1e-3
"""Constants below this that are added (the ε of norms) count as there to avoid a division by zero; see ``float64``."""
_aten = torch.ops.aten
_ADD_SMALL = {
    _aten.add, _aten.add_, _aten.sub, _aten.sub_, _aten.rsub, _aten.native_layer_norm, _aten.native_group_norm,
    _aten._fused_rms_norm, _aten.native_batch_norm, _aten._native_batch_norm_legit,
    _aten._native_batch_norm_legit_no_training,
}  # fmt: skip
_BLANK = {
    _aten.zeros, _aten.ones, _aten.empty, _aten.full, _aten.eye, _aten.scalar_tensor, _aten.zeros_like, _aten.ones_like,
    _aten.empty_like, _aten.full_like, _aten.new_zeros, _aten.new_ones, _aten.new_empty, _aten.new_full,
}  # fmt: skip


class _Wide(TorchDispatchMode):
    """Operations on float64 tensors stay in float64, whatever lower type is asked for or stands beside them."""

    def __init__(self, enlarge: bool) -> None:
        super().__init__()
        self.enlarge, self.enlarged = enlarge, False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, packet = kwargs or {}, func._overloadpacket
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        full = any(x.dtype == torch.float64 for x in tensors)
        if (full or packet in _BLANK) and _lower(kwargs.get("dtype")):
            kwargs = {**kwargs, "dtype": torch.float64}
        if full and not func._schema.is_mutable and any(map(_is_low, tensors)):
            args, kwargs = tree_map(lambda x: x.double() if _is_low(x) else x, (args, kwargs))
        if full and self.enlarge and packet in _ADD_SMALL:
            args, kwargs = tree_map(self._larger, (args, kwargs))
        return func(*args, **kwargs)

    def _larger(self, x: Any) -> Any:
        if not isinstance(x, float) or not 0 < abs(x) < SMALL:
            return x
        self.enlarged = True
        return math.copysign(abs(x) ** 0.125, x)  # equal constants stay equal, unequal ones unequal


def _lower(dtype: Any) -> bool:
    return isinstance(dtype, torch.dtype) and dtype.is_floating_point and dtype != torch.float64


def _is_low(x: Any) -> bool:
    return isinstance(x, Tensor) and _lower(x.dtype)


@contextmanager
def float64(enlarge: bool = False) -> Iterator[_Wide]:
    """Around a forward pass: float64 throughout, the math kernel for attention, no fast path, autograd on.

    enlarge: small added constants are made larger (c to the power 1/8). A rank that is generic in them stays as it is,
    but directions that only ε = 1e-12 keeps from being free, and float64 cannot tell from free ones, come into sight.
    The mode that is returned says in ``enlarged`` whether there were any.
    """
    default, fast = torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled()
    torch.set_default_dtype(torch.float64)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.enable_grad(), _Wide(enlarge) as mode:
            yield mode
    finally:
        torch.set_default_dtype(default)
        torch.backends.mha.set_fastpath_enabled(fast)


def prepare(
    module: nn.Module, names: Sequence[str], theta: Tensor, device: str | torch.device = "cpu"
) -> list[nn.Parameter]:
    """Put ``module`` in evaluation mode, in float64, at ``theta`` (P,), in place; returns the parameters ``names``.

    They come in the order of θ and are the only ones that require derivatives. Parameter objects stay the same, since a
    module may hold one outside its registry. Raises :class:`InvalidInput` if a name is unknown or sizes do not add up.
    """
    named = dict(module.named_parameters(remove_duplicate=False))
    if unknown := [name for name in names if name not in named]:
        raise InvalidInput(f"{type(module).__name__} has no parameters {unknown}; give names of its named_parameters()")
    counted = [named[name] for name in names]
    if (size := sum(p.numel() for p in counted)) != theta.numel():
        raise InvalidInput(f"the point has {theta.numel()} numbers, but the parameters named have {size}")
    module.to(device)
    for part in module.modules():
        part.training = False  # not by eval(), which merged adapters take as an order to rewrite weights
        for key, value in list(vars(part).items()):  # constants that are neither parameters nor buffers
            if _is_low(value) and not isinstance(value, nn.Parameter):
                object.__setattr__(part, key, value.detach().to(device, torch.float64))
    for tensor in (*module.parameters(), *module.buffers()):
        if _is_low(tensor):
            tensor.data = tensor.data.double()
        if tensor.is_leaf:
            tensor.requires_grad_(False)
    pieces = theta.detach().to(device, torch.float64).split([p.numel() for p in counted])
    for p, piece in zip(counted, pieces, strict=True):
        p.data.copy_(piece.reshape(p.shape))  # in place, for what else looks at this memory
        p.requires_grad_(True)
    return counted


def run(module: nn.Module, batch: Any) -> list[Tensor]:
    """All floating tensors that the module returns for a batch; only ``.logits`` where it has that."""
    takes = inspect.signature(module.forward).parameters
    result = module(batch, **({"use_cache": False} if "use_cache" in takes else {}))
    return list(_tensors(getattr(result, "logits", result)))


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        if value.is_complex():
            yield torch.view_as_real(value)
        elif value.is_floating_point():
            yield value
        return
    if dataclasses.is_dataclass(value) and not isinstance(value, Mapping):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
