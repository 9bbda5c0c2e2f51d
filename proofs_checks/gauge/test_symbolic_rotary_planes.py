"""All planes together: Theorem D.2, Remark D.3, Corollary 3.8, §2.3 and the abstract."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from proofs_checks.gauge.algebra.commutant import (
    ExactAngle,
    commutant_basis,
    cross_block_determinant,
    rope_commutant_dimension,
    rotation_matrix,
    standard_frequencies,
)
from proofs_checks.gauge.rotary_support import (
    FIRST,
    OPPOSITE,
    SECOND,
    kernel_with_rotations,
    record_rotary_layers,
)
from proofs_checks.gauge.symbolic_support import is_zero, proves
from symgauge.architecture import Rotary
from symgauge.claims import EvidenceLog, at_least, claim, equal
from symgauge.symbolic.identities import matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts


@claim(
    id="gauge/thm-D.2",
    source="gauge",
    place="Theorem D.2",
    statement=r"With $d_k/2$ independent planes, $\mathcal C_{RoPE}\cong\prod_j GL(1,\mathbb C)$, of real "
    r"dimension $d_k$.",
    verdict="holds-if",
    condition=r"All channels are rotated, $\omega_j\notin\pi\mathbb Z$, and $\omega_j\not\equiv\pm\omega_k "
    r"\pmod{2\pi}$ for $j\ne k$; "
    r"for the whole group also full ranks and distinct heads.",
)
@claim(
    id="gauge/cor-3.8",
    source="gauge",
    place="Corollary 3.8",
    statement=r"With rotary positions the gauge group is $((\mathcal C_{RoPE})^h\times GL(d_v)^h)\rtimes S_h$, "
    r"and the query–key "
    r"freedom falls from $d_k^2$ to $d_k$ per head.",
    verdict="holds-if",
    condition=r"As for Theorem D.2; for the whole group $n\ge3$, full ranks (of $W_{O,i}$ too) and pairwise "
    r"distinct heads.",
    remark="The corollary points to D.1 and D.2 for the proof, which are the sections on head sharing.",
)
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


@claim(
    id="gauge/rem-D.3",
    source="gauge",
    place="Remark D.3",
    statement=r"If $r>1$ planes share identically the same frequency schedule, the commutant enlarges to "
    r"$GL(r,\mathbb C)$ on that block; "
    r"standard RoPE has $r = 1$.",
    verdict="holds-if",
    condition=r"The shared frequency is not in $\pi\mathbb Z$.",
    remark=r"Incomplete: $r$ counts all planes with $\omega\equiv\pm\omega_j\pmod{2\pi}$, opposite and aliased "
    r"ones too; $\omega\equiv\pi$ gives "
    r"$GL(2r,\mathbb R)$ and $\omega\equiv0$ $GL(2r,\mathbb R)$ as well, joined with the unrotated channels.",
)
def test_collisions(evidence: EvidenceLog) -> None:
    halves = len(commutant_basis([Fraction(1, 2)] * 2))
    evidence.exact(
        "two planes turned by $\\pi$: real dimension of $GL(2,\\mathbb C)$",
        figures={"dimension": equal(halves, 8)},
        counterexample=r"two planes with $\omega = \pi$: $R_p = (\pm1)^pI_4$ commutes with all of $GL(4,\mathbb "
        r"R)$, dimension 16",
    )
    counts = {r: len(commutant_basis([FIRST] * r)) for r in (1, 2, 3)}
    evidence.exact(
        "$r$ equal planes have dimension $2r^2$",
        figures={f"r = {r}": equal(n, 2 * r**2) for r, n in counts.items()},
        on="condition",
        cases=3,
    )
    evidence.proof(
        r"for every $r$: block $(i,j)$ of $[A, I_r\otimes R(\omega)]$ is $[A_{ij}, R(\omega)]$, which for "
        r"$\sin\omega\ne0$ vanishes exactly when $A_{ij} = aI+bJ$; such blocks multiply as complex numbers, so these "
        r"$A$ are $\mathbb C^{r\times r}$; a plane that turns the other way joins in, as $KR(-\omega)K = R(\omega)$ "
        r"with $K = \operatorname{diag}(1,-1)$",
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


@claim(
    id="gauge/abs-4",
    source="gauge",
    place="Abstract",
    statement=r"$\mathcal C_{RoPE}$ typically reduces to $GL(1,\mathbb C)^{d_k/2}$ for standard RoPE implementations.",
    verdict="holds-if",
    condition=r"All channels are rotated (no partial rotary).",
    remark=r"Standard frequencies $\mathrm{base}^{-2j/d_k}$ are algebraic and distinct, and $\pi$ is "
    r"transcendental, so none is in $\pi\mathbb Z$ "
    r"and no two agree up to sign modulo $2\pi$.",
)
@claim(
    id="gauge-short/s4",
    source="gauge-short",
    place="Abstract",
    statement=r"The commutant is typically $GL(1,\mathbb C)^{d_k/2}$.",
    verdict="holds-if",
    condition=r"All channels are rotated (no partial rotary), with the standard frequencies.",
)
@claim(
    id="gauge/sec2-5",
    source="gauge",
    place="§2.3",
    statement=r"For standard RoPE with $2\times2$ blocks the commutant is block-diagonal with blocks $aI_2+bJ$, "
    r"of real dimension $d_k$.",
    verdict="holds-if",
    condition=r"All channels are rotated; in the rotate-half layout the blocks sit on the channels $(j, j+d_k/2)$.",
)
def test_standard_rope(evidence: EvidenceLog) -> None:
    partial = rope_commutant_dimension(standard_frequencies(16), unrotated=48)
    evidence.exact(
        "partial rotary, 16 of 64 channels (as in GPT-NeoX)",
        figures={"dimension": equal(partial, 64)},
        counterexample=r"$d_k = 64$ with 16 rotated channels: $16 + 48^2 = 2320$",
    )
    sizes = [(d, base) for d in (4, 16, 64) for base in (10_000, 500_000)]
    found = [rope_commutant_dimension(standard_frequencies(d, base)) for d, base in sizes]
    evidence.proof(
        "standard frequencies as exact algebraic numbers over $2\\pi$: all classes are single planes",
        figures={"dimensions": equal(found, [d for d, _ in sizes])},
        on="condition",
        cases=len(sizes),
    )
    interleaved, halves = (commutant_basis([FIRST, SECOND], layout=layout) for layout in ("interleaved", "rotate_half"))
    pairs = {"interleaved": ((0, 1), (2, 3)), "rotate_half": ((0, 2), (1, 3))}
    blocks = all(
        e.to_Matrix()[i, j] == 0
        for layout, basis in (("interleaved", interleaved), ("rotate_half", halves))
        for e in basis
        for i in range(4)
        for j in range(4)
        if not any(i in pair and j in pair for pair in pairs[layout])
    )
    evidence.exact(
        "blocks on the planes, in both layouts", blocks, on="condition", cases=len(interleaved) + len(halves)
    )
    evidence.control("equal frequencies are not block-diagonal", len(commutant_basis([FIRST, FIRST])) > 4, kind="exact")
