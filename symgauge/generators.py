"""Families of symmetries on one module: which to look at, and their tangent vectors in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401  (registers the rule table)
from symgauge.architecture import Architecture
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.tape import push
from symgauge.arithmetic.traced_value import Calculus, TracedValue
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from symgauge.checks import did_you_mean, is_integer, listed, shown
from symgauge.errors import InvalidInput, SymgaugeError
from symgauge.layout import Layout
from symgauge.model_graph import ModelGraph
from symgauge.symmetries import group
from symgauge.symmetries.base import Output, Site, Symmetry
from symgauge.symmetries.finding import continuous_families


@dataclass(frozen=True)
class Generators:
    """Tangent vectors (coordinates, P) of a family; ``missing``: roles for want of which some of its places are out."""

    vectors: Tensor
    missing: tuple[str, ...] = ()


def chosen_families(
    a: Architecture | None,
    output: Output,
    extra: Sequence[Symmetry],
    families: Iterable[str] | None,
    without: Iterable[str],
) -> list[Symmetry]:
    """The families to look at, in their order: those that act on ``a``, then one's own.

    Without an architecture there are only one's own. ``families`` names the only ones wanted, ``without`` those to
    leave out. Raises InvalidInput for unknown names.
    """
    for family in extra:
        _check_family(family)
    own = [family.name for family in extra]
    wanted = None if families is None else check_names(families, own)
    unwanted = check_names(without, own)
    every = [*([] if a is None else group.families(a, output)), *extra]
    return [family for family in every if (wanted is None or family.name in wanted) and family.name not in unwanted]


def check_names(asked: Iterable[str], own: Sequence[str] = ()) -> list[str]:
    """Names of families as a list; raises InvalidInput for one that is neither known nor one's own."""
    names = [*(kind.name for kind in continuous_families()), *own]
    if not isinstance(asked, Iterable):
        raise InvalidInput(f"names of families are needed, such as ['query-key'], not {shown(asked)}")
    wanted = [asked] if isinstance(asked, str) else list(asked)
    for name in wanted:
        if name not in names:
            near = did_you_mean(name, names) or f"; known are {', '.join(names)}"
            raise InvalidInput(f"there is no family {shown(name)}{near}")
    return wanted


def _check_family(family: object) -> None:
    if isinstance(family, type) and issubclass(family, Symmetry):
        raise InvalidInput(f"a family must be an instance; write {family.__name__}() in place of {family.__name__}")
    if not isinstance(family, Symmetry):
        raise InvalidInput(
            f"a family must be a symgauge.symmetries.Symmetry with name, title and sites, not {shown(family)}"
        )
    for attribute in ("name", "title"):
        if not isinstance(getattr(family, attribute, None), str):
            raise InvalidInput(f"family {type(family).__name__}: give it a {attribute}, a string")


def generators(
    family: Symmetry, a: Architecture, graph: ModelGraph, layout: Layout, theta: Tensor, arithmetic: FiniteField
) -> Tensor:
    """Tangent vectors (coordinates, P) of a family at ``theta``, as residues: its action's derivative at x = 0.

    Raises InvalidInput where the layout lacks roles that the family moves.
    """
    found = generators_where_possible(family, a, graph, layout, theta, arithmetic)
    if found.missing:
        raise InvalidInput(f"family {family.name!r} needs {listed(found.missing, 'and')}, which the layout lacks")
    return found.vectors


def generators_where_possible(
    family: Symmetry, a: Architecture | None, graph: ModelGraph, layout: Layout, theta: Tensor, arithmetic: FiniteField
) -> Generators:
    """As :func:`generators`, at those places of the family whose roles are in the layout.

    Without an architecture for a family that acts on parameters by their names, and asks for none.

    Raises InvalidInput for a family that names a role neither the layout nor the architecture has, or returns
    something other than the roles it moves.
    """
    calculus = Calculus(arithmetic)
    # As the engine has it: a parameter 0.1 is that float, not 1/10. Lifted in one go, which takes as long as one role.
    point = wrap(calculus.lift(theta, exact=True), calculus)
    # The shift is added in exact arithmetic: θ + 1 in float64 would round, and be another point.
    roles = {n: point[s.index] + s.shift if s.shift else point[s.index] for n, s in layout.slots.items()}
    blocks, missing = [], []
    for site in family.sites(a, graph):  # type: ignore[arg-type]
        if not isinstance(site, Site) or not is_integer(site.coordinates):
            raise InvalidInput(f"family {family.name!r}: sites must be a list of symgauge.symmetries.Site")
        if not site.coordinates:
            continue
        origin = torch.zeros(site.coordinates, dtype=torch.float64, device=theta.device)
        x = calculus.variable(origin)
        moved = _act(family, site, roles, wrap(x, calculus), graph)
        if isinstance(moved, str):
            missing.append(moved)
            continue
        block = torch.zeros((site.coordinates, layout.size), dtype=torch.int64, device=theta.device)
        changed = {name: value.element for name, value in moved.items() if value is not roles[name]}  # type: ignore[attr-defined]
        for name, tangent in _tangents(x, changed, arithmetic).items():
            index = layout.slots[name].index.flatten().to(theta.device)
            block[:, index] = tangent.reshape(site.coordinates, -1)
        blocks.append(block)
    empty = torch.zeros((0, layout.size), dtype=torch.int64, device=theta.device)
    return Generators(torch.cat([empty, *blocks]), tuple(dict.fromkeys(missing)))


def _act(
    family: Symmetry, site: Site, roles: Mapping[str, Tensor], x: Tensor, graph: ModelGraph
) -> Mapping[str, Tensor] | str:
    """The roles that a place moves, or the name of one that it needs and the layout lacks."""
    try:
        with torch.no_grad():
            moved = site.act(dict(roles), x)
    except KeyError as error:
        role = error.args[0] if error.args else ""
        if role in graph.shapes:
            return str(role)
        near = did_you_mean(role, {**roles, **graph.shapes})
        raise InvalidInput(f"family {family.name!r} asks for a role {shown(role)} that there is not{near}") from error
    except SymgaugeError:
        raise
    except Exception as error:
        text = next(iter(str(error).splitlines()), "")
        said = f"family {family.name!r}: its action raised {type(error).__name__}: {text}"
        for role, value in roles.items():
            if (usual := graph.shapes.get(role, value.shape)) != (shape := tuple(value.shape)):
                said += f"; role {role!r} has shape {shape}, in this architecture it is {usual}"
                break
        raise InvalidInput(said) from error
    if not isinstance(moved, Mapping):
        raise InvalidInput(f"family {family.name!r}: its action must return a dict of roles, not {shown(moved)}")
    for role, value in moved.items():
        if role not in roles and role in graph.shapes:
            return role
        if role not in roles:
            near = did_you_mean(role, {**roles, **graph.shapes})
            raise InvalidInput(f"family {family.name!r} moves a role {shown(role)} that there is not{near}")
        if not isinstance(value, WrapperTensor):
            raise InvalidInput(
                f"family {family.name!r}: role {role!r} after its action is {type(value).__name__}; compute it from "
                "the roles and coordinates given, by torch operations"
            )
        if value.shape != roles[role].shape:
            raise InvalidInput(
                f"family {family.name!r}: role {role!r} has shape {tuple(roles[role].shape)} and "
                f"{tuple(value.shape)} after its action"
            )
    return moved


def _tangents(x: TracedValue, values: Mapping[str, TracedValue], arithmetic: FiniteField) -> dict[str, Tensor]:
    """Derivatives (coordinates, *shape) of those values that move with the coordinates ``x``."""
    assert x.node is not None
    named = {name: element.node for name, element in values.items() if element.node is not None}
    found = push(arithmetic, {x.node: arithmetic.identity(len(x.reference), x.reference.device)}, list(named.values()))
    result = {}
    for name, tangent in zip(named, found, strict=True):
        if tangent is not None:
            assert tangent.im is None, "generators at a real point are real"
            result[name] = tangent.re
    return result
