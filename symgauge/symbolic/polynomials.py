"""Sums of words in noncommuting letters: the data type behind the normal form of matrix expressions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Letter:
    """One factor of a word: an atom (a MatrixSymbol, Ones or Applied), transposed and/or inverted."""

    atom: Hashable
    transposed: bool = False
    inverted: bool = False

    def __str__(self) -> str:
        mark = {(False, False): "", (True, False): "ᵀ", (False, True): "⁻¹", (True, True): "⁻ᵀ"}
        return f"{self.atom}{mark[self.transposed, self.inverted]}"


Word = tuple[Letter, ...]
Polynomial = dict[Word, sp.Expr]


@dataclass(frozen=True)
class Ones:
    """The all-ones column of a given height."""

    height: sp.Expr

    def __str__(self) -> str:
        return "1"


@dataclass(frozen=True)
class Applied:
    """A matrix function of arguments in normal form: equal arguments, equal values; nothing else is known of it."""

    name: str
    arguments: tuple[frozenset[tuple[Word, sp.Expr]], ...]
    shape: tuple[sp.Expr, sp.Expr]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(show(dict(argument)) for argument in self.arguments)})"


def add(terms: Iterable[Polynomial]) -> Polynomial:
    """Sum of normal forms."""
    total: Polynomial = {}
    for term in terms:
        for word, coefficient in term.items():
            total[word] = total.get(word, sp.S.Zero) + coefficient
    return clean(total)


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """Product: words are concatenated, coefficients multiplied."""
    return add({(*u, *v): a * b} for u, a in left.items() for v, b in right.items())


def transpose(polynomial: Polynomial, flip: Callable[[Letter], Letter]) -> Polynomial:
    """(XY)ᵀ = YᵀXᵀ on every word; `flip` transposes a letter."""
    return {tuple(flip(letter) for letter in reversed(word)): value for word, value in polynomial.items()}


def clean(polynomial: Polynomial) -> Polynomial:
    """Expand the coefficients and drop the zero ones."""
    expanded = {word: sp.expand(value) for word, value in polynomial.items()}
    return {word: value for word, value in expanded.items() if value != 0}


def show(polynomial: Polynomial) -> str:
    """A normal form as text, words in a fixed order."""
    terms = []
    for word, value in sorted(polynomial.items(), key=lambda item: [str(letter) for letter in item[0]]):
        body = " ".join(str(letter) for letter in word) or "I"
        terms.append(body if value == 1 else f"({value})·{body}")
    return " + ".join(terms) or "0"
