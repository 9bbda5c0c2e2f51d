"""Fewer threads for small matrices, and afterwards as many as before."""

from __future__ import annotations

import os
import subprocess
import sys

import torch

from symgauge.threads import few_threads, one_thread

MEASURED_THEN_INVERTED = """
import torch, symgauge

before = torch.get_num_threads()
symgauge.dimension(torch.nn.Linear(3, 2), symgauge.Vectors(length=2, width=3))
assert torch.get_num_threads() == before == 2
matrices = torch.randn(16, 256, 256, dtype=torch.float64)
assert bool((torch.linalg.inv(matrices) @ matrices - torch.eye(256)).abs().max() < 1e-6)
"""


def test_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
    with few_threads(10):
        assert torch.get_num_threads() == 1
    with few_threads(10_000):
        assert torch.get_num_threads() == before


def test_large_inverses_on_two_threads_survive_a_measurement() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    code = [sys.executable, "-c", MEASURED_THEN_INVERTED]
    done = subprocess.run(code, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
