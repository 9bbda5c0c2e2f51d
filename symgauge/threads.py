"""How many threads a computation should use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch  # noqa: F401  (loads the OpenMP library whose threads are counted)
from threadpoolctl import threadpool_limits

_SEVERAL_FROM = 1500
"""Parameters from which several threads pay off."""


def one_thread() -> AbstractContextManager[Any]:
    """One thread for small matrices: threads that wait for each other cost more than they bring.

    ``torch.set_num_threads`` would also, for the rest of the process, let MKL start threads inside torch's own, and
    then ``torch.linalg.inv`` and ``solve`` fail on batches of matrices wider than 150 (pytorch/pytorch#142815).
    """
    return threadpool_limits(1, user_api="openmp")


def few_threads(parameters: int) -> AbstractContextManager[Any]:
    """One thread while the products of a model with so many parameters are small."""
    return one_thread() if parameters < _SEVERAL_FROM else nullcontext()
