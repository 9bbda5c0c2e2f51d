"""What explains the kernel: the nullity split into symmetry families, and the directions nobody has named.

Every generator is differentiated from its family's finite action in exact arithmetic and must annihilate every row of
the Jacobian; what the generators do not span is *unexplained*. Zero unexplained is what "maximal" means here. Where no
architecture is known the kernel explains itself: by the smallest sets of tensors that can move while all others rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.architecture import Architecture
from symgauge.arithmetic.finite_field import Residues
from symgauge.checks import check_choice, check_measuring, listed, shown
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.exact.dimension import Progress
from symgauge.exact.probes import Inputs, Tokens, Vectors
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output
from symgauge.exact.supports import Motion, TensorSet, supports
from symgauge.exact.threads import few_threads
from symgauge.generators import chosen_families, generators, generators_where_possible
from symgauge.layout import Layout, flatten
from symgauge.measurement import dimension, witnessed
from symgauge.symmetries.base import Symmetry
from symgauge.symmetries.feed_forward import feed_forwards
from symgauge.symmetries.unit_pieces import Units
from symgauge.wiring import Wiring, wire

__all__ = ["Account", "FamilyShare", "account", "account_for", "describe", "generators", "natural_inputs"]


@dataclass(frozen=True)
class FamilyShare:
    """What one family contributes. ``gain`` counts directions that the families before it did not span."""

    name: str
    title: str
    coordinates: int
    dimension: int
    """Of its directions, those in the kernel."""
    gain: int
    violations: int
    """Generators outside the kernel: more than zero refutes the family on this architecture."""
    directions: int = 0
    """All of its directions at this point, in the kernel or not."""

    @property
    def partial(self) -> str:
        """How much of the family holds, in a sentence, where not all of it does."""
        if not self.violations:
            return ""
        verb = "holds" if self.dimension == 1 else "hold"
        owner = f"{self.name}'" if self.name.endswith("s") else f"{self.name}'s"
        return f"of {owner} {self.directions} directions {self.dimension or 'none'} {verb}"


@dataclass(frozen=True)
class Account:
    """The kernel of a model's Jacobian, by families in their fixed order, or by the tensors that move together.

    Without an architecture (None) there are no families; what ``sets`` carry is explained then.
    """

    architecture: Architecture | None
    fibre: FibreDimension
    families: tuple[FamilyShare, ...]
    explained: int
    unexplained: int
    tensors: Mapping[str, int] = field(default_factory=dict)
    """Parameter name → unexplained directions that need it (empty if nothing is unexplained)."""
    movable: Mapping[str, int] = field(default_factory=dict)
    """Parameter name → unexplained directions that can move it: as many independent ones as it takes part in."""
    sets: tuple[TensorSet, ...] = ()
    """Smallest sets of at most three tensors that carry what no family explains."""
    left: int = 0
    """Directions that neither a family nor one of these sets explains: they move more tensors at once."""
    skipped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Family → roles that the layout lacks; it is counted only where it does without them."""
    notes: tuple[str, ...] = ()
    piece: bool = False
    """Whether the account is of one piece of the function, with the freedom of its one-sided units as families."""

    @property
    def doubt(self) -> str:
        """Why the account is not settled, in one sentence; empty if it is."""
        wrong = [f"{f.name} ({f.violations})" for f in self.families if f.violations]
        partial = "; ".join(f.partial for f in self.families if f.partial)
        outside = f"generators lie outside the kernel: {', '.join(wrong)}; {partial}"
        return (self.fibre.rank_doubt if self.piece else self.fibre.doubt) or (outside if wrong else "")

    @property
    def decided(self) -> bool:
        """The rank is settled, primes agree, and every generator lies in the kernel."""
        return not self.doubt

    @property
    def complete(self) -> bool:
        """Decided, and nothing is unexplained."""
        return self.decided and self.unexplained == 0

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        fibre = self.fibre.as_dict()
        notes = fibre.get("notes", ())
        return {
            **fibre,
            "architecture": None if self.architecture is None else self.architecture.name,
            "families": {
                f.name: {
                    "dimension": f.dimension, "gain": f.gain, "violations": f.violations, "directions": f.directions
                }
                for f in self.families
            },
            "explained": self.explained,
            "unexplained": self.unexplained,
            "unexplained_by_tensor": dict(self.tensors),
            "unexplained_can_move": dict(self.movable),
            "tensor_sets": [found.as_dict() for found in self.sets],
            "left": self.left,
            "skipped": {name: list(roles) for name, roles in self.skipped.items()},
            "notes": [*(notes if isinstance(notes, list | tuple) else ()), *self.notes],
            "decided": self.decided,
            "complete": self.complete,
        }  # fmt: skip


def account_for(
    module: nn.Module,
    inputs: Inputs,
    architecture: Architecture | None,
    layout: Layout | None,
    *,
    fibre: FibreDimension | None = None,
    extra: Sequence[Symmetry] = (),
    units: Units | None = None,
    families: Iterable[str] | None = None,
    without: Iterable[str] = (),
    output: Output = "logits",
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Account:
    """Explain the kernel of any module whose architecture and layout are known; ``extra`` families come last.

    See :func:`account`. Roles that the architecture does not know may be in the layout, for families of one's own.
    Families whose roles the layout lacks are skipped and named in the result. ``units`` that took one side at every
    input give the families of this piece (:class:`~symgauge.symmetries.unit_pieces.Units`). With None for architecture
    and layout the kernel is split by the tensors that move together.
    """
    check_measuring(seed=seed, device=device, progress=progress)
    check_choice("output", output, ("logits", "probabilities"))
    names = _names(module)
    if architecture is not None and layout is not None:
        w = _wired(architecture, layout, names)
        own = [*_of_piece(units), *([extra] if isinstance(extra, Symmetry) else extra)]
        chosen = chosen_families(architecture, output, own, families, without)
    elif [x for x in (architecture, layout, units, families) if x is not None] or extra or without:
        raise InvalidInput("families act on the roles of an architecture: give both the architecture and its layout")
    asked = fibre is None
    if fibre is None:
        fibre = dimension(
            module, inputs, seed=seed, output=output, device=device, progress=progress, witness=architecture is None
        )
    _check_fibre(fibre, names, output)
    if architecture is not None and units is None and families is None and (units := units_of(fibre, architecture, w)):
        chosen = [*chosen, *units.families()]
    with few_threads(fibre.parameters):
        known = Echelon(fibre.echelon.field, fibre.parameters, fibre.echelon.pivots.device)
        shares, skipped = [], {}
        if architecture is not None and layout is not None:
            theta, free = _point(module, fibre)
            for family in chosen:
                found = generators_where_possible(family, architecture, w, layout, theta, known.field)
                shares.append(_share(family, _on(free, known, found.vectors), fibre, known))
                if found.missing:
                    skipped[family.name] = found.missing
        if asked and architecture is not None and known.rank < fibre.nullity:
            # Families that span the kernel are witness enough; where they do not, the number wants another.
            fibre = witnessed(fibre)
        return _account(architecture, fibre, known, shares, skipped, units is not None)


def units_of(fibre: FibreDimension, a: Architecture, w: Wiring) -> Units | None:
    """The one-sided hidden units of a piece, by feed-forward layer; None if there are none, or others beside them."""
    layers = [f.up.weight.removesuffix(".up.weight") for f in feed_forwards(w)]
    if not fibre.pieces or a.activation not in ("relu", "relu2"):
        return None
    sites = [t for t in fibre.thresholds if t.operation == "relu"]
    widths = [w.shapes[f.up.weight][-1] for f in feed_forwards(w)]
    if [t.units for t in sites] != widths or any(p.operation != "relu" for p in fibre.pieces):
        return None
    off = {layer: t.never_above for layer, t in zip(layers, sites, strict=True) if t.never_above}
    linear = a.activation == "relu" and not a.gated
    on = {layer: t.never_below for layer, t in zip(layers, sites, strict=True) if t.never_below and linear}
    return Units(off, on)


def _of_piece(units: Units | None) -> list[Symmetry]:
    if units is not None and not isinstance(units, Units):
        raise InvalidInput(f"units must be Units(off=…, on=…) of symgauge.symmetries.unit_pieces, not {shown(units)}")
    return [] if units is None else units.families()


def _point(module: nn.Module, fibre: FibreDimension) -> tuple[Tensor, Tensor]:
    """All parameters (P,) at the fibre's point, and which of them it measured; others stay as the module has them."""
    theta, names = flatten(module)
    measured = {name for name, _ in fibre.names}
    free = torch.cat([torch.full((count,), name in measured) for name, count in names])
    theta[free] = fibre.theta.to(theta)
    device = fibre.echelon.pivots.device
    return theta.to(device), free.to(device)


def _on(free: Tensor, like: Echelon, vectors: Tensor) -> Residues:
    """Those combinations of tangent vectors (m, P) that leave fixed parameters alone, on the free ones."""
    if bool(free.all()):
        return Residues(vectors)
    moved = Echelon(like.field, len(vectors), like.pivots.device)
    moved.add(Residues(vectors[:, ~free].mT.contiguous()))
    return like.field.matmul(moved.kernel(), Residues(vectors[:, free]))


def _share(family: Symmetry, vectors: Residues, fibre: FibreDimension, known: Echelon) -> FamilyShare:
    """What a family's tangent vectors add to the directions ``known``, which then has them."""
    echelon, count = fibre.echelon, vectors.shape[0]
    # A generator is in the kernel when every row of the Jacobian annihilates it.
    image = echelon.field.matmul(vectors, echelon.basis.map(lambda b: b.mT))
    outside = int((~echelon.field.is_zero(image).all(1)).sum())
    directions = inside = _span(known, vectors)
    if outside:
        relations = Echelon(echelon.field, count, echelon.pivots.device)
        relations.add(image.map(lambda x: x.mT.contiguous()))
        vectors = echelon.field.matmul(relations.kernel(), vectors)
        inside = _span(known, vectors)
    gain = known.add(vectors)
    return FamilyShare(family.name, family.title, count, inside.rank, gain, outside, directions.rank)


def _span(like: Echelon, vectors: Residues) -> Echelon:
    result = Echelon(like.field, like.columns, like.pivots.device)
    result.add(vectors)
    return result


def _account(
    a: Architecture | None,
    fibre: FibreDimension,
    known: Echelon,
    shares: Sequence[FamilyShare],
    skipped: Mapping[str, tuple[str, ...]],
    piece: bool,
) -> Account:
    """Look at what the families leave, and say it."""
    missing = left = fibre.nullity - known.rank
    sets: tuple[TensorSet, ...] = ()
    moved: Mapping[str, Motion] = {}
    notes = [share.partial for share in shares if share.partial]
    if piece:
        sides = "; ".join(map(str, fibre.pieces)) or "as told"
        notes.append(f"this is the account of one piece of the function, whose one-sided units are families: {sides}")
    for name, roles in skipped.items():
        notes.append(f"{name} is counted only where it does without {listed(roles, 'and')}, which the layout lacks")
    if missing and not (fibre.saturated and fibre.agree):
        notes.append("the rank is not settled, so its kernel may be too large and is not split by tensors")
    elif missing:
        found = supports(fibre, known=known)
        sets, left = found.sets, found.left
        missing, moved = (left, found.remaining) if a is None else (missing, found.unknown)
    return Account(
        a, fibre, tuple(shares), fibre.nullity - missing, missing,
        {name: motion.need for name, motion in moved.items() if motion.need},
        {name: motion.can for name, motion in moved.items()}, sets, left, skipped, tuple(notes), piece,
    )  # fmt: skip


Names = tuple[tuple[str, int], ...]


def _names(module: nn.Module) -> Names:
    if not isinstance(module, nn.Module):
        raise InvalidInput(f"a torch.nn.Module is needed, not {shown(module)}")
    return tuple((name, p.numel()) for name, p in module.named_parameters())


def _wired(a: Architecture, layout: Layout, names: Names) -> Wiring:
    """The architecture's wiring; raises InvalidInput where the layout does not fit it or the module."""
    if not isinstance(a, Architecture) or not isinstance(layout, Layout):
        given = f"{type(a).__name__} and {type(layout).__name__}"
        raise InvalidInput(f"account_for takes a symgauge.Architecture and a symgauge.Layout, not {given}")
    if tuple(layout.names) != names:
        raise InvalidInput(f"the layout describes {_tensors(layout.names)}; the module has {_tensors(names)}")
    w = wire(a)
    for role, slot in layout.slots.items():
        shape = tuple(slot.index.shape)
        # Sizes may differ (a factor in the place of a matrix): what cannot act on them then says so.
        if role in w.shapes and len(shape) != len(w.shapes[role]):
            raise InvalidInput(f"layout: role {role!r} has shape {shape}; in this architecture it is {w.shapes[role]}")
    return w


def _tensors(names: Names) -> str:
    shown_ones = ", ".join(f"{name} ({count})" for name, count in names[:4])
    return f"{len(names)} tensors ({shown_ones}{', …' if len(names) > 4 else ''})"


def _check_fibre(fibre: FibreDimension, names: Names, output: Output) -> None:
    if not isinstance(fibre, FibreDimension):
        raise InvalidInput(f"fibre must be what symgauge.dimension returned, not {shown(fibre)}")
    if not set(fibre.names) <= set(names):
        raise InvalidInput(f"fibre is of another module: it has {_tensors(fibre.names)}, this one {_tensors(names)}")
    if fibre.output != output:
        raise InvalidInput(f"fibre was measured for output {fibre.output!r}, and is to be explained for {output!r}")


def natural_inputs(architecture: Architecture) -> Inputs:
    """Tokens for a model, vectors for a block or a lone attention layer; ``context`` positions long."""
    if architecture.is_model:
        return Tokens(architecture.vocabulary, architecture.context)
    return Vectors(architecture.context, architecture.d_model)


def check_inputs(inputs: Inputs, a: Architecture) -> None:
    """Raises InvalidInput where a module of this architecture cannot take the inputs."""
    if not isinstance(inputs, Tokens | Vectors):
        raise InvalidInput(f"inputs must be symgauge.Tokens or symgauge.Vectors, not {type(inputs).__name__}")
    if isinstance(inputs, Vectors):
        if a.is_model:
            raise InvalidInput(f"this model takes tokens: inputs must be Tokens({a.vocabulary}, length), not vectors")
        if inputs.width != a.d_model:
            raise InvalidInput(f"inputs have width {inputs.width}, but d_model = {a.d_model}")
    elif not a.is_model:
        raise InvalidInput(f"without a vocabulary inputs must be Vectors(length, {a.d_model}), not tokens")
    elif inputs.vocabulary > a.vocabulary:
        raise InvalidInput(f"inputs have {inputs.vocabulary} tokens, the model's vocabulary {a.vocabulary}")
    if a.position_table and inputs.length > a.context:
        raise InvalidInput(f"inputs are {inputs.length} positions long, the model's position table {a.context}")


def account(
    target: Architecture | nn.Module, inputs: Inputs | None = None, *, extra: Sequence[Symmetry] = (),
    families: Iterable[str] | None = None, without: Iterable[str] = (), output: Output = "logits", seed: int = 0,
    device: str = "cpu", progress: Progress | None = None,
) -> Account:  # fmt: skip
    """Split the nullity of a module into symmetry families, or by the tensors that move together.

    Args:
        target: an :class:`~symgauge.architecture.Architecture` (its reference module is measured), a reference module,
            or an unmodified ``transformers`` model of a known family: split into families. Any other module is split
            into the smallest sets of at most three tensors that move while all others rest.
        inputs: what to probe with; by default tokens or vectors of the architecture's own sizes.
        extra: families of one's own, after the known ones.
        families: names of the only families to look at; without: names of those to leave out.
        output: ``"logits"`` or ``"probabilities"``.

    Raises:
        InvalidInput, UnsupportedOperation: as :func:`dimension`; unknown names of families.
    """
    try:
        module, architecture, layout = describe(target)
    except UnsupportedModel as reason:
        assert isinstance(target, nn.Module)
        return _without_architecture(
            target, inputs, reason, extra=extra, families=families, without=without, output=output, seed=seed,
            device=device, progress=progress,
        )  # fmt: skip
    if inputs is not None:
        check_inputs(inputs, architecture)
    return account_for(
        module, inputs or natural_inputs(architecture), architecture, layout, extra=extra, families=families,
        without=without, output=output, seed=seed, device=device, progress=progress,
    )  # fmt: skip


def _without_architecture(
    module: nn.Module, inputs: Inputs | None, reason: UnsupportedModel, **options: Any
) -> Account:
    if inputs is None:
        raise UnsupportedModel(
            f"{reason}; to split its kernel by tensors say what to probe it with: inputs=symgauge.Tokens(vocabulary=…, "
            "length=…) or symgauge.Vectors(length=…, width=…)"
        ) from reason
    found = account_for(module, inputs, None, None, **options)
    return dataclasses.replace(found, notes=(no_families(reason), *found.notes))


def no_families(reason: UnsupportedModel) -> str:
    """Why an account is by tensors and not by families."""
    return f"no architecture is known ({reason}), so the kernel is split by the tensors that move together"


def describe(target: Architecture | nn.Module) -> tuple[nn.Module, Architecture, Layout]:
    """The module to measure, its architecture and the layout of its parameters.

    Raises UnsupportedModel for a module that no adapter knows.
    """
    from symgauge.models.reference import ReferenceModel, reference_layout

    if isinstance(target, Architecture):
        target = ReferenceModel(target)
    if not isinstance(target, nn.Module):
        raise InvalidInput(f"a symgauge.Architecture or a torch.nn.Module is needed, not {shown(target)}")
    if isinstance(target, ReferenceModel):
        return target, target.architecture, reference_layout(target, target.architecture)
    from symgauge.models.huggingface import adapt

    adapted = adapt(target)
    return target, adapted.architecture, adapted.layout
