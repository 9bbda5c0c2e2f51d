"""Running a Hypothesis property inside a check, so that its outcome becomes evidence instead of an exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LONGEST = 400
"""Characters of one drawn value that are quoted."""


@dataclass(frozen=True)
class PropertyRun:
    """What a property run came to: whether it passed, on how many examples, and the smallest failing one found.

    seed: what Hypothesis drew from, None where the profile is deterministic.

    Example:
        >>> from hypothesis import strategies as st
        >>> from symgauge.claims import for_all
        >>> property_run = for_all(lambda n: n * n >= n, n=st.integers(), examples=20)
        >>> property_run.passed, property_run.cases, property_run.counterexample
        (True, 20, '')
    """

    passed: bool
    cases: int
    counterexample: str = ""
    seed: int | None = None


def for_all(check: Callable[..., object], *, examples: int | None = None, **strategies: Any) -> PropertyRun:
    """Try `check` on drawn arguments; it fails by returning False or by an AssertionError.

    strategies: a Hypothesis strategy per argument of `check`. examples: how many; by default the profile's number.
    Any other exception is a mistake in the check and propagates. The result is for ``evidence.property``.

    Example:
        >>> from hypothesis import strategies as st
        >>> from symgauge.claims import for_all
        >>> found = for_all(lambda n: n * n > n, n=st.integers(0, 9))
        >>> found.passed, found.counterexample
        (False, '`n=0`')
    """
    from hypothesis import given, settings
    from hypothesis import seed as drawn_from

    from symgauge.profiles import sampling_seed

    passed, failing = 0, ""

    def attempt(**arguments: Any) -> None:
        nonlocal passed, failing
        try:
            if check(**arguments) is False:
                raise AssertionError("the property returned False")
        except AssertionError:
            # Hypothesis replays the smallest failing example last, so that is the one which stays.
            failing = ", ".join(f"{name}={_expression(value)}" for name, value in arguments.items())
            raise
        passed += 1

    run, seed = given(**strategies)(attempt), sampling_seed()
    if seed is not None:
        run = drawn_from(seed)(run)
    if examples is not None:
        run = settings(max_examples=examples)(run)
    try:
        run()
    except AssertionError:
        return PropertyRun(False, passed, f"`{failing}`", seed)
    return PropertyRun(True, passed, seed=seed)


def _expression(value: Any) -> str:
    """A drawn value as the call that made it, where Hypothesis knows one, on one line; cut where it is long."""
    from hypothesis.control import current_build_context
    from hypothesis.vendor.pretty import RepresentationPrinter

    printer = RepresentationPrinter(context=current_build_context())
    printer.pretty(value)
    text = " ".join(printer.getvalue().split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
