"""What an arithmetic has to offer so that the rule table, and with it any torch module, runs in it.

Rules are written in these operations and see of an :class:`Element` only what stands here. The two are the finite
field with its chain rule (:mod:`symgauge.arithmetic.traced_value`) and many digits
(:mod:`symgauge.arithmetic.multiprecision`).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from symgauge.arithmetic.tape import Node


@dataclass(frozen=True)
class Element:
    """An array of numbers with what else is known of them; what they are is the arithmetic's own business."""

    value: Any
    reference: Tensor
    """The same computation in float64, which decides every branch."""
    node: Node | None = None
    """Its place in the chain rule; None if constant, or derivatives are not wanted."""
    undefined: Tensor | None = None
    """Entries that must not be used; None if all may."""
    degree: int = 0
    """A bound on the degree in the parameters; 0 says that none is involved."""

    @property
    def depends(self) -> bool:
        """Whether any parameter is involved."""
        return self.degree > 0

    @property
    def shape(self) -> torch.Size:
        return self.reference.shape


E = TypeVar("E", bound=Element)


class RunEnded(Exception):
    """Raised by a watcher that has seen what it wanted, to end the run."""


class Watcher:
    """Is told what a run does, and cannot change a value. This one does not listen."""

    thresholds = False
    """Whether it wants to hear of thresholds."""

    def made(self, entries: int) -> None:
        """A tensor of so many entries was made."""

    def hashed(self, function: str) -> None:
        """Values of this function are hashes: a bound on the rank is conditional on it."""

    def root(self, radicand: Element) -> None:
        """A square root is about to be taken."""

    def side(self, operation: str, distance: Tensor, undefined: Tensor | None, guard: bool = False) -> None:
        """A continuous function has a kink where ``distance`` is 0; ``guard``: a bound that is not meant to be
        met, with the safe side above."""

    def flat(self, operation: str, there: Tensor) -> None:
        """Where a smooth function is constant to the last bit of float64, and is taken to be constant."""

    def jump(self, operation: str, distance: Element, ordered: bool = False, guard: bool = False) -> None:
        """A function may jump where ``distance`` is 0; ``ordered``: it can only be on one side."""


class Arithmetic(ABC, Generic[E]):
    """Operations on elements. Every method returns a new element; none changes its arguments."""

    def __init__(self) -> None:
        self.watcher = Watcher()
        self._numbers: dict[tuple[type, float, torch.device | None], E] = {}

    def watched_by(self, watcher: Watcher) -> Self:
        """The same arithmetic, with somebody to tell what happens in it."""
        result = copy.copy(self)
        result.watcher = watcher
        return result

    # ----- thresholds

    def threshold(self, operation: str, distance: E, guard: bool = False) -> None:
        """Tell on which side of 0 each entry is, for a continuous function with a kink there."""
        if self.watcher.thresholds and distance.depends:
            self.watcher.side(operation, distance.reference, distance.undefined, guard)

    def chosen(self, operation: str, x: E, mask: Tensor) -> None:
        """Tell which entries were chosen (top-k experts), as sides of a threshold."""
        if self.watcher.thresholds and x.depends:
            self.watcher.side(operation, mask.double() - 0.5, x.undefined)

    def jump(self, operation: str, distance: E, ordered: bool = False, guard: bool = False) -> None:
        """Tell of a threshold at 0 that the function may jump at."""
        if self.watcher.thresholds and distance.depends:
            self.watcher.jump(operation, distance, ordered, guard)

    # ----- constants

    @abstractmethod
    def lift(self, x: Tensor, exact: bool = False) -> E:
        """An ordinary tensor as a constant. Non-finite entries keep their reference.

        ``exact`` (parameters and inputs): floats are the dyadic rationals that they are. Else (constants of the code)
        an arithmetic may take the nearest float to a simple fraction for that fraction.
        """

    def number(self, x: float, device: torch.device | None = None) -> E:
        """A number of the code, as a zero-dimensional constant."""
        key = (type(x), x, device)
        if key not in self._numbers:
            dtype = torch.int64 if isinstance(x, int) else torch.float64
            self._numbers[key] = self.lift(torch.tensor(x, dtype=dtype, device=device))
        return self._numbers[key]

    # ----- ring operations, with torch's broadcasting

    @abstractmethod
    def add(self, a: E, b: E, alpha: float = 1) -> E:
        """a + alpha · b."""

    def sub(self, a: E, b: E) -> E:
        return self.add(a, self.neg(b))

    @abstractmethod
    def neg(self, a: E) -> E: ...

    @abstractmethod
    def scale(self, a: E, factor: float) -> E:
        """Multiply by a constant of the code."""

    @abstractmethod
    def divide_by_count(self, a: E, n: int) -> E:
        """Divide by an integer, exactly (1/n is no float)."""

    @abstractmethod
    def mul(self, a: E, b: E) -> E: ...

    @abstractmethod
    def matmul(self, a: E, b: E) -> E:
        """Matrix product over the last two axes; both elements at least two-dimensional."""

    @abstractmethod
    def sum(self, a: E, dims: Sequence[int], keepdim: bool = False) -> E: ...

    @abstractmethod
    def cumsum(self, a: E, dim: int) -> E:
        """Running sums over an axis."""

    def mean(self, a: E, dims: Sequence[int], keepdim: bool = False) -> E:
        count = math.prod(a.shape[d] for d in dims)
        return self.divide_by_count(self.sum(a, dims, keepdim), count)

    # ----- functions, entry by entry

    @abstractmethod
    def reciprocal(self, a: E) -> E: ...

    def div(self, a: E, b: E) -> E:
        return self.mul(a, self.reciprocal(b))

    @abstractmethod
    def sqrt(self, a: E) -> E: ...

    @abstractmethod
    def rsqrt(self, a: E) -> E:
        """a^(−1/2)."""

    @abstractmethod
    def exp(self, a: E) -> E: ...

    @abstractmethod
    def log(self, a: E) -> E: ...

    @abstractmethod
    def erf(self, a: E) -> E: ...

    @abstractmethod
    def atan(self, a: E) -> E: ...

    @abstractmethod
    def sigmoid(self, a: E) -> E: ...

    @abstractmethod
    def tanh(self, a: E) -> E: ...

    @abstractmethod
    def cos_sin(self, a: E) -> tuple[E, E]:
        """Cosine and sine."""

    # ----- functions of a row

    @abstractmethod
    def softmax(self, x: E, dim: int, safe: bool = False) -> E:
        """exp(x_j) / Σ exp(x); exactly 0 where float64 has weight 0. ``safe``: a row of −∞ alone gives zeros."""

    @abstractmethod
    def log_softmax(self, x: E, dim: int) -> E: ...

    # ----- operations that only move entries

    @abstractmethod
    def select(self, condition: Tensor, a: E, b: E) -> E:
        """a where condition, else b; all broadcast."""

    @abstractmethod
    def gather(self, fn: Callable[[Tensor], Tensor], a: E) -> E:
        """Apply an operation that only moves, copies, drops or zeroes entries."""

    @abstractmethod
    def concatenate(self, fn: Callable[[Sequence[Tensor]], Tensor], elements: Sequence[E]) -> E:
        """The same for an operation that makes one result of several (cat, stack, index_put, …)."""

    def expand(self, a: E, shape: torch.Size | tuple[int, ...]) -> E:
        return a if tuple(a.shape) == tuple(shape) else self.gather(lambda x: x.expand(shape), a)
