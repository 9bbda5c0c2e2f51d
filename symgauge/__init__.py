"""symgauge: a theorem checker for the parameter symmetries of transformer architectures.

Names are imported on first use, so that ``import symgauge`` and the command line start without torch or SymPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Account": "symgauge.accounting",
    "Architecture": "symgauge.architecture",
    "Arrays": "symgauge.exact.probes",
    "AttentionParameters": "symgauge.algorithms",
    "Discovery": "symgauge.discovery.discovery",
    "Experts": "symgauge.architecture",
    "FibreDimension": "symgauge.exact.dimension",
    "GaugeElement": "symgauge.algorithms",
    "IllConditioned": "symgauge.algorithms",
    "InvalidInput": "symgauge.errors",
    "Latent": "symgauge.architecture",
    "Layout": "symgauge.layout",
    "NonGeneric": "symgauge.algorithms",
    "Rotary": "symgauge.architecture",
    "Subject": "symgauge.subjects",
    "SymgaugeError": "symgauge.errors",
    "Tokens": "symgauge.exact.probes",
    "Undecided": "symgauge.errors",
    "UnsupportedModel": "symgauge.errors",
    "UnsupportedOperation": "symgauge.errors",
    "Vectors": "symgauge.exact.probes",
    "account": "symgauge.accounting",
    "align": "symgauge.algorithms",
    "align_model": "symgauge.algorithms",
    "apply": "symgauge.algorithms",
    "assert_invariant": "symgauge.module_invariance",
    "attention_layers": "symgauge.algorithms",
    "audit": "symgauge.folders",
    "canonicalize": "symgauge.algorithms",
    "canonicalize_folder": "symgauge.folders",
    "canonicalize_model": "symgauge.algorithms",
    "compare": "symgauge.comparison",
    "Comparison": "symgauge.comparison",
    "compress": "symgauge.algorithms",
    "compress_folder": "symgauge.folders",
    "dimension": "symgauge.measurement",
    "discover": "symgauge.discovery.discovery",
    "equivalent": "symgauge.algorithms",
    "equivalent_layers": "symgauge.algorithms",
    "expand": "symgauge.algorithms",
    "expand_folder": "symgauge.folders",
    "project_gradient": "symgauge.algorithms",
    "rule": "symgauge.arithmetic.wrapper_tensor",
    "subject_of": "symgauge.subjects",
    "supported": "symgauge.arithmetic.wrapper_tensor",
    "graph_of": "symgauge.model_graph",
    "with_layers": "symgauge.algorithms",
}
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'symgauge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
