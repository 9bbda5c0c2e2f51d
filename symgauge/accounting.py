"""Which symmetries explain the kernel: the nullity split into families, and the directions nobody has named.

Every generator is differentiated from its family's finite action in exact arithmetic and must annihilate every row of
the Jacobian; what the generators do not span is *unexplained*. Zero unexplained is what "maximal" means here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

import symgauge.arithmetic.rules  # noqa: F401  (registers the rule table)
from symgauge.architecture import Architecture
from symgauge.arithmetic.carrier import Carrier, wrap
from symgauge.arithmetic.finite_field import FiniteField, Residues
from symgauge.arithmetic.jet import Calculus
from symgauge.exact.dimension import Progress
from symgauge.exact.probes import Inputs, Tokens, Vectors
from symgauge.exact.rank import Echelon
from symgauge.exact.result import FibreDimension, Output
from symgauge.exact.threads import few_threads
from symgauge.layout import Layout
from symgauge.measurement import dimension
from symgauge.symmetries.base import Symmetry
from symgauge.symmetries.group import families
from symgauge.wiring import Wiring, wire


@dataclass(frozen=True)
class FamilyShare:
    """What one family contributes. ``gain`` counts directions that the families before it did not span."""

    name: str
    title: str
    coordinates: int
    dimension: int
    gain: int
    violations: int
    """Generators outside the kernel: more than zero refutes the family on this architecture."""


@dataclass(frozen=True)
class Account:
    """The kernel of a model's Jacobian, by families in their fixed order."""

    architecture: Architecture
    fibre: FibreDimension
    families: tuple[FamilyShare, ...]
    explained: int
    unexplained: int
    tensors: Mapping[str, int] = field(default_factory=dict)
    """Parameter name → unexplained directions that need it (empty if nothing is unexplained)."""

    @property
    def decided(self) -> bool:
        """The rank is settled, primes agree, and every generator lies in the kernel."""
        return self.fibre.saturated and self.fibre.agree and not any(f.violations for f in self.families)

    @property
    def complete(self) -> bool:
        """Decided, and nothing is unexplained."""
        return self.decided and self.unexplained == 0

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            **self.fibre.as_dict(),
            "architecture": self.architecture.name,
            "families": {
                f.name: {"dimension": f.dimension, "gain": f.gain, "violations": f.violations} for f in self.families
            },
            "explained": self.explained,
            "unexplained": self.unexplained,
            "unexplained_by_tensor": dict(self.tensors),
            "decided": self.decided,
            "complete": self.complete,
        }


def generators(
    family: Symmetry, a: Architecture, w: Wiring, layout: Layout, theta: Tensor, arithmetic: FiniteField
) -> Tensor:
    """Tangent vectors (coordinates, P) of a family at ``theta``, as residues: its action's derivative at x = 0."""
    calculus = Calculus(arithmetic)
    count = family.coordinates(a, w)
    origin = wrap(calculus.variable(torch.zeros(count, dtype=torch.float64, device=theta.device), 0), calculus)
    # The shift is added in exact arithmetic: θ + 1 in float64 would round, and be another point.
    roles = {name: wrap(calculus.lift(theta[slot.index]), calculus) + slot.shift for name, slot in layout.slots.items()}
    with torch.no_grad():
        moved = family.act(a, w, roles, origin)
    result = torch.zeros((count, layout.size), dtype=torch.int64, device=theta.device)
    for name, value in moved.items():
        if value is roles[name]:
            continue
        index = layout.slots[name].index.flatten().to(theta.device)
        result[:, index] = _tangent(value, count, calculus).reshape(count, -1)
    return result


def _tangent(value: Tensor, count: int, calculus: Calculus) -> Tensor:
    """The tangent over all coordinates (count, *shape); zeros if the role does not move after all."""
    assert isinstance(value, Carrier)
    jet = value.jet
    if jet.tangent is None:
        return torch.zeros((count, *value.shape), dtype=torch.int64, device=jet.shadow.device)
    tangent = calculus.widen(jet.tangent, jet.span, (0, count))
    assert tangent.im is None, "generators at a real point are real"
    return tangent.re.expand(count, *value.shape)


def account_for(
    module: nn.Module,
    inputs: Inputs,
    architecture: Architecture,
    layout: Layout,
    *,
    fibre: FibreDimension | None = None,
    extra: Sequence[Symmetry] = (),
    output: Output = "logits",
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Account:
    """Explain the kernel of any module whose architecture and layout are known; ``extra`` families come last.

    See :func:`account`. Roles that the architecture does not know may be in the layout, for families of one's own.
    """
    fibre = fibre or dimension(module, inputs, seed=seed, output=output, device=device, progress=progress)
    w = wire(architecture)
    echelon = fibre.echelon
    theta = fibre.theta.to(echelon.pivots.device)
    # A generator is in the kernel when every row of the Jacobian annihilates it.
    known = Echelon(echelon.field, fibre.parameters, echelon.pivots.device)
    shares = []
    with few_threads(fibre.parameters):
        for family in (*families(architecture, output), *extra):
            vectors = generators(family, architecture, w, layout, theta, echelon.field)
            image = echelon.field.matmul(Residues(vectors), echelon.basis.map(lambda b: b.mT))
            inside = echelon.field.is_zero(image).all(1)
            own = Echelon(echelon.field, fibre.parameters, echelon.pivots.device)
            own.add(Residues(vectors[inside]))
            gain = known.add(Residues(vectors[inside]))
            shares.append(FamilyShare(family.name, family.title, len(vectors), own.rank, gain, int((~inside).sum())))
    return Account(
        architecture, fibre, tuple(shares), known.rank, fibre.nullity - known.rank, _unexplained(fibre, known)
    )


def _unexplained(fibre: FibreDimension, known: Echelon) -> dict[str, int]:
    """For each tensor, how many unexplained directions need it: they move it whatever known ones are added."""
    missing = fibre.nullity - known.rank
    if not missing:
        return {}
    kernel, start, result = fibre.kernel(), 0, {}
    for name, count in fibre.names:
        block = Residues(*(x[:, start : start + count].mT.contiguous() for x in kernel.parts()))
        still = Echelon(known.field, fibre.nullity, known.pivots.device)
        still.add(block)
        resting = known.field.matmul(still.kernel(), kernel)  # kernel vectors that leave this tensor alone
        without = known.copy()
        needed = missing - without.add(resting)
        if needed:
            result[name] = needed
        start += count
    return result


def natural_inputs(architecture: Architecture) -> Inputs:
    """Tokens for a model, vectors for a block or a lone attention layer; ``context`` positions long."""
    if architecture.is_model:
        return Tokens(architecture.vocabulary, architecture.context)
    return Vectors(architecture.context, architecture.d_model)


def account(
    target: Architecture | nn.Module, inputs: Inputs | None = None, *, output: Output = "logits", seed: int = 0,
    device: str = "cpu", progress: Progress | None = None,
) -> Account:  # fmt: skip
    """Split the nullity of an architecture, or of a ``transformers`` model, into symmetry families.

    Args:
        target: an :class:`~symgauge.architecture.Architecture` (its reference module is measured), a reference module,
            or an unmodified ``transformers`` model of a known family.
        inputs: what to probe with; by default tokens or vectors of the architecture's own sizes.
        output: ``"logits"`` or ``"probabilities"``.

    Raises:
        UnsupportedModel: no adapter knows the module. InvalidInput, UnsupportedOperation: as :func:`dimension`.
    """
    module, architecture, layout = describe(target)
    return account_for(
        module, inputs or natural_inputs(architecture), architecture, layout, output=output, seed=seed, device=device,
        progress=progress,
    )  # fmt: skip


def describe(target: Architecture | nn.Module) -> tuple[nn.Module, Architecture, Layout]:
    """The module to measure, its architecture and the layout of its parameters."""
    from symgauge.models.reference import ReferenceModel, reference_layout

    if isinstance(target, Architecture):
        target = ReferenceModel(target)
    if isinstance(target, ReferenceModel):
        return target, target.architecture, reference_layout(target, target.architecture)
    from symgauge.models.huggingface import adapt

    adapted = adapt(target)
    return target, adapted.architecture, adapted.layout
