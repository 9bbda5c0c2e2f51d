"""All planes together: Theorem D.2, Remark D.3, Corollary 3.8, §2.3 and the abstract."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from proofs_checks.gauge.rotary_layers import OPPOSITE, kernel_with_rotations, record_rotary_layers
from proofs_checks.support.algebra.commutant import (
    ExactAngle,
    commutant_basis,
    cross_block_determinant,
    rope_commutant_dimension,
    rotation_matrix,
)
from proofs_checks.support.attention_biases import record_more_with_biases
from proofs_checks.support.rotary_commutant import (
    FIRST,
    SECOND,
    record_standard_frequencies,
    record_standard_rotary_commutant,
)
from proofs_checks.support.small_architectures import ALONE
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic.identities import matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts


@checks("thm-D.2", "cor-3.8")
def test_commutant_of_all_planes(evidence: EvidenceLog) -> None:
    fails = {
        "equal frequencies": len(commutant_basis([FIRST, FIRST])),
        "opposite frequencies": len(commutant_basis([FIRST, OPPOSITE])),
        "frequencies that differ by a full turn": len(commutant_basis([Fraction(1, 7), Fraction(8, 7)])),
        "a half turn": len(commutant_basis([FIRST, Fraction(1, 2)])),
        "two unrotated channels": len(commutant_basis([FIRST], 2)),
    }
    evidence.exact(
        "dimension at $d_k = 4$, planes not further restricted",
        figures={name: equal(found, 4) for name, found in fails.items()},
        counterexample=r"two planes with the same rotation $(3/5, 4/5)$: dimension 8",
        cases=len(fails),
    )
    turned = Architecture(5, 2, 2, 3, context=3, rotary=Rotary.standard(2), **ALONE)
    record_more_with_biases(evidence, turned, lambda a: a.heads * (a.d_k + a.d_v**2))
    evidence.exact(
        "the commutant solved exactly at distinct angles, both layouts",
        all(len(commutant_basis([FIRST, SECOND], layout=layout)) == 4 for layout in ("interleaved", "rotate_half"))
        and len(commutant_basis([FIRST, SECOND, Fraction(1, 7)])) == 6,
        on="condition",
        cases=3,
    )
    determinant, one, other = cross_block_determinant()
    evidence.proof(
        r"the map $X\mapsto R(\omega)X - XR(\omega')$ on the block between two planes has determinant "
        r"$4(\cos\omega-\cos\omega')^2$, so the block vanishes unless $\omega\equiv\pm\omega'$",
        sp.simplify(determinant - 4 * (sp.cos(one) - sp.cos(other)) ** 2) == 0,
        on="condition",
    )
    _, found = kernel_with_rotations([FIRST, SECOND])
    evidence.exact(
        "first-order kernel of two-head rotary attention, $d = 5$, $d_k = 4$, $d_v = 3$: $h(d_k + d_v^2)$, all "
        "of it generated",
        found.inside and found.free and found.unexplained == 0,
        figures={"kernel": equal(found.kernel.dimension, 2 * (4 + 9))},
        on="condition",
    )
    record_rotary_layers(
        evidence,
        [Rotary.standard(4), Rotary.standard(6, interleaved=True), Rotary((Fraction(1, 7), 0.19))],
        on="condition",
    )
    _, larger = kernel_with_rotations([FIRST, FIRST])
    evidence.control(
        "with equal frequencies the same kernel is larger",
        figures={"kernel": at_least(larger.kernel.dimension, 27)},
        kind="exact",
    )


@checks("rem-D.3")
def test_collisions(evidence: EvidenceLog) -> None:
    record_standard_frequencies(evidence, on="condition")
    halves = len(commutant_basis([Fraction(1, 2)] * 2))
    evidence.exact(
        "two planes turned by $\\pi$: real dimension of $GL(2,\\mathbb C)$",
        figures={"dimension": equal(halves, 8)},
        counterexample=r"two planes with $\omega = \pi$: $R_p = (\pm1)^pI_4$ commutes with all of $GL(4,\mathbb "
        r"R)$, dimension 16",
    )
    joined = len(commutant_basis([FIRST, FIRST, OPPOSITE]))
    evidence.exact(
        r"two planes turned by $\omega$ and one by $-\omega$, which is another schedule: $GL(2,\mathbb C)$ and "
        r"$GL(1,\mathbb C)$",
        figures={"dimension": equal(joined, 10)},
        counterexample=r"planes $\omega, \omega, -\omega$: they are one class, $GL(3,\mathbb C)$, dimension 18",
    )
    counts = {r: len(commutant_basis([FIRST] * r)) for r in (1, 2, 3)}
    evidence.exact(
        "$r$ equal planes have dimension $2r^2$",
        figures={f"r = {r}": equal(n, 2 * r**2) for r, n in counts.items()},
        on="condition",
        cases=3,
    )
    evidence.exact(
        "two equal planes beside others that turn at other angles: 8, and 2 for each of the others",
        figures={
            "one plane besides": equal(len(commutant_basis([FIRST, FIRST, SECOND])), 10),
            "two": equal(len(commutant_basis([FIRST, FIRST, SECOND, Fraction(1, 7)])), 12),
        },
        on="condition",
        cases=2,
    )
    evidence.proof(
        r"for every $r$: block $(i,j)$ of $[A, I_r\otimes R(\omega)]$ is $[A_{ij}, R(\omega)]$, which for "
        r"$\sin\omega\ne0$ vanishes exactly when $A_{ij} = aI+bJ$; such blocks multiply as complex numbers, so these "
        r"$A$ are $\mathbb C^{r\times r}$; a plane that turns the other way joins in, as $KR(-\omega)K = R(\omega)$ "
        r"with $K = \mathrm{diag}(1,-1)$",
        prove_collision(),
        on="condition",
    )
    tenth = Fraction(1, 10)
    record_rotary_layers(
        evidence,
        [Rotary((tenth, tenth)), Rotary((tenth,) * 3), Rotary((tenth, tenth), interleaved=True)],
        on="condition",
    )
    rotation = rotation_matrix([FIRST] * 2).to_Matrix()
    j = rotation_matrix([Fraction(1, 4)] * 2).to_Matrix().applyfunc(sp.nsimplify)
    linear_over_c = all(is_zero(e.to_Matrix() * j - j * e.to_Matrix()) for e in commutant_basis([FIRST] * 2))
    spans = is_zero(rotation - sp.Rational(3, 5) * sp.eye(4) - sp.Rational(4, 5) * j)
    evidence.exact(
        r"it is the algebra commuting with $J\oplus J$, that is $\mathbb C^{2\times2}$",
        linear_over_c and spans,
        on="condition",
    )
    wider: dict[str, tuple[list[ExactAngle], int, int]] = {
        "opposite": ([FIRST, OPPOSITE], 0, 8),
        "aliased": ([Fraction(1, 7), Fraction(-6, 7)], 0, 8),
        "ω and unrotated": ([FIRST], 2, 6),
        "π/2 and π": ([Fraction(1, 4), Fraction(1, 2)], 0, 6),
    }
    for name, (angles, unrotated, expected) in wider.items():
        solved = len(commutant_basis(angles, unrotated))
        evidence.exact(
            f"class formula against the exact solve: {name}",
            rope_commutant_dimension(angles, unrotated) == solved == expected,
            on="condition",
        )
    distinct = len(commutant_basis([FIRST, SECOND]))
    evidence.control("distinct frequencies do not enlarge", distinct == 4, kind="exact")


def prove_collision() -> bool:
    """The commutant of r equal planes, block by block: E_i places a plane's two channels among the 2r."""
    channels, plane = sp.Symbol("m", integer=True, positive=True), sp.Integer(2)
    a, turn = matrix("A", channels, channels), matrix("R_r", channels, channels)
    r, e_i, e_j = matrix("R", plane, plane), matrix("E_i", channels, plane), matrix("E_j", channels, plane)
    places = Facts(equations=((turn * e_j, e_j * r), (e_i.T * turn, r * e_i.T)))
    block = e_i.T * a * e_j
    by_blocks = proves(lambda: prove_equal(e_i.T * (a * turn - turn * a) * e_j, block * r - r * block, places))
    p, q, s, t, omega = sp.symbols("p q s t omega", real=True)
    rotation = sp.Matrix([[sp.cos(omega), -sp.sin(omega)], [sp.sin(omega), sp.cos(omega)]])
    general, complex_number = sp.Matrix([[p, q], [s, t]]), sp.Matrix([[p, -q], [q, p]])
    commutator = general * rotation - rotation * general
    alone = is_zero(commutator - sp.sin(omega) * sp.Matrix([[q + s, t - p], [t - p, -q - s]]))
    other = complex_number.subs({p: s, q: t}, simultaneous=True)
    product = sp.Matrix([[p * s - q * t, -(p * t + q * s)], [p * t + q * s, p * s - q * t]])
    flip = sp.diag(1, -1)
    mirrored = is_zero(flip * rotation.subs(omega, -omega) * flip - rotation)
    return by_blocks and alone and is_zero((complex_number * other - product).expand()) and mirrored


@checks("abs-4", "sec2-5")
def test_standard_rope(evidence: EvidenceLog) -> None:
    record_standard_rotary_commutant(evidence)
