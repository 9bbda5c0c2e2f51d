"""An account: the fibre, the families that explain it, and what carries the rest."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table

from symgauge.accounting.account import Account
from symgauge.printing import discovery, fibre, full_size
from symgauge.printing.tables import table


def shown(account: Account) -> Group:
    """All of an account, in the order in which it is read."""
    return Group(*_parts(account))


def _parts(account: Account) -> Iterator[RenderableType]:
    yield from account.notes
    formula = [] if account.formula is None else [["formula", f"{account.formula:,}"]]
    claimed = [[f"claimed by {count.source}", f"{count.dimension:,}"] for count in account.claimed]
    yield fibre.summary(account.fibre, [*formula, *claimed])
    yield from _explained(account)
    for reason in account.possible_reasons:
        yield f"possible reason: {reason}"
    if account.movable:
        rows = [[name, f"{account.tensors.get(name, 0):,}", f"{can:,}"] for name, can in account.movable.items()]
        yield table(["unexplained directions touch", "in", "at most in"], rows)
    if account.discovery is not None:
        found = account.discovery
        frozen = f", with {held} held at plain values" if (held := discovery.held(found)) else ""
        explained = f"{found.explained:,} of {found.nullity:,} directions are explained"
        yield f"discovered: an algebra of dimension {found.algebra:,}{frozen}; {explained}"
        if found.ideals:
            yield discovery.ideals(found)
        yield from discovery.remaining(found)
    if account.full_size is not None:
        yield full_size.shown(account.full_size)


def _explained(account: Account) -> Iterator[Table]:
    """The tables of what explains the kernel, and of what carries the rest."""
    unexplained = ["unexplained", "", f"{account.unexplained:,}"]
    if account.architecture is not None or account.families:
        rows = [[f.name, f"{f.dimension:,}", f"{f.new_directions:,}", f"{f.violations:,}"] for f in account.families]
        yield table(["family", "dimension", "new directions", "violations"], [*rows, [*unexplained, ""]])
    moving = [
        [" + ".join(found.tensors), f"{found.dimension:,}", f"{found.new_directions:,}"] for found in account.sets
    ]
    if account.architecture is None and not account.families:
        yield table(["tensors that move together", "dimension", "new directions"], [*moving, unexplained])
    elif moving:
        rest = [["more tensors at once", "", f"{account.left:,}"]] if account.left else []
        yield table(["unexplained directions move", "dimension", "new directions"], [*moving, *rest])
