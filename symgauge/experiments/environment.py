"""What a measurement was made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from symgauge.errors import InvalidInput


def environment(device: str) -> dict[str, str]:
    """Card or processor, and versions. Raises InvalidInput for a device that is not there."""
    import torch

    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise InvalidInput(f"device {device!r} cannot be used: {str(error).splitlines()[0]}") from error
    card = (
        torch.cuda.get_device_name(chosen)
        if chosen.type == "cuda"
        else f"{_processor()}, {torch.get_num_threads()} threads"
    )
    found = {"device": card, "python": platform.python_version(), "torch": torch.__version__}
    if chosen.type == "cuda":
        found["CUDA"] = str(torch.version.cuda)
    for name in ("symgauge", "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
