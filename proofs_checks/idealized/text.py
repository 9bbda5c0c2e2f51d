"""What the source's text says where, and facts about the works that it cites, transcribed."""

from __future__ import annotations

from typing import NamedTuple


class Reference(NamedTuple):
    """An entry of the reference list, and what the cited work has in its place (empty where no such work was found)."""

    number: int
    listed_authors: str
    authors: str
    listed_title: str
    title: str


# Only what differs is written twice; capitals aside. Found on arXiv and in proceedings' own pages.
REFERENCES = (
    Reference(1, "Bhojanapalli, Yun, Rawat, Reddi, Kumar", "Bhojanapalli, Yun, Rawat, Reddi, Kumar",
              "Low-Rank Bottleneck in Multi-Head Attention Models", "Low-Rank Bottleneck in Multi-Head Attention "
              "Models"),
    Reference(3, "Frankle, Carlin", "Frankle, Carbin",
              "The Lottery Ticket Hypothesis: Finding Sparse, Trainable Neural Networks",
              "The Lottery Ticket Hypothesis: Finding Sparse, Trainable Neural Networks"),
    Reference(4, "Godfrey, Davis Brown, Joseph Emanuele, Kvinge", "Godfrey, Davis Brown, Tegan Emerson, Kvinge",
              "On the Symmetries of Deep Learning Models and their Internal Representations",
              "On the Symmetries of Deep Learning Models and their Internal Representations"),
    Reference(9, "Rajat Raju, Ankit Bhatt, et al.", "Suvrat Raju, Praneeth Netrapalli",
              "A Model of Errors in Transformers", "A Model of Errors in Transformers"),
    Reference(11, "Stock, Gribonval", "Stock, Gribonval", "Embedding and Function Approximation with ReLU Networks",
              "An Embedding of ReLU Networks and an Analysis of their Identifiability"),
    Reference(13, "Aahlad Trauger, Naftali Tishby", "", "Loss Landscape Geometry in Transformers", ""),
    Reference(14, "Vaswani et al.", "Vaswani et al.", "Attention Is All You Need", "Attention Is All You Need"),
)  # fmt: skip

# §2.1: what the text says that a work shows, and what its title (as the reference list has it) says it is about.
BREA_SAID = "identifiability of deeper networks"
BREA_TITLE = (
    "Weight-Space Symmetry in Deep Networks Gives Rise to Permutation Saddles, Connected by Equal-Loss Valleys Across "
    "the "
    "Loss Landscape"
)

CONFIGURATIONS = 12  # §1 (1): "12 configurations ranging from 800 to 37,879,808 parameters"
SMALLEST, LARGEST = 800, 37_879_808

# §3 and §5: what one has to know to build and train the model -> where the text gives it ("" if nowhere).
STATED = {
    "width, heads, layers": "§5.1",
    "hidden width of the network": "§3",
    "residual connections": "",
    "causal mask, scale of the scores": "",
    "norms, biases": "",
    "positions": "",
    "the position at which the answer is read": "",
    "what counts as correct when logits tie": "",
    "which tokens XOR is taken of": "",
    "initialisation, optimiser, learning rate, stopping": "",
    "threshold below which a singular value counts as zero": "",
}

# What the abstract and §8.1 rest on but never define.
LAYERS = {"continuous symmetries": "§4", "discrete symmetries": "§8.1", "algorithmic multiplicity": ""}
