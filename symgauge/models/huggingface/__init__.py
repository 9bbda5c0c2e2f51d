"""Adapters for Hugging Face models: their architecture, and where their parameters hold each role.

``transformers`` itself is imported on first use.
"""

from symgauge.models.huggingface.adapter import Adapted, adapt
from symgauge.models.huggingface.registry import FAMILIES
from symgauge.models.huggingface.small import FromConfig, from_config, tiny

__all__ = ["FAMILIES", "Adapted", "FromConfig", "adapt", "from_config", "tiny"]
