"""The sources whose claims are checked, by the name that starts their claims' ids."""

TITLES = {
    "gauge": "Maximal Gauge Symmetry in Transformer Architectures",
    "gauge-short": "Complete Characterization of Gauge Symmetries in Transformer Architectures (NeurReps 2025)",
    "idealized": "Characterizing Parameterization Ambiguity in Idealized Autoregressive Transformers",
    "linear-properties": "All or None: Identifiable Linear Properties of Next-token Predictors in Language Modeling",
    "production": "Production models: true dimensions",
    "manifolds": "Low-Dimensional Execution Manifolds in Transformer Learning Dynamics",
}


def title(source: str) -> str:
    """The source's title, or its name where none is known."""
    return TITLES.get(source, source)
