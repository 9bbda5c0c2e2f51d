"""Whether two parameter vectors give the same function: float64 to sift, exact arithmetic to decide."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.traced_value import Calculus, TracedValue
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.module_invariance import NOISE
from symgauge.plain import float64, prepare
from symgauge.private import private_copy

_INPUTS = 32
"""Inputs on which two vectors are compared."""
_CLOSE = 1e-8
"""Of the largest output: above rounding in float64, below the change that a map other than a symmetry makes."""
_REDRAWN = 3
"""How often a tensor's entries without a derivative are drawn anew, to see that nothing depends on them."""
_TIES = {"topk", "sort", "argmax", "argmin", "argsort", "kthvalue"}
"""Operations that choose between equal numbers by their place."""
_CUTS = {"slice", "split", "split_with_sizes", "narrow"}


class PlainValues:
    """The plain module on one batch of inputs, as a function of θ (P,)."""

    def __init__(self, function: ParameterFunction, theta: Tensor, seed: int) -> None:
        self.function = function
        self.batch = function.inputs.draw(_INPUTS, torch.Generator().manual_seed(seed))
        self.module = private_copy(function.plain)
        self.parameters = prepare(self.module, [name for name, _ in function.counted], theta)
        self.count = 0
        self._wide = True
        self._usual: torch.Size | None = None
        slow, self._wide = self(theta), False
        self._wide = not torch.equal(slow, self(theta))  # nothing in it leaves float64: no need to watch each operation

    def __call__(self, theta: Tensor, derivatives: bool = False) -> Tensor:
        """All outputs, (batch, entries); not a number where the module cannot be run, as where it inverts a matrix that
        is singular at a special point."""
        self.count += 1
        sizes = [p.numel() for p in self.parameters]
        for p, piece in zip(self.parameters, theta.split(sizes), strict=True):
            p.data.copy_(piece.reshape(p.shape))
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with float64() if self._wide else nullcontext(), torch.set_grad_enabled(derivatives):
                found = self.function.call(self.module, self.batch)
        except Exception:
            if self._usual is None:
                raise
            return torch.full(self._usual, math.nan, dtype=torch.float64)
        finally:
            torch.set_default_dtype(before)
        values = [found[name].movedim(axis, 0).double() for name, axis in self.function.axes.items()]
        outputs = torch.cat([x.reshape(len(self.batch), -1) for x in values], 1)
        self._usual = outputs.shape
        return outputs

    def unseen(self, theta: Tensor) -> Tensor:
        """Positions in θ of entries that the outputs do not depend on."""
        outputs = self(theta, derivatives=True)
        if not outputs.requires_grad:
            return torch.empty(0, dtype=torch.int64)
        weights = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        rows = torch.autograd.grad((outputs * weights).sum(), self.parameters, allow_unused=True)
        slope = torch.cat(
            [
                (torch.zeros_like(p) if row is None else row).reshape(-1)
                for p, row in zip(self.parameters, rows, strict=True)
            ]
        )
        flat = slope.abs() <= _CLOSE * slope.abs().max()
        # Derivatives can be cut, and do not see a choice between experts; values at other numbers decide.
        outputs, generator, start = outputs.detach(), torch.Generator().manual_seed(2), 0
        for p in self.parameters:
            part = torch.zeros_like(flat)
            part[start : start + p.numel()] = flat[start : start + p.numel()]
            start += p.numel()
            for _ in range(_REDRAWN if bool(part.any()) else 0):
                drawn = torch.randn(len(theta), generator=generator, dtype=torch.float64)
                if not close(outputs, self(torch.where(part, drawn, theta))):
                    flat = flat & ~part
                    break
        return torch.nonzero(flat).flatten()

    def observed(self, theta: Tensor) -> Operations:
        """One run in which operations are watched."""
        with Operations() as operations:
            self(theta)
        return operations


def shaken(theta: Tensor, entries: Tensor) -> Tensor:
    """θ with noise of their own size on some entries: a multiple of a direction may be the same to the function."""
    noise = torch.randn(len(theta), generator=torch.Generator().manual_seed(NOISE), dtype=theta.dtype)
    other = theta.clone()
    other[entries] *= 1.5 + 0.2 * noise[entries]
    return other


def close(a: Tensor, b: Tensor) -> bool:
    """Whether outputs agree up to rounding; what is not finite agrees with nothing."""
    return bool((a - b).abs().max() <= _CLOSE * a.abs().max().clamp(min=1e-12))


class Operations(TorchDispatchMode):
    """Where a run cuts axes in pieces, and whether it chooses between numbers by their size."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: dict[int, set[int]] = defaultdict(set)
        """Size of an axis → places where it is cut."""
        self.choices: set[int] = set()
        """Sizes of axes along which numbers are chosen by their size."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._overloadpacket.__name__
        if name in _TIES:
            self.choices.update(args[0].shape)
        if name in _CUTS:
            self._cut(name, args, kwargs or {})
        return result

    def _cut(self, name: str, args: Any, kwargs: Any) -> None:
        x = args[0]
        if name == "slice":
            dim, start, end = (*args[1:4], *(0, 0, None)[len(args) - 1 :])[:3]
            if len(args) > 4 and args[4] != 1:
                return
            size = x.shape[dim]
            ends = [start or 0, size if end is None else min(end, size)]
            self.cuts[size].update(e % size if e < 0 else e for e in ends)
            return
        dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
        size = x.shape[dim]
        if name == "narrow":
            self.cuts[size].update((args[2], args[2] + args[3]))
            return
        parts = args[1] if isinstance(args[1], (list, tuple)) else [args[1]] * math.ceil(size / args[1])
        total = 0
        for part in parts:
            total += part
            self.cuts[size].add(min(total, size))


class ExactValues:
    """Outputs at one random θ and its images, in exact arithmetic, on inputs that the search did not see."""

    def __init__(self, function: ParameterFunction, theta: Tensor, primes: Sequence[int], seed: int) -> None:
        self.function, self.theta, self.primes, self.seed = function, theta, primes, seed
        self.batch = function.inputs.draw(_INPUTS, torch.Generator().manual_seed(seed + 17))
        self._own: dict[int, list[TracedValue]] = {}
        self.degree = 0

    def _values(self, theta: Tensor, prime: int) -> list[TracedValue]:
        found = Evaluation(self.function, theta, Calculus(FiniteField(prime, self.seed)))(self.batch)
        self.degree = max(self.degree, *(element.degree for element in found))
        return found

    def defined(self) -> bool:
        """Whether any output at θ is defined modulo every prime."""
        return self.keeps(self.theta)

    def keeps(self, image: Tensor) -> bool:
        """Whether the image of θ gives the same outputs modulo every prime, and some output is defined at all."""
        return all(self._same(image, prime) for prime in self.primes)

    def _same(self, image: Tensor, prime: int) -> bool:
        if prime not in self._own:
            self._own[prime] = self._values(self.theta, prime)
        looked = 0
        for a, b in zip(self._own[prime], self._values(image, prime), strict=True):
            known = torch.ones(a.shape, dtype=torch.bool)
            for x in (a, b):
                if x.undefined is not None:
                    known &= ~x.undefined.expand(a.shape)
            zero = torch.zeros((), dtype=torch.int64)
            for part in ("re", "im"):
                left, right = (getattr(x.value, part) for x in (a, b))
                left, right = ((zero if y is None else y).expand(a.shape) for y in (left, right))
                if not torch.equal(left[known], right[known]):
                    return False
            looked += int(known.sum())
        return looked > 0

    @property
    def failure_bound(self) -> float:
        """The chance that one map that changes the function seems to keep it: degree / p for each prime."""
        return math.prod(min(1.0, self.degree / p) for p in self.primes)
