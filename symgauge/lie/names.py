"""The usual names of Lie algebras over ℝ, and a description for those that have none."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import fmpz_mat

from symgauge.lie.subspace import Subspace, dense

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


def common_name(simple: Sequence[str], centre: int = 0) -> str:
    """The usual name of the sum of simple algebras, by their names over ℝ, and of a centre of this dimension.

    Every sl(n, ℝ) takes one dimension of the centre and every sl(n, ℂ) two as long as there are any, to gl(n) and gl(n, ℂ); su(n) with one is u(n);
    so(3) ⊕ so(3) alone is so(4). These are isomorphisms of Lie algebras; whether the centre acts as scalars, the caller knows.

    Example:
        >>> common_name(["sl(2, ℝ)", "sl(3, ℝ)"], 1), common_name(["so(3)", "so(3)"]), common_name([], 2)
        ('gl(2) ⊕ sl(3, ℝ)', 'so(4)', 'abelian(2)')
    """
    if Counter(simple) == {"so(3)": 2}:
        simple = ["so(4)"]
    named = []
    for name in simple:
        for pattern, whole, cost in _WITH_CENTRE:
            if centre >= cost and (found := re.fullmatch(pattern, name)):
                name, centre = whole.format(*found.groups()), centre - cost
                break
        named.append(name)
    if centre or not named:
        named.append(f"abelian({centre})")
    return " ⊕ ".join(named)


_WITH_CENTRE = (
    (r"sl\((\d+), ℝ\)", "gl({})", 1),
    (r"sl\((\d+), ℂ\)", "gl({}, ℂ)", 2),
    (r"su\((\d+(?:, \d+)?)\)", "u({})", 1),
)


def name_of(algebra: LieAlgebra) -> str:
    """The name of any algebra: its simple ideals with its centre, then its other ideals."""
    ideals = algebra.ideals()
    simple = sorted((name for ideal in ideals for name in ideal.factors), key=_by_size)
    centre = sum(ideal.dimension == 1 for ideal in ideals)
    others = sorted(ideal.name for ideal in ideals if not ideal.factors and ideal.dimension > 1)
    if len(others) == len(ideals) == 1:
        return others[0]
    reductive = [common_name(simple, centre)] if simple or centre or not others else []
    return " ⊕ ".join([*reductive, *map(_as_summand, others)])


def _as_summand(name: str) -> str:
    name = name.partition(" = ")[0]
    return f"({name})" if re.search("[⋉,:]", name) else name


def _by_size(name: str) -> tuple[int, str]:
    return -max(map(int, re.findall(r"\d+", name))), name


def name_of_indecomposable(algebra: LieAlgebra) -> str:
    """Of an algebra that is no sum of a simple one and others, as far as that is known."""
    n = algebra.dimension
    if algebra.is_abelian:
        return f"abelian({n})"
    if algebra.is_nilpotent:
        if algebra.derived().dimension == 1 and algebra.centre() == algebra.derived():
            return f"heisenberg({n})"
        return f"nilpotent({n}), step {len(algebra.lower_central_series()) - 1}"
    semidirect = _semidirect(algebra)
    if semidirect:
        return semidirect
    if algebra.is_solvable:
        return f"solvable({n})"
    levi, radical = algebra.quotient(algebra.radical()), algebra.subalgebra(algebra.radical())
    return f"dimension {n}: Levi factor {levi.name}, radical {radical.name}"


def _semidirect(algebra: LieAlgebra) -> str | None:
    """ "q ⋉ ℝᵐ" where the nilradical is abelian and that the extension splits is proved; q is reductive.

    It splits where q is semisimple (Levi), and where an element central in q acts invertibly on the nilradical (then all its cohomology vanishes).
    ℝᵐ says that the action is the defining module or its dual; any other is written abelian(m).
    """
    nilradical, radical = algebra.nilradical(), algebra.radical()
    m = nilradical.dimension
    if not algebra.subalgebra(nilradical).is_abelian:
        return None
    if radical.dimension > m:
        draw = random.Random(0)
        central = radical.combined([{i: draw.randint(-99, 99) for i in range(radical.dimension)}])[0]
        if _action(algebra, central, nilradical).rank() < m:
            return None
    linear = algebra.quotient(nilradical).name
    if _absolutely_irreducible(algebra, nilradical):
        linear = _ON_MODULE.get((linear, m), linear)
        if _is_defining(linear, m):
            name = f"{linear} ⋉ ℝ{_superscript(m)}"
            return f"aff({m}) = {name}" if linear.startswith("gl") else name
    return f"{linear} ⋉ abelian({m})"


_ON_MODULE = {
    ("abelian(1)", 1): "gl(1)",
    ("sl(2, ℝ)", 3): "so(2, 1)",
    ("sl(2, ℂ)", 4): "so(3, 1)",
    ("sl(2, ℝ) ⊕ sl(2, ℝ)", 4): "so(2, 2)",
    ("sp(4, ℝ)", 5): "so(3, 2)",
    ("sl(4, ℝ)", 6): "so(3, 3)",
}
"""Their only absolutely irreducible faithful modules of these dimensions, named by what they keep."""


def _is_defining(linear: str, m: int) -> bool:
    """Whether faithful, absolutely irreducible modules of dimension m are the defining one, up to duals and automorphisms."""
    sizes = re.fullmatch(r"(?:gl|sl|so|sp)\((\d+)(?:, (\d+|ℝ))?\)", linear)
    return bool(sizes) and sum(int(s) for s in sizes.groups() if s and s != "ℝ") == m


def _action(algebra: LieAlgebra, x: dict[int, int], module: Subspace) -> fmpz_mat:
    """A multiple of ad x on the rows of an ideal."""
    images = [module.coordinates(algebra.bracket(x, row)) for row in module.rows]
    scale = 1
    for image in images:
        for c in (image or {}).values():
            scale *= c.denominator
    return fmpz_mat([dense({k: int(c * scale) for k, c in (image or {}).items()}, len(images)) for image in images])


def _absolutely_irreducible(algebra: LieAlgebra, module: Subspace) -> bool:
    """Whether an abelian ideal is a faithful module of the quotient, and matrices that act span all m² dimensions (Burnside)."""
    if algebra.centralizer(module) != module:
        return False
    m = module.dimension
    acting = [_action(algebra, {i: 1}, module) for i in range(algebra.dimension)]
    spanned = Subspace.spanned_by([{i * m + i: 1 for i in range(m)}], m * m)
    while True:
        products = [fmpz_mat(m, m, dense(row, m * m)) * a for row in spanned.rows for a in acting]
        larger = spanned + Subspace.spanned_by((dict(enumerate(map(int, p.entries()))) for p in products), m * m)
        if larger.dimension == spanned.dimension:
            return spanned.dimension == m * m
        spanned = larger


def _superscript(m: int) -> str:
    return "" if m == 1 else str(m).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
