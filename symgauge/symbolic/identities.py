"""The symmetries of transformers as dimension-free identities.

Each `Identity` says: the expression `before` equals `after` for every size and every value (under its facts), while the
twin with one coupling broken does not. `prove` derives the first; `refute_broken` exhibits an explicit instance of the
second; `difference_at_instance` evaluates the first on an explicit instance without using the rewriting rules.

The row-vector convention holds throughout: X is n×d, y = xW.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput
from symgauge.symbolic.instances import sample
from symgauge.symbolic.proof import Proof, Refutation, difference_at, prove_equal, refute
from symgauge.symbolic.words import Facts

n, d, d_k, d_v, d_ff, r, V = sp.symbols("n d d_k d_v d_ff r V", integer=True, positive=True)
SIZES: dict[sp.Expr, int] = {n: 3, d: 4, d_k: 2, d_v: 5, d_ff: 6, r: 1, V: 7}


@dataclass(frozen=True)
class Identity:
    """One symmetry as an equality, with its broken twin (left, right) and what was broken."""

    name: str
    statement: str
    before: MatrixExpr
    after: MatrixExpr
    broken: tuple[MatrixExpr, MatrixExpr]
    how_broken: str
    facts: Facts = field(default_factory=Facts)

    def prove(self) -> Proof:
        """The proof for every size. Raises NotProved."""
        return prove_equal(self.before, self.after, self.facts, self.statement)

    def prove_broken(self) -> Proof:
        """Try to prove the broken twin; raises NotProved if the prover is sound."""
        return prove_equal(*self.broken, self.facts, f"{self.name}, broken: {self.how_broken}")

    def refute_broken(self, seed: int = 0) -> Refutation:
        """An explicit instance where the broken twin fails. Raises NotRefuted."""
        return refute(*self.broken, self._instance(self.broken, seed))

    def difference_at_instance(self, seed: int = 0) -> sp.Matrix:
        """before − after on an explicit instance, by SymPy's arithmetic alone (zero when the identity is right)."""
        return difference_at(self.before, self.after, self._instance((self.before, self.after), seed))

    def _instance(self, sides: tuple[MatrixExpr, MatrixExpr], seed: int) -> dict[MatrixExpr, sp.Matrix]:
        return sample(sides[0].atoms(sp.MatrixSymbol) | sides[1].atoms(sp.MatrixSymbol), self.facts, SIZES, seed)


_BUILDERS: dict[str, Callable[[], Identity]] = {}


def identity_builder(builder: Callable[[], Identity]) -> Callable[[], Identity]:
    """Register a function that builds an identity; its name is the identity's name."""
    _BUILDERS[builder.__name__] = builder
    return builder


def names() -> tuple[str, ...]:
    """The names of all identities, in the order they are written."""
    _load()
    return tuple(_BUILDERS)


def identity(name: str) -> Identity:
    """One identity by name. Raises InvalidInput for an unknown name."""
    _load()
    if name not in _BUILDERS:
        raise InvalidInput(f"no identity named {name!r}; known are {', '.join(_BUILDERS)}.")
    return _BUILDERS[name]()


def _load() -> None:
    """Importing the two files fills the table."""
    from symgauge.symbolic import identities_attention, identities_stream  # noqa: F401


def matrix(name: str, rows: sp.Expr, columns: sp.Expr) -> sp.MatrixSymbol:
    """A matrix symbol of symbolic size."""
    return sp.MatrixSymbol(name, rows, columns)


def ones(height: sp.Expr) -> sp.OneMatrix:
    """The all-ones column."""
    return sp.OneMatrix(height, 1)
