"""What a pair is: the model it starts from, what is done to its tensors, and what is to be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

Tensors = dict[str, Tensor]
Verdict = Literal["equal", "equal-to-stored-precision", "different"]


@dataclass(frozen=True)
class Shape:
    """Sizes that the changes need, from a configuration."""

    layers: int
    width: int
    heads: int
    groups: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        heads = config["num_attention_heads"]
        return cls(
            config["num_hidden_layers"], config["hidden_size"], heads, config.get("num_key_value_heads") or heads
        )

    @property
    def shared(self) -> int:
        """Heads per group."""
        return self.heads // self.groups


Change = Callable[[Tensors, Shape, torch.Generator], None]
"""Changes float64 tensors in place; draws from the generator."""


@dataclass(frozen=True)
class Pair:
    """``changes`` are made one after the other; ``stored`` is how the numbers are then rounded and saved."""

    name: str
    family: Literal["llama", "bert"]
    changes: tuple[Change, ...]
    verdict: Verdict
    planted: tuple[str, ...] = ()
    """Tensors of which one must be named, where the verdict is "different"."""
    reason: str = ""
    """What the reason must mention, as a regular expression."""
    stored: str = "float32"
    config: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the configuration that change with it."""
    layout: str = "as A"

    def made(self, tensors: Tensors, config: Mapping[str, Any], seed: int = 0) -> Tensors:
        """The second model's tensors (float64, before they are stored); the first's are left as they are."""
        found = dict(tensors)
        generator = torch.Generator().manual_seed(seed)
        for change in self.changes:
            change(found, Shape.of(config), generator)
        return found


def drawn(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def orthogonal(generator: torch.Generator, n: int) -> Tensor:
    return torch.linalg.qr(drawn(generator, n, n)).Q


def invertible(generator: torch.Generator, n: int) -> Tensor:
    """Of condition 4 at most: singular values between 1/2 and 2."""
    stretch = torch.linspace(-1, 1, n, dtype=torch.float64).exp2()
    return orthogonal(generator, n) @ torch.diag(stretch) @ orthogonal(generator, n)


def by_head(weight: Tensor, heads: int) -> Tensor:
    """(heads · d, …) → (heads, d, …), a copy."""
    return weight.clone().unflatten(0, (heads, -1))
