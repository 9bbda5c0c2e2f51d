"""Many models trained as one: the batch dimension is the seed, and each model stops at its own step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call, jacrev, stack_module_state, vmap

from proofs_checks.idealized.model.model import IdealizedModel, Start
from proofs_checks.idealized.model.tasks import Task
from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector

CHECK = 10  # steps between looks at who has arrived


@dataclass(frozen=True)
class Protocol:
    """Adam on the mean cross-entropy of all inputs at the last position, until it is below ``loss``."""

    rate: float = 3e-3
    loss: float = 1e-4
    steps: int = 3000
    dtype: torch.dtype = torch.float64
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8


@dataclass(frozen=True, eq=False)
class Trained:
    """Parameters (S, P) in the order of the architecture's roles, mean losses (S,), accuracies (S,), steps (S,)."""

    architecture: Architecture
    theta: Tensor
    loss: Tensor
    accuracy: Tensor
    steps: Tensor

    @property
    def solved(self) -> Tensor:
        """(S,) bool: the right token on every input."""
        return self.accuracy == 1


def initial(
    architecture: Architecture,
    seeds: Sequence[int],
    how: Start = "torch",
    spread: float = 0.1,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """(S, P): the initial parameters of one model per seed."""
    models = [IdealizedModel(architecture, seed, how=how, spread=spread, dtype=dtype) for seed in seeds]
    return ParameterVector.of(models[0]).join(stack_module_state(models)[0]).detach()


def logits(architecture: Architecture, theta: Tensor, inputs: Tensor) -> Tensor:
    """(S, N, V): logits at the last position of every model on every input (N, T); differentiable in theta (S, P)."""
    return vmap(_function(architecture, inputs))(theta)


def jacobians(architecture: Architecture, theta: Tensor, inputs: Tensor) -> Tensor:
    """(S, N V, P): derivative of all logits at the last position; one model at a time, to save memory."""
    function = _function(architecture, inputs)
    return torch.stack([jacrev(lambda t: function(t).flatten())(one) for one in theta])


def _function(architecture: Architecture, inputs: Tensor) -> Callable[[Tensor], Tensor]:
    """θ (P,) → logits (N, V)."""
    model = IdealizedModel(architecture)
    vector = ParameterVector.of(model)

    def evaluate(theta: Tensor) -> Tensor:
        return functional_call(model, vector.split(theta), (inputs,))

    return evaluate


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """(S,) mean cross-entropy of logits (S, N, V) against targets (S, N)."""
    return torch.nn.functional.cross_entropy(outputs.mT, targets, reduction="none").mean(-1)


def accuracies(outputs: Tensor, targets: Tensor) -> Tensor:
    """(S,) share of inputs whose largest logit is the target's, strictly: a tie is an error."""
    others = outputs.scatter(-1, targets.unsqueeze(-1), -torch.inf).amax(-1)
    return (outputs.gather(-1, targets.unsqueeze(-1)).squeeze(-1) > others).double().mean(-1)


def train(
    architecture: Architecture,
    tasks: Task | Sequence[Task],
    theta: Tensor,
    protocol: Protocol | None = None,
    *,
    mask: Tensor | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> Trained:
    """Train all models from theta (S, P) at once, by one task or one task per model (of equal V and T).

    Adam works entry by entry, so a batch of models is the models one by one. A model is frozen at the step at which its
    loss falls below the protocol's. ``mask`` (S, P) of 0 and 1: entries with 0 are set to zero and stay so. The same
    theta gives the same result on the same machine. tick: share of the steps done.

    Raises :class:`InvalidInput` for tasks that do not fit, and no steps.
    """
    p = protocol or Protocol()
    chosen = [tasks] * len(theta) if isinstance(tasks, Task) else list(tasks)
    inputs, targets = _data(architecture, chosen, theta)
    if p.steps < 1:
        raise InvalidInput(f"{p.steps} training steps were asked for; at least 1 is needed")
    now = theta.to(p.dtype, copy=True)
    if mask is not None:
        mask = mask.to(p.dtype)
        now = now * mask
    function = vmap(_function(architecture, inputs))
    moving = torch.arange(len(theta))
    steps = torch.full((len(theta),), p.steps)
    point = now.clone().requires_grad_()
    optimizer = torch.optim.Adam([point], p.rate, p.betas, p.epsilon)
    for step in range(1, p.steps + 1):
        loss = losses(function(point), targets[moving])
        (point.grad,) = torch.autograd.grad(loss.sum(), point)
        arrived = loss.detach() < p.loss
        if arrived.any():
            steps[moving[arrived]] = step - 1
            now[moving] = point.detach()
            moving, point = moving[~arrived], _without(optimizer, arrived)
            if not len(moving):
                break
        optimizer.step()
        if mask is not None:
            point.data.mul_(mask[moving])
        if step % CHECK == 0:
            tick(step / p.steps)
    now[moving] = point.detach()
    tick(1.0)
    outputs = logits(architecture, now, inputs)
    return Trained(architecture, now, losses(outputs, targets), accuracies(outputs, targets), steps)


def _without(optimizer: torch.optim.Optimizer, gone: Tensor) -> Tensor:
    """The parameter (S, P) of an optimizer, its gradient and its moments without the rows of ``gone`` (S,)."""
    group = optimizer.param_groups[0]
    (point,) = group["params"]
    rest = point.detach()[~gone].requires_grad_()
    rest.grad = point.grad[~gone]
    state = optimizer.state.pop(point, {})
    optimizer.state[rest] = {name: x[~gone] if x.dim() else x for name, x in state.items()}
    group["params"] = [rest]
    return rest


def _data(architecture: Architecture, tasks: Sequence[Task], theta: Tensor) -> tuple[Tensor, Tensor]:
    if theta.dim() != 2 or theta.shape[1] != graph_of(architecture).parameters:
        raise InvalidInput(
            f"theta must be (models, {graph_of(architecture).parameters}) for it, not {tuple(theta.shape)}"
        )
    if len(tasks) != len(theta) or not tasks:
        raise InvalidInput(f"{len(tasks)} tasks for {len(theta)} models; give one task, or one per model")
    for task in tasks:
        if (task.vocabulary, task.length) != (architecture.vocabulary, tasks[0].length):
            raise InvalidInput(f"{task} does not fit a model with {architecture.vocabulary} tokens, or the other tasks")
    return tasks[0].inputs, torch.stack([task.targets for task in tasks])
