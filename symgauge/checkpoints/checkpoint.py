"""Named tensors that are read one at a time, wherever they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.checks import did_you_mean
from symgauge.errors import InvalidFile


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """One tensor of a checkpoint: what is known before it is read, and how to read it."""

    shape: tuple[int, ...]
    dtype: str
    """As stored: "float32", "bfloat16", "int8", or a GGUF type such as "Q4_1"."""
    load: Callable[[], Tensor]
    """The numbers, in a torch dtype that holds them (dequantised, where they are quantised)."""
    part: Callable[[int, int], Tensor] | None = None
    """The same from one row to another; None where these cannot be read alone."""

    @property
    def is_floating(self) -> bool:
        """Whether it holds numbers to compute with, and no positions, masks or counters."""
        return self.dtype not in ("int64", "int32", "int16", "uint8", "bool")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint's tensors by name, and its configuration if it has one. Tensors are read on demand, never kept.

    ``source`` is how messages call it. ``aliases`` leads from the names of a ``transformers`` module to the names
    stored here, where these are others (GGUF).

    Example:
        >>> import torch
        >>> from symgauge.checkpoints import open_checkpoint
        >>> found = open_checkpoint({"up.weight": torch.ones(2, 3, dtype=torch.bfloat16)})
        >>> sorted(found), found.shape("up.weight"), found.dtype("up.weight"), found.read("up.weight").dtype
        (['up.weight'], (2, 3), 'bfloat16', torch.float64)
    """

    source: str
    tensors: Mapping[str, StoredTensor]
    config: dict[str, Any] | None = None
    """The fields of its ``config.json``."""
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __getitem__(self, name: str) -> StoredTensor:
        """Raises :class:`InvalidFile` for a tensor that is missing."""
        if name not in self.tensors:
            near = did_you_mean(name, self.tensors)
            raise InvalidFile(f"{self.source}: tensor {name!r} is missing{near}")
        return self.tensors[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self[name].shape

    def dtype(self, name: str) -> str:
        """The type as stored, such as "bfloat16" or "Q4_1"."""
        return self[name].dtype

    def stored(self, name: str) -> Tensor:
        """A tensor in the dtype it is stored in (dequantised to float32, where that is none of torch's)."""
        return self[name].load()

    def read(self, name: str) -> Tensor:
        """A tensor in float64. Raises :class:`InvalidFile` if it is missing or has entries that are not finite."""
        return self._finite(name, self[name].load())

    def rows(self, name: str) -> Rows | None:
        """A tensor in float64 a block of rows at a time; None where it can only be read whole."""
        part = self[name].part
        if part is None:
            return None
        return Rows(self.shape(name), lambda start, stop: self._finite(name, part(start, stop)))

    def _finite(self, name: str, tensor: Tensor) -> Tensor:
        found = tensor.to(torch.float64)
        # A sum is finite where all terms are, and quicker than to look at each.
        if not bool(torch.isfinite(found.sum())) and not bool(torch.isfinite(found).all()):
            count = int((~torch.isfinite(found)).sum())
            raise InvalidFile(f"{self.source}: tensor {name!r} has {count:,} entries that are NaN or infinite")
        return found
