"""Every known family on a small architecture, with the Lie algebra that is to be found there: families.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sympy import Expr, Symbol, sympify

from symgauge.architecture import Architecture
from symgauge.symmetries import examples, symbols
from symgauge.symmetries.base import Output, Symmetry
from symgauge.symmetries.finding import continuous_families


def _gl(n: Expr, field: Expr | None = None) -> Expr:
    return n**2 if field is None else 2 * n**2


DIMENSIONS = {"gl": _gl, "so": lambda n: n * (n - 1) / 2, "abelian": lambda n: n, "dilation": lambda n: n}
"""Real dimension of an algebra by its name."""


@dataclass(frozen=True)
class Known:
    """A family on an architecture: ``copies`` of ``algebra``, both as they are written in letters of sizes."""

    family: Symmetry
    architecture: Architecture
    algebra: str
    copies: str

    @property
    def output(self) -> Output:
        """What has to stay the same."""
        return self.family.outputs[0]

    @property
    def dimension(self) -> int:
        """Of all copies."""
        return self._value(self.copies) * self._value(self.algebra)

    @property
    def name(self) -> str:
        """The algebra of one copy at the sizes of the architecture, as in "gl(2)"."""
        kind, _, inside = self.algebra.partition("(")
        size = inside.removesuffix(")").partition(", C")[0]
        return f"{kind}({self._value(size)}{', C' if ', C' in inside else ''})"

    def _value(self, text: str) -> int:
        letters = {str(letter): letter for letter in symbols.values(self.architecture)}
        expression: Expr = sympify(text, locals={**letters, **DIMENSIONS, "C": Symbol("C")})
        return symbols.evaluate(expression, self.architecture)


@cache
def known() -> dict[str, Known]:
    """What is to be found, by name."""
    kinds = {kind.name: kind for kind in continuous_families()}
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    found = {}
    for name, entry in listed.items():
        kind = kinds[entry.get("family", name)]
        base: Architecture = getattr(examples, entry["of"]) if "of" in entry else kind.example
        found[name] = Known(kind(), base.replace(**entry.get("sizes", {})), entry["algebra"], entry["copies"])
    return found
