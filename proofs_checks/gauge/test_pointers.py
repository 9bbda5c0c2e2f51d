"""Pointers, references, symbols and materials: does the text hold what it says it holds, and where?"""

from __future__ import annotations

import sympy as sp

from proofs_checks.gauge.cross_references import (
    ARGUMENTS,
    D_BEFORE_SECTIONS,
    HEADINGS,
    POINTERS,
    REFERENCES,
    SYMBOLS,
    Reference,
    astray,
    cites,
    definitions,
    named,
    reached,
    uses_of_point_groups,
)
from proofs_checks.gauge.reported import SPECTRUM_METHODS, TEXT
from proofs_checks.support.algebra.group import act, invariants, random_element
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.symbolic.dimensions import gqa, mha
from symgauge.symbolic.tangent import random_attention


def audit_pointers(evidence: EvidenceLog, origin: str, only: str) -> None:
    from_here = [p for p in POINTERS if p.origin == origin]
    evidence.audit(
        f"pointers of {origin} to a section whose heading does not name what they are for",
        figures={"sections": equal([p.section for p in from_here if astray(p)], [])},
        cases=len(from_here),
        only=only,
    )


@checks("x-1", "x-2", "x-3")
def test_pointers(evidence: EvidenceLog) -> None:
    count, rotary, norm = "x-1", "x-2", "x-3"
    for origin, only in (("Corollary 3.7", count), ("Corollary 4.1", norm)):
        audit_pointers(evidence, origin, only)
    origins = sorted({p.origin for p in POINTERS if astray(p)})
    evidence.control(
        "the other pointers of the text to sections of its appendices are right, but for one of §7.2 (complexity is in "
        "G.4); those of Corollary 3.8 are to statements (gauge/x-2)",
        origins == ["Corollary 3.7", "Corollary 4.1", "§7.2"],
        kind="audit",
        figures={"pointers": len(POINTERS), "astray": sum(map(astray, POINTERS))},
        only=(count, norm),
    )
    evidence.audit(
        "sections whose heading names a dimension",
        on="correction",
        only=count,
        figures={"sections": equal(named("dimension"), ["D.2"]), "heading": HEADINGS["D.2"]},
    )
    g, h = sp.symbols("g h", integer=True, positive=True)
    evidence.proof(
        r"$g(d_k^2+d_v^2)$ at $g = h$ is $h(d_k^2+d_v^2)$, as an identity of polynomials",
        sp.expand(gqa().total.subs(g, h) - mha().total) == 0,
        on="correction",
        only=count,
    )
    titles = ("Proposition D.1 (RoPE commutant", "Theorem D.2 (RoPE gauge group reduction)")
    evidence.audit(
        "statements of Appendix D that have these numbers and these names",
        only=rotary,
        figures={
            "statements": equal([D_BEFORE_SECTIONS.count(title) for title in titles], [1, 1]),
            "sections of these numbers": [HEADINGS["D.1"], HEADINGS["D.2"]],
        },
    )
    exchanged = ("Proposition D.1 (RoPE gauge group reduction)", "Theorem D.2 (RoPE commutant")
    evidence.control(
        "with the two names exchanged none is found",
        not any(map(D_BEFORE_SECTIONS.count, exchanged)),
        kind="audit",
        only=rotary,
    )
    evidence.audit(
        "Theorem C.1 stands in section C.1",
        on="correction",
        only=norm,
        figures={"times": equal(TEXT.between(HEADINGS["C.1"], HEADINGS["C.2"]).count("Theorem C.1 (LayerNorm"), 1)},
    )


def circle(graph: dict[str, frozenset[str]]) -> list[str]:
    """The statements that rest on themselves."""
    return [statement for statement in graph if statement in reached(statement, graph)]


@checks("x-4", "intro-4")
def test_citations(evidence: EvidenceLog) -> None:
    invariance, arguments = "x-4", "intro-4"
    graph = cites()
    for name in ("query_key", "value_output"):
        record_identity(evidence, name, only=invariance)
    evidence.audit(
        "the proof of Theorem 3.6 includes B.1, where the invariance is shown, and along its references no "
        "statement rests on itself",
        "Lemma B.1" in reached("Theorem C.1", graph),
        figures={"circle": equal(circle(graph), [])},
        cases=len(REFERENCES),
        only=invariance,
    )
    repaired = (*REFERENCES, Reference("Corollary 4.1", "Theorem C.1", ""))
    evidence.control(
        "if Corollary 4.1 pointed to Theorem C.1, as it should, there would be a circle",
        kind="audit",
        figures={"circle": equal(circle(cites(repaired)), ["Theorem 3.6", "A5", "Corollary 4.1", "Theorem C.1"])},
        only=invariance,
    )
    resting = sorted(name for name, at in ARGUMENTS.items() if reached(at, graph) & (set(ARGUMENTS.values()) - {at}))
    evidence.audit(
        "arguments that rest on another of the three",
        figures={"arguments": equal(resting, [])},
        cases=len(ARGUMENTS),
        only=arguments,
    )
    alone = {name for name in graph if not reached(name, graph) & set(ARGUMENTS.values())}
    evidence.control(
        "Proposition A.1's condition, by the same search, rests on none of them",
        "A6" in alone,
        kind="audit",
        only=arguments,
    )
    evidence.audit(
        "arguments that rest on (29)",
        on="correction",
        figures={"arguments": equal(sum("(29)" in reached(at, graph) for at in ARGUMENTS.values()), len(ARGUMENTS))},
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
    evidence.audit(
        "their meanings, with the lines that introduce them",
        figures={
            "symbols": equal(several, ["L", "X", "g", "A_i", "σ", "θ", "R_pos"]),
            "lines": [f"{s}: {', '.join(str(TEXT.line(words)) for words in SYMBOLS[s].values())}" for s in several],
        },
        cases=len(several),
    )


def affine_step(shift: int) -> sp.Matrix:
    """The map of (q, k), written on (q, k, 1), that adds ``shift`` to q and halves k."""
    return sp.Matrix([[1, 0, shift], [0, sp.Rational(1, 2), 0], [0, 0, 1]])


@checks("x-6")
def test_group_of_a_point(evidence: EvidenceLog) -> None:
    evidence.audit(
        r"no definition of $G(\theta)$ goes with its uses",
        figures={"definitions": at_least(definitions(r"G(\theta)"), 1), "uses": uses_of_point_groups()},
    )
    evidence.control(r"a definition of $G_{\max}$ is found by the same words", definitions("G_max") > 0, kind="audit")
    evidence.audit("how often it stands there", on="correction", figures={"uses": equal(uses_of_point_groups(), 6)})
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
    evidence.not_stated(
        TEXT,
        {
            "where the scripts are": ("github", "repository", "supplementary", "code is available"),
            "sequence length": ("sequence length", "context length", "tokens per sequence"),
            "law of weights and inputs": ("initialized", "standard normal", "Xavier", "weights are drawn"),
            "biases and masks": ("causal mask", "attention mask", "masking"),
            "data of the trained checkpoints": ("training data", "corpus", "OpenWebText", "WikiText"),
            "their optimiser and its settings": ("learning rate", "AdamW", "SGD", "training steps"),
            "how spectra were computed (Table 7)": SPECTRUM_METHODS,
        },
        there="Random seed",
    )
    given = [
        TEXT.quote(words) for words in ("CUDA Version: 12.1", "Random seed: Fixed at 42", "Large 12 128 128 1536 16")
    ]
    evidence.audit(
        "what the text does give", on="reproduction", figures={"items": at_least(len(given), 1), "e.g.": given}
    )
