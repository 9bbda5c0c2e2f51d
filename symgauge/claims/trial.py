"""Running a Hypothesis property inside a check, so that its outcome becomes evidence instead of an exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trial:
    """What a property run came to: whether it passed, on how many examples, and the smallest failing one found.

    seed: what Hypothesis drew from, None where the profile is deterministic.
    """

    passed: bool
    cases: int
    counterexample: str = ""
    seed: int | None = None


def for_all(check: Callable[..., object], *, examples: int | None = None, **strategies: Any) -> Trial:
    """Try `check` on drawn arguments; it fails by returning False or by an AssertionError.

    strategies: a Hypothesis strategy per argument of `check`. examples: how many; by default the profile's number.
    Any other exception is a mistake in the check and propagates. Pass the result on:

        trial = for_all(lambda a, b: a + b == b + a, a=integers(), b=integers())
        evidence.property("addition commutes", trial)
    """
    from hypothesis import given, settings
    from hypothesis import seed as drawn_from

    from symgauge.profiles import sampling_seed

    passed = 0
    failing: dict[str, Any] = {}

    def attempt(**arguments: Any) -> None:
        nonlocal passed, failing
        try:
            if check(**arguments) is False:
                raise AssertionError("the property returned False")
        except AssertionError:
            # Hypothesis replays the smallest failing example last, so that is the one which stays.
            failing = arguments
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
        text = ", ".join(f"{name}={value!r}" for name, value in failing.items())
        return Trial(False, passed, f"`{text}`", seed)
    return Trial(True, passed, seed=seed)
