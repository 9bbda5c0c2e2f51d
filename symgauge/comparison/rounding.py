"""The size and look of rounding."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows

UNIT = {
    "float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8, "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}  # fmt: skip
SAFETY = 4.0
"""Factor between the typical size of rounding and what is allowed: a fold, a rotation and a cast round three times."""
_TOUCHED = 1 / 8
"""Share of the numbers of a tensor that rounding changes at least: some lie on the coarser grid already."""
_FAR = 16.0
"""How many times the allowed size one number of very many may be off."""


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
