"""What only some commands need, by the extra of the installation that brings it."""

from __future__ import annotations

from importlib.util import find_spec

from symgauge.errors import InvalidInput

EXTRAS = {
    "verify": ("hypothesis", "mpmath", "pytest", "xdist"),
    "reproduce": ("matplotlib",),
    "transformers": ("safetensors", "transformers"),
    "gguf": ("gguf",),
}
"""Extra → the modules that its packages bring."""


def require(extra: str, what: str) -> None:
    """Raises InvalidInput, in one sentence, where ``what`` cannot be done because a module of the extra is missing."""
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise InvalidInput(f"{what} needs {', '.join(missing)}: pip install 'symgauge[{extra}]'")
