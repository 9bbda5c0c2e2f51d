"""How much time and memory an exact run will take, before it starts: from the number of parameters and one forward."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from symgauge.errors import InvalidInput
from symgauge.exact.jacobian import PER_POSITION
from symgauge.exact.probes import Inputs
from symgauge.private import private_copy

# Measured on two cores, benchmarks/engine.md. Real times are within a factor of three of this.
_START = 1.0
_PER_ENTRY = 4e-8
"""Seconds for one entry of one activation of a sequence, and one row: derivatives in exact arithmetic."""
_PER_CUBE = 7e-11
"""Seconds for elimination, for P³."""
_BYTES = 25
"""Bytes for P²: the echelon form over GF(p²), its kernel, and products on the way."""
_BASE = 3e8
_CHUNK, _ARRAYS = 6e7, 6
"""Bytes of one array of rows (see :mod:`symgauge.exact.jacobian`), of which some are alive at a time."""


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes that a run is expected to take."""

    parameters: int
    seconds: float
    memory: float

    def __str__(self) -> str:
        return f"{self.parameters:,} parameters: about {_duration(self.seconds)} and {self.memory / 1e9:,.1f} GB"


def _duration(seconds: float) -> str:
    for unit, size in (("years", 3.15e7), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{max(1, round(seconds)):,} s"


class _Counting(TorchDispatchMode):
    """Counts the entries that operations produce."""

    entries = widest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                self.entries += x.numel()
                self.widest = max(self.widest, x.numel())
        return result


def estimate(module: nn.Module, inputs: Inputs, primes: int = 2) -> Estimate:
    """What `symgauge.dimension` is expected to take for a module; ``inputs`` as for it, ``primes`` their number.

    Raises :class:`InvalidInput` if the memory alone is more than this machine has.
    """
    count = sum(p.numel() for p in module.parameters())
    require_memory(count)
    # Entries, and the widest activation's, for one sequence.
    entries, widest = _forward(module, inputs) or (50 * max(1, count), count)
    rows = 8.0 * PER_POSITION * getattr(inputs, "length", 1) * widest
    more = _ARRAYS * max(_CHUNK, rows)
    require_memory(count, more)
    seconds = _START + primes * (_PER_ENTRY * entries * count + _PER_CUBE * float(count) ** 3)
    return Estimate(count, seconds, memory_for(count) + more)


def _forward(module: nn.Module, inputs: Inputs) -> tuple[int, int] | None:
    """Counts of one forward of a copy, per sequence; None where a plain forward does not work out."""
    try:
        twin = private_copy(module).double()
        with torch.no_grad(), torch.random.fork_rng(devices=[]), _Counting() as counting:
            batch = inputs.draw(2, torch.Generator().manual_seed(0))
            batch = batch.movedim(0, inputs.batch_axis) if inputs.batch_axis else batch
            twin(**{inputs.keyword: batch}) if inputs.keyword else twin(batch)
    except Exception:  # the run itself will say what is wrong
        return None
    return counting.entries // 2, counting.widest // 2


def memory_for(parameters: int) -> float:
    """Bytes that a run with so many parameters needs at least."""
    return _BASE + _BYTES * float(parameters) ** 2


def require_memory(parameters: int, more: float = 0.0) -> None:
    """Raise :class:`InvalidInput` if so many parameters, and ``more`` bytes, need more memory than is free here."""
    need, have = memory_for(parameters) + more, free_memory()
    if need > have:
        raise InvalidInput(
            f"{parameters:,} parameters need some {_gigabytes(need)} GB for their Jacobian and this machine has "
            f"{_gigabytes(have)} GB free; measure a smaller model of "
            "the same kind, or shorter inputs"
        )


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.0f}" if count >= 1e10 else f"{count / 1e9:.1f}"


def free_memory() -> float:
    """Bytes that are free here: of the machine, and of the group of processes this one is limited with."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = 1024.0 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        free = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        return min(free, float(limit) - used) if limit != "max" else free
    except (OSError, ValueError):
        return free
