"""The usual names of Lie algebras over ℝ, and a description for those that have none."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import fmpz_mat

from symgauge.lie.nilradical import trace
from symgauge.lie.signature import signature
from symgauge.lie.subspace import Subspace, dense

if TYPE_CHECKING:
    from symgauge.lie.algebra import LieAlgebra


def common_name(simple: Sequence[str], centre: int = 0) -> str:
    """The usual name of the sum of simple algebras, by their names over ℝ, and of a centre of this dimension.

    The largest first, every sl(n, ℝ) takes one dimension of the centre and every sl(n, ℂ) two as long as there are
    any, to gl(n) and gl(n, ℂ); su(n) with one is u(n); so(3) ⊕ so(3) alone is so(4). These are isomorphisms of Lie
    algebras; whether the centre acts as scalars, the caller knows.

    Example:
        >>> common_name(["sl(2, ℝ)", "sl(3, ℝ)"], 1), common_name(["so(3)", "so(3)"]), common_name([], 2)
        ('gl(3) ⊕ sl(2, ℝ)', 'so(4)', 'abelian(2)')
    """
    named = []
    for name in ["so(4)"] if Counter(simple) == {"so(3)": 2} else sorted(simple, key=_by_size):
        for pattern, whole, cost in _WITH_CENTRE:
            if centre >= cost and (found := re.fullmatch(pattern, name)):
                name, centre = whole.format(*found.groups()), centre - cost
                break
        named.append(name)
    if centre or not named:
        named.append(f"abelian({centre})")
    return " ⊕ ".join(named)


_MANY = 1 << 31
"""Coefficients drawn up to here act singularly, where general ones do not, with probability m/2³² at most."""

_WITH_CENTRE = (
    (r"sl\((\d+), ℝ\)", "gl({})", 1),
    (r"sl\((\d+), ℂ\)", "gl({}, ℂ)", 2),
    (r"su\((\d+(?:, \d+)?)\)", "u({})", 1),
)


def name_of(algebra: LieAlgebra) -> str:
    """The name of any algebra: its simple ideals with its centre, then its other ideals."""
    ideals = algebra.ideals()
    simple = [name for ideal in ideals for name in ideal.factors]
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
    """ "q ⋉ (ℝⁿ)ᵏ" where the nilradical is abelian and that the extension splits is proved; q is reductive.

    It splits where q is semisimple (Levi), and where an element central in q acts invertibly on the nilradical (then
    all its cohomology vanishes).
    (ℝⁿ)ᵏ says that the action is k times the defining module or its dual; any other is written abelian(m).
    """
    nilradical, radical = algebra.nilradical(), algebra.radical()
    m = nilradical.dimension
    if not algebra.subalgebra(nilradical).is_abelian:
        return None
    if radical.dimension > m:
        draw = random.Random(0)
        central = radical.combined([{i: draw.randint(-_MANY, _MANY) for i in range(radical.dimension)}])[0]
        if _action(algebra, central, nilradical).rank() < m:
            return None
    linear = algebra.quotient(nilradical).name
    for name, size in _defining_modules(linear):
        if m % size == 0 and _acts_by_all_matrices(algebra, nilradical, size):
            copies = m // size
            whole = f"{name} ⋉ {_power(f'ℝ{_superscript(size)}' if size > 1 else 'ℝ', copies)}"
            return f"aff({m}) = {whole}" if name == f"gl({m})" else whole
    return f"{f'({linear})' if ' ' in re.sub(r'[(].*?[)]', '', linear) else linear} ⋉ abelian({m})"


_OTHER_MODULES = {
    "abelian(1)": [("gl(1)", 1)],
    "sl(2, ℝ)": [("so(2, 1)", 3)],
    "sl(2, ℂ)": [("so(3, 1)", 4)],
    "sl(2, ℝ) ⊕ sl(2, ℝ)": [("so(2, 2)", 4)],
    "sp(4, ℝ)": [("so(3, 2)", 5)],
    "sl(4, ℝ)": [("so(3, 3)", 6)],
}
"""Names that go with a defining module of another size."""


def _defining_modules(linear: str) -> list[tuple[str, int]]:
    """The algebra as matrices: its name then, and their size."""
    sizes = re.fullmatch(r"(?:gl|sl|so|sp)\((\d+)(?:, (\d+|ℝ))?\)", linear)
    own = [(linear, sum(int(s) for s in sizes.groups() if s and s != "ℝ"))] if sizes else []
    return own + _OTHER_MODULES.get(linear, [])


def _action(algebra: LieAlgebra, x: dict[int, int], module: Subspace) -> fmpz_mat:
    """A multiple of ad x on the rows of an ideal."""
    images = [module.coordinates(algebra.bracket(x, row)) for row in module.rows]
    scale = 1
    for image in images:
        for c in (image or {}).values():
            scale *= c.denominator
    return fmpz_mat([dense({k: int(c * scale) for k, c in (image or {}).items()}, len(images)) for image in images])


def _acts_by_all_matrices(algebra: LieAlgebra, module: Subspace, size: int) -> bool:
    """Whether an abelian ideal is, for the quotient by it, a sum of copies of the defining module of this size, or of
    its dual.

    That is so where the action is faithful and what acts generates the matrix algebra M(size, ℝ): one of dimension
    size² whose trace form has character size. For the names above, the dimension leaves but M(4, ℍ), which so(6, 2)
    generates on ℍ⁴.
    """
    if algebra.centralizer(module) != module:
        return False
    m = module.dimension
    acting = Subspace.spanned_by((_sparse(_action(algebra, {i: 1}, module)) for i in range(algebra.dimension)), m * m)
    factors = [fmpz_mat(m, m, dense(row, m * m)) for row in acting.rows]
    spanned = acting
    while spanned.dimension <= size**2:
        matrices = [fmpz_mat(m, m, dense(row, m * m)) for row in spanned.rows]
        larger = spanned + Subspace.spanned_by((_sparse(a * b) for a in matrices for b in factors), m * m)
        if larger.dimension == spanned.dimension:
            if spanned.dimension < size**2:
                return False
            return signature(fmpz_mat([[trace(a * b) for b in matrices] for a in matrices])).character == size
        spanned = larger
    return False


def _sparse(matrix: fmpz_mat) -> dict[int, int]:
    return {i: int(v) for i, v in enumerate(matrix.entries()) if v}


def _power(base: str, exponent: int) -> str:
    if exponent == 1:
        return base
    return f"{f'({base})' if len(base) > 1 else base}{_superscript(exponent)}"


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
