"""Random inputs and group elements for an architecture, from a seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.symmetries.base import DiscreteSymmetry, Symmetry


def random_inputs(architecture: Architecture, seed: int = 0, *, batch: int = 3, length: int | None = None) -> Tensor:
    """Token ids (batch, length) int64, or without a vocabulary vectors (batch, length, d_model) float64.

    ``length`` is the architecture's context (at most 8) unless given. Raises :class:`InvalidInput` for sizes below 1
    and for sequences longer than the position table.

    Example:
        >>> import symgauge
        >>> from symgauge.numeric import random_inputs
        >>> random_inputs(symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2), batch=2).shape
        torch.Size([2, 4, 5])
        >>> random_inputs(symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=9), length=3).dtype
        torch.int64
    """
    length = min(architecture.context, 8) if length is None else length
    if batch < 1 or length < 1:
        raise InvalidInput(f"inputs need at least one sequence of one position; batch={batch}, length={length}")
    if architecture.position_table and length > architecture.context:
        raise InvalidInput(f"length {length} does not fit the position table of {architecture.context} rows")
    generator = torch.Generator().manual_seed(seed)
    if architecture.is_model:
        return torch.randint(architecture.vocabulary, (batch, length), generator=generator)
    return torch.randn((batch, length, architecture.d_model), generator=generator, dtype=torch.float64)


def random_element(family: Symmetry | DiscreteSymmetry, architecture: Architecture, seed: int = 0) -> Any:
    """A general element of a symmetry family, as its ``sample`` draws it.

    Example:
        >>> import symgauge
        >>> from symgauge.numeric import random_element
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> family = families(a)[0]
        >>> element = random_element(family, a)
        >>> element.shape   # coordinates: 2 · 3²
        torch.Size([18])
    """
    return family.sample(architecture, graph_of(architecture), torch.Generator().manual_seed(seed))
