"""The subject of a preset: its architecture scaled down, which stands for the full size."""

from __future__ import annotations

import dataclasses

from symgauge.architecture import Architecture
from symgauge.exact.probes import Inputs
from symgauge.presets import preset, scaled_down
from symgauge.subjects.modules import of_architecture
from symgauge.subjects.subject import Subject


def of_preset(name: str, inputs: Inputs | None, seed: int | None) -> Subject:
    """Raises InvalidInput for an unknown name."""
    full = preset(name)
    small = scaled_down(full)
    return dataclasses.replace(
        of_architecture(small, inputs, seed),
        notes=(f"{full.name} is measured scaled down: {_differences(full, small)}",),
        full_size=full,
        no_own_point="a preset has no weights",
    )


def _differences(full: Architecture, small: Architecture) -> str:
    """The sizes that differ, as "field big → small"."""
    pairs = [(f.name, getattr(full, f.name), getattr(small, f.name)) for f in dataclasses.fields(full)]
    sizes = [f"{name} {a:,} → {b:,}" for name, a, b in pairs if a != b and isinstance(a, int)]
    # Constants (epsilons, factors) are no sizes.
    parts = [name for name, a, b in pairs if a != b and not isinstance(a, int | float) and name != "name"]
    return ", ".join([*sizes, *(f"{name} cut to match" for name in parts)])
