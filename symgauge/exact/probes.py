"""What a module is probed with: token sequences or vector sequences, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.errors import InvalidInput


def _positive(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidInput(f"{name} must be a positive integer, not {size!r}")


def _axis(axis: int) -> None:
    if axis not in (0, 1) or isinstance(axis, bool):
        raise InvalidInput(f"batch_axis must be 0 (batch first) or 1 (time first), not {axis!r}")


@dataclass(frozen=True)
class Tokens:
    """Sequences of ``length`` token ids below ``vocabulary``: the module gets an int64 tensor (batch, length).

    Raises :class:`InvalidInput` for sizes that are no positive integers.

    Example:
        >>> import torch, symgauge
        >>> table = torch.nn.Embedding(5, 3)
        >>> symgauge.dimension(table, symgauge.Tokens(vocabulary=5, length=2)).rank
        15
    """

    vocabulary: int
    length: int
    keyword: str | None = None
    """Name of the module's argument that takes them; the first positional one by default."""
    batch_axis: int = 0
    """Axis on which the module takes the inputs of a batch: 1 for (length, batch), as torch's own layers by default."""

    def __post_init__(self) -> None:
        _positive(vocabulary=self.vocabulary, length=self.length)
        _axis(self.batch_axis)

    @property
    def count(self) -> int:
        """How many distinct inputs there are."""
        return self.vocabulary**self.length

    def all(self) -> Tensor:
        """Every input, (V^T, T)."""
        digits = [torch.arange(self.vocabulary)] * self.length
        return torch.cartesian_prod(*digits).reshape(-1, self.length)

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        return torch.randint(0, self.vocabulary, (n, self.length), generator=generator)


@dataclass(frozen=True)
class Vectors:
    """Sequences of ``length`` vectors with ``width`` entries: the module gets a float tensor (batch, length, width).

    Raises :class:`InvalidInput` for sizes that are no positive integers.

    Example:
        >>> import torch, symgauge
        >>> symgauge.dimension(torch.nn.LayerNorm(4), symgauge.Vectors(length=2, width=4)).nullity
        0
    """

    length: int
    width: int
    keyword: str | None = None
    batch_axis: int = 0
    """1 for modules that take (length, batch, width)."""

    def __post_init__(self) -> None:
        _positive(length=self.length, width=self.width)
        _axis(self.batch_axis)

    @property
    def count(self) -> None:
        """Infinitely many inputs."""
        return None

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        # Wider than the parameters, so that a bias rarely keeps a ReLU on one side for all probes.
        return 4 * torch.randn(n, self.length, self.width, generator=generator, dtype=torch.float64)


@dataclass(frozen=True)
class Arrays:
    """Real arrays of any ``shape``, such as images (channels, height, width) or sounds (samples,): the module gets a
    float tensor (batch, *shape).

    Raises :class:`InvalidInput` for sizes that are no positive integers.

    Example:
        >>> import torch, symgauge
        >>> filters = torch.nn.Conv2d(2, 3, kernel_size=2)
        >>> symgauge.dimension(filters, symgauge.Arrays((2, 3, 3))).nullity
        0
    """

    shape: tuple[int, ...]
    keyword: str | None = None
    batch_axis: int = 0
    """1 for modules that take the batch on their second axis."""

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or not self.shape:
            raise InvalidInput(f"shape must be a tuple of positive integers, not {self.shape!r}")
        for size in self.shape:
            _positive(shape=size)
        _axis(self.batch_axis)

    @property
    def count(self) -> None:
        """Infinitely many inputs."""
        return None

    def draw(self, n: int, generator: torch.Generator) -> Tensor:
        return 4 * torch.randn(n, *self.shape, generator=generator, dtype=torch.float64)


Inputs = Tokens | Vectors | Arrays


def regrow(inputs: Inputs, parents: Tensor, keep: Tensor, generator: torch.Generator) -> Tensor:
    """Copies of ``parents`` (n, T, …) in which the first ``keep`` (n,) positions stay and the rest is drawn anew."""
    fresh = inputs.draw(len(parents), generator)
    kept = torch.arange(parents.shape[1])[None, :] < keep[:, None]
    return torch.where(kept.reshape(kept.shape + (1,) * (parents.dim() - 2)), parents, fresh)
