"""What the source's text says where, read from its words: headings, pointers, references inside proofs, symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proofs_checks.gauge.reported import TEXT
from symgauge.claims.source_text import words

# Headings of the appendices, by section. Proposition D.1 and Theorem D.2 stand before section D.1.
HEADINGS: Mapping[str, str] = {
    heading.split()[0]: TEXT.quote(heading)
    for heading in (
        "B.1 Proof of Sufficiency",
        "B.6 Completeness of the Gauge Group Characterization",
        "B.7 Proof of Theorem 3.2: Gauge Group under Head Sharing",
        "C.1 LayerNorm Compatibility Analysis",
        "C.2 FEED-FORWARD NETWORK GAUGE STRUCTURE",
        "C.3 Multi-Layer Direct Product Structure",
        "C.4 Proof of Corollary 3.5: MoE Router Invariance",
        "C.5 COMPATIBILITY WITH RESIDUAL, LAYERNORM, AND FFN",
        "D ROPE COMMUTANT AND REDUCED GAUGE GROUP",
        "D.1 Proof of Corollary 3.3: ROPE Variant under Head Sharing",
        "D.2 DIMENSION UNDER SHARING",
        "E.5 Proof of Corollary 5.2: Hessian Nullspace with Head Sharing",
        "E.6 Proof of Proposition 5.1",
        "F EXPERIMENTAL VALIDATION DETAILS",
        "G.1 Gauge-Fixing Algorithms",
        "G.4 Computational Complexity",
    )
}
D_BEFORE_SECTIONS = TEXT.between(HEADINGS["D"], HEADINGS["D.1"])


class Pointer(NamedTuple):
    """A sentence that sends the reader to a section, and words by which the heading would name the matter."""

    origin: str
    sentence: str
    section: str
    names: str


# Those of Corollary 3.8 are not among them: they are to statements of these numbers (gauge/x-2).
POINTERS = tuple(
    Pointer(origin, TEXT.quote(sentence), section, names)
    for origin, sentence, section, names in (
        ("Theorem 3.2", "Full proof in Appendix B.7.", "B.7", "Theorem 3.2"),
        ("Corollary 3.3", "Full proof in Appendix D.1.", "D.1", "Corollary 3.3"),
        ("Corollary 3.4", "Full proof in Appendix D.2.", "D.2", "dimension"),
        ("Corollary 3.5", "Full proof in Appendix C.4.", "C.4", "Corollary 3.5"),
        ("Theorem 3.6", "Complete proof in Appendices B.1–B.6.", "B.6", "completeness"),
        ("Corollary 3.7", "Dimension count in Appendix B.7.", "B.7", "dimension"),
        ("Corollary 4.1", "LayerNorm preserves the symmetry in both variants; see Appendix C.2.", "C.2", "LayerNorm"),
        ("Corollary 4.1", "Details in Appendix C.5.", "C.5", "LayerNorm"),
        ("Lemma 4.2", "Proof in Appendix C.2.", "C.2", "feed-forward"),
        ("Theorem 4.3", "Proof in Appendix C.3.", "C.3", "product"),
        ("Proposition 5.1", "Proof in Appendix E.6.", "E.6", "Proposition 5.1"),
        ("Corollary 5.2", "Full proof in Appendix E.5.", "E.5", "Corollary 5.2"),
        ("§6", "Complete protocols and extended results appear in Appendix F.", "F", "experimental"),
        ("§7.2", "Implementation algorithms … appear in Appendix G.1.", "G.1", "algorithms"),
        ("§7.2", "complexity analysis appear in Appendix G.1.", "G.1", "complexity"),
    )
)


class Reference(NamedTuple):
    """A reference of the source: what rests on what, and the words that say so (or, for a formula, print it)."""

    statement: str
    cited: str
    sentence: str


REFERENCES = tuple(
    Reference(statement, cited, TEXT.quote(sentence))
    for statement, cited, sentence in (
        ("Theorem 3.6", "A5", "Transformer family satisfying assumptions A1-A6, the gauge group"),
        ("Theorem 3.6", "A6", "Transformer family satisfying assumptions A1-A6, the gauge group"),
        ("Theorem 3.6", "Lemma B.1", "Complete proof in Appendices B.1–B.6."),
        ("Theorem 3.6", "Theorem B.8", "Complete proof in Appendices B.1–B.6."),
        ("A5", "Corollary 4.1", "placement does not break MHA gauge invariance (see Corollary 4.1)"),
        ("Corollary 4.1", "section C.2", "see Appendix C.2. Details in Appendix C.5."),
        ("Corollary 4.1", "section C.5", "see Appendix C.2. Details in Appendix C.5."),
        ("Theorem C.1", "Theorem 3.6", "by Theorem 3.6. Therefore, the input to LayerNorm is"),
        ("Theorem B.8", "Lemma B.2", "By Lemma B.2 (Attention Weight Identifiability), this invariance implies"),
        ("Theorem B.8", "Lemma B.3", "By Lemma B.3 (Lie Algebra Characterization), any continuous"),
        ("Theorem B.8", "Theorem B.5", "By Theorem B.5 (Factorization), any gauge transformation must factor"),
        ("Theorem B.8", "Lemma B.6", "By Lemma B.6 (Block-Diagonality), transformations cannot mix"),
        ("Corollary B.9", "Theorem B.8", r"By Theorem B.8, $G(\theta) = G_{\text{max}}$"),
        ("Corollary B.4", "Lemma B.3", "The infinitesimal generators from Lemma B.3 yield"),
        ("Lemma B.3", "Lemma B.2", "By Lemma B.2, attention weights are preserved up to a fixed permutation"),
        ("Theorem B.5", "Lemma B.2", "By Lemma B.2, attention weights are preserved up to permutation"),
        ("Theorem B.5", "A6", "can be varied independently by assumption A6"),
        ("Lemma B.6", "A6", "By assumption A6, we can construct inputs"),
        ("Lemma B.2", "A6", "Using the head isolation property from assumption A6, for each head"),
        ("Lemma B.2", "Proposition A.1", "density of isolating inputs (established in Proposition A.1)"),
        ("Lemma B.2", "(29)", r"we can construct inputs … for all } j \neq i (29)"),
        ("A6", "Proposition A.1", "the head-wise attention controllability condition A6 holds"),
    )
)

# §1 and §10: the arguments called independent, and where each is made.
ARGUMENTS = {"Lie algebra": "Lemma B.3", "identifiability": "Lemma B.2", "factorisation": "Theorem B.5"}

# Symbols: meaning -> the words that introduce them with it.
SYMBOLS: Mapping[str, Mapping[str, str]] = {
    symbol: {meaning: TEXT.quote(sentence) for meaning, sentence in meanings.items()}
    for symbol, meanings in {
        "L": {
            "number of layers": "For an L-layer Transformer, the gauge group factors as",
            "loss": r"they preserve the loss: $L(g(\theta)) = L(\theta)$",
        },
        "X": {
            "input sequence": r"For input $X \in \mathbb{R}^{n \times d_{\text{model}}}$ representing a sequence",
            "element of the Lie algebra": r"$g_t = \exp(tX)$ where $X \in \mathfrak{g}_{\text{max}}$",
        },
        "g": {
            "number of key/value groups": "partitioned into g K/V groups",
            "element of the group": r"for all $g \in G_{\text{max}}$",
        },
        "A_i": {
            "output of a head": r"The scaled dot-product attention for head i is $$A_i(X) =",
            "element of GL(d_k)": r"consists of transformations parametrized by $(A_i, C_i) \in",
            "block of two rows of such an element": r"where each $A_i \in GL(2)$ has off-diagonal terms",
        },
        "σ": {
            "permutation of heads": r"permutations $\sigma \in S_h$",
            "standard deviation": r"$\mu(z)$ and $\sigma(z)$ are the mean and standard deviation",
        },
        "θ": {
            "parameters": r"$\theta \in \Theta_0$, and inputs $X",
            "rotation angle": r"Let $R(\theta) =",
        },
        "R_pos": {
            "one rotation for a whole matrix": r"$Q_i R_{\text{pos}}",
            "one rotation per position": r"$[A, R_{\text{pos}}] = 0 \text{ for all positions}",
        },
        "W_O": {"stacked output matrix": r"with $W_O \in \mathbb{R}^{(hd_v) \times d_{\text{model}}}$ partitioned"},
        "m": {"map from heads to groups": r"by a surjection $m: \{1"},
    }.items()
}

# The symbol G(θ) for "the gauge group of θ" stands in these sections, where g(θ), which has the same words, does not.
ABOUT_POINTS = TEXT.between("B.3 Proof of Lie Algebra Characterization", HEADINGS["B.7"])
# Words by which a text defines a symbol.
DEFINING = ("define {}", "denote by {}", "let {}", "{} denotes", "{} consists of", "{} is the group")


def cites(references: Sequence[Reference] = REFERENCES) -> dict[str, frozenset[str]]:
    """Statement -> what it refers to."""
    return {
        statement: frozenset(each.cited for each in references if each.statement == statement)
        for statement in dict.fromkeys(each.statement for each in references)
    }


def reached(start: str, graph: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Everything that a statement rests on, through any number of references; itself only if it lies on a circle."""
    found: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        statement = waiting.pop()
        if statement not in found:
            found.add(statement)
            waiting.extend(graph.get(statement, ()))
    return frozenset(found)


def names(heading: str, matter: str) -> bool:
    """Whether a heading has the words, one after the other."""
    return f" {' '.join(words(matter))} " in f" {' '.join(words(heading))} "


def astray(pointer: Pointer) -> bool:
    """Whether the heading of the section pointed to does not name what it is pointed to for."""
    return not names(HEADINGS[pointer.section], pointer.names)


def named(matter: str) -> list[str]:
    """The sections whose heading names a matter."""
    return [section for section, heading in HEADINGS.items() if names(heading, matter)]


def uses_of_point_groups() -> int:
    """How often G(θ) stands in the text, its Lie algebra left out."""
    return ABOUT_POINTS.count(r"G(\theta)") - ABOUT_POINTS.count(r"\mathfrak{g}(\theta)")


def definitions(symbol: str) -> int:
    """How often the text defines a symbol, by the usual words."""
    return sum(TEXT.count(form.format(symbol)) for form in DEFINING)
