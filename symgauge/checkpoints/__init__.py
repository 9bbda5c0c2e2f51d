"""Checkpoints on disk or in memory, read a tensor at a time; nothing is unpickled and no code of a folder is run."""

from symgauge.checkpoints.checkpoint import Checkpoint, StoredTensor
from symgauge.checkpoints.opening import open_checkpoint
from symgauge.checkpoints.stored_model import StoredModel, stored_model

__all__ = ["Checkpoint", "StoredModel", "StoredTensor", "open_checkpoint", "stored_model"]
