"""Which linear properties of a next-token model p(y|x) ∝ exp(f(x)·g(y)) follow from its probabilities alone.

After "All or None: Identifiable Linear Properties of Next-token Predictors" (Marconato et al., arXiv 2410.23501). Exact
models live in :mod:`model`, the equivalence in :mod:`equivalence`; :mod:`floating` and :mod:`arrays` serve real networks.
"""
