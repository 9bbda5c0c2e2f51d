"""Whether a module draws random numbers: torch's operations by name, other generators by the state they leave."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class RandomOperations(TorchDispatchMode):
    """Collects the names of torch's operations that draw random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.names.add(func._schema.name.removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


class ForeignGenerators:
    """Which generators outside of torch were moved since it was made: Python's, and NumPy's global one."""

    def __init__(self) -> None:
        self._before = self._states()

    def moved(self) -> set[str]:
        now = self._states()
        return {name for name, state in now.items() if state != self._before.get(name, state)}

    @staticmethod
    def _states() -> dict[str, Any]:
        states: dict[str, Any] = {"Python's random": random.getstate()}
        if (numpy := sys.modules.get("numpy")) is not None:
            kind, keys, *rest = numpy.random.get_state()
            states["numpy.random"] = (kind, keys.tobytes(), *rest)
        return states
