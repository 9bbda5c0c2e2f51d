"""Exact matrices over the rationals or GF(p): SymPy's DomainMatrix with the words that the log-bilinear model needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import GF, QQ, isprime
from sympy.polys.matrices import DomainMatrix

from symgauge.errors import InvalidInput

Number = int | Fraction


@dataclass(frozen=True)
class Field:
    """The rationals (``prime`` = 0) or the integers modulo a prime. Raises InvalidInput for a composite modulus."""

    prime: int = 0

    def __post_init__(self) -> None:
        if self.prime and not (1 < self.prime < 2**64 and isprime(self.prime)):
            raise InvalidInput(f"a finite field needs a prime below 2^64, not {self.prime}")

    @cached_property
    def domain(self) -> Any:
        """SymPy's name for it."""
        return GF(self.prime, symmetric=False) if self.prime else QQ

    def matrix(self, rows: Iterable[Sequence[Any]], columns: int | None = None) -> Matrix:
        """A matrix from its rows of integers, fractions or rational text; ``columns`` is needed if there is no row."""
        listed = [[self._element(Fraction(entry)) for entry in row] for row in rows]
        width = columns if columns is not None else len(listed[0]) if listed else None
        if width is None or any(len(row) != width for row in listed):
            raise InvalidInput("the rows of a matrix must have one length, and an empty matrix needs its width")
        return Matrix(self, DomainMatrix(listed, (len(listed), width), self.domain).to_dense())

    def _element(self, x: Fraction) -> Any:
        if self.prime and x.denominator % self.prime == 0:
            raise InvalidInput(
                f"a fraction whose denominator is a multiple of {self.prime} has no value modulo {self.prime}"
            )
        return self.domain(x.numerator) / self.domain(x.denominator)

    def zeros(self, rows: int, columns: int) -> Matrix:
        return Matrix(self, DomainMatrix.zeros((rows, columns), self.domain).to_dense())

    def identity(self, size: int) -> Matrix:
        return Matrix(self, DomainMatrix.eye(size, self.domain).to_dense())

    def ones(self, rows: int) -> Matrix:
        """The column (rows, 1) of ones."""
        return Matrix(self, DomainMatrix.ones((rows, 1), self.domain).to_dense())


RATIONALS = Field()


@dataclass(frozen=True, eq=False)
class Matrix:
    """An immutable matrix over a field. Subspaces are row spaces; maps act on rows, y = x W."""

    field: Field
    raw: DomainMatrix

    @property
    def shape(self) -> tuple[int, int]:
        return self.raw.shape

    @cached_property
    def table(self) -> list[list[Number]]:
        """Rows of fractions, or of residues."""
        if self.field.prime:
            return [[int(x) for x in row] for row in self.raw.to_list()]
        return [[Fraction(int(x.numerator), int(x.denominator)) for x in row] for row in self.raw.to_list()]

    def __repr__(self) -> str:
        return "[" + "; ".join(" ".join(map(str, row)) for row in self.table) + "]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.field == other.field and bool(self.raw == other.raw)

    def __hash__(self) -> int:
        return hash((self.field, repr(self)))

    def __matmul__(self, other: Matrix) -> Matrix:
        self._fits(self.shape[1] == other.shape[0], other, "multiply")
        return Matrix(self.field, self.raw * other.raw)

    def __add__(self, other: Matrix) -> Matrix:
        self._fits(self.shape == other.shape, other, "add")
        return Matrix(self.field, self.raw + other.raw)

    def __sub__(self, other: Matrix) -> Matrix:
        self._fits(self.shape == other.shape, other, "subtract")
        return Matrix(self.field, self.raw - other.raw)

    def _fits(self, fits: bool, other: Matrix, what: str) -> None:
        if not fits or self.field != other.field:
            raise InvalidInput(f"cannot {what} matrices of shapes {self.shape} and {other.shape} (or of two fields)")

    @cached_property
    def T(self) -> Matrix:
        return Matrix(self.field, self.raw.transpose())

    def rows(self, indices: Iterable[int]) -> Matrix:
        """The rows at ``indices``, in that order."""
        return Matrix(self.field, self.raw.extract([*indices], [*range(self.shape[1])]))

    def columns(self, indices: Iterable[int]) -> Matrix:
        """The columns at ``indices``, in that order."""
        return Matrix(self.field, self.raw.extract([*range(self.shape[0])], [*indices]))

    def over(self, other: Matrix) -> Matrix:
        """This matrix above another one."""
        self._fits(self.shape[1] == other.shape[1], other, "stack")
        return Matrix(self.field, self.raw.vstack(other.raw))

    def beside(self, other: Matrix) -> Matrix:
        """This matrix to the left of another one."""
        self._fits(self.shape[0] == other.shape[0], other, "join")
        return Matrix(self.field, self.raw.hstack(other.raw))

    @property
    def is_zero(self) -> bool:
        return bool(self.raw.is_zero_matrix)

    @cached_property
    def _reduced(self) -> tuple[Matrix, list[int]]:
        """The reduced echelon form, and its pivot columns."""
        echelon, pivots = self.raw.rref()
        return Matrix(self.field, echelon), [*pivots]

    @property
    def rank(self) -> int:
        return len(self.pivot_columns)

    @property
    def pivot_columns(self) -> list[int]:
        """The first columns that span the column space."""
        return self._reduced[1]

    @cached_property
    def span(self) -> Matrix:
        """A basis of the row space, as rows: the reduced echelon form, so equal spaces have equal bases."""
        return self._reduced[0].rows(range(self.rank))

    def annihilator(self) -> Matrix:
        """A basis, as rows, of {v : self · vᵀ = 0}."""
        return Matrix(self.field, self.raw.nullspace())

    def contains(self, other: Matrix) -> bool:
        """Whether the row space of ``other`` lies in this one's."""
        return self.over(other).rank == self.rank

    def solve(self, right: Matrix) -> Matrix | None:
        """One X with self · X = right, or None if there is none."""
        joined, width = self.beside(right), self.shape[1]
        pivots = joined.pivot_columns
        if any(pivot >= width for pivot in pivots):
            return None
        values = joined.span.columns(range(width, joined.shape[1]))
        return self.field.identity(width).columns(pivots) @ values  # other unknowns are zero

    def inverse(self) -> Matrix:
        """Raises InvalidInput for a singular or non-square matrix."""
        if self.shape[0] != self.shape[1] or self.rank < self.shape[0]:
            raise InvalidInput(f"a matrix of shape {self.shape} and rank {self.rank} has no inverse")
        return Matrix(self.field, self.raw.inv())

    def projector(self) -> Matrix:
        """The orthogonal projector onto the row space, symmetric (d, d).

        Over GF(p) a space can meet its own orthogonal complement; it then has none, and this raises InvalidInput.
        """
        basis = self.span
        gram = basis @ basis.T
        if gram.rank < gram.shape[0]:
            raise InvalidInput(
                f"over GF({self.field.prime}) this space has a vector orthogonal to all of it, so there is no "
                "orthogonal projector; use coordinates modulo what is not seen"
            )
        return basis.T @ gram.inverse() @ basis
