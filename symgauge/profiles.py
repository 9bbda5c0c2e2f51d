"""How hard to sample: the Hypothesis profiles dev, ci (the default) and thorough, and counts that follow them.

dev tries a few examples and shows failures fast; ci is deterministic; thorough tries many. Those two draw a seed
of their own, unless SYMGAUGE_SEED gives one, and evidence names it. No profile keeps a database of examples or looks
for constants in local modules, so a run depends on its inputs only and leaves no files behind.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from symgauge.errors import InvalidInput

VARIABLE = "SYMGAUGE_PROFILE"
SEED_VARIABLE = "SYMGAUGE_SEED"
DEFAULT = "ci"
PROFILES: dict[str, dict[str, Any]] = {
    "dev": {"max_examples": 5, "derandomize": False},
    "ci": {"max_examples": 20, "derandomize": True},
    "thorough": {"max_examples": 200, "derandomize": False},
}

_active: str | None = None


def check(name: str) -> str:
    """`name` if it is a profile; InvalidInput otherwise."""
    if name not in PROFILES:
        raise InvalidInput(f"no sampling profile is called {name!r}; choose one of {', '.join(PROFILES)}")
    return name


def activate(name: str | None = None) -> str:
    """Make a profile the active one, for Hypothesis too, and return its name.

    Without `name`: the environment variable SYMGAUGE_PROFILE, else the one already active, else "ci".
    Raises InvalidInput for an unknown name.
    """
    global _active
    chosen = check(name or os.environ.get(VARIABLE) or _active or DEFAULT)
    from hypothesis import HealthCheck, settings

    common: dict[str, Any] = {
        "deadline": None,
        "database": None,
        "print_blob": True,
        "report_multiple_bugs": False,
        # Exact arithmetic is slow by Hypothesis' standards and its time says nothing about correctness.
        "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    }
    for known, options in PROFILES.items():
        settings.register_profile(f"symgauge-{known}", **common, **options)
    settings.load_profile(f"symgauge-{chosen}")
    _draw_no_local_constants()
    _active = chosen
    sampling_seed()
    return chosen


def _draw_no_local_constants() -> None:
    """Stop Hypothesis from drawing constants that it finds in the modules at hand.

    Which modules those are depends on how symgauge is installed and on what a worker has imported, and so would every
    example; no setting turns it off.
    """
    from hypothesis.internal.conjecture import providers

    if hasattr(providers, "_get_local_constants"):
        nothing = providers.Constants()
        providers._get_local_constants = lambda: nothing


def active() -> str:
    """The name of the active profile."""
    return _active or check(os.environ.get(VARIABLE) or DEFAULT)


def sampling_seed(profile: str = "") -> int | None:
    """What examples are drawn from in a profile that draws afresh, the same in worker processes; None in ci.

    profile: the active one if it is not named.

    Raises InvalidInput for a SYMGAUGE_SEED that is no whole number.
    """
    if PROFILES[profile or active()]["derandomize"]:
        return None
    text = os.environ.setdefault(SEED_VARIABLE, str(secrets.randbelow(2**32)))
    if not text.isdecimal():
        raise InvalidInput(f"{SEED_VARIABLE} is {text!r}; expected a whole number that is not negative")
    return int(text)


def scale(default: int, thorough: int, dev: int | None = None) -> int:
    """A sample count for the active profile; for dev it is `dev`, or a quarter of the default, never below 1."""
    counts = {"ci": default, "thorough": thorough, "dev": max(1, default // 4) if dev is None else dev}
    return counts[active()]
