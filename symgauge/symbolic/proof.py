"""Proving equality of matrix expressions for every size (normal form), refuting it by an explicit instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput, SymgaugeError
from symgauge.symbolic.functions import Entrywise, RowScales, RowSoftmax
from symgauge.symbolic.polynomials import add, show
from symgauge.symbolic.words import Facts, Normalizer

DIGITS = 50
SCALAR_FUNCTIONS = {
    "gelu": lambda x: x * (1 + sp.erf(x / sp.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + sp.exp(-x)),
    "relu": lambda x: sp.Max(x, 0),
    "relu²": lambda x: sp.Max(x, 0) ** 2,
    "tanh": sp.tanh,
}


class NotProved(SymgaugeError):
    """The normal forms differ: the statement is false, or the rules do not reach it."""


class NotRefuted(SymgaugeError):
    """The explicit instance does not tell the two sides apart."""


@dataclass(frozen=True)
class Proof:
    """An equality that holds for every size and every value of its symbols under the facts."""

    statement: str
    left: MatrixExpr
    right: MatrixExpr
    normal_form: str
    facts: Facts
    rewrites: int
    method: str = "normal form of noncommutative words with symbolic sizes"


@dataclass(frozen=True)
class Refutation:
    """An explicit instance where the sides differ, with the difference (exact, or to 50 digits where e is involved)."""

    values: Mapping[MatrixExpr, sp.Matrix]
    left: sp.Matrix
    right: sp.Matrix
    difference: sp.Matrix


def prove_equal(left: MatrixExpr, right: MatrixExpr, facts: Facts | None = None, statement: str = "") -> Proof:
    """Prove left = right for all sizes. Raises NotProved with what is left over when the normal forms differ."""
    facts = facts or Facts()
    if left.shape != right.shape:
        raise InvalidInput(f"prove_equal: the sides have shapes {left.shape} and {right.shape}; they must be the same.")
    normalizer = Normalizer(facts)
    difference = add([normalizer.normal(left), {w: -c for w, c in normalizer.normal(right).items()}])
    if difference:
        raise NotProved(
            f"{statement or 'the equality'} is not proved: left − right has the normal form {show(difference)}."
        )
    form = show(normalizer.normal(left))
    return Proof(statement or f"{left} = {right}", left, right, form, facts, normalizer.rewrites)


def evaluate(expression: MatrixExpr, values: Mapping[MatrixExpr, sp.Matrix]) -> sp.Matrix:
    """The expression on explicit matrices, by SymPy's own arithmetic (the rewriting rules take no part)."""
    sizes: dict[sp.Expr, sp.Expr] = {}
    for symbol, value in values.items():
        for size, number in zip(symbol.shape, value.shape, strict=True):
            if sizes.setdefault(size, sp.Integer(number)) != number:
                raise InvalidInput(
                    f"evaluate: {symbol} has shape {value.shape}, but the size {size} is {sizes[size]} elsewhere."
                )
    return _evaluate(expression, values, sizes)


def _evaluate(e: MatrixExpr, values: Mapping[MatrixExpr, sp.Matrix], sizes: Mapping[sp.Expr, sp.Expr]) -> sp.Matrix:
    def recurse(part: MatrixExpr) -> sp.Matrix:
        return _evaluate(part, values, sizes)

    match e:
        case sp.MatrixSymbol():
            if e not in values:
                raise InvalidInput(f"evaluate: no value was given for {e} ({e.shape[0]}×{e.shape[1]}).")
            return values[e]
        case sp.Identity():
            return sp.eye(int(e.shape[0].subs(sizes)))
        case sp.OneMatrix():
            return sp.ones(*(int(size.subs(sizes)) for size in e.shape))
        case sp.ZeroMatrix():
            return sp.zeros(*(int(size.subs(sizes)) for size in e.shape))
        case sp.MatAdd():
            terms = [recurse(term) for term in e.args]
            return sum(terms[1:], terms[0])
        case sp.MatMul():
            scalar, factors = e.as_coeff_matrices()
            product = recurse(factors[0])
            for factor in factors[1:]:
                product = product * recurse(factor)
            return sp.sympify(scalar).subs(sizes) * product
        case sp.Transpose():
            return recurse(e.arg).T
        case sp.MatPow():
            return recurse(e.base) ** int(e.exp)
        case sp.HadamardProduct():
            first, *rest = [recurse(factor) for factor in e.args]
            for factor in rest:
                first = first.multiply_elementwise(factor)
            return first
        case Entrywise():
            return recurse(e.args[1]).applyfunc(SCALAR_FUNCTIONS[str(e.args[0])])
        case RowSoftmax():
            weights = recurse(e.args[0]).applyfunc(sp.exp)
            return sp.Matrix(*weights.shape, lambda i, j: weights[i, j] / sum(weights.row(i)))
        case RowScales():
            return sp.diag(*(1 / sp.sqrt(entry) for entry in recurse(e.args[0]).diagonal()))
    raise InvalidInput(f"evaluate: no rule for {type(e).__name__} ({e}).")


def difference_at(left: MatrixExpr, right: MatrixExpr, values: Mapping[MatrixExpr, sp.Matrix]) -> sp.Matrix:
    """left − right on explicit matrices: exact where rational, else 50 digits (entries below 1e-40 count as zero)."""
    gap = evaluate(left, values) - evaluate(right, values)
    if all(entry.is_Rational for entry in gap):
        return gap
    return gap.applyfunc(lambda entry: sp.N(entry, DIGITS, chop=sp.Float("1e-40", DIGITS)))


def refute(left: MatrixExpr, right: MatrixExpr, values: Mapping[MatrixExpr, sp.Matrix]) -> Refutation:
    """An explicit instance where left ≠ right. Raises NotRefuted when the two sides agree on it."""
    gap = difference_at(left, right, values)
    if all(entry == 0 for entry in gap):
        raise NotRefuted("the two sides agree on this instance; choose another one (non-symmetric, general).")
    return Refutation(dict(values), evaluate(left, values), evaluate(right, values), gap)
