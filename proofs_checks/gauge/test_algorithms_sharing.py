"""What sharing keys and values does to the dimension of the gauge group, as §7.5 counts it."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.gauge.shared_heads import record_resplitting, shared
from proofs_checks.support.census import census
from symgauge.architecture import Rotary
from symgauge.claims import EvidenceLog, checks, equal


@checks("sec7.5")
def test_dimension_with_sharing(evidence: EvidenceLog) -> None:
    plain = [shared(sizes) for sizes in ((7, 4, 2, 3, 2), (5, 3, 1, 2, 4))]
    record_resplitting(evidence, plain[0], "sec7.5")
    counted = census(plain, lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    nullities = [found.fibre.nullity for found in counted.accounts]
    evidence.exact(
        "exact nullity of attention with sharing", on="condition", figures=counted.figures, cases=counted.cases
    )
    rotary = [shared((7, 4, 2, 4, 3), Rotary.standard(4)), shared((5, 3, 1, 2, 4), Rotary.standard(2))]
    counted = census(rotary, lambda a: a.groups * (a.d_k + a.d_v**2))
    evidence.exact("the same with RoPE", on="condition", figures=counted.figures, cases=counted.cases)
    opposite = census([shared((7, 4, 2, 4, 3), Rotary((Fraction(1, 10), Fraction(9, 10))))], lambda a: 2 * (4 + 9))
    evidence.exact(
        "any two planes that turn by different angles give the count with RoPE",
        not opposite.accounts[0].unexplained and opposite.accounts[0].fibre.nullity == 2 * (4 + 9),
        counterexample=r"$g = 2$, $d_k = 4$, $d_v = 3$, planes that turn by $\omega$ and $2\pi-\omega$, different and "
        r"outside $\pi\mathbb Z$: $g(8+9) = 34$, as for equal angles, not $g(4+9) = 26$",
        figures={"nullity": equal(opposite.accounts[0].fibre.nullity, 26)},
    )
    unshared = [a.heads * (a.d_k**2 + a.d_v**2) for a in plain]
    evidence.control("the count without sharing on the same layers", nullities != unshared, kind="exact")
