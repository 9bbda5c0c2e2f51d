"""Maximum pooling and its kin: torch finds the entries from the float64 references, values follow by look-up."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.arithmetic.interface import Arithmetic, Element
from symgauge.arithmetic.wrapper_tensor import rule

aten = torch.ops.aten


def _found_by(operation: Any, axes: int) -> Any:
    """A rule for an operation that returns values and their positions within the last ``axes`` axes."""

    def pool(c: Arithmetic, x: Element, *args: Any, **kwargs: Any) -> tuple[Element, Tensor]:
        index = operation(x.reference, *args, **kwargs)[1]
        flat = index.flatten(-axes)

        def look_up(t: Tensor) -> Tensor:
            entries = t.flatten(-axes)
            return entries.gather(-1, flat.expand(*entries.shape[:-1], flat.shape[-1])).reshape(
                *t.shape[: t.dim() - axes], *index.shape[-axes:]
            )

        return c.gather(look_up, x), index

    return pool


for _operation, _axes in (
    (aten.max_pool2d_with_indices, 2),
    (aten.max_pool3d_with_indices, 3),
    (aten.adaptive_max_pool2d, 2),
    (aten.adaptive_max_pool3d, 3),
):
    rule(_operation)(_found_by(_operation, _axes))
