"""What every continuous family must pass on an architecture on which it acts; a test for each calls these."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.model_graph import graph_of
from symgauge.symmetries import DiscreteSymmetry, Symmetry, degenerate_cases, dimension
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import Output
from tests.symmetries.evidence import VISIBLE, accounted, difference, inputs, point, rounding


def check_invariance(a: Architecture, family: Symmetry, output: Output = "logits") -> None:
    """General elements far from the identity move something and keep the function, up to rounding."""
    graph, generator = graph_of(a), torch.Generator().manual_seed(2)
    roles, x = point(a), inputs(a, generator)
    for _ in range(3):
        moved = family.act(a, graph, roles, family.sample(a, graph, generator))
        assert set(moved) == set(roles)
        assert any(float((moved[r] - roles[r]).norm() / roles[r].norm()) > 1e-6 for r in roles), "nothing moved"
        assert difference(a, roles, moved, x, output) < rounding(a, roles, moved, x, output)


def check_identity(a: Architecture, family: Symmetry) -> None:
    """Coordinates zero move nothing."""
    graph, roles = graph_of(a), point(a)
    moved = family.act(a, graph, roles, torch.zeros(family.coordinates(a, graph), dtype=torch.float64))
    for role, value in roles.items():
        assert float((moved[role] - value).norm()) <= 1e-14 * float(value.norm())


def check_each_role_counts(
    a: Architecture, family: Symmetry | DiscreteSymmetry, output: Output = "logits", visible: float = VISIBLE
) -> None:
    """Each role that an element moves is put back alone, and that shows; where the family says that it does not, it
    does not, and a random displacement of the same size does, unless nothing of the role is seen at all."""
    graph, generator = graph_of(a), torch.Generator().manual_seed(3)
    roles, x = point(a), inputs(a, generator, 24)
    moved = family.act(a, graph, roles, family.sample(a, graph, generator))  # type: ignore[arg-type]
    tolerance = rounding(a, roles, moved, x, output)
    assert tolerance < VISIBLE / 100, "the control could not tell a change from rounding"
    changed = [role for role in roles if not torch.equal(moved[role], roles[role])]
    assert changed
    for role in changed:
        unseen = family.unseen_alone(a, role)
        change = difference(a, roles, {**moved, role: roles[role]}, x, output)
        if unseen is None:
            assert change > visible, f"putting back {role} does not show"
            continue
        assert change < tolerance, f"{role} was to move alone: {unseen.why}"
        noise = torch.randn(roles[role].shape, generator=generator, dtype=torch.float64)
        noise = noise * (moved[role] - roles[role]).norm() / noise.norm()
        displaced = difference(a, roles, {**moved, role: moved[role] + noise}, x, output)
        # Experts that are not chosen move unseen by small steps; a displacement must be felt by some token.
        assert (displaced < tolerance) if unseen.wholly else (displaced > VISIBLE / 10), role


def generators(a: Architecture, family: Symmetry, roles: dict[str, Tensor]) -> Tensor:
    """Derivative of the action at the identity, (coordinates, P), each row of length one."""
    graph = graph_of(a)

    def moved(x: Tensor) -> Tensor:
        return torch.cat([value.flatten() for value in family.act(a, graph, roles, x).values()])

    zero = torch.zeros(family.coordinates(a, graph), dtype=torch.float64)
    rows = torch.func.jacfwd(moved)(zero).T
    return rows / rows.norm(dim=1, keepdim=True)


def rank(rows: Tensor) -> int:
    """Rank with a gap of at least four orders of magnitude; refuses to answer without one."""
    values = torch.linalg.svdvals(torch.linalg.qr(rows.T, mode="r").R)
    kept = values[values > 1e-8 * values[0]]
    dropped = values[len(kept) :]
    assert len(dropped) == 0 or kept[-1] > 1e4 * dropped[0], "no gap"
    assert len(dropped) > 0 or kept[-1] > 1e-6 * values[0], "smallest singular value too near the cut"
    return len(kept)


def check_dimension(a: Architecture, family: Symmetry) -> None:
    """The family's formula is the rank of its generators."""
    rows = generators(a, family, point(a))
    assert rank(rows) == len(rows) == s.evaluate(family.dimension(a), a)


def check_kernel(a: Architecture, family: Symmetry, output: Output = "logits") -> None:
    """In exact arithmetic the family's generators lie in the kernel, give as many directions as its formula says beside
    the families before it, and all families together span the kernel."""
    found = accounted(a, output=output, discover=False)
    share = next(share for share in found.families if share.name == family.name)
    assert share.violations == 0
    assert share.new_directions == s.evaluate(family.dimension(a), a)
    assert found.complete, (found.unexplained, found.doubt)
    if not degenerate_cases(a):
        assert found.fibre.nullity == s.evaluate(dimension(a, output), a)
