"""What the source's text contains where: sections, pointers, citations inside proofs, symbols, and what it provides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Pointer(NamedTuple):
    """A sentence that sends the reader elsewhere: from where, to which section, and for what."""

    origin: str
    section: str
    subject: str


# Appendices: section -> what it contains. Proposition D.1, Theorem D.2 and Remark D.3 stand before D.1, in no section.
CONTENTS: Mapping[str, frozenset[str]] = {
    section: frozenset(subjects)
    for section, subjects in {
        "B.1-B.6": {"maximality"},
        "B.7": {"group under sharing"},
        "C.1": {"normalisation keeps the symmetry"},
        "C.2": {"feed-forward group"},
        "C.3": {"product over layers"},
        "C.4": {"router invariance"},
        "C.5": {"activations unchanged, so residuals, normalisation and feed-forward are compatible"},
        "D": {"commutant of rotary positions", "reduction of the group"},
        "D.1": {"rotary group under sharing"},
        "D.2": {"dimension under sharing"},
        "E.5": {"Hessian under sharing"},
        "E.6": {"Hessian kernel"},
        "F": {"experiments"},
        "G.1": {"gauge-fixing algorithm"},
        "G.4": {"complexity"},
    }.items()
}

POINTERS = (
    Pointer("Theorem 3.2", "B.7", "group under sharing"),
    Pointer("Corollary 3.3", "D.1", "rotary group under sharing"),
    Pointer("Corollary 3.4", "D.2", "dimension under sharing"),
    Pointer("Corollary 3.5", "C.4", "router invariance"),
    Pointer("Theorem 3.6", "B.1-B.6", "maximality"),
    Pointer("Corollary 3.7", "B.7", "dimension without sharing"),
    Pointer("Corollary 3.8", "D.1", "commutant of rotary positions"),
    Pointer("Corollary 3.8", "D.2", "reduction of the group"),
    Pointer("Corollary 4.1", "C.2", "normalisation keeps the symmetry"),
    Pointer(
        "Corollary 4.1",
        "C.5",
        "activations unchanged, so residuals, normalisation and feed-forward are compatible",
    ),
    Pointer("Lemma 4.2", "C.2", "feed-forward group"),
    Pointer("Theorem 4.3", "C.3", "product over layers"),
    Pointer("Proposition 5.1", "E.6", "Hessian kernel"),
    Pointer("Corollary 5.2", "E.5", "Hessian under sharing"),
    Pointer("§6", "F", "experiments"),
    Pointer("§7.2", "G.1", "gauge-fixing algorithm"),
    Pointer("§7.2", "G.1", "complexity"),
)

# What each statement's proof (or assumption) refers to. Theorem 3.6 assumes A5, which Table 1 rests on Corollary 4.1.
CITES: Mapping[str, frozenset[str]] = {
    statement: frozenset(cited)
    for statement, cited in {
        "Theorem 3.6": {"A5", "A6", "Lemma B.1", "Theorem B.8"},
        "A5": {"Corollary 4.1"},
        "Corollary 4.1": {"Theorem C.1"},
        "Theorem C.1": {"Theorem 3.6"},
        "Theorem B.8": {"Lemma B.2", "Lemma B.3", "Theorem B.5", "Lemma B.6"},
        "Corollary B.9": {"Theorem B.8"},
        "Corollary B.4": {"Lemma B.3"},
        "Lemma B.3": {"Lemma B.2"},
        "Theorem B.5": {"Lemma B.2", "A6"},
        "Lemma B.6": {"(42)", "A6"},
        "(42)": {"(29)"},
        "Lemma B.2": {"(29)", "Proposition A.1"},
        "(29)": {"A6"},
        "A6": {"Proposition A.1"},
    }.items()
}

# §1 and §10: the arguments called independent, and where each is made.
ARGUMENTS = {"Lie algebra": "Lemma B.3", "identifiability": "Lemma B.2", "factorisation": "Theorem B.5"}

# Symbols: meaning -> where it is introduced with that meaning.
SYMBOLS: Mapping[str, Mapping[str, str]] = {
    "L": {"number of layers": "Theorem 4.3", "loss": "§5.1"},
    "X": {"input sequence": "§2.1", "element of the Lie algebra": "§5.1"},
    "g": {"number of key/value groups": "§2.2", "element of the group": "§5.1"},
    "A_i": {"output of a head": "(2)", "element of GL(d_k)": "Definition 3.1"},
    "σ": {"permutation of heads": "Definition 3.1", "standard deviation": "(52)"},
    "θ": {"parameters": "Lemma B.1", "rotation angle": "Proposition D.1"},
    "R_pos": {"one rotation for a whole matrix": "(4)", "one rotation per position": "(5)"},
    "W_O": {"stacked output matrix": "(3)"},
    "m": {"map from heads to groups": "§2.2"},
}

# The symbol G(θ) for "the gauge group of θ": where it is used, and where it is defined.
GROUP_OF_A_POINT: Mapping[str, tuple[str, ...]] = {
    "used": ("Lemma B.3", "Corollary B.4", "Corollary B.9"),
    "defined": (),
}

# The reproducibility statement and what experiments need: item -> where the text gives it.
PROVIDED: Mapping[str, str] = {
    "hardware and software versions": "F.1.1",
    "precision and random seed": "F.1.1",
    "sizes and batch sizes of the three configurations": "F.1.2",
    "distribution of the transformations": "F.1.3",
    "the scripts themselves, or where to get them": "",
    "sequence length": "",
    "distribution of weights and inputs": "",
    "biases and masks": "",
    "dataset and preprocessing of the trained checkpoints": "",
    "optimiser, learning rate and steps of their training": "",
    "how critical points were found and their spectra computed (Table 7)": "",
    "norm of the generator and range of $t$ along the path (Figures 1–3)": "",
    "data on layer-wise accumulation (F.6.2)": "",
}


def reached(start: str, cites: Mapping[str, frozenset[str]] = CITES) -> frozenset[str]:
    """Everything that a statement rests on, through any number of citations; itself only if it lies on a circle."""
    found: set[str] = set()
    waiting = list(cites.get(start, ()))
    while waiting:
        statement = waiting.pop()
        if statement not in found:
            found.add(statement)
            waiting.extend(cites.get(statement, ()))
    return frozenset(found)


def astray(pointer: Pointer) -> bool:
    """Whether the section pointed to does not contain what it is pointed to for."""
    return pointer.subject not in CONTENTS[pointer.section]


def holding(subject: str) -> list[str]:
    """The sections that contain a subject."""
    return sorted(section for section, subjects in CONTENTS.items() if subject in subjects)
