"""Exact matrices over the rationals or GF(p): what the log-bilinear model needs of linear algebra (python-flint)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from symgauge.errors import InvalidInput

Number = int | Fraction


@dataclass(frozen=True)
class Field:
    """The rationals (``prime`` = 0) or the integers modulo a prime. Raises InvalidInput for a composite modulus."""

    prime: int = 0

    def __post_init__(self) -> None:
        from flint import fmpz

        if self.prime and not (1 < self.prime < 2**64 and fmpz(self.prime).is_prime()):
            raise InvalidInput(f"a finite field needs a prime below 2^64, not {self.prime}")

    def matrix(self, rows: Iterable[Sequence[Any]], columns: int | None = None) -> Matrix:
        """A matrix from its rows of integers, fractions or rational text; ``columns`` is needed if there is no row."""
        listed = [[Fraction(entry) for entry in row] for row in rows]
        width = columns if columns is not None else len(listed[0]) if listed else None
        if width is None or any(len(row) != width for row in listed):
            raise InvalidInput("the rows of a matrix must have one length, and an empty matrix needs its width")
        return Matrix(self, self._raw(len(listed), width, [entry for row in listed for entry in row]))

    def zeros(self, rows: int, columns: int) -> Matrix:
        return Matrix(self, self._raw(rows, columns, [Fraction(0)] * (rows * columns)))

    def identity(self, size: int) -> Matrix:
        return self.matrix([[int(i == j) for j in range(size)] for i in range(size)], size)

    def ones(self, rows: int) -> Matrix:
        """The column (rows, 1) of ones."""
        return self.matrix([[1]] * rows, 1)

    def _raw(self, rows: int, columns: int, entries: list[Fraction]) -> Any:
        from flint import fmpq, fmpq_mat, nmod_mat

        if not self.prime:
            return fmpq_mat(rows, columns, [fmpq(x.numerator, x.denominator) for x in entries])
        p = self.prime
        if any(x.denominator % p == 0 for x in entries):
            raise InvalidInput(f"a fraction whose denominator is a multiple of {p} has no value modulo {p}")
        return nmod_mat(rows, columns, [x.numerator * pow(x.denominator, -1, p) % p for x in entries], p)


RATIONALS = Field()


@dataclass(frozen=True, eq=False)
class Matrix:
    """An immutable matrix over a field. Subspaces are row spaces; maps act on rows, y = x W."""

    field: Field
    raw: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.raw.nrows(), self.raw.ncols()

    @cached_property
    def table(self) -> list[list[Number]]:
        """Rows of fractions, or of residues."""
        if self.field.prime:
            return [[int(x) for x in row] for row in self.raw.tolist()]
        return [[Fraction(int(x.p), int(x.q)) for x in row] for row in self.raw.tolist()]

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
        return self.field.matrix([self.table[i] for i in indices], self.shape[1])

    def columns(self, indices: Iterable[int]) -> Matrix:
        return self.T.rows(indices).T

    def over(self, other: Matrix) -> Matrix:
        """This matrix above another one."""
        self._fits(self.shape[1] == other.shape[1], other, "stack")
        return self.field.matrix([*self.table, *other.table], self.shape[1])

    def beside(self, other: Matrix) -> Matrix:
        """This matrix to the left of another one."""
        self._fits(self.shape[0] == other.shape[0], other, "join")
        return self.T.over(other.T).T

    @cached_property
    def is_zero(self) -> bool:
        return not any(map(any, self.table))

    @cached_property
    def rank(self) -> int:
        return 0 if 0 in self.shape else int(self.raw.rank())

    @cached_property
    def _reduced(self) -> tuple[list[list[Number]], list[int]]:
        if 0 in self.shape:
            return [], []
        reduced, rank = self.raw.rref()
        rows = Matrix(self.field, reduced).table[:rank]
        return rows, [next(j for j, x in enumerate(row) if x) for row in rows]

    @property
    def pivot_columns(self) -> list[int]:
        """The first columns that span the column space."""
        return self._reduced[1]

    @cached_property
    def span(self) -> Matrix:
        """A basis of the row space, as rows: the reduced echelon form, so equal spaces have equal bases."""
        return self.field.matrix(self._reduced[0], self.shape[1])

    def annihilator(self) -> Matrix:
        """A basis, as rows, of {v : self · vᵀ = 0}."""
        rows, pivots = self._reduced
        free = [j for j in range(self.shape[1]) if j not in pivots]
        basis = []
        for j in free:
            vector: list[Number] = [0] * self.shape[1]
            vector[j] = 1
            for row, pivot in zip(rows, pivots, strict=True):
                vector[pivot] = -row[j]
            basis.append(vector)
        return self.field.matrix(basis, self.shape[1])

    def contains(self, other: Matrix) -> bool:
        """Whether the row space of ``other`` lies in this one's."""
        return self.over(other).rank == self.rank

    def solve(self, right: Matrix) -> Matrix | None:
        """One X with self · X = right, or None if there is none."""
        joined = self.beside(right)
        rows, pivots = joined._reduced
        width = self.shape[1]
        if any(pivot >= width for pivot in pivots):
            return None
        solution: list[list[Number]] = [[0] * right.shape[1] for _ in range(width)]
        for row, pivot in zip(rows, pivots, strict=True):
            solution[pivot] = row[width:]
        return self.field.matrix(solution, right.shape[1])

    def inverse(self) -> Matrix:
        """Raises InvalidInput for a singular or non-square matrix."""
        if self.shape[0] != self.shape[1] or self.rank < self.shape[0]:
            raise InvalidInput(f"a matrix of shape {self.shape} and rank {self.rank} has no inverse")
        return self if self.shape[0] == 0 else Matrix(self.field, self.raw.inv())

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
