"""The idealized autoregressive model: embedding, attention and ReLU layers, output; its tasks, and training in batches.

Source: idealized paper, section 3. What it leaves open (residual stream, mask, norms, positions, where the answer is
read) are options here; the defaults are the setting that gives its numbers.
"""

from proofs_checks.idealized.model.counting import function_classes, repeated_rows
from proofs_checks.idealized.model.model import IdealizedModel, architecture
from proofs_checks.idealized.model.tasks import Task, copy_last, parity, xor_first_two, xor_last_two
from proofs_checks.idealized.model.training import Protocol, Trained, initial, jacobians, logits, train

__all__ = [
    "IdealizedModel",
    "Protocol",
    "Task",
    "Trained",
    "architecture",
    "copy_last",
    "function_classes",
    "initial",
    "jacobians",
    "logits",
    "parity",
    "repeated_rows",
    "train",
    "xor_first_two",
    "xor_last_two",
]
