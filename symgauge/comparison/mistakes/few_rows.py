"""A few channels that were changed or exchanged, all others being right: rows of a table, rows or columns of a map."""

import torch
from torch import Tensor

from symgauge.comparison.difference import Diagnosis, Difference

_FEW = 1 / 8
"""Share of a tensor's channels."""
_NAMED = 4
"""Rows of a table that are named one by one."""


def recognise(difference: Difference) -> Diagnosis | None:
    expected, found = difference.expected(), difference.found()
    if found.dim() < 2:
        return None
    for kind, axes in difference.channels().items():
        across = tuple(i for i in range(found.dim()) if i not in axes)
        sizes = (found - expected).square().mean(across, keepdim=True).sqrt()
        allowed = difference.allowed * float(found.square().mean().sqrt())
        wrong = sizes > max(1e-2 * float(sizes.max()), allowed)
        count, of = int(wrong.sum()), wrong.numel()
        if not 0 < count <= max(2, _FEW * of) or count == of or (difference.chosen is not None and kind != "rows"):
            continue
        if not difference.explains(torch.where(wrong, found, expected)):
            continue
        which = f"{count:,} of its {round(of / difference.share):,} {kind}"
        if kind == "rows" and count <= _NAMED:
            numbers = wrong.flatten().nonzero().flatten()
            numbers = numbers if difference.chosen is None else difference.chosen[numbers]
            which += f" ({', '.join(map(str, numbers.tolist()))})"
        change = "differs" if count == 1 else "differ"
        before, after = (_rows(x, axes)[wrong.flatten()] for x in (expected, found))
        if count > 1 and _permuted(before, after, difference.allowed):
            change = "have changed places"
        return Diagnosis(f"{which} {change}, and all others agree")
    return None


def _rows(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    return x.movedim(axes, tuple(range(len(axes)))).flatten(0, len(axes) - 1).flatten(1)


def _permuted(expected: Tensor, found: Tensor, allowed: float) -> bool:
    """Whether the rows found are those expected in another order."""
    distance, nearest = torch.cdist(found, expected).min(-1)
    exact = distance <= 4 * allowed * found.norm(dim=-1).clamp_min(float(expected.norm(dim=-1).mean()))
    return len(set(nearest.tolist())) == len(found) and bool(exact.all())
