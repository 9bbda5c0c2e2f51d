"""Two checkpoints compared: one function or not, by which element, or where they part."""

from symgauge.comparison.compare import compare
from symgauge.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
