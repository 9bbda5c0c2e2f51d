"""Small tensors: threads would only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from symgauge.threads import one_thread


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield
