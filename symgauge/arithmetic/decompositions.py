"""Operations without a rule of their own: written by torch in terms of others, or refused with the reason.

An in-place operation is the plain one followed by a write. What torch itself composes of simpler operations is left to
it. Of its decompositions only those listed here are used: they were read and tried against torch's own values and
derivatives, for a decomposition may round a constant, saturate or draw random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table

aten = torch.ops.aten
Function = Callable[..., Any]

TRUSTED = frozenset({
    "_euclidean_dist", "_prelu_kernel", "_reshape_alias", "_scaled_dot_product_flash_attention_for_cpu",
    "_unsafe_index", "_unsafe_index_put", "addcdiv", "addmv", "addr", "affine_grid_generator", "aminmax",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "block_diag", "channel_shuffle", "col2im",
    "count_nonzero", "deg2rad", "diag_embed", "diagonal_copy", "dist", "elu", "expand_copy", "frac", "glu",
    "grid_sampler_2d", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "im2col", "index_copy",
    "index_fill", "ldexp", "linalg_cross", "logit", "max_unpool2d", "max_unpool3d", "mse_loss", "nansum",
    "narrow_copy", "nll_loss2d_forward", "nll_loss_forward", "norm", "permute_copy", "pixel_shuffle",
    "pixel_unshuffle", "rad2deg", "renorm", "rot90", "smooth_l1_loss", "soft_margin_loss", "softshrink",
    "special_entr", "special_xlog1py", "split_with_sizes_copy", "squeeze_copy", "std", "t_copy", "take",
    "threshold", "trace", "transpose_copy", "unbind_copy", "unfold_copy", "unsafe_split", "unsafe_split_with_sizes",
    "unsqueeze_copy", "view_copy", "xlogy",
})  # fmt: skip
"""Names of the aten operations whose decompositions by torch are exact."""

_OWN: dict[Any, Function] = {}


def decomposition(*operations: Any) -> Callable[[Function], Function]:
    """Register a function of tensors, written with torch operations, as what these operations are made of."""

    def register(function: Function) -> Function:
        _OWN.update(dict.fromkeys(operations, function))
        return function

    return register


def plain_of_in_place(func: Any) -> Function | None:
    """``aten.op`` for the overload ``aten.op_``; None for what does not write into its first argument."""
    name = func._schema.name.removeprefix("aten::")
    arguments = func._schema.arguments
    writes = bool(arguments) and arguments[0].alias_info is not None and arguments[0].alias_info.is_write
    if not writes or not name.endswith("_") or name.endswith("__"):
        return None
    return getattr(aten, name[:-1], None)


def _writes_out(func: Any) -> bool:
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)


def find(func: Any) -> Function | None:
    """What ``func`` is made of, as a function with the same arguments; None if nothing exact is known."""
    if _writes_out(func):
        return None
    packet = func.overloadpacket
    own = _OWN.get(func, _OWN.get(packet))
    if own is not None:
        return own
    if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        composite: Function = func.decompose
        return composite
    if func._schema.name.removeprefix("aten::") in TRUSTED:
        table: dict[Any, Function] = decomposition_table
        return table.get(func)
    return None


def refusal(func: Any) -> str | None:
    """The sentence for an operation that can have no exact rule, whatever one writes; None for all others."""
    name = func._schema.name.split("::")[-1]
    if torch.Tag.nondeterministic_seeded in func.tags:
        return f"{name} draws random numbers: a random function has no fibre. Call module.eval(), or take the noise out"
    if _writes_out(func):
        return (
            f"{name} writes its result into out=…, which is not followed in exact arithmetic; assign the result instead"
        )
    if name.startswith("_fft_"):
        return f"{name} is not exact over a finite field: roots of unity are no floats; a convolution in time is exact"
    if name in _INEXACT:
        return f"{name} is not exact over a finite field: {_INEXACT[name]}"
    if name == "embedding_renorm":
        return "an embedding with max_norm rewrites its weights in forward; give it weights that are short enough"
    return None


_NO_FACTOR = "its factors or eigenvalues are irrational functions of the matrix, which no rule follows"
_INEXACT = {
    "_linalg_svd": _NO_FACTOR,
    "_linalg_eigh": _NO_FACTOR,
    "linalg_eig": _NO_FACTOR,
    "_linalg_eigvals": _NO_FACTOR,
    "linalg_qr": _NO_FACTOR,
    "geqrf": _NO_FACTOR,
    "linalg_pinv": _NO_FACTOR,
    "linalg_lstsq": _NO_FACTOR,
    "linalg_matrix_exp": "it mixes all entries in one exponential; Cayley's map by torch.linalg.solve is exact",
    "linalg_householder_product": "its reflectors come from a factorisation that no rule follows",
}
