"""Claims of "All or None: Identifiable Linear Properties of Next-token Predictors" (arXiv 2410.23501)."""
