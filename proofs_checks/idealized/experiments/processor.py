"""These experiments run on the processor: their models are too small to gain from a card."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from symgauge.errors import InvalidInput
from symgauge.experiments.result import Result
from symgauge.experiments.suite import Setting


def on_processor(run: Callable[[Setting], Result]) -> Callable[[Setting], Result]:
    """``run``, refusing any other device, so that no record names a card that was not used."""

    @wraps(run)
    def checked(setting: Setting) -> Result:
        if setting.device != "cpu":
            raise InvalidInput(
                f"the idealized experiments run on the processor, not on {setting.device!r}: their models are small; "
                "leave --device out"
            )
        return run(setting)

    return checked
