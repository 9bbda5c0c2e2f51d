"""The three matrix functions a transformer applies, as SymPy expressions: entrywise maps, row softmax, row norms."""

from __future__ import annotations

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput

KINDS = ("plain", "homogeneous", "odd")


class Entrywise(MatrixExpr):
    """A scalar function on every entry. `kind`: 'plain', 'homogeneous' (f(ax) = a f(x), a > 0: ReLU), 'odd' (tanh)."""

    def __new__(cls, name: str, argument: MatrixExpr, kind: str = "plain") -> Entrywise:
        if str(kind) not in KINDS:
            raise InvalidInput(f"Entrywise({name!r}): kind must be one of {', '.join(KINDS)}, got {kind!r}.")
        return sp.Basic.__new__(cls, sp.Symbol(str(name)), argument, sp.Symbol(str(kind)))

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[1].shape


class RowSoftmax(MatrixExpr):
    """softmax along each row: rows sum to one, and a constant added to a row of the argument changes nothing."""

    def __new__(cls, argument: MatrixExpr) -> RowSoftmax:
        return sp.Basic.__new__(cls, argument)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape


class RowScales(MatrixExpr):
    """n×n diagonal of inverse row norms, a function of the Gram matrix X Xᵀ alone: RMSNorm(X) = RowScales(X Xᵀ) X.

    With ε inside the root it is still such a function, so identities proved with it hold for every ε.
    """

    def __new__(cls, gram: MatrixExpr) -> RowScales:
        return sp.Basic.__new__(cls, gram)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape


def centring(width: sp.Expr) -> MatrixExpr:
    """P = I − 11ᵀ/d, the projection that subtracts the mean of a row (d×d)."""
    return sp.Identity(width) - sp.OneMatrix(width, width) / width


def rms_norm(x: MatrixExpr) -> MatrixExpr:
    """RMSNorm without gain: rows of X divided by their norms."""
    return RowScales(x * x.T) * x


def layer_norm(x: MatrixExpr) -> MatrixExpr:
    """LayerNorm without gain and offset: centred rows divided by their norms."""
    return rms_norm(x * centring(x.shape[1]))
