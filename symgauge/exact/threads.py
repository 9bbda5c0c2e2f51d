"""How many threads an exact computation should use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_SEVERAL_FROM = 1500
"""Parameters from which several threads pay off."""


@contextmanager
def few_threads(parameters: int) -> Iterator[None]:
    """One thread while the products are small: threads that wait for each other cost more than they bring."""
    before = torch.get_num_threads()
    if parameters < _SEVERAL_FROM:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
