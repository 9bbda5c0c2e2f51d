"""The experiments of the source on execution manifolds (arXiv 2602.10496, section 4)."""
