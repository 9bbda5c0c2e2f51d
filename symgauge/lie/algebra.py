"""A Lie algebra over ℚ by its structure constants, and the subspaces that every Lie algebra has; exact throughout.

Sources: J. Humphreys, *Introduction to Lie Algebras and Representation Theory*, I–II;
W. de Graaf, *Lie Algebras: Theory and Algorithms*, 2–3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, wraps
from math import lcm
from typing import TYPE_CHECKING, Any, TypeVar

from flint import fmpz_mat

from symgauge.errors import InvalidInput
from symgauge.lie.jacobi import Brackets, check_jacobi
from symgauge.lie.signature import Signature, signature
from symgauge.lie.subspace import Subspace, Vector, dense

if TYPE_CHECKING:
    from symgauge.lie.ideals import Ideal

T = TypeVar("T")

Constants = Mapping[tuple[int, int], Mapping[int, Fraction | int]]
"""(i, j), i < j ↦ {k: c} with [e_i, e_j] = Σ c e_k; what is left out is zero."""


def computed_once(method: Callable[[Any], T]) -> Callable[[Any], T]:
    """A method without arguments whose result is kept with the object."""
    name = f"_{method.__name__}"

    @wraps(method)
    def kept(self: Any) -> T:
        if name not in self.__dict__:
            self.__dict__[name] = method(self)
        return self.__dict__[name]

    return kept


class LieAlgebra:
    """A Lie algebra over ℚ with a basis e_0 … e_{n−1}.

    Args:
        constants: sparse structure constants for i < j; the other half follows by antisymmetry.
        dimension: n.

    Raises:
        InvalidInput: an index is outside of 0 … n−1, or i < j does not hold.
        JacobiError: the Jacobi identity fails; the sentence names a triple.

    Example:
        >>> from symgauge.lie import LieAlgebra
        >>> g = LieAlgebra({(0, 1): {2: 1}, (1, 2): {0: 1}, (0, 2): {1: -1}}, 3)
        >>> g.name, g.signature()
        ('so(3)', Signature(positive=0, negative=3, zero=0))
    """

    def __init__(self, constants: Constants, dimension: int) -> None:
        self._set(constants, dimension)
        check_jacobi(self.brackets)

    @classmethod
    def _known_to_be_one(cls, constants: Constants, dimension: int) -> LieAlgebra:
        """Without the Jacobi check, for subalgebras and quotients, which inherit the identity."""
        algebra = cls.__new__(cls)
        algebra._set(constants, dimension)
        return algebra

    def _set(self, constants: Constants, dimension: int) -> None:
        for (i, j), bracket in constants.items():
            if not 0 <= i < j < dimension or not all(0 <= k < dimension for k in bracket):
                raise InvalidInput(
                    f"structure constants of ({i}, {j}): expected 0 ≤ i < j < {dimension} and 0 ≤ k < {dimension}."
                )
        self.dimension = dimension
        self.constants = {
            pair: {k: Fraction(c) for k, c in bracket.items() if c}
            for pair, bracket in constants.items()
            if any(bracket.values())
        }
        # In the basis s·e_i all constants are integers; subspaces have the same coordinates there.
        self.scale = lcm(*(c.denominator for bracket in self.constants.values() for c in bracket.values()))
        self.brackets: Brackets = [{} for _ in range(dimension)]
        for (i, j), bracket in self.constants.items():
            self.brackets[i][j] = {k: int(c * self.scale) for k, c in bracket.items()}
            self.brackets[j][i] = {k: -v for k, v in self.brackets[i][j].items()}

    def bracket(self, x: Mapping[int, int], y: Mapping[int, int]) -> Vector:
        """s·[x, y], s the common denominator ``scale`` of the structure constants."""
        total: dict[int, int] = {}
        for i, a in x.items():
            row = self.brackets[i]
            for j in row.keys() & y.keys():
                factor = a * y[j]
                for k, c in row[j].items():
                    total[k] = total.get(k, 0) + factor * c
        return {k: v for k, v in total.items() if v}

    def ad(self, x: Mapping[int, int]) -> fmpz_mat:
        """The n × n matrix of y ↦ s·[x, y], acting on columns."""
        columns = [dense(self.bracket(x, {j: 1}), self.dimension) for j in range(self.dimension)]
        return fmpz_mat(self.dimension, self.dimension, [v for column in columns for v in column]).transpose()

    # Subspaces

    @computed_once
    def whole(self) -> Subspace:
        return Subspace.whole(self.dimension)

    def product(self, u: Subspace, v: Subspace) -> Subspace:
        """[U, V], the span of all brackets."""
        return Subspace.spanned_by((self.bracket(x, y) for x in u.rows for y in v.rows), self.dimension)

    def centralizer(self, u: Subspace) -> Subspace:
        """All x with [x, U] = 0."""
        equations: list[Vector] = []
        for y in u.rows:
            by_position: dict[int, Vector] = {}
            for i in {i for j in y for i in self.brackets[j]}:
                for k, c in self.bracket({i: 1}, y).items():
                    by_position.setdefault(k, {})[i] = c
            equations.extend(by_position.values())
        return Subspace.solving(equations, self.dimension)

    @computed_once
    def centre(self) -> Subspace:
        return self.centralizer(self.whole())

    @computed_once
    def derived(self) -> Subspace:
        """[g, g]."""
        brackets = (c for i, row in enumerate(self.brackets) for j, c in row.items() if i < j)
        return Subspace.spanned_by(brackets, self.dimension)

    def derived_series(self) -> list[Subspace]:
        """g ⊇ [g, g] ⊇ [[g, g], [g, g]] ⊇ …, until it repeats."""
        return self._series(lambda u: self.product(u, u))

    def lower_central_series(self) -> list[Subspace]:
        """g ⊇ [g, g] ⊇ [g, [g, g]] ⊇ …, until it repeats."""
        return self._series(lambda u: self.product(self.whole(), u))

    def _series(self, following: Callable[[Subspace], Subspace]) -> list[Subspace]:
        series, following_one = [self.whole()], self.derived()
        while following_one.dimension < series[-1].dimension:
            series.append(following_one)
            following_one = following(following_one)
        return series

    def killing_form(self) -> list[list[Fraction]]:
        """κ(e_i, e_j) = tr(ad e_i · ad e_j), n × n."""
        n, s = self.dimension, self.scale**2
        entries = self.integer_killing_form().entries()
        return [[Fraction(int(entries[i * n + j]), s) for j in range(n)] for i in range(n)]

    @computed_once
    def integer_killing_form(self) -> fmpz_mat:
        """s²·κ, s the ``scale``, an integer matrix."""
        n = self.dimension
        by_place: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for j, row in enumerate(self.brackets):
            for k, bracket in row.items():
                for l, c in bracket.items():
                    by_place.setdefault((k, l), []).append((j, c))
        entries = [0] * (n * n)
        for (k, l), left in by_place.items():
            for i, a in left:
                for j, b in by_place.get((l, k), ()):
                    entries[i * n + j] += a * b
        return fmpz_mat(n, n, entries)

    def signature(self) -> Signature:
        """The numbers of positive, negative and zero squares of the Killing form over ℝ."""
        return signature(self.integer_killing_form())

    @computed_once
    def radical(self) -> Subspace:
        """The largest solvable ideal: what the Killing form makes orthogonal to [g, g] (Cartan's criterion)."""
        n, entries = self.dimension, self.integer_killing_form().entries()
        rows = [{j: int(v) for j, v in enumerate(entries[i * n : i * n + n]) if v} for i in range(n)]
        equations = []
        for x in self.derived().rows:
            equation: dict[int, int] = {}
            for i, a in x.items():
                for j, v in rows[i].items():
                    equation[j] = equation.get(j, 0) + a * v
            equations.append(equation)
        return Subspace.solving(equations, n)

    @computed_once
    def nilradical(self) -> Subspace:
        """The largest nilpotent ideal."""
        from symgauge.lie.nilradical import nilradical

        return nilradical(self)

    # Kinds

    @property
    def is_abelian(self) -> bool:
        return not self.constants

    @property
    def is_solvable(self) -> bool:
        return self.radical().dimension == self.dimension

    @property
    def is_nilpotent(self) -> bool:
        return self.lower_central_series()[-1].dimension == 0

    @property
    def is_semisimple(self) -> bool:
        return self.radical().dimension == 0

    @property
    def is_reductive(self) -> bool:
        return self.radical().dimension == self.centre().dimension

    # New algebras from this one

    def subalgebra(self, space: Subspace) -> LieAlgebra:
        """The algebra on ``space``, whose rows become its basis.

        Raises:
            InvalidInput: the space is not closed under brackets.
        """
        constants = {}
        for b, y in enumerate(space.rows):
            for a, x in enumerate(space.rows[:b]):
                value = self.bracket(x, y)
                coordinates = space.coordinates(value)
                if coordinates is None:
                    raise InvalidInput(f"subalgebra: the bracket of rows {a} and {b} lies outside of the space.")
                constants[a, b] = {k: c / self.scale for k, c in coordinates.items()}
        return LieAlgebra._known_to_be_one(constants, space.dimension)

    def quotient(self, ideal: Subspace) -> LieAlgebra:
        """g/I, on the basis of those e_i that are no pivot of the ideal I.

        Raises:
            InvalidInput: the space is not an ideal.
        """
        if not self.product(self.whole(), ideal) <= ideal:
            raise InvalidInput("quotient: the space is not an ideal.")
        pivots = {p: ideal.rows[k] for p, k in ideal.pivots.items()}
        kept = {i: a for a, i in enumerate(i for i in range(self.dimension) if i not in pivots)}
        constants = {}
        for (i, j), bracket in self.constants.items():
            if i in kept and j in kept:
                rest = dict(bracket)
                for p in pivots.keys() & bracket.keys():
                    for k, v in pivots[p].items():
                        rest[k] = rest.get(k, Fraction(0)) - bracket[p] * Fraction(v, pivots[p][p])
                constants[kept[i], kept[j]] = {kept[k]: c for k, c in rest.items() if k in kept}
        return LieAlgebra._known_to_be_one(constants, len(kept))

    # What it is

    @computed_once
    def ideals(self) -> list[Ideal]:
        """g as a direct sum of ideals, as fine as could be proved; see `symgauge.lie.ideals`."""
        from symgauge.lie.ideals import decompose

        return decompose(self)

    @cached_property
    def name(self) -> str:
        """Its usual name, over ℝ, or a description where it has none; see `symgauge.lie.names`."""
        from symgauge.lie.names import name_of

        return name_of(self)

    def __repr__(self) -> str:
        return f"LieAlgebra({self.name}, dimension {self.dimension})"
