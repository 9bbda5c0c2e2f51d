"""What the source's text says where and what it leaves out, by its words, and facts about the works that it cites."""

from __future__ import annotations

from typing import NamedTuple

from proofs_checks.idealized.reported import TEXT, read
from symgauge.claims.source_text import SourceText

CONFIGURATIONS, SMALLEST, LARGEST = map(int, read("12 configurations ranging from 800 to 37,879,808 parameters"))  # §1


class Reference(NamedTuple):
    """An entry of the reference list: its first and last words, and words of the cited work that belong in it."""

    first: str
    last: str
    belongs: tuple[str, ...]

    @property
    def entry(self) -> SourceText:
        return TEXT.between(self.first, self.last)

    @property
    def lacks(self) -> list[str]:
        return [words for words in self.belongs if not self.entry.count(words)]


# Authors and titles of the works from arXiv and the proceedings' own pages, where they were looked up.
REFERENCES = {
    1: Reference("[1] Srinadh", "PMLR", ("Sanjiv Kumar", "Low-Rank Bottleneck in Multi-Head Attention Models")),
    3: Reference("[3] Jonathan", "Learning Representations", ("Michael Carbin", "The Lottery Ticket Hypothesis")),
    4: Reference("[4] Charles", "Processing Systems", ("Davis Brown", "Tegan Emerson", "Henry Kvinge")),
    9: Reference(
        "[9] Rajat Raju",
        "arXiv:2601.14175",
        ("Suvrat Raju", "Praneeth Netrapalli", "A Model of Errors in Transformers"),
    ),
    11: Reference(
        "[11] Pierre Stock",
        "Conference on Machine Learning",
        ("Rémi Gribonval", "An Embedding of ReLU Networks and an Analysis of their Identifiability"),
    ),
    14: Reference("[14] Ashish", "Processing Systems", ("Noam Shazeer", "Attention Is All You Need")),
}
TRAUGER = TEXT.between("[13] Aahlad Trauger", "Conference on Learning Representations")

# What one has to know to build and train the model, and words by which it would be said.
OF_THE_MODEL = {
    "residual connections": ("residual", "skip connection"),
    "a mask of the scores": ("causal", "mask", "masked"),
    "the scale of the scores": ("sqrt", "scaled dot-product", "temperature"),
    "norms": ("LayerNorm", "layer normalization", "RMSNorm"),
    "biases": ("bias", "biases"),
    "positions": ("positional", "position embedding", "position encoding", "position vectors"),
    "the position at which the answer is read": ("last position", "final position", "last token", "final token"),
    "what counts as correct when logits tie": ("tie", "ties", "tied", "argmax"),
    "which tokens XOR is taken of": ("parity", "XOR of", "exclusive or"),
    "initialisation": ("initialized", "initialization", "Xavier", "Kaiming"),
    "optimiser and learning rate": ("optimizer", "Adam", "AdamW", "SGD", "learning rate"),
    "thresholds of stopping and of singular values": ("threshold", "tolerance", "stopping", "epochs"),
}

# What the third layer of the abstract and §8.1 rests on.
OF_ALGORITHMS = {
    "what an algorithm or a strategy is": ("define", "definition of an algorithm", "by an algorithm", "by a strategy"),
    "how to decide whether two solutions use the same": (
        "same algorithm",
        "same strategy",
        "criterion",
        "functional distance",
    ),
}

# What the gap of §6.2 depends on.
OF_PRUNING = {
    "whether pruned weights are held at zero while retraining": (
        "mask",
        "masked",
        "frozen",
        "held at zero",
        "kept at zero",
        "remain zero",
    ),
    "what the theoretical minimum is": ("lower bound", "minimum number", "minimal number", "minimum of", "minimum is"),
}

# What the disconnected structure of the abstract, §8.1 and §8.2 would have to rest on.
OF_BRANCHES = {
    "how solutions that are connected were told from those that are not": (
        "path",
        "paths",
        "barrier",
        "interpolation",
        "interpolate",
        "connectivity",
        "connected component",
        "connected components",
    ),
}
