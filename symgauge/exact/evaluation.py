"""Run a torch module in exact arithmetic at one parameter point."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

import symgauge.arithmetic.rules  # noqa: F401  (registers the rule table)
from symgauge.arithmetic.carrier import Carrier, module_names, wrap
from symgauge.arithmetic.jet import Calculus, Jet
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Inputs, Tokens


class Evaluation:
    """A module at the parameter point ``theta`` (P,) float64, over one field."""

    def __init__(self, module: nn.Module, theta: Tensor, calculus: Calculus, inputs: Inputs) -> None:
        self.module = module
        self.calculus = calculus
        self.inputs = inputs
        self.shapes = [(name, p.shape) for name, p in module.named_parameters()]
        self.theta = theta
        arguments = inspect.signature(module.forward).parameters
        self.keywords: dict[str, Any] = {"use_cache": False} if "use_cache" in arguments else {}

    def _parameters(self, tangents: bool) -> dict[str, Tensor]:
        start = 0
        result: dict[str, Tensor] = {}
        for name, shape in self.shapes:
            block = self.theta[start : start + shape.numel()].reshape(shape)
            jet = self.calculus.variable(block, start) if tangents else self.calculus.lift(block)
            result[name] = wrap(jet, self.calculus)
            start += shape.numel()
        return result

    def __call__(self, batch: Tensor, tangents: bool) -> Jet:
        """The module's output (batch, positions…, width) as a jet; with ``tangents``, by every parameter."""
        batch = batch.to(self.theta.device)
        argument: Any = batch
        if not isinstance(self.inputs, Tokens):
            argument = wrap(self.calculus.lift(batch), self.calculus)
        args, kwargs = ((argument,), {}) if self.inputs.keyword is None else ((), {self.inputs.keyword: argument})
        with torch.no_grad(), evaluating(self.module), module_names(self.module):
            result = functional_call(self.module, self._parameters(tangents), args, {**kwargs, **self.keywords})
        return _output(result).jet


def _output(result: Any) -> Carrier:
    """The tensor that counts as the function's value: ``.logits`` if there is one, else the first tensor."""
    if hasattr(result, "logits"):
        result = result.logits
    elif isinstance(result, dict):
        result = next(iter(result.values()))
    elif isinstance(result, (tuple, list)):
        result = result[0]
    if not isinstance(result, Carrier):
        raise InvalidInput(
            f"the module returned {type(result).__name__}, not a tensor that depends on its parameters; return the "
            "output tensor, or a tuple, dict or object with .logits that has it first"
        )
    return result


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode for the time being: with dropout active a module is no function."""
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for m, mode in modes:
            m.training = mode
