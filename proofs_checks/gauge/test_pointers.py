"""Pointers, citations, symbols and materials: does the text hold what it says it holds, and where?"""

from __future__ import annotations

import sympy as sp

from proofs_checks.gauge.cross_references import (
    ARGUMENTS,
    CITES,
    CONTENTS,
    GROUP_OF_A_POINT,
    POINTERS,
    PROVIDED,
    SYMBOLS,
    astray,
    holding,
    reached,
)
from proofs_checks.support.algebra.group import act, invariants, random_element
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic.dimensions import gqa, mha
from symgauge.symbolic.tangent import random_attention


def astray_from(origin: str) -> list[str]:
    return sorted(p.section for p in POINTERS if p.origin == origin and astray(p))


def audit_pointers(evidence: EvidenceLog, origin: str, only: str) -> None:
    total = sum(p.origin == origin for p in POINTERS)
    evidence.audit(
        f"pointers of {origin} that miss what they name",
        figures={"sections": equal(astray_from(origin), [])},
        cases=total,
        only=only,
    )


@checks("x-1", "x-2", "x-3")
def test_pointers(evidence: EvidenceLog) -> None:
    count, rotary, norm = "x-1", "x-2", "x-3"
    for origin, only in (("Corollary 3.7", count), ("Corollary 3.8", rotary), ("Corollary 4.1", norm)):
        audit_pointers(evidence, origin, only)
    origins = sorted({p.origin for p in POINTERS if astray(p)})
    evidence.control(
        "the other pointers of the text to its appendices are right, but for one of §7.2 (complexity is in G.4)",
        origins == ["Corollary 3.7", "Corollary 3.8", "Corollary 4.1", "§7.2"],
        kind="audit",
        figures={"pointers": len(POINTERS), "astray": sum(map(astray, POINTERS))},
    )
    evidence.audit(
        "sections with a count of the dimension",
        on="correction",
        only=count,
        figures={"without sharing": equal(holding("dimension without sharing"), []),
                 "with sharing": equal(holding("dimension under sharing"), ["D.2"])},
    )  # fmt: skip
    g, h = sp.symbols("g h", integer=True, positive=True)
    evidence.proof(
        r"$g(d_k^2+d_v^2)$ at $g = h$ is $h(d_k^2+d_v^2)$, as an identity of polynomials",
        sp.expand(gqa().total.subs(g, h) - mha().total) == 0,
        on="correction",
        only=count,
    )
    places = [holding(s) for s in ("commutant of rotary positions", "reduction of the group")]
    evidence.audit(
        "where commutant and reduction are, and what the sections D.1 and D.2 hold",
        on="correction",
        only=rotary,
        figures={
            "places": equal(places, [["D"], ["D"]]),
            "sections": equal(
                [sorted(CONTENTS[s]) for s in ("D.1", "D.2")],
                [["rotary group under sharing"], ["dimension under sharing"]],
            ),
        },
    )
    evidence.audit(
        "where it is shown",
        on="correction",
        only=norm,
        figures={"section": equal(holding("normalisation keeps the symmetry"), ["C.1"])},
    )


@checks("x-4", "intro-4")
def test_citations(evidence: EvidenceLog) -> None:
    circle, arguments = "x-4", "intro-4"
    evidence.audit(
        "statements that rest on themselves, in the order of citation",
        figures={"circle": equal([s for s in CITES if s in reached(s)], [])},
        cases=len(CITES),
        only=circle,
    )
    repaired = {**CITES, "Theorem C.1": frozenset({"Lemma B.1"})}
    evidence.audit(
        "with Lemma B.1 cited in Theorem C.1 there is no circle",
        on="correction",
        figures={"circle": equal([s for s in repaired if s in reached(s, repaired)], [])},
        only=circle,
    )
    resting = sorted(name for name, at in ARGUMENTS.items() if reached(at) & (set(ARGUMENTS.values()) - {at}))
    evidence.audit(
        "arguments that rest on another of the three",
        figures={"arguments": equal(resting, [])},
        cases=len(ARGUMENTS),
        only=arguments,
    )
    evidence.audit(
        "arguments that rest on (29)",
        on="correction",
        figures={"arguments": equal(sum("(29)" in reached(at) for at in ARGUMENTS.values()), len(ARGUMENTS))},
        only=arguments,
    )
    p = sp.symbols("p0:3", real=True)
    row = [*p, 1 - sum(p)]
    excess = sp.expand(sum(x**2 for x in row) - sp.Rational(1, 4) - sum((x - sp.Rational(1, 4)) ** 2 for x in row))
    evidence.proof(
        r"(29) has no solution: a row summing to one has $\|p\|^2 = \frac1n+\|p-\frac1n\mathbf 1\|^2$ ($n = 4$), so "
        r"$n$ rows have Frobenius norm at least 1",
        excess == 0,
        on="correction",
        only=arguments,
    )


@checks("x-5")
def test_symbols(evidence: EvidenceLog) -> None:
    several = [symbol for symbol, meanings in SYMBOLS.items() if len(meanings) > 1]
    evidence.audit("symbols with several meanings", figures={"symbols": equal(several, [])}, cases=len(SYMBOLS))
    evidence.audit(
        "their meanings, with the places that introduce them",
        on="correction",
        figures={
            "number": equal([len(SYMBOLS[s]) for s in several], [2] * 7),
            "places": [f"{s}: {', '.join(SYMBOLS[s].values())}" for s in several],
        },
    )


def affine_step(shift: int) -> sp.Matrix:
    """The map of (q, k), written on (q, k, 1), that adds ``shift`` to q and halves k."""
    return sp.Matrix([[1, 0, shift], [0, sp.Rational(1, 2), 0], [0, 0, 1]])


@checks("x-6")
def test_group_of_a_point(evidence: EvidenceLog) -> None:
    used, defined = (len(GROUP_OF_A_POINT[how]) for how in ("used", "defined"))
    evidence.audit("definitions of a symbol that is used", figures={"definitions": at_least(defined, min(used, 1))})
    at, step = sp.Matrix([1, 1, 1]), affine_step(1)
    values = [(v := step**power * at)[0] * v[1] for power in range(3)]
    evidence.exact(
        r"$f = qk$: $(q,k)\mapsto(q+1,k/2)$ keeps $f$ at $(1,1)$ and its square does not, so maps that keep the "
        r"function at a point are not closed under composition",
        values[1] == values[0] != values[2],
        on="correction",
        figures={"values of f": [str(v) for v in values]},
    )
    point = random_attention(d=5, d_k=2, d_v=3, groups=(0, 1, 2), seed=1)
    kept = [invariants(act(point, random_element(3, 2, 3, seed))) == invariants(point) for seed in range(5)]
    evidence.exact(
        r"orbits of $G_{\max}$ lie in fibres: the multiset of $(M_i, N_i)$, which gives the function, is constant",
        all(kept),
        on="correction",
        cases=len(kept),
    )
    sheared = act(point, random_element(3, 2, 3, 0))
    moved = type(point)((sheared.w_q[0] * 2, *sheared.w_q[1:]), sheared.w_k, sheared.w_v, sheared.w_o, sheared.groups)
    evidence.control("one $W_Q$ doubled", invariants(moved) != invariants(point), kind="exact")


@checks("repro")
def test_materials(evidence: EvidenceLog) -> None:
    evidence.missing(*(item for item, place in PROVIDED.items() if not place), cases=len(PROVIDED))
    given = {item: place for item, place in PROVIDED.items() if place}
    evidence.audit(
        "what the text does give",
        on="reproduction",
        figures={"items": at_least(len(given), 1), "places": sorted(set(given.values()))},
    )
