"""``@checks``: the claims of a source that a test decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "symgauge_checks"


def checks(*names: str) -> Callable[[F], F]:
    """Say which claims of the source a test decides, by their ids in the claims.toml of the source's folder.

    The names have to be literal strings, so that claims can be listed without importing their checks. The test takes
    the ``evidence`` fixture and records what it finds; the verdict computed from that must be the one in claims.toml.

    Example:
        >>> from symgauge.claims import checks, equal
        >>> @checks("intro-3")
        ... def test_contributions(evidence):
        ...     evidence.audit("announced against listed", figures={"contributions": equal(4, 5)})
        ...
        >>> test_contributions.symgauge_checks
        ('intro-3',)
    """

    def decorate(function: F) -> F:
        setattr(function, ATTRIBUTE, (*names, *names_of(function)))
        return function

    return decorate


def names_of(function: Any) -> tuple[str, ...]:
    """The names of the claims that a test function decides; empty for an ordinary test."""
    return getattr(function, ATTRIBUTE, ())
