"""Two checkpoints compared: one function or not, by which element, or where they part."""

from symgauge.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]
