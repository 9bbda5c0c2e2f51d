"""Hugging Face models: adapted by their family in the zoo, scaled down, or run as they are without one.

``transformers`` itself is imported on first use.
"""

from symgauge.models.huggingface.adapter import Adapted, adapt
from symgauge.models.huggingface.small import FromConfig, from_config, tiny

__all__ = ["Adapted", "FromConfig", "adapt", "from_config", "tiny"]
