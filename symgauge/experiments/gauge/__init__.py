"""The experiments of the gauge paper (sections 5 and 6, appendix F)."""

TITLE = "Maximal Gauge Symmetry in Transformer Architectures"
