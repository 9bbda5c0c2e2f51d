"""Configurations and sizes of published models, as their families in the zoo have them."""

from __future__ import annotations

from typing import Any

from symgauge.presets import presets
from symgauge.zoo import families

MODELS = {name: model for family in families().values() for name, model in family.published.items()}
CONFIGS: dict[str, dict[str, Any]] = {
    name: family.config_file(name) for family in families().values() for name in family.published
}
PRESETS = {name: CONFIGS[name] for name in presets()}
"""Those that can be read without ``transformers``."""
OTHERS = {name: fields for name, fields in CONFIGS.items() if name not in PRESETS}
