"""A measured fibre dimension: what was found, and how."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table

from symgauge.exact.result import FibreDimension
from symgauge.printing.tables import table


def shown(fibre: FibreDimension) -> Group:
    """All of it, with the tensors in which the kernel takes part."""
    rows = [[name, f"{count:,}", f"{fibre.by_tensor[name]:,}"] for name, count in fibre.names]
    return Group(summary(fibre), table(["tensor", "entries", "kernel takes part in"], rows))


def summary(fibre: FibreDimension, more: Sequence[list[str]] = ()) -> Table:
    """What was found and how, with ``more`` rows at the end."""
    share = 100 * fibre.nullity / fibre.parameters
    used = "all there are" if fibre.exhausted else "positions"
    rows = [
        ["parameters", f"{fibre.parameters:,}"],
        ["rank", f"{fibre.rank:,}"],
        ["nullity (fibre dimension)", f"{fibre.nullity:,} ({share:.1f} %)"],
        ["output", fibre.output],
        ["primes", ", ".join(map(str, fibre.primes))],
        ["seed", str(fibre.seed)],
        ["probes", f"{fibre.probes:,} {used}"],
        ["failure bound", f"{fibre.failure_bound:.1e}{_conditions(fibre)}"],
        ["second witness", _witness(fibre)],
        *([["generic rank", f"{fibre.generic_rank:,}{_singular(fibre)}"]] if fibre.generic_rank is not None else []),
        ["seconds", f"{fibre.seconds:.1f}"],
    ]
    return table(["", ""], [*rows, *more])


def _conditions(fibre: FibreDimension) -> str:
    """What the bound supposes, in a word."""
    return f", if {', '.join(fibre.conditional_on)} have no other relations" if fibre.conditional_on else ""


def _singular(fibre: FibreDimension) -> str:
    return " (the module's own point is singular: the nullity is an upper bound only)" if fibre.singular else ""


def _witness(fibre: FibreDimension) -> str:
    """What float64 says of the rank."""
    if fibre.float_rank is None:
        return f"none in float64: {fibre.witness}"
    verdict = "agrees" if fibre.float_rank == fibre.rank else f"contradicts, with rank {fibre.float_rank:,}"
    return f"float64 {verdict}, gap {fibre.gap:.0e}"
