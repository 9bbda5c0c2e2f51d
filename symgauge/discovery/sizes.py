"""Discovery over a grid of sizes, and its dimensions as polynomials in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.blame import blaming
from symgauge.checks import is_integer, shown
from symgauge.discovery.alike import without_indices
from symgauge.discovery.discovery import Discovery, discover
from symgauge.discovery.ideals import Ideal
from symgauge.discovery.polynomials import Fit, Sizes, fit
from symgauge.errors import InvalidInput
from symgauge.exact.dimension import Progress
from symgauge.exact.probes import Inputs
from symgauge.exact.result import Output
from symgauge.subjects import Subject
from symgauge.subjects.user_file import loaded, subject_made

Factory = Callable[..., Any] | str
Grid = Mapping[str, Sequence[int]]

_FAMILY = str.maketrans(dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹", "ⁿ"))


@dataclass(frozen=True)
class Kind:
    """Ideals of one family of algebras that move the same tensors but for indices, at every size."""

    algebra: str
    tensors: tuple[str, ...]
    count: Fit
    """How many there are."""
    dimension: Fit
    """Of all of them together."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "algebra": self.algebra, "tensors": list(self.tensors), "count": self.count.as_dict(),
            "dimension": self.dimension.as_dict(),
        }  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """Dimensions at every size of a grid, as polynomials in the sizes.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.discovery.sizes import vary
        >>> def product(r):
        ...     maps = torch.nn.Linear(5, r, bias=False), torch.nn.Linear(r, 5, bias=False)
        ...     return torch.nn.Sequential(*maps), symgauge.Vectors(length=1, width=5)
        ...
        >>> found = vary(product, {"r": [1, 2, 3, 4]})
        >>> found.nullity.expression, found.nullity.held_out, [kind.algebra for kind in found.kinds]
        (r**2, ((4,),), ['gl(n)'])
    """

    names: tuple[str, ...]
    sizes: tuple[Sizes, ...]
    nullity: Fit
    frozen: Fit
    """How many directions were held at plain values."""
    unexplained: Fit
    kinds: tuple[Kind, ...]
    discoveries: tuple[Discovery, ...] = field(repr=False)
    """One for each size, in their order."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "names": list(self.names),
            "sizes": [list(sizes) for sizes in self.sizes],
            "nullity": self.nullity.as_dict(),
            "frozen": self.frozen.as_dict(),
            "unexplained": self.unexplained.as_dict(),
            "ideals": [kind.as_dict() for kind in self.kinds],
        }

    def __rich__(self) -> Any:
        from symgauge.printing.sizes import shown

        return shown(self)


def vary(
    factory: Factory, grid: Grid, *, inputs: Inputs | None = None, seed: int = 0,
    primes: Sequence[int] = DEFAULT_PRIMES, output: Output = "logits", rounds: int = 60,
    progress: Progress | None = None,
) -> Formula:  # fmt: skip
    """Discover at every size of a grid, and fit each dimension by a polynomial, over ℚ and of total degree at most 3.

    Args:
        factory: a function whose keyword arguments are sizes, or ``"file.py:factory"``; it returns (module, inputs), a
            module of a known family, or an architecture.
        grid: name of an argument → its values; every combination is tried.
        inputs, seed, primes, output, rounds, progress: as for :func:`symgauge.discover`.

    Raises:
        InvalidInput, UnsupportedModel, UnsupportedOperation, Undecided: as :func:`symgauge.discover`.
    """
    check_grid(grid)
    names = tuple(grid)
    sizes = tuple(itertools.product(*(grid[name] for name in names)))
    found = []
    for number, each in enumerate(sizes):
        subject = subject_at(factory, dict(zip(names, each, strict=True)), inputs)
        last = number == len(sizes) - 1
        there = discover(
            subject, seed=seed, primes=primes, output=output, discrete=last, rounds=rounds, progress=progress
        )
        found.append(there)

    def fitted(values: Sequence[int]) -> Fit:
        return fit(names, sizes, values)

    kinds = {}
    for key in dict.fromkeys(_kind(ideal) for each in found for ideal in each.ideals):
        members = [[ideal for ideal in each.ideals if _kind(ideal) == key] for each in found]
        seen = {ideal.algebra for here in members for ideal in here}
        kinds[key] = Kind(
            seen.pop() if len(seen) == 1 else key[0], key[1], fitted([len(here) for here in members]),
            fitted([sum(ideal.dimension for ideal in here) for here in members]),
        )  # fmt: skip
    return Formula(
        names, sizes, fitted([each.nullity for each in found]), fitted([sum(each.frozen.values()) for each in found]),
        fitted([each.unexplained for each in found]), tuple(kinds.values()), tuple(found),
    )  # fmt: skip


def check_grid(grid: Grid) -> None:
    """Raises InvalidInput for what is no grid of sizes."""
    if not isinstance(grid, Mapping) or not grid:
        raise InvalidInput(f"sizes to vary are a dict such as {{'heads': [1, 2, 3]}}, not {shown(grid)}")
    for name, values in grid.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidInput(f"a size has the name of the factory's argument, not {shown(name)}")
        if not values or not all(is_integer(v) and v >= 0 for v in values) or len(set(values)) < len(values):
            raise InvalidInput(f"size {name}: give different whole numbers, not {shown(list(values))}")


def subject_at(factory: Factory, sizes: Mapping[str, int], inputs: Inputs | None = None) -> Subject:
    """What the factory makes of these sizes."""
    said = ", ".join(f"{name}={size}" for name, size in sizes.items())
    if isinstance(factory, str):
        file, _, name = factory.rpartition(":")
        if not file.endswith(".py"):
            raise InvalidInput(f"sizes can be varied where file.py:factory takes them, not for {shown(factory)}")
        with loaded(Path(file), name) as function:
            return _called(function, f"{factory}({said})", sizes, inputs)
    return _called(factory, f"{getattr(factory, '__name__', 'factory')}({said})", sizes, inputs)


def _called(function: Any, where: str, sizes: Mapping[str, int], inputs: Inputs | None) -> Subject:
    if not callable(function):
        raise InvalidInput(f"{where}: {shown(function)} is no function that takes sizes")
    with blaming(f"calling {where}"):
        made = function(**sizes)
    return subject_made(made, where, inputs, None)


def _kind(ideal: Ideal) -> tuple[str, tuple[str, ...]]:
    """An ideal's family of algebras, and its tensors but for indices."""
    family = re.sub(r"\d+", "n", ideal.algebra).translate(_FAMILY).replace("(n, ℝ)", "(n)")
    family = "ℝⁿ" if re.fullmatch("ℝⁿ*", family) else family
    return family, tuple(dict.fromkeys(without_indices(tensor) for tensor in ideal.tensors))
