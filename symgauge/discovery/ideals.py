"""The algebra as a person reads it: ideals by name, with the tensors that each moves and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from symgauge.discovery.ansatz import Block
from symgauge.discovery.attempts import Attempt
from symgauge.discovery.extended import Computed
from symgauge.discovery.fields import Fields, together
from symgauge.discovery.kinds import kind
from symgauge.discovery.rational import integer_matrix
from symgauge.discovery.reading import action
from symgauge.discovery.representatives import plainest
from symgauge.discovery.structure import Constants
from symgauge.discovery.taken_in import TakenIn
from symgauge.lie import LieAlgebra, common_name


@dataclass(frozen=True)
class Ideal:
    """A direct factor of the algebra, or several that move the same parameters (sl(n) and scalings: gl(n))."""

    algebra: str
    dimension: int
    tensors: tuple[str, ...]
    action: str
    fields: Fields
    derived: tuple[Computed, ...] = ()
    """Tensors computed from others that it takes in; they follow the parameters in the fields' space."""
    moving: bool = False
    """Whether it moves what they are computed from: then they are no constants of its motions, which are integrated."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "algebra": self.algebra, "dimension": self.dimension, "tensors": list(self.tensors), "action": self.action,
            "integrated": self.moving,
        }  # fmt: skip


@dataclass(frozen=True)
class _Factor:
    fields: Fields
    name: str
    abelian: bool


def ideals_of(attempt: Attempt) -> list[Ideal]:
    """Those of the affine symmetries, then those of what takes in derived tensors."""
    found = ideals(attempt.translations, attempt.fields, attempt.trivial, attempt.constants, attempt.blocks)
    for more in attempt.taken_in:
        blocks = (*attempt.blocks, *more.derived)
        if more.moving or more.constants is None:
            those = [_moving(more, blocks)]
        else:
            those = ideals(more.fields.chosen([]), more.fields, more.trivial, more.constants, blocks)
        found += [_reading(ideal, more.derived) for ideal in those]
    return found


def _moving(more: TakenIn, blocks: Sequence[Block]) -> Ideal:
    """Fields that move what they are computed from: their algebra by its brackets, and not by eigenvalues."""
    tensors = tuple(b.name for b in blocks if more.fields.moved(b.start, b.size).any())
    return Ideal(_of_brackets(more), more.fields.count, tensors, action(more.fields, blocks), more.fields, moving=True)


def _of_brackets(more: TakenIn) -> str:
    count = more.fields.count
    if more.constants is None:
        return f"{count} fields, no algebra"
    factors = LieAlgebra(more.constants, count).ideals() if more.constants else []
    simple = [factor.name for factor in factors if not factor.algebra.is_abelian]
    central = count - sum(len(factor.basis) for factor in factors if not factor.algebra.is_abelian)
    return " ⊕ ".join([*simple, *([f"abelian({central})"] if central else [])])


def _reading(ideal: Ideal, derived: Sequence[Computed]) -> Ideal:
    """The ideal with those of the derived tensors that it reads."""
    fields, used, columns = ideal.fields, [], ideal.fields.columns.copy()
    live = (fields.values != 0).any(0)
    start = min(each.start for each in derived)
    for each in derived:
        inside = (fields.columns > each.start) & (fields.columns <= each.start + each.size)
        if (inside & live).any():
            columns[inside] = fields.columns[inside] - each.start + start
            used.append(replace(each, start=start))
            start += each.size
    found = Fields(start, fields.rows[live], columns[live], fields.values[:, live])
    return replace(ideal, fields=found, derived=tuple(used))


def ideals(
    translations: Fields, fields: Fields, trivial: Fields, constants: Constants, blocks: Sequence[Block]
) -> list[Ideal]:
    """Translations, and the finest direct factors of the algebra of ``fields`` modulo them.

    Factors that move the same parameters are one ideal. ``trivial`` fields point along translations; fields are read up
    to them.
    """
    factors = [_Factor(one, "", True) for one in _one_by_one(short(translations))]
    central: list[Sequence[Fraction]] = []
    for ideal in LieAlgebra(constants, fields.count).ideals():
        if ideal.algebra.is_abelian:
            central += ideal.basis
        else:
            factors.append(_Factor(plainest(short(fields.combined(ideal.basis)), trivial, blocks), ideal.name, False))
    if central:
        # A basis of the abelian part is a matter of taste: the shortest vectors move the fewest parameters.
        factors += [
            _Factor(one, "", True) for one in _one_by_one(plainest(short(fields.combined(central)), trivial, blocks))
        ]
    groups: dict[tuple[bytes, str], list[_Factor]] = {}
    for factor in factors:
        groups.setdefault(_moved(factor, blocks), []).append(factor)
    found = [_ideal(group, blocks) for group in groups.values()]
    order = {block.name: i for i, block in enumerate(blocks)}
    return sorted(found, key=lambda ideal: (min(order[t] for t in ideal.tensors), ideal.fields.rows.min()))


def _one_by_one(fields: Fields) -> list[Fields]:
    return [fields.chosen([i]) for i in range(fields.count)]


def short(fields: Fields) -> Fields:
    """Another basis, with small entries: the lattice of coefficients reduced by LLL."""
    if fields.count == 0:
        return fields
    distinct, inverse = np.unique(fields.values, axis=1, return_inverse=True)
    reduced = integer_matrix(distinct).lll()
    values = np.array([[int(x) for x in row] for row in reduced.table()], dtype=np.int64)
    first = [next((v for v in row if v), 1) for row in values]
    values = values * np.sign(first).astype(np.int64)[:, None]
    return Fields(fields.size, fields.rows, fields.columns, values[:, inverse])


def _moved(factor: _Factor, blocks: Sequence[Block]) -> tuple[bytes, str]:
    """By what factors belong together: the parameters that they move, or the tensors where they are translations."""
    fields = factor.fields
    live = (fields.values != 0).any(0)
    if factor.abelian and kind(fields, 0) == "translation":
        return b"", " ".join(b.name for b in blocks if fields.moved(b.start, b.size).any())
    return np.unique(fields.rows[live]).tobytes(), ""


def _ideal(group: Sequence[_Factor], blocks: Sequence[Block]) -> Ideal:
    each = together(*(factor.fields for factor in group))
    fields = Fields(each[0].size, each[0].rows, each[0].columns, np.concatenate([f.values for f in each]))
    tensors = tuple(b.name for b in blocks if fields.moved(b.start, b.size).any())
    return Ideal(_name(group), fields.count, tensors, action(fields, blocks), fields)


def _name(group: Sequence[_Factor]) -> str:
    simple = [factor.name for factor in group if not factor.abelian]
    kinds = [kind(factor.fields, 0) for factor in group if factor.abelian]
    if simple:
        return common_name(simple, len(kinds))
    return _ABELIAN.get(tuple(sorted(kinds)), _abelian(kinds))


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_ABELIAN = {
    ("scaling",): "gl(1, ℝ)", ("rotation",): "so(2)", ("translation",): "ℝ", ("rotation", "scaling"): "gl(1, ℂ)",
    ("mixed",): "ℝ (mixed eigenvalues)",
}  # fmt: skip


def _abelian(kinds: Sequence[str]) -> str:
    if len(set(kinds)) == 1:
        if kinds[0] == "translation":
            return f"ℝ{str(len(kinds)).translate(_SUPERSCRIPTS)}"
        return f"abelian({len(kinds)}), {kinds[0]}s"
    return f"abelian({len(kinds)})"
