"""The attention variants by name, with the sizes at which they are looked at: attention.toml."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from symgauge.exact.probes import Inputs

Sizes = dict[str, int]


@dataclass(frozen=True)
class Variant:
    """A factory that takes sizes, and what is free by hand at sizes within the bounds that ``by_hand`` states."""

    file: Path
    factory: Callable[..., tuple[nn.Module, Inputs]]
    by_hand: Callable[..., dict[str, int]]
    neighbours: tuple[Sizes, ...]
    beyond: Sizes | None
    """Outside of these bounds."""
    held: str | None
    """A tensor that is free by this count, where there are no such sizes."""

    @property
    def target(self) -> str:
        """As the command line takes it, file.py:factory."""
        return f"{self.file}:{self.factory.__name__}"

    @property
    def sizes(self) -> tuple[Sizes, ...]:
        """The factory's own, and the neighbours."""
        own = {name: parameter.default for name, parameter in inspect.signature(self.factory).parameters.items()}
        return own, *self.neighbours

    def make(self, sizes: Sizes) -> tuple[nn.Module, Inputs]:
        """The module, always the same, and what to probe it with."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return self.factory(**sizes)

    def broken(self) -> tuple[str, tuple[nn.Module, Inputs], int]:
        """Where the count by hand has to fail, in words; the module there, its inputs, and the count."""
        if self.beyond is not None:
            return f"beyond the bounds, at {in_words(self.beyond)}", self.make(self.beyond), self.count(self.beyond)
        own, *_ = self.sizes
        module, inputs = self.make(own)
        module.get_parameter(self.held or "").requires_grad_(False)
        return f"`{self.held}` held fixed", (module, inputs), self.count(own)

    def count(self, sizes: Sizes) -> int:
        return sum(self.by_hand(**sizes).values())


def in_words(sizes: Sizes) -> str:
    return ", ".join(f"{name} {size}" for name, size in sizes.items())


@cache
def variants() -> dict[str, Variant]:
    folder = Path(__file__).parent
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: _variant(folder / "variants", **entry) for name, entry in listed.items()}


def _variant(
    folder: Path,
    file: str,
    neighbours: list[Sizes],
    beyond: Sizes | None = None,
    held: str | None = None,
    factory: str = "factory",
    by_hand: str = "by_hand",
) -> Variant:
    module: Any = import_module(f"proofs_checks.discovered.specimens.variants.{file}")
    make, count = getattr(module, factory), getattr(module, by_hand)
    return Variant(folder / f"{file}.py", make, count, tuple(neighbours), beyond, held)
