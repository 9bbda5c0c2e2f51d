"""Claims of "Maximal Gauge Symmetry in Transformer Architectures"."""
