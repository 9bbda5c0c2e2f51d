"""Real simple Lie algebras by name, from the complex type and the character of the Killing form.

Source: S. Helgason, *Differential Geometry, Lie Groups, and Symmetric Spaces*, X, tables I, V and VI. The character,
positive minus negative squares, is dim 𝔤 − 2 dim 𝔨 for a maximal compact subalgebra 𝔨. It tells the real forms of one
type apart but for a few, the smallest su(9, 5) and su*(14).
"""

from __future__ import annotations

from collections.abc import Iterator

from symgauge.lie.simple_types import SimpleType

_EXCEPTIONAL = {
    ("G", 2): (14, 6),
    ("F", 4): (52, 36, 24),
    ("E", 6): (78, 52, 46, 38, 36),
    ("E", 7): (133, 79, 69, 63),
    ("E", 8): (248, 136, 120),
}
"""Dimensions of the maximal compact subalgebras."""

_USUAL = {
    "su(2)": "so(3)",
    "su*(2)": "so(3)",
    "su(1, 1)": "sl(2, ℝ)",
    "so(3, 2)": "sp(4, ℝ)",
    "su(4)": "so(6)",
    "su(2, 2)": "so(4, 2)",
    "su*(4)": "so(5, 1)",
    "so*(8)": "so(6, 2)",
}
"""Isomorphisms of low rank, towards the name that is expected."""


def real_forms(candidate: SimpleType) -> Iterator[tuple[str, int]]:
    """Every real form: its usual name and the character of its Killing form."""
    for name, compact in _named(candidate):
        yield _USUAL.get(name, name), candidate.dimension - 2 * compact


def names_of_form(types: list[SimpleType], character: int) -> str:
    """The name of the real form with this character, "… or …" where several have it."""
    found = [name for candidate in types for name, c in real_forms(candidate) if c == character]
    return " or ".join(dict.fromkeys(found))


def name_over_complex(types: list[SimpleType]) -> str:
    """The name of the complex simple algebra, seen over ℝ."""
    return " or ".join(_complex(t) for t in types)


def _complex(candidate: SimpleType) -> str:
    letter, n = candidate
    if letter not in "ABCD":
        return f"{letter.lower()}{n}(ℂ)"
    family, size = {"A": ("sl", n + 1), "B": ("so", 2 * n + 1), "C": ("sp", 2 * n), "D": ("so", 2 * n)}[letter]
    return f"{family}({size}, ℂ)"


def _named(candidate: SimpleType) -> Iterator[tuple[str, int]]:
    """Every real form by the name of its series, with the dimension of a maximal compact subalgebra."""
    letter, n = candidate
    if letter == "A":
        size = n + 1
        yield f"sl({size}, ℝ)", size * (size - 1) // 2
        for q in range(size // 2 + 1):
            yield f"su({_pair(size - q, q)})", (size - q) ** 2 + q**2 - 1
        if size % 2 == 0:
            yield f"su*({size})", size * (size + 1) // 2
    elif letter in "BD":
        size = 2 * n + (letter == "B")
        for q in range(size // 2 + 1):
            p = size - q
            yield f"so({_pair(p, q)})", (p * (p - 1) + q * (q - 1)) // 2
        if letter == "D":
            yield f"so*({size})", n * n
    elif letter == "C":
        yield f"sp({2 * n}, ℝ)", n * n
        for q in range(n // 2 + 1):
            p = n - q
            yield f"sp({_pair(p, q)})", p * (2 * p + 1) + q * (2 * q + 1)
    else:
        for compact in _EXCEPTIONAL[letter, n]:
            yield f"{letter.lower()}{n}({candidate.dimension - 2 * compact})", compact


def _pair(p: int, q: int) -> str:
    return f"{p}, {q}" if q else f"{p}"
