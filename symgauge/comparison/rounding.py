"""How far a tensor may lie from where exact arithmetic would have put it: the precision that it is stored in, and the
size and look of rounding at that precision."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows

UNIT = {
    "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}  # fmt: skip
SAFETY = 4.0
"""Factor between the typical size of rounding and what is allowed: a fold, a rotation and a cast round three times."""
_LEVELS = (127, 7, 255, 15)
_BLOCKS = (32, 64, 128)
_TOUCHED = 1 / 8
"""Share of the numbers of a tensor that rounding changes at least: some lie on the coarser grid already."""
_FAR = 16.0
"""How many times the allowed size one number of very many may be off."""
_SAMPLE = 4096
"""Blocks of a quantised tensor that are looked at."""


@dataclass(frozen=True)
class Precision:
    """What a tensor is stored in, and how much of it rounding may be.

    ``noise`` is the root mean square of rounding over that of the tensor; ``unit`` the unit roundoff of the arithmetic
    that may have computed it, which is never taken to be finer than the storage.
    """

    name: str
    noise: float
    unit: float

    @property
    def low(self) -> bool:
        """Whether the precision stored is below that of float32."""
        return self.noise > 4 * UNIT["float32"]


def precision_of(tensor: Tensor | Rows, dtype: str) -> Precision:
    """The precision of the values themselves: coarser than the dtype where all lie on the grid of a coarser one.

    The steps of quantised tensors are those of the first block of rows.
    """
    rows = Rows.of(tensor)
    if dtype in ("float64", "float32"):
        for finer, torch_type in (("bfloat16", torch.bfloat16), ("float16", torch.float16), ("float32", torch.float32)):
            if UNIT[finer] > UNIT[dtype] and _on_grid(rows, torch_type):
                return _float(finer)
        if (quantised := _quantised(next(iter(rows)))) is not None:
            return quantised
    if dtype in UNIT:
        return _float(dtype)
    return Precision(dtype, _block_noise(next(iter(rows))), UNIT["float32"])


def _float(name: str) -> Precision:
    # Nothing finer than some roundings of float64 is resolved, for that is what this comparison computes in.
    return Precision(name, UNIT[name] / 3**0.5, max(min(UNIT[name], UNIT["float32"]), 2.0**-47))


def _on_grid(rows: Rows, dtype: torch.dtype) -> bool:
    """Whether every value is one of ``dtype``, and not all are trivial (zeros, ones, powers of two)."""
    head = next(iter(rows)).flatten()[:4096]
    if not torch.equal(head, head.to(dtype).to(head.dtype)):
        return False
    if not all(torch.equal(x, x.to(dtype).to(x.dtype)) for x in rows):
        return False
    return any(bool((torch.frexp(x).mantissa.abs() % 0.5 != 0).any()) for x in rows)


def _block_noise(x: Tensor, block: int = 32) -> float:
    """Of a quantised tensor: in each run of ``block`` numbers the least gap between two is the step."""
    flat = x.flatten()
    flat = flat[: len(flat) // block * block].reshape(-1, block)
    flat = flat[:: max(1, len(flat) // _SAMPLE)]
    if not len(flat):
        return UNIT["float16"]
    ordered = flat.sort(-1).values
    gaps = ordered.diff(dim=-1)
    gaps = torch.where(gaps > 1e-6 * flat.abs().amax(-1, keepdim=True), gaps, torch.inf)
    step = gaps.amin(-1)
    step = torch.where(torch.isfinite(step), step, 0.0)
    return float((step.square().mean() / 12 / flat.square().mean().clamp_min(1e-300)).sqrt())


def _quantised(x: Tensor) -> Precision | None:
    """The integers and blocks that a floating tensor was quantised to and back from, if it was."""
    if x.dim() < 2 or x.numel() < 512:
        return None
    rows = x.reshape(-1, x.shape[-1])
    for block in (x.numel(), rows.shape[-1], *_BLOCKS):
        if block > 4096 * 4096 or rows.numel() % block:
            continue
        runs = x.reshape(-1, block)[:256]
        for levels in _LEVELS:
            low = runs.amin(-1, keepdim=True) if levels % 16 == 15 and levels in (255, 15) else 0.0
            top = runs.amax(-1, keepdim=True) - low if levels in (255, 15) else runs.abs().amax(-1, keepdim=True)
            step = top / levels
            if block <= levels // 4 or not bool((step > 0).all()):
                continue
            ratio = (runs - low) / step
            if bool(((ratio - ratio.round()).abs() < 2e-2).all()):
                noise = float((step.square().mean() / 12 / runs.square().mean()).sqrt())
                size = f"block of {block}" if block in _BLOCKS else "row" if block == rows.shape[-1] else "tensor"
                return Precision(f"{'int8' if levels > 15 else 'int4'} per {size}", noise, UNIT["float32"])
    return None


def stands_out(difference: Tensor | Rows, tensor: Tensor | Rows, allowed: float, least: float = 0.0) -> bool:
    """Whether some numbers differ by far more than ``allowed``, a relative root mean square, lets any of them.

    ``least``: of which size the terms are at least that the tensor is summed from.

    One changed number of a million is nothing in the norm. A rounded number is off in proportion to the numbers that
    were summed for it, which are as large as those of its row or column.
    """
    differences, rows = Rows.of(difference), Rows.of(tensor)
    whole = torch.tensor(max(rows.norm() / rows.numel() ** 0.5, least), dtype=torch.float64)
    if rows.dim() > 1:
        whole = torch.maximum(whole, (rows.total(lambda x: x.square().sum(0)) / rows.shape[0]).sqrt())
    for change, x in zip(differences, rows, strict=True):
        size = whole
        for axis in range(1, x.dim()):
            size = torch.maximum(size, x.square().mean(axis, keepdim=True).sqrt())
        if bool((change.abs() > _FAR * allowed * size).any()):
            return True
    return False


def looks_like_rounding(difference: Tensor | Rows) -> bool:
    """Whether a difference is as spread out as rounding is: most numbers differ, and none of its directions sticks out.

    The largest singular value of a random m × n matrix of entries of size s is s(√m + √n); an update of low rank, or a
    mistake in one direction, is far above. Rows and columns are brought to equal size first, for rounding follows the
    sizes of what is rounded.
    """
    if isinstance(difference, Tensor) and difference.dim() > 1:
        d = difference.reshape(-1, difference.shape[-1])
        if difference.dim() == 3:  # heads side by side, as queries, keys and values are stored, or below one another
            d = max(d, difference.transpose(0, 1).flatten(1), key=lambda x: min(x.shape))
        difference = d
    rows = Rows.of(difference)
    least = 1e-3 * rows.norm() / rows.numel() ** 0.5
    if float(rows.total(lambda x: (x.abs() > least).double().sum())) < _TOUCHED * rows.numel():
        return False
    if rows.dim() < 2 or min(rows.shape) < 16:
        return True
    m, n = rows.shape
    tiny = 1e-300
    rows = rows.map(lambda x: x / x.square().mean(1, keepdim=True).sqrt().clamp_min(tiny)).settled()
    columns = (rows.total(lambda x: x.square().sum(0)) / m).sqrt().clamp_min(tiny)
    rows = rows.map(lambda x: x / columns).settled()
    generator = torch.Generator().manual_seed(0)
    v = torch.randn((n, 4), generator=generator, dtype=torch.float64)
    for _ in range(8):
        v = torch.linalg.qr(rows.total(lambda x, v=v: x.mT @ (x @ v))).Q  # type: ignore[misc]
    seen = rows.total(lambda x: (x @ v).mT @ (x @ v))
    return float(torch.linalg.matrix_norm(seen, 2)) ** 0.5 < 1.5 * (m**0.5 + n**0.5)
