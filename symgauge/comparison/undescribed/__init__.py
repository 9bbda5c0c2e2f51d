"""Checkpoints of models that no family describes: tensors held against each other by name, and both functions run."""

from symgauge.comparison.undescribed.compare import compare_by_name

__all__ = ["compare_by_name"]
