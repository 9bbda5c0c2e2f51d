"""The experiments of the source on execution manifolds (arXiv 2602.10496, section 4)."""

TITLE = "Low-Dimensional Execution Manifolds in Transformer Learning Dynamics"
NOTE = (
    "At scale `paper` trainings are kept on disk, and the times above are without those that were there already: "
    "some 11 minutes of one core for a seed of the main training, 4 for modular addition, 25 with feed-forward layers."
)
