"""Run a function in exact arithmetic at one parameter point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import symgauge.arithmetic.rules  # noqa: F401  (registers the rule table)
from symgauge.arithmetic.finite_field import Residues
from symgauge.arithmetic.interface import RunEnded
from symgauge.arithmetic.places import module_names
from symgauge.arithmetic.record import Record
from symgauge.arithmetic.run import Run
from symgauge.arithmetic.tape import Node, pull
from symgauge.arithmetic.traced_value import Calculus, TracedValue
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from symgauge.blame import place, said
from symgauge.errors import InvalidInput, SymgaugeError, UnsupportedOperation
from symgauge.exact.parameter_function import ParameterFunction
from symgauge.exact.probes import Tokens


class Evaluation:
    """A function at the parameter point ``theta`` (P,) float64, over one field."""

    def __init__(
        self, function: ParameterFunction, theta: Tensor, calculus: Calculus, record: Record | None = None
    ) -> None:
        self.function = function
        self.inputs = function.inputs
        self.calculus = calculus
        self.theta = theta
        self.record = record or Record()
        """Told of every run; another may take its place for a while."""
        self._point = calculus.lift(theta, exact=True)
        self._variables: list[tuple[int, Node | None]] = []

    def _wrappers(self, calculus: Calculus, derivatives: bool) -> dict[str, WrapperTensor]:
        start, result = 0, {}
        self._variables = []
        for name, p in self.function.counted:
            block = calculus.gather(lambda t, i=start, p=p: t[i : i + p.numel()].reshape(p.shape), self._point)  # type: ignore[misc]
            variable = calculus.variable(block, derivatives)
            result[name] = wrap(variable, calculus)
            result[name].parameter = name
            self._variables.append((start, variable.node))
            start += p.numel()
        return result

    def rows(self, seeds: Sequence[tuple[Node, Residues, Tensor | None]], groups: int) -> Residues:
        """Rows (n · groups, P) of the Jacobian of combinations of the last run's values, see :func:`pull`."""
        found = pull(self.calculus.field, seeds, groups)
        blocks = [(start, found[node]) for start, node in self._variables if node in found]
        count = seeds[0][1].shape[0] * groups
        parts = max((len(rows.parts()) for _, rows in blocks), default=1)
        whole = torch.zeros((parts, count, len(self.theta)), dtype=torch.int64, device=self.theta.device)
        for start, rows in blocks:
            for part, x in zip(whole, rows.parts(), strict=False):
                part[:, start : start + x[0, 0].numel()] = x.reshape(count, -1)
        return Residues(*whole)

    def watch(self, batch: Tensor) -> Record:
        """On which sides of thresholds distinct places of a batch are."""
        self.record.distinct = True
        for part in (batch[:1], batch):  # what the first input alone has is how one sees that others move it
            self(part, watched=True)
        self.record.distinct = False
        return self.record

    def __call__(self, batch: Tensor, derivatives: bool = False, watched: bool = False) -> list[TracedValue]:
        """The outputs that count, each (batch, …), traced; with ``derivatives``, :meth:`rows` can be asked for.

        ``watched``: note on which sides of thresholds the inputs are (see :class:`Record`).
        """
        function, calculus = self.function, self.calculus.watched_by(self.record)
        batch = batch.to(self.theta.device)
        argument: Tensor = batch
        if not isinstance(self.inputs, Tokens):
            argument = wrap(calculus.lift(batch, exact=True), calculus)
        wrappers = self._wrappers(calculus, derivatives)
        run = Run(function.memory, wrappers, self.record)
        run.adopt([argument])
        self.record.start(len(batch), watched)
        module = function.module
        try:
            with (
                torch.random.fork_rng(devices=[]),
                torch.no_grad(),
                _plain_kernels(),
                _parameters(module, dict(function.counted), wrappers),
                module_names(module),
                run,
            ):
                found = function.call(module, argument)
        except (SymgaugeError, RunEnded):
            raise
        except Exception as error:
            raise UnsupportedOperation(
                f"{function.name} runs in float64 but not in exact arithmetic, where "
                f"{said(error)}{place(error, module)}; "
                "operations that leave torch (numpy, data_ptr, tolist) cannot be followed"
            ) from error
        elements = []
        for name, axis in function.axes.items():
            x = found.get(name)
            if x is None:
                raise UnsupportedOperation(f"output {name!r} of {function.name} is there in some runs only")
            x = run.resolve(x)
            element = x.element if isinstance(x, WrapperTensor) else calculus.lift(x)
            elements.append(calculus.gather(lambda t, a=axis: t.movedim(a, 0), element) if axis else element)  # type: ignore[misc]
        if function.axes and not any(element.depends for element in elements):
            raise InvalidInput(
                f"no output of {function.name} depends on its parameters; return the output tensor, or a tuple, dict "
                "or object that holds it"
            )
        return elements


@contextmanager
def _plain_kernels() -> Iterator[None]:
    """Attention by its definition: the fused kernels have no steps that could be followed."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def _parameters(
    module: nn.Module, counted: Mapping[str, Tensor], wrappers: Mapping[str, WrapperTensor]
) -> Iterator[None]:
    """Put wrapper tensors in the place of parameters, wherever the same parameter is registered."""
    by_identity = {id(p): wrappers[name] for name, p in counted.items()}
    swapped = []
    for part in module.modules():
        for name, p in part._parameters.items():
            if p is not None and id(p) in by_identity:
                swapped.append((part, name, p))
    for part, name, p in swapped:
        part._parameters[name] = by_identity[id(p)]  # type: ignore[assignment]
    try:
        yield
    finally:
        for part, name, p in swapped:
            part._parameters[name] = p
