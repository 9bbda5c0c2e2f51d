"""Sums of marked values modulo C, the attention-only transformer that learns them, and many of them trained as one.

Source: Xu, "Low-Dimensional Execution Manifolds in Transformer Learning Dynamics" (arXiv 2602.10496), section 3.

    task        MarkedSum and ModularAddition: batches of token ids with labels
    model       Sizes, AttentionOnly: logits at the last position, attention, stream
    training    train: all models as one, with snapshots of all parameters
"""

from proofs_checks.manifolds.marked_sum.model import AttentionOnly, Sizes, start
from proofs_checks.manifolds.marked_sum.task import MarkedSum, ModularAddition, Task
from proofs_checks.manifolds.marked_sum.training import Protocol, Trajectory, function_of, joined, parted, train

__all__ = [
    "AttentionOnly",
    "MarkedSum",
    "ModularAddition",
    "Protocol",
    "Sizes",
    "Task",
    "Trajectory",
    "function_of",
    "joined",
    "parted",
    "start",
    "train",
]
