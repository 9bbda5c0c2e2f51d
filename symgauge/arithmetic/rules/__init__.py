"""The rule table: aten operations on jets, one theme per file. Importing this package registers them all."""

from symgauge.arithmetic.rules import activations, algebra, comparison, creation, indexing, norms, shapes, softmax

__all__ = ["activations", "algebra", "comparison", "creation", "indexing", "norms", "shapes", "softmax"]
