"""Does a permutation or sign flip lie in the group that continuous symmetries generate?

Such an element G is orthogonal on parameter space. If it is exp(X) for a symmetry X, one is looked for among those that
are antisymmetric, move nothing that G does not move, and commute with G: for a rotation by a rational angle there is
seldom more than one direction left, and exp(tX) = G is then tried for the few t that G's order allows. An answer of yes
is a proof up to rounding; no means that none was found.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.linalg import expm, logm

from symgauge.discovery.fields import Fields, together
from symgauge.discovery.generators import Generator

_ZERO = 1e-9
_LONGEST = 12
"""Orders of elements up to which angles are tried."""


class ReachedBy:
    """Predicate on generators: whether the connected group of these fields, all on the same parameters, holds them."""

    def __init__(self, *fields: Fields) -> None:
        whole = [each for each in together(*fields) if each.count]
        self.size = fields[0].size
        self.maps = [m[1:, 1:].astype(np.float64) for each in whole for m in each.matrices()]
        self._known: dict[bytes, bool] = {}

    def __call__(self, generator: Generator) -> bool:
        key = generator.permutation.numpy().tobytes() + generator.signs.numpy().tobytes()
        if key not in self._known:
            self._known[key] = bool(self.maps) and self._reaches(generator)
        return self._known[key]

    def _reaches(self, generator: Generator) -> bool:
        permutation, signs = generator.permutation.numpy(), generator.signs.numpy().astype(np.float64)
        everyone = np.arange(self.size)
        moved = np.nonzero((permutation != everyone) | (signs != 1))[0]
        matrix = sparse.csr_array((signs, (everyone, permutation)), shape=(self.size, self.size))
        directions = self._commuting(matrix, moved)
        if not len(directions):
            return False
        here = matrix[moved, :][:, moved].toarray()
        order = next(
            (m for m in range(1, _LONGEST + 1) if _close(np.linalg.matrix_power(here, m), np.eye(len(here)))), 0
        )
        for direction in directions:
            x = sum(c * m[moved, :][:, moved] for c, m in zip(direction, self.maps, strict=True) if c).toarray()
            speed = np.abs(np.linalg.eigvals(x).imag).max()
            if speed > _ZERO and any(
                _close(expm(2 * math.pi * j / (order * speed) * x), here) for j in range(1, order)
            ):
                return True
        return len(directions) > 1 and self._by_logarithm(here, directions, moved)

    def _commuting(self, matrix: sparse.csr_array, moved: np.ndarray) -> np.ndarray:
        """Coefficients (d, fields) of a basis of what is antisymmetric, moves only ``moved`` and commutes with G."""
        rest = np.ones(self.size)
        rest[moved] = 0
        outside = sparse.diags_array(rest).tocsr()
        rows = []
        for m in self.maps:
            conditions = (m + m.T, m @ matrix - matrix @ m, outside @ m, m @ outside)
            rows.append(sparse.hstack([c.reshape(1, -1) for c in conditions]).tocsr())
        stacked = sparse.vstack(rows).tocsr()
        values, vectors = np.linalg.eigh((stacked @ stacked.T).toarray())
        null: np.ndarray = vectors[:, values < 1e-8 * max(1.0, values.max())].T
        return _reduced(null)

    def _by_logarithm(self, here: np.ndarray, directions: np.ndarray, moved: np.ndarray) -> bool:
        if np.abs(np.linalg.eigvals(here) + 1).min() < 1e-6:
            return False  # the logarithm is not unique
        target = logm(here).real.reshape(-1)
        basis = np.stack(
            [
                sum(c * m[moved, :][:, moved] for c, m in zip(d, self.maps, strict=True) if c).toarray().reshape(-1)
                for d in directions
            ]
        )
        coefficients, *_ = np.linalg.lstsq(basis.T, target, rcond=None)
        return _close(basis.T @ coefficients, target)


def _reduced(rows: np.ndarray) -> np.ndarray:
    """A reduced echelon form: simple directions where there are several."""
    rows, lead = rows.copy(), 0
    for column in range(rows.shape[1]):
        if lead == len(rows):
            break
        pivot = lead + int(np.abs(rows[lead:, column]).argmax())
        if abs(rows[pivot, column]) > _ZERO:
            rows[[lead, pivot]] = rows[[pivot, lead]]
            rows[lead] /= rows[lead, column]
            others = np.arange(len(rows)) != lead
            rows[others] -= np.outer(rows[others, column], rows[lead])
            lead += 1
    rows[np.abs(rows) < _ZERO] = 0
    return rows


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() < 1e-7)
