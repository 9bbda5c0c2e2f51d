"""The commutant of rotary rotations: (4), (5), Proposition D.1."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import sympy as sp

from proofs_checks.gauge.rotary_layers import OPPOSITE, kernel_with_rotations, record_rotary_layers
from proofs_checks.support.algebra.commutant import (
    commutant_basis,
    rotation_matrix,
)
from proofs_checks.support.rotary_commutant import FIRST, SECOND
from proofs_checks.support.symbolic_evidence import is_zero, proves, record_identity
from symgauge.architecture import Rotary
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.identities import d_k, matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import first_order_kernel, random_attention
from symgauge.symbolic.words import Facts


@checks("eq-5")
def test_query_key_freedom_is_the_commutant(evidence: EvidenceLog) -> None:
    record_identity(evidence, "rotary_commutant")
    a, b, r = matrix("A", d_k, d_k), matrix("B", d_k, d_k), matrix("R", d_k, d_k)
    # At distance 0 a token meets itself alone, which shows no more than the symmetric part of a score's matrix.
    x, eye = matrix("X", d_k, d_k), sp.Identity(d_k)
    first, second = a * r * r * b.T * x, r * a * r * b.T * x
    turn_back = r.T * a * r * b.T
    inverse = Facts(equations=((r * b.T * x, eye),))
    one, two = Facts(equations=((a * r * b.T, r),), orthogonal=(r,)), Facts(equations=((a * r * r * b.T, r * r),))
    commuting = Facts(equations=((a * r, r * a),), orthogonal=(r,))
    steps = (
        (first, r * r * x, two), (second, r * r * x, one), (first, a * r, inverse), (second, r * a, inverse),
        (turn_back, eye, one), (turn_back, a * b.T, commuting),
    )  # fmt: skip
    evidence.proof(
        r"conversely, for every size, from tokens at distances 1 and 2: $ARB^\top = R$ and $AR^2B^\top = R^2$ give "
        r"$AR\,(RB^\top) = R^2 = RA\,(RB^\top)$, so $AR = RA$, and then $AB^\top = I$",
        all(proves(partial(prove_equal, *step)) for step in steps),
    )
    point, found = kernel_with_rotations([FIRST, SECOND])
    evidence.exact(
        "exact first-order kernel of rotary attention: spanned by the commutant and $\\mathfrak{gl}(d_v)$",
        found.inside and found.free,
        figures={"kernel": found.kernel.dimension, "unexplained": equal(found.unexplained, 0)},
    )
    everything = lie.characterise(point, [lie.query_key_generators(point)])
    evidence.control("all of $\\mathfrak{gl}(d_k)$ in place of the commutant", not everything.inside, kind="exact")


@checks("prop-D.1a")
def test_commutant_of_one_plane(evidence: EvidenceLog) -> None:
    a, b, c, e, omega = sp.symbols("a b c e omega", real=True)
    rotation = sp.Matrix([[sp.cos(omega), -sp.sin(omega)], [sp.sin(omega), sp.cos(omega)]])
    general, block = sp.Matrix([[a, b], [c, e]]), sp.Matrix([[a, -b], [b, a]])
    commutator = general * rotation - rotation * general
    expected = sp.sin(omega) * sp.Matrix([[b + c, e - a], [e - a, -(b + c)]])
    evidence.exact(
        "every $aI_2+bJ$ lies in $GL(2,\\mathbb R)$",
        block.subs({a: 0, b: 0}).det() != 0,
        counterexample="$a = b = 0$ is the zero matrix",
    )
    evidence.proof(
        r"$[A, R(\omega)] = \sin\omega\begin{pmatrix}b+c&e-a\\e-a&-(b+c)\end{pmatrix}$ for every $A$ and "
        r"$\omega$, so for "
        r"$\sin\omega\ne0$ it vanishes exactly when $e = a$, $c = -b$",
        is_zero(commutator - expected),
        on="condition",
    )
    evidence.proof(
        r"$\det(aI+bJ) = a^2+b^2$, and $(aI+bJ)(a'I+b'J)$ multiplies as complex numbers",
        sp.expand(block.det() - a**2 - b**2) == 0
        and is_zero(
            block * block.subs({a: c, b: e}, simultaneous=True)
            - sp.Matrix([[a * c - b * e, -(a * e + b * c)], [a * e + b * c, a * c - b * e]])
        ),
        on="condition",
    )
    dimensions = [len(commutant_basis([angle])) for angle in (FIRST, SECOND, OPPOSITE)]
    evidence.exact(
        "exact linear solve at angles that are irrational parts of a turn",
        figures={"dimensions": equal(dimensions, [2, 2, 2])},
        on="condition",
        cases=3,
    )
    record_rotary_layers(evidence, [Rotary((Fraction(1, 7),)), Rotary.standard(2)], on="condition")
    half = len(commutant_basis([Fraction(1, 2)]))
    evidence.control(
        "at $\\omega = \\pi$ the commutant is larger", figures={"dimension": at_least(half, 3)}, kind="exact"
    )


@checks("prop-D.1c")
def test_schur_argument(evidence: EvidenceLog) -> None:
    omega, x, y = sp.symbols("omega x y", real=True)
    rotation = sp.Matrix([[sp.cos(omega), -sp.sin(omega)], [sp.sin(omega), sp.cos(omega)]])
    turned, factor = rotation * sp.Matrix([x, y]), sp.cos(omega) + sp.I * sp.sin(omega)
    evidence.proof(
        r"on $x+iy$ the rotation by $\omega$ is multiplication by $e^{i\omega}$",
        sp.expand(turned[0] + sp.I * turned[1] - factor * (x + sp.I * y)) == 0
        and sp.expand(factor - sp.exp(sp.I * omega), complex=True) == 0,
    )
    a, b, c, e = sp.symbols("a b c e", real=True)
    general, quarter = sp.Matrix([[a, b], [c, e]]), rotation.subs(omega, sp.pi / 2)
    linear = sp.solve(list(general * quarter - quarter * general), [c, e], dict=True)
    image = general.subs(linear[0]) * sp.Matrix([x, y])
    evidence.proof(
        r"a real map that commutes with $R(\pi/2)$, which is multiplication by $i$, is linear over $\mathbb C$, so "
        r"on a complex line it is multiplication by its value at 1, $a-ib$; every such map commutes with all "
        r"rotations",
        linear == [{c: -b, e: a}]
        and sp.expand(image[0] + sp.I * image[1] - (a - sp.I * b) * (x + sp.I * y)) == 0
        and is_zero(sp.expand(general.subs(linear[0]) * rotation - rotation * general.subs(linear[0]))),
    )
    mirror = sp.diag(1, -1)
    evidence.control(
        r"$x+iy\mapsto x-iy$ is linear over $\mathbb R$ alone, and does not commute",
        not is_zero(mirror * quarter - quarter * mirror),
        kind="exact",
    )
    lines = [sp.Matrix([1, sign * sp.I]) for sign in (1, -1)]
    stable = [
        is_zero(rotation * v - sp.exp(-sign * sp.I * omega).rewrite(sp.cos) * v)
        for v, sign in zip(lines, (1, -1), strict=True)
    ]
    evidence.control(
        r"$\mathbb R^2\otimes\mathbb C$ in place of the line: $(1,\pm i)^\top$ are two invariant lines, so it is not "
        "irreducible",
        kind="exact",
        figures={"lines": equal(sum(stable), 2)},
    )


@checks("eq-4")
def test_one_rotation_for_all_rows(evidence: EvidenceLog) -> None:
    q, k, r = matrix("Q", 3, d_k), matrix("K", 3, d_k), matrix("R", d_k, d_k)
    orthogonal = Facts(orthogonal=(r,))
    evidence.proof(
        "scores with one $R_{pos}$ for all rows depend on it",
        not proves(lambda: prove_equal((q * r) * (k * r).T, q * k.T, orthogonal)),
        counterexample=r"for every size and every rotation $QR(KR)^\top = QK^\top$",
    )
    x_t, r_t, r_s = sp.Matrix([[1, 2]]), *(rotation_matrix([a]).to_Matrix() for a in (FIRST, SECOND))
    evidence.exact(
        "row-wise rotations change the score, through $R_tR_s^\\top$ alone",
        not is_zero((x_t * r_t) * (x_t * r_s).T - x_t * x_t.T)
        and is_zero((x_t * r_t) * (x_t * r_s).T - x_t * (r_t * r_s.T) * x_t.T),
        on="condition",
    )
    evidence.control(
        "a matrix that is no rotation does not drop out, by the same proof",
        not proves(lambda: prove_equal((q * r) * (k * r).T, q * k.T)),
        kind="proof",
    )
    point = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1))
    unrestricted = first_order_kernel(point).dimension
    _, turned = kernel_with_rotations([FIRST])
    evidence.exact(
        r"exact first-order kernel of two heads, $d_k = 2$, $d_v = 3$: with a rotation for each row that of "
        r"$\mathcal C_{RoPE}$, as (5) has it; without them that of $GL(d_k)$",
        figures={"row by row": equal(turned.kernel.dimension, 2 * (2 + 9)), "none": equal(unrestricted, 2 * (4 + 9))},
        on="condition",
    )
