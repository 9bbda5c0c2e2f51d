"""Trainings on disk, so that a run of hours that was stopped goes on with the next training."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import torch

from proofs_checks.manifolds.marked_sum import Protocol, Sizes, Task, Trajectory
from symgauge.atomic import write_bytes
from symgauge.experiments.environment import environment

FOLDER = "trainings"


def save(file: Path, run: Trajectory, device: str) -> None:
    """Write atomically: float32 snapshots (n, P) of the one model of `run`, and what it is a training of."""
    content = io.BytesIO()
    theta, loss, steps = run.theta[:, 0].cpu().numpy(), run.loss[:, 0].numpy(), run.steps.numpy()
    made = _made(run.sizes, run.tasks[0], run.seeds[0], run.protocol, device)
    np.savez(content, made=made, theta=theta, loss=loss, steps=steps)
    write_bytes(file, content.getvalue())


def load(file: Path, sizes: Sizes, task: Task, seed: int, protocol: Protocol, device: str) -> Trajectory | None:
    """The training in `file`, or None where there is none or it was made in another way, elsewhere, or is damaged."""
    try:
        with np.load(file, allow_pickle=False) as found:
            if str(found["made"]) != _made(sizes, task, seed, protocol, device):
                return None
            theta, loss, steps = (torch.from_numpy(found[name]) for name in ("theta", "loss", "steps"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return Trajectory(sizes, protocol, [task], [seed], steps, theta.unsqueeze(1).to(device), loss.unsqueeze(1))


def _made(sizes: Sizes, task: Task, seed: int, protocol: Protocol, device: str) -> str:
    what = {"sizes": repr(sizes), "task": repr(task), "seed": seed, "protocol": repr(protocol)}
    return json.dumps({**what, **environment(device)}, sort_keys=True)
