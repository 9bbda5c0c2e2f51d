"""Fixed tensors, and ways to make a case of a function or a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

Case = Callable[[Tensor], Tensor]
ROW = torch.tensor([2, 0, 2])
MASK = torch.tensor([[True, False, True, True], [False, True, True, False], [True, True, True, False]])
CONSTANT = torch.linspace(0.2, 1.9, 24, dtype=torch.float64).cos().reshape(2, 3, 4)


def seeded(shape: Any, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.5


def against(ours: Case, reference: Case) -> Case:
    """An operation that torch has no derivative (or no float64 kernel) of, beside the same by other operations."""
    return lambda x: (reference if type(x) is Tensor else ours)(x)


def module(make: Callable[[], nn.Module], call: Callable[[nn.Module, Tensor], Tensor] = lambda m, x: m(x)) -> Case:
    """A module of torch's own in evaluation mode, with fixed weights."""

    def run(x: Tensor) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            made = make().double().eval()
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with sdpa_kernel(SDPBackend.MATH):
                return call(made, x)
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)

    return run


def planes(x: Tensor) -> Tensor:
    """(2, 3, 4) as two images with two channels of 3 × 2."""
    return x.reshape(2, 2, 3, 2)


def volume(x: Tensor) -> Tensor:
    return x.reshape(1, 2, 2, 3, 2)


def symmetric(x: Tensor) -> Tensor:
    return x @ x.mT + torch.eye(3, dtype=torch.float64)


def square(x: Tensor) -> Tensor:
    return x[..., :3] + 3 * torch.eye(3, dtype=torch.float64)
