"""The precision ladder: the same check at more and more digits.

A true symmetry's error falls with the working precision; the error of a map that is only nearly one stays where it is.
Float32 and float64 run in torch, more digits in mpmath arithmetic under the same model code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils._pytree import tree_map

from symgauge.architecture import Architecture
from symgauge.arithmetic.multiprecision import Multiprecision
from symgauge.errors import InvalidInput
from symgauge.models.reference import forward
from symgauge.numeric.error_model import Action, Roles, relative_error
from symgauge.numeric.invariance import NotInvariant, Output, cast, centred, function_of

Precision = torch.dtype | int
"""A torch floating type, or a number of decimal digits."""
LADDER: tuple[Precision, ...] = (torch.float32, torch.float64, 50, 100)
_STEEP = 0.8
"""Between two rungs the error must fall by at least this power of the ratio of their epsilons."""
_FLAT = 0.5
"""A stalled error agrees with float64's to this relative tolerance at every higher precision."""


@dataclass(frozen=True)
class Rung:
    """One precision: its name, its ε, and the relative error seen.

    Example:
        >>> from symgauge.numeric import Rung
        >>> Rung("float64", 2.2e-16, 1.5e-15).error
        1.5e-15
    """

    name: str
    epsilon: float
    error: float


@dataclass(frozen=True)
class Ladder:
    """Relative invariance errors at rising precision.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, precision_ladder, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> ladder = precision_ladder(a, roles, act, element, x, precisions=(torch.float32, torch.float64))
        >>> [rung.name for rung in ladder.rungs], ladder.rungs[0].error > 1e4 * ladder.rungs[1].error
        (['float32', 'float64'], True)
    """

    rungs: tuple[Rung, ...]

    def _levels(self) -> list[tuple[float, float]]:
        # An error below a hundredth of ε (or exactly zero) says no more than that.
        return [(math.log10(r.epsilon), math.log10(max(r.error, r.epsilon / 100))) for r in self.rungs]

    @property
    def slope(self) -> float:
        """Least-squares slope of log error against log ε: about 1 for a symmetry, 0 for a map that is not one."""
        levels = self._levels()
        centre = [sum(column) / len(levels) for column in zip(*levels, strict=True)]
        spread = sum((x - centre[0]) ** 2 for x, _ in levels)
        return sum((x - centre[0]) * (y - centre[1]) for x, y in levels) / spread

    @property
    def falls(self) -> bool:
        """Whether the error falls with ε from every rung to the next."""
        if not all(math.isfinite(r.error) for r in self.rungs):
            return False
        levels = self._levels()
        return all(y1 - y2 >= _STEEP * (x1 - x2) for (x1, y1), (x2, y2) in itertools.pairwise(levels))

    @property
    def stalls(self) -> bool:
        """Whether the error is finite and the same at every precision."""
        errors = [r.error for r in self.rungs]
        return all(math.isfinite(e) and e > 0 for e in errors) and max(errors) <= (1 + _FLAT) * min(errors)

    def require_fall(self) -> Ladder:
        """This ladder, or :class:`NotInvariant` if the error does not fall with the precision."""
        if not self.falls:
            raise NotInvariant(f"the error does not fall with the precision: {self}")
        return self

    def __str__(self) -> str:
        return ", ".join(f"{r.name} {r.error:.2e}" for r in self.rungs)

    def as_dict(self) -> dict[str, float]:
        """Plain data for a claim's record: error by rung, and the slope."""
        return {**{r.name: r.error for r in self.rungs}, "slope": self.slope}


def _carry(m: Multiprecision, value: Any) -> Any:
    return tree_map(lambda x: m.carry(x) if isinstance(x, Tensor) else x, value)


def _rung(
    architecture: Architecture, parameters: Roles, act: Action, element: Any, inputs: Tensor, output: Output,
    precision: Precision,
) -> Rung:  # fmt: skip
    if isinstance(precision, torch.dtype):
        roles, moving = cast(dict(parameters), precision), cast(element, precision)
        function = function_of(architecture, inputs, output)
        error = relative_error(function(roles), function({**roles, **act(roles, moving)}))
        return Rung(str(precision).removeprefix("torch."), torch.finfo(precision).eps, error)
    m = Multiprecision(precision)
    many, x = _carry(m, dict(parameters)), m.carry(inputs)

    def function_many(roles: Mapping[str, Tensor]) -> Tensor:
        y = forward(architecture, roles, x)
        return y if output == "logits" else centred(y)

    before = function_many(many)
    after = function_many(_carry(m, {**many, **act(many, _carry(m, element))}))
    error = float(m.norm(after - before) / m.norm(before))
    return Rung(f"{precision} digits", float(m.epsilon), error if math.isfinite(error) else math.inf)


def precision_ladder(
    architecture: Architecture,
    parameters: Roles,
    act: Action,
    element: Any,
    inputs: Tensor,
    *,
    output: Output = "logits",
    precisions: Sequence[Precision] = LADDER,
) -> Ladder:
    """The relative change of the function under an element, at each precision.

    Parameters, element and inputs are taken as exact; the action and the function are computed at each precision from
    them. Use sizes of a few hundred parameters: a hundred digits take about a second.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, precision_ladder, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> ladder = precision_ladder(a, roles, act, element, x, precisions=(torch.float64, 50))
        >>> ladder.rungs[1].error < 1e-40
        True
    """
    if len(precisions) < 2:
        raise InvalidInput("a ladder needs at least two precisions")
    if inputs.numel() == 0:
        raise InvalidInput("no inputs, so no errors to compare; give at least one sequence")
    return Ladder(tuple(_rung(architecture, parameters, act, element, inputs, output, p) for p in precisions))


def run_module(module: nn.Module, inputs: Tensor, digits: int, **keywords: Any) -> tuple[Multiprecision, Tensor]:
    """Any module at its own parameters with many digits: the arithmetic, and its first output (or ``.logits``).

    Token ids stay integers. ``arithmetic.numbers(output)`` gives the mpmath floats.

    Example:
        >>> import torch
        >>> from symgauge.numeric import run_module
        >>> x = torch.ones(1, 2, dtype=torch.float64)
        >>> arithmetic, output = run_module(torch.nn.Linear(2, 1).double(), x, digits=30)
        >>> output.shape
        torch.Size([1, 1])
    """
    m = Multiprecision(digits)
    named = m.wrap({name: p.detach() for name, p in module.named_parameters()})
    with torch.no_grad():
        result = functional_call(module, named, (m.carry(inputs),), keywords)
    if hasattr(result, "logits"):
        result = result.logits
    return m, result[0] if isinstance(result, (tuple, list)) else result
