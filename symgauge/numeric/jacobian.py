"""Float64 Jacobians of modules by their parameters, and fibre dimensions where they show a clear gap.

Beside the exact engine this is a second opinion: quick where singular values have a gap, and refused elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, Undecided
from symgauge.layout import flatten
from symgauge.numeric.gaps import RankWithGap, rank_with_gap, visible_lengths
from symgauge.numeric.invariance import Output, centred, function_of
from symgauge.parameter_vector import ParameterVector


@dataclass(frozen=True)
class FloatDimension:
    """A fibre dimension from floating point: ``nullity`` = ``parameters`` − ``rank``, with the gap behind it.

    Example:
        >>> import torch
        >>> from symgauge.numeric import fibre_dimension_float
        >>> x = torch.randn(24, 3, dtype=torch.float64)
        >>> found = fibre_dimension_float(torch.nn.Linear(3, 2), x)
        >>> found.parameters, found.rank, found.nullity, found.singular.gap > 1e4
        (8, 8, 0, True)
    """

    parameters: int
    rank: int
    nullity: int
    rows: int
    singular: RankWithGap

    def as_dict(self) -> dict[str, float]:
        """Plain data for a claim's record."""
        return {"parameters": self.parameters, "rank": self.rank, "nullity": self.nullity, "gap": self.singular.gap}


def reference_jacobian(
    architecture: Architecture, parameters: Mapping[str, Tensor], inputs: Tensor, *, output: Output = "logits"
) -> Tensor:
    """Jacobian (outputs, P) of the reference function on ``inputs``; columns in the order of θ.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import random_inputs, reference_jacobian
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles = random_parameters(a)
        >>> x = random_inputs(a)
        >>> reference_jacobian(a, roles, x).shape   # outputs, parameters
        torch.Size([60, 100])
    """
    vector = ParameterVector.of(architecture)
    function = function_of(architecture, inputs, output)
    jacobian: Tensor = jacrev(lambda theta: function(vector.split(theta)).reshape(-1))(vector.join(parameters))
    return jacobian


def _output(result: Any) -> Tensor:
    if hasattr(result, "logits"):
        result = result.logits
    elif isinstance(result, (tuple, list)):
        result = result[0]
    if not isinstance(result, Tensor):
        raise InvalidInput(f"the module returned {type(result).__name__}, not a tensor or an object with .logits")
    return result


def _flat_module(module: nn.Module, device: str | torch.device) -> tuple[Tensor, Callable[[Tensor, Tensor], Tensor]]:
    """θ (P,) in float64 and the function (θ, batch) → outputs."""
    theta, vector = flatten(module)[0].to(device), ParameterVector.of(module)
    buffers = {
        name: b.to(device=device, dtype=torch.float64 if b.is_floating_point() else None)
        for name, b in module.named_buffers()
    }

    def function(theta: Tensor, batch: Tensor) -> Tensor:
        return _output(functional_call(module, {**vector.split(theta), **buffers}, (batch,)))

    return theta, function


def _triangle(triangle: Tensor | None, rows: Tensor) -> Tensor:
    """The R of a QR decomposition of everything so far: same singular values, at most P rows."""
    stacked = rows if triangle is None else torch.cat([triangle, rows])
    return torch.linalg.qr(stacked, mode="r").R


def fibre_dimension_float(
    module: nn.Module,
    inputs: Tensor,
    *,
    output: Output = "logits",
    min_gap: float = 1e4,
    device: str | torch.device = "cpu",
    batch: int = 8,
    exhaustive: bool = False,
) -> FloatDimension:
    """P − rank of the Jacobian at the module's own parameters, from float64 singular values.

    Args:
        module: any module, taken in float64 and in evaluation mode; tied parameters count once.
        inputs: sequences (N, …), run ``batch`` at a time on ``device``.
        exhaustive: say that ``inputs`` are all there are. Otherwise the last quarter of them must add nothing.

    Raises :class:`Undecided` without a clear gap, when there are fewer rows than parameters, or when the rank has not
    settled; :class:`InvalidInput` without inputs or parameters.

    Example:
        >>> import torch
        >>> from symgauge.numeric import fibre_dimension_float
        >>> two = torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False), torch.nn.Linear(2, 4, bias=False))
        >>> fibre_dimension_float(two, torch.randn(12, 3, dtype=torch.float64)).nullity   # GL(2) between the two
        4
    """
    if inputs.shape[0] == 0:
        raise InvalidInput("no inputs, so no Jacobian; give at least one sequence")
    was_training = module.training
    module.eval()
    try:
        theta, function = _flat_module(module, device)
        chunks = inputs.to(device).split(batch)
        early, triangle, rows = max(1, (3 * len(chunks)) // 4), None, 0
        first: RankWithGap | None = None
        for i, chunk in enumerate(chunks):

            def outputs(theta: Tensor, chunk: Tensor = chunk) -> Tensor:
                y = function(theta, chunk)
                return (y if output == "logits" else centred(y)).reshape(-1)

            jacobian = _rows(outputs, theta)
            rows += jacobian.shape[0]
            triangle = _triangle(triangle, jacobian)
            if i + 1 == early and not exhaustive:
                first = _rank(triangle, min_gap)
    finally:
        module.train(was_training)
    assert triangle is not None
    found = _rank(triangle, min_gap)
    if not exhaustive:
        if rows < len(theta):
            raise Undecided(f"{rows} outputs cannot settle the rank of {len(theta)} parameters; give more inputs")
        if first is None or len(chunks) < 2 or first.rank != found.rank:
            raise Undecided(f"the rank had not settled at {found.rank}; give more inputs, in more batches")
    return FloatDimension(len(theta), found.rank, len(theta) - found.rank, rows, found)


def _rows(outputs: Callable[[Tensor], Tensor], theta: Tensor) -> Tensor:
    """Jacobian (outputs, P) by batched reverse mode, or output by output where a module cannot be vectorised."""
    value = theta.clone().requires_grad_()
    y = outputs(value)
    eye = torch.eye(y.numel(), dtype=y.dtype, device=y.device)

    def pull(v: Tensor) -> Tensor:
        return torch.autograd.grad(y, value, v, retain_graph=True)[0]

    try:
        return vmap(pull, chunk_size=256)(eye)
    except RuntimeError:
        return torch.stack([pull(v) for v in eye])


def _rank(triangle: Tensor, min_gap: float) -> RankWithGap:
    """Rank after scaling columns to length one, which leaves the rank and widens the gap; see visible_lengths."""
    sizes = torch.linalg.vector_norm(triangle, dim=0)
    noise = torch.finfo(triangle.dtype).eps * max(triangle.shape) * float(sizes.max())
    return rank_with_gap(triangle / visible_lengths(sizes, noise, min_gap), min_gap)
