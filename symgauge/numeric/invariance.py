"""Does a parameter map keep the function? The relative change of the outputs against what rounding alone may cause."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, SymgaugeError, Undecided
from symgauge.model_graph import graph_of
from symgauge.models.reference import forward
from symgauge.numeric.error_model import (
    Action,
    Function,
    Roles,
    allowed_error,
    conditions,
    longest_sum,
    relative_error,
    sensitivity,
)
from symgauge.symmetries.base import DiscreteSymmetry, Symmetry

Output = Literal["logits", "probabilities"]
LARGEST_ALLOWED = 1e-3
"""A tolerance above this would accept maps that change the function, so the comparison is refused."""
LEAST_MOVED = 1e-3
"""An element must change some role by at least this much, relatively; otherwise the check could not fail."""


class NotInvariant(SymgaugeError, AssertionError):
    """A map that was to keep the function changes it.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import assert_invariant, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> element, x = random_element(family, a), random_inputs(a)
        >>> query = "layers.0.attention.query.weight"
        >>> doubled = lambda roles, element: {query: 2 * roles[query]}
        >>> assert_invariant(a, roles, doubled, None, x)
        Traceback (most recent call last):
            ...
        symgauge.numeric.invariance.NotInvariant: the function changes by 0.116 relative to its size, ...
    """


@dataclass(frozen=True)
class Invariance:
    """The outcome of one comparison of the function before and after a map.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, measure_invariance, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> found = measure_invariance(a, roles, act, element, x)
        >>> found.observed < found.allowed, found.holds, found.output
        (True, True, 'logits')
    """

    observed: float
    """‖f(θ′) − f(θ)‖ / ‖f(θ)‖ over all inputs and outputs; infinity where a value is not finite."""
    allowed: float
    """What rounding may cause, by the error model."""
    epsilon: float
    sensitivity: float
    condition: float
    """The largest condition of a role under the action."""
    moved: float
    """The largest relative change of a role."""
    values: int
    """Number of output values compared."""
    dtype: str
    output: Output

    @property
    def ratio(self) -> float:
        """Observed over allowed; at most 1 for a symmetry."""
        return self.observed / self.allowed

    @property
    def holds(self) -> bool:
        return math.isfinite(self.observed) and self.observed <= self.allowed

    def require(self) -> Invariance:
        """This outcome, or :class:`NotInvariant` if the function changed."""
        if not self.holds:
            raise NotInvariant(
                f"the function changes by {self.observed:.3g} relative to its size, but rounding in {self.dtype} "
                f"explains at most {self.allowed:.3g} ({self.values} output values, {self.output})"
            )
        return self

    def as_dict(self) -> dict[str, object]:
        """Plain data for a claim's record."""
        fields = ("observed", "allowed", "ratio", "sensitivity", "condition", "moved", "values", "dtype", "output")
        return {name: getattr(self, name) for name in fields}


def action(family: Symmetry | DiscreteSymmetry, architecture: Architecture) -> Action:
    """A family's action on this architecture as a function of (roles, element).

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, random_element
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element = action(family, a), random_element(family, a)
        >>> moved = act(roles, element)
        >>> sorted(name for name in roles if moved[name] is not roles[name])
        ['layers.0.attention.key.weight', 'layers.0.attention.query.weight']
    """
    graph = graph_of(architecture)

    def act(roles: Roles, element: Any) -> Mapping[str, Tensor]:
        return family.act(architecture, graph, roles, element)

    return act


def centred(logits: Tensor) -> Tensor:
    """Logits up to a common shift per position: what probabilities depend on."""
    return logits - logits.mean(-1, keepdim=True)


def function_of(architecture: Architecture, inputs: Tensor, output: Output = "logits") -> Function:
    """Roles → outputs on ``inputs``; for "probabilities" the logits are centred at each position.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import function_of, random_inputs
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles = random_parameters(a)
        >>> x = random_inputs(a)
        >>> function_of(a, x)(roles).shape == x.shape
        True
    """
    if output not in ("logits", "probabilities"):
        raise InvalidInput(f"output must be 'logits' or 'probabilities', not {output!r}")

    def function(roles: Roles) -> Tensor:
        x = inputs
        if inputs.is_floating_point():
            like = next(iter(roles.values()))
            x = inputs.to(dtype=like.dtype, device=like.device)
        y = forward(architecture, roles, x)
        return y if output == "logits" else centred(y)

    return function


def cast(value: Any, dtype: torch.dtype, device: str | torch.device | None = None) -> Any:
    """Every floating tensor of a nested structure in another type and place; other tensors only move."""

    def move(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        return x.to(device=device, dtype=dtype if x.is_floating_point() else None)

    return tree_map(move, value)


def _check_output(expected: Tensor) -> None:
    if expected.numel() == 0:
        raise InvalidInput("no inputs, so no outputs to compare; give at least one sequence of at least one position")
    if bool((expected == 0).all()):
        raise InvalidInput("the function is zero on all inputs, so a relative error says nothing; use other parameters")


def _moved(before: Roles, after: Roles) -> float:
    changes = [relative_error(before[name], x) for name, x in after.items() if bool((before[name] != 0).any())]
    return max(changes, default=0.0)


def compare(
    function: Function,
    before: Roles,
    after: Roles,
    *,
    length: int,
    condition: Mapping[str, float] | None = None,
    dtype: torch.dtype = torch.float64,
    output: Output = "logits",
    seed: int = 0,
) -> Invariance:
    """Compare any function of roles at two parameter points.

    Args:
        function: roles → outputs; it must compute in the type of the roles it is given.
        before, after: the two points, in the type and on the device in which to compare.
        length: the number of terms of the longest sum the function computes.
        condition: how well each role of ``after`` was computed from ``before``, in units of ε (1 if not named).

    Raises :class:`InvalidInput` if there is nothing to compare or the points agree, :class:`Undecided` if the tolerance
    would exceed 1e-3.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, compare, function_of, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> compare(function_of(a, x), roles, {**roles, **act(roles, element)}, length=a.d_model).holds
        True
    """
    expected = function(before)
    _check_output(expected)
    observed = relative_error(expected, function(after))
    moved = _moved(before, after)
    if not moved >= LEAST_MOVED:
        raise InvalidInput(f"the map moves no role by more than {moved:.1g} relatively, so the check could not fail")
    condition = condition or {}
    sensitivities = [
        sensitivity(function, cast(dict(roles), torch.float64), factors, seed)
        for roles, factors in ((before, {}), (after, condition))
    ]
    epsilon = torch.finfo(dtype).eps
    allowed = allowed_error(epsilon, length, *sensitivities)
    if not allowed <= LARGEST_ALLOWED:
        raise Undecided(
            f"rounding in {dtype} alone may change the outputs by {allowed:.2g}; use a better conditioned element, "
            "smaller weights or a wider type"
        )
    return Invariance(
        observed, allowed, epsilon, max(sensitivities), max(condition.values(), default=1.0), moved,
        expected.numel(), str(dtype).removeprefix("torch."), output,
    )  # fmt: skip


def measure_invariance(
    architecture: Architecture,
    parameters: Roles,
    act: Action,
    element: Any,
    inputs: Tensor,
    *,
    output: Output = "logits",
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
    seed: int = 0,
) -> Invariance:
    """How much the reference function changes under ``act(parameters, element)``, and how much rounding may cause.

    Args:
        act: (roles, element) → changed roles, or all roles; :func:`action` makes one from a family.
        inputs: token ids (B, T) or vectors (B, T, d_model).
        output: "logits", or "probabilities" (up to a shift of the logits at each position).
        dtype, device: in which to act and to compute; the tolerance follows the type.

    Raises :class:`InvalidInput` for empty inputs, a zero function, or an element that moves nothing, and
    :class:`Undecided` if the tolerance would be too wide to mean anything.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, measure_invariance, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> measure_invariance(a, roles, act, element, x).ratio < 1
        True
    """
    before, element = cast(dict(parameters), dtype, device), cast(element, dtype, device)
    inputs = inputs.to(device)

    def whole(roles: Roles, x: Any) -> Mapping[str, Tensor]:
        return {**roles, **act(roles, x)}

    wide = (cast(before, torch.float64), cast(element, torch.float64))
    return compare(
        function_of(architecture, inputs, output),
        before,
        whole(before, element),
        length=longest_sum(architecture, inputs.shape[1]),
        condition=conditions(whole, *wide, seed),
        dtype=dtype,
        output=output,
        seed=seed,
    )


def assert_invariant(
    architecture: Architecture, parameters: Roles, act: Action, element: Any, inputs: Tensor, **options: Any
) -> Invariance:
    """:func:`measure_invariance`, raising :class:`NotInvariant` if the function changes or a value is not finite.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, assert_invariant, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> assert_invariant(a, roles, act, element, x).holds
        True
    """
    return measure_invariance(architecture, parameters, act, element, inputs, **options).require()
