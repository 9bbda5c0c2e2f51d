"""Normal form of matrix expressions with symbolic sizes.

SymPy checks the shapes; this module decides equality. Expressions expand to sums of words in noncommuting letters, and
words are shortened by rules that are true identities under the stated facts: A A⁻¹ → I, R Rᵀ → I for orthogonal R,
1ᵀ1 → d, softmax(·)1 → 1, f(HP) → f(H)P for a permutation P, and so on. Every rule is an equality, so expressions with
the same normal form are equal (sound). The rules are not claimed to be confluent: equal expressions may keep different
normal forms (incomplete), and then `prove_equal` refuses rather than guesses. Writing A⁻¹ asserts that A is invertible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr

from symgauge.errors import InvalidInput
from symgauge.symbolic.functions import Entrywise, RowScales, RowSoftmax
from symgauge.symbolic.polynomials import Applied, Letter, Ones, Polynomial, Word, add, clean, multiply, transpose

MAX_REWRITES = 1_000
ONE: Polynomial = {(): sp.S.One}


@dataclass(frozen=True)
class Facts:
    """What is known of the matrix symbols beyond their shapes. A pair (A, R) in `commuting` says AR = RA; a pair in
    `equations` replaces its left side (a product of letters) by its right side, and the transposes likewise."""

    orthogonal: tuple[MatrixExpr, ...] = ()
    permutation: tuple[MatrixExpr, ...] = ()
    fixing_ones: tuple[MatrixExpr, ...] = ()  # orthogonal R with R1 = 1
    diagonal: tuple[MatrixExpr, ...] = ()
    positive: tuple[MatrixExpr, ...] = ()  # diagonal with positive entries
    signs: tuple[MatrixExpr, ...] = ()  # diagonal with entries ±1
    symmetric: tuple[MatrixExpr, ...] = ()
    stochastic: tuple[MatrixExpr, ...] = ()  # rows sum to one, as in one-hot token rows
    commuting: tuple[tuple[MatrixExpr, MatrixExpr], ...] = ()
    equations: tuple[tuple[MatrixExpr, MatrixExpr], ...] = ()

    @cached_property
    def is_orthogonal(self) -> frozenset[Any]:
        return frozenset((*self.orthogonal, *self.permutation, *self.fixing_ones, *self.signs))

    @cached_property
    def is_diagonal(self) -> frozenset[Any]:
        return frozenset((*self.diagonal, *self.positive, *self.signs))

    @cached_property
    def is_symmetric(self) -> frozenset[Any]:
        return frozenset((*self.symmetric, *self.is_diagonal))

    @cached_property
    def keeps_ones(self) -> frozenset[Any]:
        return frozenset((*self.permutation, *self.fixing_ones))


@dataclass
class Normalizer:
    """Expands and rewrites under fixed facts; counts the rewrites it made."""

    facts: Facts
    rewrites: int = 0
    _rules: list[tuple[Word, Polynomial]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for left, right in self.facts.equations:
            pattern, image = self.normal(left), self.normal(right)
            if len(pattern) != 1 or pattern == ONE or next(iter(pattern.values())) != 1:
                raise InvalidInput(f"Facts.equations: the left side must be one product of letters, got {left}.")
            for side, value in ((pattern, image), (transpose(pattern, self._flip), transpose(image, self._flip))):
                rule = (next(iter(side)), value)
                if rule not in self._rules:
                    self._rules.append(rule)

    def normal(self, expression: MatrixExpr) -> Polynomial:
        """The normal form: words and their scalar coefficients, zero ones left out. Raises InvalidInput for an
        expression outside sums, products, transposes, inverses, Hadamard products and symgauge.symbolic.functions."""
        match expression:
            case sp.MatrixSymbol():
                return {(self._letter(expression),): sp.S.One}
            case sp.Identity():
                return ONE
            case sp.ZeroMatrix():
                return {}
            case sp.OneMatrix():
                rows, columns = expression.shape
                left = () if rows == 1 else (Letter(Ones(rows)),)
                return {(*left, *(() if columns == 1 else (Letter(Ones(columns), transposed=True),))): sp.S.One}
            case sp.MatAdd():
                return add(self.normal(term) for term in expression.args)
            case sp.MatMul():
                scalar, factors = expression.as_coeff_matrices()
                return self._product([{(): sp.sympify(scalar)}, *(self.normal(factor) for factor in factors)])
            case sp.Transpose():
                return self._reduce(transpose(self.normal(expression.arg), self._flip))
            case sp.MatPow() if expression.exp.is_Integer:  # SymPy's Inverse is a MatPow with exponent -1
                base = self.normal(expression.base)
                base = self._inverse(base, expression) if expression.exp < 0 else base
                return self._product([base] * abs(int(expression.exp)))
            case sp.HadamardProduct():
                return self._hadamard([self.normal(factor) for factor in expression.args], expression.shape)
            case Entrywise():
                name, argument, kind = expression.args
                extra = {"plain": (), "homogeneous": self.facts.positive, "odd": self.facts.signs}[str(kind)]
                return self._apply(str(name), self.normal(argument), expression.shape, extra)
            case RowSoftmax():
                scores = {w: c for w, c in self.normal(expression.args[0]).items() if not _is_constant_along_rows(w)}
                return self._apply("softmax", scores, expression.shape)
            case RowScales():
                gram = frozenset(self.normal(expression.args[0]).items())
                return {(Letter(Applied("scales", (gram,), expression.shape)),): sp.S.One}
        raise InvalidInput(
            f"no normal form for {type(expression).__name__} ({expression}); write it with sums, products, "
            "transposes, inverses, integer powers and the functions of symgauge.symbolic.functions."
        )

    def _letter(self, atom: Hashable, transposed: bool = False, inverted: bool = False) -> Letter:
        if atom in self.facts.is_orthogonal and inverted:
            transposed, inverted = not transposed, False
        if atom in self.facts.is_symmetric or (isinstance(atom, Applied) and atom.name == "scales"):
            transposed = False
        return Letter(atom, transposed, inverted)

    def _flip(self, letter: Letter) -> Letter:
        return self._letter(letter.atom, not letter.transposed, letter.inverted)

    def _inverse(self, base: Polynomial, expression: MatrixExpr) -> Polynomial:
        squares = all(
            isinstance(x.atom, sp.MatrixSymbol) and x.atom.shape[0] == x.atom.shape[1] for w in base for x in w
        )
        if len(base) != 1 or not squares:
            raise InvalidInput(
                f"{expression}: only products of square symbols have an inverse here; give the matrix a "
                "name of its own and state what is known of it."
            )
        ((word, coefficient),) = base.items()
        return {tuple(self._letter(x.atom, x.transposed, not x.inverted) for x in reversed(word)): 1 / coefficient}

    def _product(self, factors: list[Polynomial]) -> Polynomial:
        product = ONE
        for factor in factors:
            product = self._reduce(multiply(product, factor))
        return product

    def _apply(
        self, name: str, argument: Polynomial, shape: tuple[sp.Expr, sp.Expr], extra: tuple[Any, ...] = ()
    ) -> Polynomial:
        """f(P H Q) = P f(H) Q for permutations P, Q; `extra` are column scalings that f lets through."""
        permutes = self.facts.permutation
        argument, right = _pull(argument, lambda x: x.atom in permutes or x.atom in extra, last=True)
        argument, left = _pull(argument, lambda x: x.atom in permutes, last=False)
        core = Letter(Applied(name, (frozenset(argument.items()),), shape))
        return {(*left, core, *right): sp.S.One}

    def _hadamard(self, factors: list[Polynomial], shape: tuple[sp.Expr, sp.Expr]) -> Polynomial:
        """Linear in each factor; a diagonal at an end of a word scales rows or columns, so it comes out."""
        terms: list[tuple[sp.Expr, Word, tuple[Polynomial, ...], Word]] = [(sp.S.One, (), (), ())]
        for factor in factors:
            grown = []
            for word, value in factor.items():
                core, right = _pull({word: sp.S.One}, lambda x: x.atom in self.facts.is_diagonal, last=True)
                core, left = _pull(core, lambda x: x.atom in self.facts.is_diagonal, last=False)
                grown += [(c * value, (*ls, *left), (*cores, core), (*right, *rs)) for c, ls, cores, rs in terms]
            terms = grown
        total = []
        for coefficient, left, cores, right in terms:
            arguments = sorted(
                (frozenset(core.items()) for core in cores), key=lambda core: str(sorted(map(str, core)))
            )
            total.append({(*left, Letter(Applied("hadamard", tuple(arguments), shape)), *right): coefficient})
        return self._reduce(add(total))

    def _reduce(self, polynomial: Polynomial) -> Polynomial:
        done: Polynomial = {}
        pending = list(polynomial.items())
        while pending:
            word, coefficient = pending.pop()
            image = self._step(word)
            if image is None:
                done[word] = done.get(word, sp.S.Zero) + coefficient
                continue
            self.rewrites += 1
            if self.rewrites > MAX_REWRITES:
                raise InvalidInput(
                    "the facts rewrite a word for ever; orient Facts.equations so that words get shorter."
                )
            pending.extend((shorter, coefficient * value) for shorter, value in image.items())
        return clean(done)

    def _step(self, word: Word) -> Polynomial | None:
        """Rewrite the first place where a rule applies; None when the word is in normal form."""
        for at in range(len(word) - 1):
            rewritten = self._neighbours(word[at], word[at + 1])
            if rewritten is not None:
                scalar, middle = rewritten
                return {(*word[:at], *middle, *word[at + 2 :]): scalar}
        for pattern, image in self._rules:
            for at in range(len(word) - len(pattern) + 1):
                if word[at : at + len(pattern)] == pattern:
                    return {(*word[:at], *middle, *word[at + len(pattern) :]): value for middle, value in image.items()}
        return None

    def _neighbours(self, x: Letter, y: Letter) -> tuple[sp.Expr, Word] | None:
        facts = self.facts
        if x.atom == y.atom:
            if x.transposed == y.transposed and x.inverted != y.inverted:
                return sp.S.One, ()
            if x.atom in facts.is_orthogonal and (x.transposed != y.transposed or x.atom in facts.signs):
                return sp.S.One, ()
            if isinstance(x.atom, Ones) and x.transposed and not y.transposed:
                return x.atom.height, ()
        if isinstance(y.atom, Ones) and not y.transposed:
            if x.atom in facts.keeps_ones:
                return sp.S.One, (y,)
            if self._sums_to_one(x) and not x.transposed:
                return sp.S.One, (Letter(Ones(x.atom.shape[0])),)  # type: ignore[attr-defined]
        if isinstance(x.atom, Ones) and x.transposed:
            if y.atom in facts.keeps_ones:
                return sp.S.One, (x,)
            if self._sums_to_one(y) and y.transposed:
                return sp.S.One, (Letter(Ones(y.atom.shape[0]), transposed=True),)  # type: ignore[attr-defined]
        if (x.atom, y.atom) in facts.commuting and (x.transposed == y.transposed or y.atom in facts.is_orthogonal):
            return sp.S.One, (y, x)
        if x.atom in facts.is_diagonal and y.atom in facts.is_diagonal and str(y) < str(x):
            return sp.S.One, (y, x)
        return None

    def _sums_to_one(self, x: Letter) -> bool:
        return not x.inverted and (
            x.atom in self.facts.stochastic or (isinstance(x.atom, Applied) and x.atom.name == "softmax")
        )


def _is_constant_along_rows(word: Word) -> bool:
    return bool(word) and isinstance(word[-1].atom, Ones) and word[-1].transposed


def _pull(argument: Polynomial, passes: Callable[[Letter], bool], last: bool) -> tuple[Polynomial, Word]:
    """Take off the letters at one end that all words share and that pass."""
    pulled: list[Letter] = []
    while argument and all(argument):
        ends = {word[-1 if last else 0] for word in argument}
        if len(ends) > 1 or not passes(end := ends.pop()):
            break
        argument = {(word[:-1] if last else word[1:]): value for word, value in argument.items()}
        pulled.append(end)
    return argument, tuple(reversed(pulled)) if last else tuple(pulled)
