"""Storing an attention layer without the numbers that its gauge makes superfluous."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.canonical import Canonical
from symgauge.algorithms.minors import Minor
from symgauge.algorithms.parameters import AttentionParameters
from symgauge.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Compressed:
    """The numbers that are left (P − removed,), and the rows at which identity blocks stand.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention
        >>> small = symgauge.compress(symgauge.canonicalize(random_attention(6, 1, 2, 3), "minor"))
        >>> small.values.shape, small.template.size
        (torch.Size([47]), 60)
    """

    values: Tensor
    minors: tuple[Minor, ...]
    template: AttentionParameters
    """Shapes only: tensors on the meta device."""


def _marked(like: AttentionParameters, minors: tuple[Minor, ...]) -> dict[str, Tensor]:
    """Every tensor, NaN where a number is stored and the known number elsewhere."""
    device = minors[0].rows.device
    found = {n: torch.full(x.shape, float("nan"), dtype=x.dtype, device=device) for n, x in like.tensors().items()}
    for minor in minors:
        minor.mark(found["value" if minor.channels is None else "key"])
    return found


def compress(canonical: Canonical) -> Compressed:
    """Leave out the identity blocks of the form "minor": P − Σ_groups (d_k² + d_v²) numbers stay.

    Nothing else is lost: :func:`expand` returns the same parameters bit for bit. Raises :class:`InvalidInput` for
    other forms, none of whose entries is fixed.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2)
        >>> small = symgauge.compress(symgauge.canonicalize(layer, "minor"))
        >>> layer.size - small.values.numel()   # 2 (2² + 3²)
        26
    """
    if canonical.form != "minor":
        raise InvalidInput(f"the form {canonical.form!r} fixes no entry; canonicalize with form='minor' to compress")
    p = canonical.parameters
    marked = _marked(p, canonical.minors)
    kept = [x[marked[name].isnan()] for name, x in p.tensors().items()]
    return Compressed(torch.cat(kept), canonical.minors, p.map(lambda x: x.to("meta")))


def expand(compressed: Compressed) -> AttentionParameters:
    """The parameters that were compressed.

    Raises :class:`InvalidInput` where the number of stored values does not fit the layer.

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention
        >>> form = symgauge.canonicalize(random_attention(d_model=6, heads=4, d_k=2, d_v=3), "minor")
        >>> symgauge.expand(symgauge.compress(form)).distance(form.parameters)
        0.0
    """
    tensors = _marked(compressed.template, compressed.minors)
    start = 0
    for x in tensors.values():
        free = x.isnan()
        count = int(free.sum())
        x[free] = compressed.values[start : start + count]
        start += count
    if start != compressed.values.numel():
        raise InvalidInput(f"compressed layer: {compressed.values.numel()} numbers are stored, {start} are needed")
    return compressed.template.replace(**tensors)
