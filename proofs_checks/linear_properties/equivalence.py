"""Extended-linear equivalence ~EL of models of any dimensions, decided: the maps A and B, or why there are none.

Reconstructed form of Theorem 5's relation: linear isomorphisms A: M̃ → M and B: Ñ → N with P_M f = A P_M̃ f̃,
P_N g₀ = B P_Ñ g̃₀ and ⟨A u, B v⟩ = ⟨u, v⟩. The decision never compares distributions, so that "~EL exactly when p = p̃"
is something a check can get wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from proofs_checks.linear_properties.exact_matrices import Matrix
from proofs_checks.linear_properties.model import Coordinates, Model, check_comparable


@dataclass(frozen=True)
class Equivalence:
    """The maps from the second model's visible spaces to the first's, acting on rows.

    With ``ambient`` coordinates A is (d̃, d), zero on the complement of M̃, and B likewise; otherwise they act on
    coordinates modulo what is not seen.
    """

    A: Matrix
    B: Matrix
    ambient: bool

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True)
class Inequivalence:
    """Why no maps exist: a sentence; ``condition`` names what fails: "complexity", "A", "B" or "pairing"."""

    condition: str
    reason: str

    def __bool__(self) -> bool:
        return False


def equivalence(model: Model, other: Model) -> Equivalence | Inequivalence:
    """Decide ~EL. Over the rationals A and B act on the ambient spaces; over GF(p) on coordinates modulo the unseen.

    Raises InvalidInput if the models differ in contexts, tokens or field.
    """
    check_comparable(model, other)
    if other.pivot != model.pivot:
        other = Model(other.f, other.g, model.pivot)
    mine, theirs = model.effective_complexity, other.effective_complexity
    if mine != theirs:
        return Inequivalence("complexity", f"the effective complexities differ: {mine} and {theirs}")
    ambient = not model.f.field.prime
    one, two = (m.projected if ambient else m.modulo_unseen for m in (model, other))
    a = _linear_map(two.f, one.f, "context")
    if isinstance(a, str):
        return Inequivalence("A", a)
    b = _linear_map(two.g, one.g, "token")
    if isinstance(b, str):
        return Inequivalence("B", b)
    if ambient:
        a, b = other.M.projector() @ a, other.N.projector() @ b
    broken = _first_broken_pairing(one, two, a, b)
    if broken is not None:
        return Inequivalence("pairing", broken)
    return Equivalence(a, b, ambient)


def _linear_map(source: Matrix, target: Matrix, what: str) -> Matrix | str:
    """The map that sends each row of ``source`` to the same row of ``target``, or the first row where none can."""
    found = source.solve(target)
    if found is not None:
        if (source @ found).rank == source.rank:
            return found
        return f"the only linear map of the {what}s' visible parts is no isomorphism"
    joined = source.beside(target)
    for k in range(source.shape[0]):
        rows = range(k + 1)
        if joined.rows(rows).rank > source.rows(rows).rank:
            return (
                f"{what} {k} is a combination of earlier {what}s in the visible space of the second model, and another "
                "or none in that of the first, so no linear map relates them"
            )
    raise AssertionError("a system without solution has a first row that contradicts")


def _first_broken_pairing(one: Coordinates, two: Coordinates, a: Matrix, b: Matrix) -> str | None:
    """The first context and token whose dot product A and B do not keep."""
    kept = two.f @ a @ one.pairing @ (two.g @ b).T
    wanted = two.f @ two.pairing @ two.g.T
    for x, (ours, theirs) in enumerate(zip(kept.table, wanted.table, strict=True)):
        for y, (p, q) in enumerate(zip(ours, theirs, strict=True)):
            if p != q:
                return f"A and B do not keep dot products: context {x} and token {y} have {p} in place of {q}"
    return None
