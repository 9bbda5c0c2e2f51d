"""A tensor of B that is not what it should be: what the mistakes that need no architecture are held against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from symgauge.comparison.residuals import Residual
from symgauge.comparison.rounding import looks_like_rounding, stands_out


@dataclass(frozen=True)
class Diagnosis:
    """A sentence, and the tensor of B that it is about where that is another than the first unexplained one, with the
    relative difference of that tensor."""

    reason: str
    tensor: str | None = None
    value: float | None = None


@dataclass(frozen=True, eq=False)
class Difference(ABC):
    """The tensor as it is and as it should be, and what rounding may leave."""

    residual: Residual
    allowed: float
    """‖prediction − B‖ / ‖B‖ that rounding may leave."""
    chosen: Tensor | None = field(default=None, kw_only=True)
    """Of a table too large to be looked at whole the rows that differ most, by their numbers."""
    length: int = field(default=0, kw_only=True)
    """How many rows that table has."""

    @property
    def share(self) -> float:
        """Of the table's rows, those that are looked at."""
        return 1.0 if self.chosen is None else len(self.chosen) / self.length

    @abstractmethod
    def expected(self) -> Tensor:
        """What the tensor would be in B if there were no mistake."""

    @abstractmethod
    def found(self) -> Tensor:
        """What it is in B."""

    @abstractmethod
    def channels(self) -> dict[str, tuple[int, ...]]:
        """The axes of a channel, by what it is called."""

    @abstractmethod
    def matrix(self) -> Tensor | None:
        """The difference as one matrix; None for tensors that are none."""

    @abstractmethod
    def transposed(self) -> Tensor | None:
        """What would be expected had a square matrix been stored the other way round; None for others."""

    def explains(self, predicted: Tensor) -> bool:
        """Whether a prediction of the tensor meets B's to rounding: the rule that settles which mistake was made."""
        if predicted.shape != self.found().shape:
            return False
        size = torch.linalg.vector_norm(self.found()).clamp_min(1e-300)
        difference = predicted - self.found()
        value = float(torch.linalg.vector_norm(difference) / size)
        if value <= self.residual.exact:
            return not stands_out(difference, self.found(), self.residual.exact)
        return value <= self.allowed and looks_like_rounding(difference)


@dataclass(frozen=True, eq=False)
class StoredDifference(Difference):
    """A tensor that should be the same in both checkpoints."""

    mine: Tensor
    theirs: Tensor

    def expected(self) -> Tensor:
        return self.mine

    def found(self) -> Tensor:
        return self.theirs

    def channels(self) -> dict[str, tuple[int, ...]]:
        return {"rows": (0,), "columns": (1,)} if self.theirs.dim() == 2 else {"rows": (0,)}

    def matrix(self) -> Tensor | None:
        return (self.theirs - self.mine).flatten(1) if self.theirs.dim() > 1 else None

    def transposed(self) -> Tensor | None:
        square = self.mine.dim() == 2 and self.mine.shape[0] == self.mine.shape[1]
        return self.mine.mT if square else None
