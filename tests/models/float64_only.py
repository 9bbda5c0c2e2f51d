"""Run a module in float64 throughout, although its code asks for float32 in places.

Hugging Face modules compute norms, softmax and rotary tables in float32. Comparing at 1e-10 needs those casts undone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Float64Only(TorchDispatchMode):
    """Casts to float32, and new tensors in float32, become float64."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)
