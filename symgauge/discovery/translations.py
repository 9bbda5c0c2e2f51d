"""Constant symmetries: directions in which a function does not depend on its parameters, wherever they are.

They must be found first. Where c is one, so is g(θ)·c for every function g: among affine fields alone that is a large
algebra, which says no more than c does. Other symmetries are therefore taken modulo fields that point along constants.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from symgauge.discovery.ansatz import Block
from symgauge.discovery.fields import Fields, Integers, primitive
from symgauge.discovery.rational import reduced_rows


class Modulo:
    """Fields modulo those that point along constants c everywhere.

    Classes are told apart by representatives that never move a parameter from a set of as many as there are constants.
    What is read is another one (:mod:`symgauge.discovery.representatives`).
    """

    def __init__(self, constants: Fields) -> None:
        self.constants = constants
        self.vectors = np.zeros((constants.count, constants.size), dtype=object)
        if constants.count:
            self.vectors[:, constants.rows] = constants.values
        self.still: list[int] = []
        """One parameter for each constant, which it alone moves."""
        reduced = []
        for row in reduced_rows(self.vectors):
            self.still.append(next(i for i, x in enumerate(row) if x))
            reduced.append({i: Fraction(x) for i, x in enumerate(row) if x})
        self.by_still = dict(zip(self.still, reduced, strict=True))

    def inside(self, block: Block) -> int:
        """How many independent constants move nothing but this tensor."""
        outside = np.ones(self.constants.size, dtype=bool)
        outside[block.start : block.start + block.size] = False
        rest = self.vectors[:, outside]
        return self.constants.count - (len(reduced_rows(rest)) if rest.size else 0)

    def reduced(self, fields: Fields) -> tuple[Fields, list[Fraction]]:
        """Of each field a multiple of the representative that leaves ``still`` alone and does not read it, and by what
        it is multiplied; zero for trivial ones."""
        if not self.still:
            return fields, [Fraction(1)] * fields.count
        rows, columns, changes = self.places(fields.rows, fields.columns)
        values, factors = np.zeros((fields.count, len(rows)), dtype=np.int64), []
        for k, field in enumerate(fields.values):
            whole = [Fraction(0)] * len(rows)
            for before, after, factor in changes:
                if field[before]:
                    whole[after] += factor * int(field[before])
            values[k] = primitive(whole)
            lead = next((e for e, x in enumerate(whole) if x), None)
            factors.append(Fraction(1) if lead is None else int(values[k, lead]) / whole[lead])
        return Fields(fields.size, rows, columns, values), factors

    def places(self, rows: Integers, columns: Integers) -> tuple[Integers, Integers, list[tuple[int, int, Fraction]]]:
        """Reduction as a linear map of coefficients: where they stand after it, and (place before, after, factor)."""
        found: list[tuple[int, tuple[int, int], Fraction]] = []
        for e, (r, c) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            if c - 1 not in self.by_still:
                if r not in self.by_still:
                    found.append((e, (r, c), Fraction(1)))
                found += [(e, (i, c), -x) for i, x in self.by_still.get(r, {}).items() if i != r]
        after = sorted({place for _, place, _ in found})
        index = {place: i for i, place in enumerate(after)}
        r, c = (np.array([place[i] for place in after], dtype=np.int64) for i in (0, 1))
        return r, c, [(e, index[place], x) for e, place, x in found]
