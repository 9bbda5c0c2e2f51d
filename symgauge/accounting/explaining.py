"""From a target to its account: measure the fibre, let every family act, and look at what they leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from symgauge.accounting.account import Account
from symgauge.accounting.discovering import discovered
from symgauge.accounting.fits import check_fibre, check_layout
from symgauge.accounting.one_sided import families_of, units_of
from symgauge.accounting.share import FamilyShare, on_free, share
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.checks import check_choice, check_measuring, listed
from symgauge.errors import InvalidInput
from symgauge.exact.dimension import Progress
from symgauge.exact.probes import Inputs
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output
from symgauge.exact.supports import Motion, TensorSet, supports
from symgauge.generators import chosen_families, generators_where_possible
from symgauge.layout import Layout, flatten
from symgauge.measurement import PARAMETERS, dimension, witnessed
from symgauge.model_graph import ModelGraph
from symgauge.subjects import Subject, subject_of
from symgauge.subjects.inputs import check_inputs
from symgauge.subjects.target import Target
from symgauge.symmetries.base import Symmetry
from symgauge.symmetries.unit_pieces import Units
from symgauge.threads import few_threads

SPANNED = "the generators of known families span the kernel"
_SMALL = 300
"""Parameters up to which symmetries that no family has are looked for without being asked."""


def account(
    target: Target, inputs: Inputs | None = None, *, fibre: FibreDimension | None = None,
    extra: Sequence[Symmetry] = (), units: Units | None = None, families: Iterable[str] | None = None,
    without: Iterable[str] = (), output: Output = "logits", seed: int = 0, primes: Sequence[int] = DEFAULT_PRIMES,
    point: Literal["random", "own"] = "random", device: str = "cpu", rounds: int = 60, discover: bool | None = None,
    progress: Progress | None = None,
) -> Account:  # fmt: skip
    """Split the nullity of a module into symmetry families, or by the tensors that move together.

    Args:
        target: whatever :func:`~symgauge.subjects.target.subject_of` takes. An architecture, a preset, an unmodified
            ``transformers`` model of a known family, and a :class:`~symgauge.subjects.subject.Subject` with an
            architecture and its layout are split into families. Roles that the architecture does not know may be in
            the layout, for families of one's own; families whose roles it lacks are skipped and named in the result.
            Any other module is split into the smallest sets of at most three tensors that move while all others rest,
            after families in ``extra`` that act on parameters by their names.
        inputs: what to probe with, in place of the target's own.
        fibre: what :func:`symgauge.dimension` found, if it was measured before.
        extra: families of one's own, after the known ones.
        units: hidden units that took one side at every input, which give the families of this piece of the function
            (:class:`~symgauge.symmetries.unit_pieces.Units`); by default those that the measurement found.
        families: names of the only families to look at; without: names of those to leave out.
        output: ``"logits"`` or ``"probabilities"``.
        discover: whether to look for symmetries that no family has (:func:`symgauge.discover`). By default where known
            families and degenerate cases leave directions of at most 300 parameters, unless families were chosen.
        seed, primes, point, device, rounds, progress: as for :func:`symgauge.dimension`.

    Raises:
        InvalidInput, UnsupportedModel, UnsupportedOperation: as :func:`symgauge.dimension`; unknown names of families,
            an architecture, a layout or a fibre of another module.

    Example:
        >>> import symgauge
        >>> found = symgauge.account(symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, residual=False))
        >>> {family.name: family.new_directions for family in found.families}, found.unexplained, found.formula
        ({'query-key': 18, 'value-output': 8}, 0, 26)
    """
    check_measuring(seed=seed, device=device, rounds=rounds, progress=progress)
    check_choice("output", output, ("logits", "probabilities"))
    check_choice("point", point, PARAMETERS)
    subject = subject_of(target, inputs, seed=seed, parameters=PARAMETERS[point])
    module, a, layout = subject.module, subject.architecture, subject.layout
    own = [*families_of(units), *([extra] if isinstance(extra, Symmetry) else extra)]
    if a is not None and layout is not None:
        w = check_layout(a, layout, module)
        if subject.recognized:
            check_inputs(subject.inputs, a)
    elif units is not None or families is not None or without or any(_moves_roles(family) for family in own):
        why = f", and {_no_architecture(subject)}" if subject.unknown else ""
        raise InvalidInput(
            f"families act on the roles of an architecture{why}; give both the architecture and its layout, in a "
            "symgauge.Subject"
        )
    chosen = chosen_families(a, output, own, families, without)
    bare, asked = a is None and not chosen, fibre is None
    if fibre is None:
        fibre = dimension(
            subject, seed=seed, primes=primes, output=output, point=point, device=device, rounds=rounds,
            progress=progress, witness=bare,
        )  # fmt: skip
    check_fibre(fibre, module, output)
    if a is not None and units is None and families is None and (units := units_of(fibre, a, w)):
        chosen = [*chosen, *units.families()]
    with few_threads(fibre.parameters):
        known = Echelon(fibre.echelon.field, fibre.parameters, fibre.echelon.pivots.device)
        shares, skipped = [], {}
        if not bare:
            theta, free = _point(module, fibre)
        for family in chosen:
            where = (w, layout) if layout is not None and _moves_roles(family) else _by_name(module)
            found = generators_where_possible(family, a, *where, theta, known.field)
            shares.append(share(family, on_free(free, known, found.vectors), fibre.echelon, known))
            if found.missing:
                skipped[family.name] = found.missing
        if asked and not bare:
            # Where a module's functions are known, families that span the kernel are witness enough. Elsewhere some may
            # be related in a way that the engine does not know, and the number wants another.
            spanned = known.rank == fibre.nullity and subject.recognized
            fibre = dataclasses.replace(fibre, witness=SPANNED) if spanned else witnessed(fibre)
        result = _account(subject, fibre, known, shares, skipped, units is not None)
    plain = families is None and not without and units is None and point == "random" and device == "cpu"
    if discover is None:
        discover = plain and fibre.parameters <= _SMALL and result.needs_discovery
    return discovered(result, seed=seed, rounds=rounds, progress=progress) if discover else result


def _moves_roles(family: object) -> bool:
    """Rather than parameters by their names."""
    return getattr(family, "acts_on", "roles") == "roles"


def _by_name(module: nn.Module) -> tuple[ModelGraph, Layout]:
    """A graph that knows no more than the parameters' names and shapes, and their layout."""
    layout = Layout.by_name(module)
    return ModelGraph({name: tuple(slot.index.shape) for name, slot in layout.slots.items()}, (), ()), layout


def _point(module: nn.Module, fibre: FibreDimension) -> tuple[Tensor, Tensor]:
    """All parameters (P,) at the fibre's point, and which of them it measured; others stay as the module has them."""
    theta, names = flatten(module)
    measured = {name for name, _ in fibre.names}
    free = torch.cat([torch.full((count,), name in measured) for name, count in names])
    theta[free] = fibre.theta.to(theta)
    device = fibre.echelon.pivots.device
    return theta.to(device), free.to(device)


def _no_architecture(subject: Subject) -> str:
    return f"no architecture is known ({subject.unknown})"


def _account(
    subject: Subject,
    fibre: FibreDimension,
    known: Echelon,
    shares: Sequence[FamilyShare] = (),
    skipped: Mapping[str, tuple[str, ...]] | None = None,
    piece: bool = False,
) -> Account:
    """Look at what the families leave, and say it."""
    missing = left = fibre.nullity - known.rank
    sets: tuple[TensorSet, ...] = ()
    moved: Mapping[str, Motion] = {}
    notes = [*subject.notes, *fibre.notes]
    if subject.unknown and not shares:
        notes.append(f"{_no_architecture(subject)}, so the kernel is split by the tensors that move together")
    notes += [share.partial for share in shares if share.partial]
    if piece:
        sides = "; ".join(map(str, fibre.pieces)) or "as told"
        notes.append(f"this is the account of one piece of the function, whose one-sided units are families: {sides}")
    for name, roles in (skipped or {}).items():
        notes.append(f"{name} is counted only where it does without {listed(roles, 'and')}, which the layout lacks")
    if missing and not (fibre.saturated and fibre.agree):
        notes.append("the rank is not settled, so its kernel may be too large and is not split by tensors")
    elif missing:
        found = supports(fibre, known=known)
        sets, left = found.sets, found.left
        by_sets = subject.architecture is None and not shares
        missing, moved = (left, found.remaining) if by_sets else (missing, found.unknown)
    return Account(
        subject, fibre, tuple(shares), fibre.nullity - missing, missing,
        {name: motion.need for name, motion in moved.items() if motion.need},
        {name: motion.can for name, motion in moved.items()}, sets, left, skipped or {}, tuple(notes), piece,
    )  # fmt: skip
