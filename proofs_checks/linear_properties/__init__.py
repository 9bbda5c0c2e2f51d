"""Claims of "All or None: Identifiable Linear Properties of Next-token Predictors" (arXiv 2410.23501).

Which linear properties of a next-token model p(y|x) ∝ exp(f(x)·g(y)) follow from its probabilities alone: exact models
are in `model` and `equivalence`; `floating`, `saved_arrays` and `network` serve real networks.
"""
