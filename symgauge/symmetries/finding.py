"""Every family there is, found by being there, in the order in which families are counted."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from symgauge.errors import InvalidInput
from symgauge.symmetries import catalogue
from symgauge.symmetries.base import DiscreteSymmetry, Family, Symmetry

F = TypeVar("F", bound=Family)


def continuous_families() -> tuple[type[Symmetry], ...]:
    """All continuous families in their order: each counts the directions that those before it do not give."""
    return tuple(kind for kind in _every(tuple(catalogue.__path__)) if issubclass(kind, Symmetry))


def finite_families() -> tuple[type[DiscreteSymmetry], ...]:
    """All finite families."""
    return tuple(kind for kind in _every(tuple(catalogue.__path__)) if issubclass(kind, DiscreteSymmetry))


@cache
def _every(path: tuple[str, ...]) -> tuple[type[Family], ...]:
    """Families in the modules that lie under ``path``, which may be extended."""
    return in_order(
        kind for module in iter_modules(path) for kind in _defined_in(f"{catalogue.__name__}.{module.name}")
    )


def _defined_in(module: str) -> Iterator[type[Family]]:
    """Families of a module; classes that others are built on begin with an underscore."""
    for name, kind in vars(import_module(module)).items():
        own = inspect.isclass(kind) and issubclass(kind, Family) and kind.__module__ == module
        if own and not name.startswith("_"):
            yield kind


def in_order(kinds: Iterable[type[F]]) -> tuple[type[F], ...]:
    """Families sorted so that each comes after those that it names in ``after``, by name where that leaves a choice.

    Raises InvalidInput for two families of one name, a name in ``after`` that no family has, and a circle.
    """
    by_name: dict[str, type[F]] = {}
    for kind in kinds:
        if kind.name in by_name:
            raise InvalidInput(
                f"two families are named {kind.name!r}: {by_name[kind.name].__qualname__} and {kind.__qualname__}"
            )
        by_name[kind.name] = kind
    for kind in by_name.values():
        for name in kind.after:
            if name not in by_name:
                raise InvalidInput(
                    f"family {kind.name!r} is to come after {name!r}, but there is no family of this name"
                )
    sorter = TopologicalSorter({name: kind.after for name, kind in by_name.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(map(repr, error.args[1]))
        raise InvalidInput(f"families cannot each come after the other: {circle}") from None
    found: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return tuple(by_name[name] for name in found)
