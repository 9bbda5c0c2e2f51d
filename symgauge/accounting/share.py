"""What one family contributes to a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.exact.rank import Echelon
from symgauge.symmetries.base import Symmetry


@dataclass(frozen=True)
class FamilyShare:
    """What one family contributes. ``new_directions`` counts directions that the families before it did not span.

    Example:
        >>> import symgauge
        >>> found = symgauge.account(symgauge.Architecture(d_model=4, heads=2, d_k=1, d_v=1, residual=False))
        >>> [(share.name, share.new_directions, share.violations) for share in found.families]
        [('query-key', 2, 0), ('value-output', 2, 0)]
    """

    name: str
    title: str
    coordinates: int
    dimension: int
    """Of its directions, those in the kernel."""
    new_directions: int
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

    def as_dict(self) -> dict[str, int]:
        """Plain data for JSON."""
        return {
            "dimension": self.dimension,
            "new_directions": self.new_directions,
            "violations": self.violations,
            "directions": self.directions,
        }


def share(family: Symmetry, vectors: Residues, rows: Echelon, known: Echelon) -> FamilyShare:
    """What a family's tangent vectors (m, P) add to the directions ``known``, which then has them.

    ``rows``: the row space of the Jacobian. Combinations of the vectors that lie in its kernel count.
    """
    count = vectors.shape[0]
    # A generator is in the kernel when every row of the Jacobian annihilates it.
    image = rows.field.matmul(vectors, rows.basis.map(lambda b: b.mT))
    outside = int((~rows.field.is_zero(image).all(1)).sum())
    directions = inside = _span(known, vectors)
    if outside:
        relations = Echelon(rows.field, count, rows.pivots.device)
        relations.add(image.map(lambda x: x.mT.contiguous()))
        vectors = rows.field.matmul(relations.kernel(), vectors)
        inside = _span(known, vectors)
    new_directions = known.add(vectors)
    return FamilyShare(family.name, family.title, count, inside.rank, new_directions, outside, directions.rank)


def on_free(free: Tensor, like: Echelon, vectors: Tensor) -> Residues:
    """Those combinations of tangent vectors (m, P) that leave fixed parameters alone, on the free ones (P,) bool."""
    if bool(free.all()):
        return Residues(vectors)
    moved = Echelon(like.field, len(vectors), like.pivots.device)
    moved.add(Residues(vectors[:, ~free].mT.contiguous()))
    return like.field.matmul(moved.kernel(), Residues(vectors[:, free]))


def _span(like: Echelon, vectors: Residues) -> Echelon:
    result = Echelon(like.field, like.columns, like.pivots.device)
    result.add(vectors)
    return result
