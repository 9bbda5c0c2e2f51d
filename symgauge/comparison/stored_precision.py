"""The precision that a tensor's values have, which may be coarser than the type they are stored in.

Quantised weights are often kept as floats again: rounded to few levels in every block, or to a format of eight bits
with a scale. Their values say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.comparison.rounding import UNIT

_BLOCKS = (32, 64, 128)
_RUNS = 256
"""Blocks of a tensor that are looked at for its grid."""
_FEW = 4
"""Values that are no four bits but fewer (ternary weights), whose step is no level of a finer grid."""
_CODES = 17
"""Values that a block of four bits may have, and zero."""
_SAMPLE = 4096
"""Blocks of a quantised tensor that are looked at for its step."""
_COARSE = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


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
    if dtype in UNIT and dtype not in _COARSE:
        head, off = next(iter(rows)), 2e-2 if UNIT[dtype] < UNIT["float16"] else 1e-1
        if coarse := _eight_bits(rows) or _quantised(head, off, (7, 15)) or _four_bits(head):
            return coarse
        for finer, torch_type in (("bfloat16", torch.bfloat16), ("float16", torch.float16), ("float32", torch.float32)):
            if dtype in ("float64", "float32") and UNIT[finer] > UNIT[dtype] and _on_grid(rows, torch_type):
                return _float(finer)
        if dtype != "bfloat16" and (quantised := _quantised(head, off, (127, 255))) is not None:
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


def _eight_bits(rows: Rows) -> Precision | None:
    """The format of eight bits that all values have, as they are or with one scale for a row or the whole."""
    head = next(iter(rows))[:_RUNS]
    if head.dim() < 2 or head.numel() < 512:
        return None
    for name, dtype in _COARSE.items():
        if _on_grid(rows, dtype):
            return _float(name)
        for size, largest in _scales(head, rows.largest()):
            scaled = head / largest.clamp_min(1e-300) * torch.finfo(dtype).max
            grid = scaled.to(dtype).to(scaled.dtype)
            # Beside the rounding of a type of 16 bits; more values than a few levels would give.
            near = (scaled - grid).abs() <= 0.15 * UNIT[name] * scaled.abs()
            if bool(near.all()) and len(torch.unique(grid)) > 4 * _CODES:
                return Precision(f"{name} per {size}", _float(name).noise, UNIT["float32"])
    return None


def _scales(x: Tensor, most: float) -> Iterator[tuple[str, Tensor]]:
    """The largest number of every row, of the whole tensor (``most``), and of every square block, in a shape that
    divides x, its first rows."""
    yield "row", x.abs().amax(-1, keepdim=True)
    yield "tensor", torch.tensor(most, dtype=x.dtype)
    for side in _BLOCKS if x.dim() == 2 else ():
        if not len(x) % side and not x.shape[1] % side:
            largest = x.abs().unflatten(0, (-1, side)).unflatten(2, (-1, side)).amax((1, 3))
            yield f"block of {side} × {side}", largest.repeat_interleave(side, 0).repeat_interleave(side, 1)


def _four_bits(x: Tensor) -> Precision | None:
    """Blocks that have few different values each, whatever these are (levels, levels from a zero point, a code)."""
    if x.dim() < 2 or x.numel() < 512:
        return None
    for block in dict.fromkeys((x.shape[-1], 256, *reversed(_BLOCKS))):
        if block < 2 * _CODES - 2 or x.numel() % block:
            continue
        runs = x.reshape(-1, block)[:_RUNS].sort(-1).values
        gaps = runs.diff(dim=-1)
        steps = gaps > 1e-3 * runs.abs().amax(-1, keepdim=True)  # of 16 levels; rounding of bfloat16 is a tenth of one
        same = gaps <= 5e-3 * runs.abs()[:, 1:]
        counts = steps.sum(-1) + 1
        if bool((counts <= _CODES).all()) and bool((steps | same).all()) and int(counts.max()) > 1:
            squares = torch.where(steps, gaps, 0.0).square().sum(-1) / steps.sum(-1).clamp_min(1)
            noise = float((squares.mean() / 12 / runs.square().mean().clamp_min(1e-300)).sqrt())
            size = "row" if block == x.shape[-1] else f"block of {block}"
            return Precision(
                f"int4 per {size}" if int(counts.max()) > _FEW else f"few levels per {size}", noise, UNIT["float32"]
            )
    return None


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


def _quantised(x: Tensor, off: float, of: tuple[int, int]) -> Precision | None:
    """The integers (``of`` so many levels) and blocks that a floating tensor was quantised to and back from, if it was;
    ``off``: how far from an integer of the scale a number may be."""
    if x.dim() < 2 or x.numel() < 512:
        return None
    rows = x.reshape(-1, x.shape[-1])
    for block in (x.numel(), rows.shape[-1], *_BLOCKS):
        if block > 4096 * 4096 or rows.numel() % block:
            continue
        runs = x.reshape(-1, block)[:256]
        for levels in of:
            low = runs.amin(-1, keepdim=True) if levels % 16 == 15 and levels in (255, 15) else 0.0
            top = runs.amax(-1, keepdim=True) - low if levels in (255, 15) else runs.abs().amax(-1, keepdim=True)
            step = top / levels
            if block <= levels // 4 or not bool((step > 0).all()):
                continue
            ratio = (runs - low) / step
            if bool(((ratio - ratio.round()).abs() < off).all()) and len(torch.unique(ratio.round())) > _FEW:
                noise = float((step.square().mean() / 12 / runs.square().mean()).sqrt())
                size = f"block of {block}" if block in _BLOCKS else "row" if block == rows.shape[-1] else "tensor"
                return Precision(f"{'int8' if levels > 15 else 'int4'} per {size}", noise, UNIT["float32"])
    return None
