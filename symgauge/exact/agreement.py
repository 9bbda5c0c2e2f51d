"""Before a module is measured: is it a function of one input, and does its exact run compute what the module computes?

The module is run as it is, in float64 at the same point: a batch, each input alone, and the batch once more. Whatever
differs there is no function of one input. The float64 reference of the exact run must agree with it.
"""

from __future__ import annotations

import copy
import dataclasses

import torch
from torch import Tensor, nn

from symgauge.blame import place, said
from symgauge.errors import ForeignError, InvalidInput, SymgaugeError, Undecided, UnsupportedOperation
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.probes import Tokens
from symgauge.exact.randomness import ForeignGenerators, RandomOperations
from symgauge.plain import float64, prepare
from symgauge.private import private_copy

_BATCH = 3
_REPEATS = 8
"""Runs that tell a module that changes by chance from one whose inputs see one another."""
_MANY_REPEATS = 64
"""Runs of a module that draws random numbers: it is no function if one of them differs."""
_CLOSE = 1e-6
"""Of the largest output: far above rounding in float64, far below any other function's values."""

_FLOOR = 1e-12
"""Differences as small as this are rounding whatever the scale: outputs that cancel have none."""


def check_agreement(evaluation: Evaluation, seed: int) -> None:
    """Find the batch axis of each output of the function, and compare the exact run with the plain one.

    Raises:
        InvalidInput: the plain module fails; its inputs see one another; a number for the whole batch; randomness.
        UnsupportedOperation: the exact run gives other values. Undecided: values that are not finite.
    """
    function, theta = evaluation.function, evaluation.theta
    batch = function.inputs.draw(_BATCH, torch.Generator().manual_seed(seed)).to(theta.device)
    if isinstance(function.inputs, Tokens):
        batch[0] = function.inputs.vocabulary - 1  # a vocabulary larger than the module's table is found at once
    plain = private_copy(function.plain)
    prepare(plain, [name for name, _ in function.counted], theta, theta.device)
    together = _run(function, plain, batch)
    alone = [_run(function, plain, x[None]) for x in batch]
    if not together:
        raise InvalidInput(f"{function.name} returns no tensor of real numbers")
    generators = ForeignGenerators()
    with RandomOperations() as drawn:
        again = _run(function, plain, batch)
    # What a coin rarely decides is seen in many runs only.
    repeats = _MANY_REPEATS if drawn.names or generators.moved() else 0
    if not all(_same(together, x) for x in (again, *(_run(function, plain, batch) for _ in range(repeats)))):
        raise _unsteady(function, plain, batch)
    function.axes = {
        name: axis for name in together if (axis := _batch_axis(function, name, together, alone)) is not None
    }
    if not function.axes:
        raise InvalidInput(f"no output of {function.name} depends on its input and counts the inputs of a batch")
    for name, axis in function.axes.items():
        if not all(bool(torch.isfinite(x).all()) for x in (together[name],)):
            raise Undecided(
                f"output {name!r} of {function.name} is not finite in float64 at this point, so "
                "branches (ReLU, top-k, masks) "
                "cannot be trusted; pass another seed"
            )
        if not all(_close(together[name].select(axis, i), alone[i][name].select(axis, 0)) for i in range(_BATCH)):
            if not all(_same(together, _run(function, plain, batch)) for _ in range(_REPEATS)):
                raise _unsteady(function, plain, batch)
            raise InvalidInput(
                f"the inputs of a batch see one another in {function.name}{_hint(function, plain, batch)}"
            )
    outputs = evaluation(batch, watched=True)
    for name, element in zip(function.axes, outputs, strict=True):
        if not bool(torch.isfinite(element.reference).all()):
            raise Undecided(
                f"output {name!r} of {function.name} is finite by itself and not in the exact run's "
                "float64 reference, so "
                "its branches cannot be trusted; write masks as −inf or a large negative number before a softmax"
            )
        if not _close(element.reference, together[name].movedim(function.axes[name], 0)):
            raise UnsupportedOperation(
                f"{function.name} computes something else in exact arithmetic than by itself (output "
                f"{name!r} differs by "
                f"{float((element.reference - together[name].movedim(function.axes[name], 0)).abs().max()):.1e}): "
                "it reads "
                "weights or state in a way that is not followed; take weights from registered parameters in every call"
            )


def _unsteady(function: ParameterFunction, plain: nn.Module, batch: Tensor) -> InvalidInput:
    generators = ForeignGenerators()
    with RandomOperations() as seen:
        _run(function, plain, batch)
    why = "it keeps what it saw before, or draws random numbers outside of torch"
    if moved := generators.moved():
        why = f"it draws random numbers ({', '.join(sorted(moved))})"
    if seen.names:
        why = f"it draws random numbers ({', '.join(sorted(seen.names))})"
    if any("dropout" in name or "bernoulli" in name for name in seen.names):
        why = "dropout is active although the module is in evaluation mode (pass training=self.training to F.dropout)"
    return InvalidInput(
        f"{function.name} gives another output when it is run again on the same input, so it is no "
        f"function to measure: {why}"
    )


def _run(function: ParameterFunction, plain: nn.Module, batch: Tensor) -> dict[str, Tensor]:
    try:
        with float64(), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.seed()
            return {name: x.detach().double() for name, x in function.call(plain, batch).items()}
    except SymgaugeError:
        raise
    except Exception as error:
        takes = _describe(function)
        raise ForeignError(
            f"running {function.name} on {takes} raised {said(error)}{place(error, plain)}{_advice(function, error)}"
        ) from error


def _describe(function: ParameterFunction) -> str:
    inputs = function.inputs
    values = {f.name: getattr(inputs, f.name) for f in dataclasses.fields(inputs)}
    sizes = ", ".join(f"{name}={value!r}" for name, value in values.items() if value not in (None, 0))
    return f"{type(inputs).__name__}({sizes})"


def _advice(function: ParameterFunction, error: Exception) -> str:
    text = str(error)
    if not isinstance(function.inputs, Tokens) and ("indices" in text or "embedding" in text):
        return "; a module that looks embeddings up takes symgauge.Tokens(vocabulary, length)"
    if isinstance(function.inputs, Tokens) and isinstance(error, IndexError):
        return "; the vocabulary or the length is larger than the module's table"
    return ""


def _batch_axis(
    function: ParameterFunction, name: str, together: dict[str, Tensor], alone: list[dict[str, Tensor]]
) -> int | None:
    """The axis that has three entries for three inputs and one for one; None for an output that never changes."""
    many, one = together[name], alone[0].get(name)
    axes = []
    if one is not None and one.dim() == many.dim():
        differ = [a for a in range(many.dim()) if one.shape[a] != many.shape[a]]
        axes = [a for a in differ if (one.shape[a], many.shape[a]) == (1, _BATCH)]
        if not differ and many.dim() and _close(many, one) and not _reads(many, alone, name):
            return None
        if len(differ) == len(axes) == 1:
            return axes[0]
    if len(axes) > 1:
        raise InvalidInput(
            f"output {name!r} of {function.name} compares the inputs of a batch with one another (shape "
            f"{tuple(many.shape)} for {_BATCH} inputs), so it is no function of one input; name others by outputs="
        )
    raise InvalidInput(
        f"output {name!r} of {function.name} has the shape {tuple(many.shape)} for {_BATCH} inputs and "
        f"{tuple(one.shape) if one is not None else 'nothing'} for one: it has no entries for each "
        "input (a loss?); measure "
        "the function itself, such as logits"
    )


def _reads(many: Tensor, alone: list[dict[str, Tensor]], name: str) -> bool:
    """Whether an output without a batch axis depends on the input all the same."""
    return not all(name in x and _close(many, x[name]) for x in alone)


def _hint(function: ParameterFunction, plain: nn.Module, batch: Tensor) -> str:
    """What to do where inputs see one another: another batch axis, if that mends it."""
    inputs = function.inputs
    other = 1 - inputs.batch_axis
    wanted = f"pass {type(inputs).__name__}(…, batch_axis={other})"
    if batch.dim() >= 2:
        twin = copy.copy(function)
        twin.inputs = dataclasses.replace(inputs, batch_axis=other)
        try:
            together, alone = _run(twin, plain, batch), [_run(twin, plain, x[None]) for x in batch]
            name = next(iter(function.axes))
            pairs = [(together[name].select(other, i), alone[i][name].select(other, 0)) for i in range(_BATCH)]
            if all(_close(a, b) for a, b in pairs):
                return f", because it takes the batch on axis {other} (time first, torch's default): {wanted}"
        except Exception:
            return "; it is no function of one input (batch statistics, attention across the batch?)"
    return "; it is no function of one input (batch statistics, attention across the batch?)"


def _same(a: dict[str, Tensor], b: dict[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(_close(a[name], b[name]) for name in a)


def _close(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    a, b = a.double(), b.double()
    finite = torch.isfinite(a)
    if not torch.equal(finite, torch.isfinite(b)) or not torch.equal(a[~finite & ~a.isnan()], b[~finite & ~b.isnan()]):
        return False
    if not bool(finite.any()):
        return True
    return float((a - b)[finite].abs().max()) <= max(_FLOOR, _CLOSE * float(a[finite].abs().max()))
