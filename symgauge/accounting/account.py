"""The record of what explains a kernel, with what the formulas say of its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symgauge import symmetries
from symgauge.accounting.share import FamilyShare
from symgauge.architecture import Architecture
from symgauge.claimed import Claimed, claimed_by_sources
from symgauge.exact.result import FibreDimension
from symgauge.exact.supports import TensorSet
from symgauge.full_size import FullSize, full_size
from symgauge.subjects import Subject
from symgauge.symmetries.symbols import evaluate

if TYPE_CHECKING:
    from symgauge.discovery.discovery import Discovery


@dataclass(frozen=True)
class Account:
    """The kernel of a model's Jacobian, by families in their fixed order, or by the tensors that move together.

    Without an architecture there are no families; what ``sets`` carry is explained then. ``str(account)`` is what
    `symgauge account` shows.

    Example:
        >>> import symgauge
        >>> found = symgauge.account(symgauge.Architecture(d_model=4, heads=2, d_k=1, d_v=1, residual=False))
        >>> found.fibre.nullity, found.explained, found.unexplained, found.complete
        (4, 4, 0, True)
    """

    subject: Subject
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
    """What a reader must know: of the subject, of its measurement, and of the account."""
    piece: bool = False
    """Whether the account is of one piece of the function, with the freedom of its one-sided units as families."""
    discovery: Discovery | None = None
    """Symmetries found without being known, where families leave something or there are none; None if not looked for.
    It explains the whole kernel by itself: what families have is found again."""

    @property
    def architecture(self) -> Architecture | None:
        """Of the module that was measured, where it is known."""
        return self.subject.architecture

    @cached_property
    def formula_in_letters(self) -> Expr | None:
        """What the known families of the architecture add up to; None where no architecture is known."""
        return None if self.architecture is None else symmetries.dimension(self.architecture, self.fibre.output)

    @property
    def formula(self) -> int | None:
        """The same at the measured size: what the nullity is expected to be."""
        return None if self.architecture is None else evaluate(self.formula_in_letters, self.architecture)

    @cached_property
    def claimed(self) -> tuple[Claimed, ...]:
        """What sources claim it to be."""
        return () if self.architecture is None else claimed_by_sources(self.architecture)

    @property
    def needs_discovery(self) -> bool:
        """Whether the kernel is known, and has directions that neither a family nor a degenerate case explains."""
        known = sum(share.new_directions for share in self.families)
        return known < self.fibre.nullity and not self.fibre.rank_doubt and not self.possible_reasons

    @property
    def possible_reasons(self) -> tuple[str, ...]:
        """Why a model of such sizes may have more than the known families, where something is unexplained."""
        if self.architecture is None or not self.unexplained:
            return ()
        return tuple(symmetries.degenerate_cases(self.architecture))

    @cached_property
    def full_size(self) -> FullSize | None:
        """The formulas at full size, where the module stands for something larger."""
        return None if self.subject.full_size is None else full_size(self.subject.full_size, self.fibre.output)

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
        return {
            **self.fibre.as_dict(),
            "module": self.subject.name,
            "inputs": str(self.subject.inputs),
            "architecture": None if self.architecture is None else self.architecture.name,
            "families": {f.name: f.as_dict() for f in self.families},
            "explained": self.explained,
            "unexplained": self.unexplained,
            "unexplained_by_tensor": dict(self.tensors),
            "unexplained_can_move": dict(self.movable),
            "tensor_sets": [found.as_dict() for found in self.sets],
            "left": self.left,
            "discovery": None if self.discovery is None else self.discovery.as_dict(),
            "skipped": {name: list(roles) for name, roles in self.skipped.items()},
            "formula": self.formula,
            "formula_in_letters": None if self.formula is None else str(self.formula_in_letters),
            "claimed": {count.source: count.as_dict() for count in self.claimed},
            "possible_reasons": list(self.possible_reasons),
            "full_size": None if self.full_size is None else self.full_size.as_dict(),
            "notes": list(self.notes),
            "decided": self.decided,
            "complete": self.complete,
            "reason": self.doubt,
        }

    def __rich__(self) -> Any:
        from symgauge.printing.account import shown

        return shown(self)

    def __str__(self) -> str:
        from symgauge.printing.tables import as_text

        return as_text(self)
