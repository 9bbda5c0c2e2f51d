"""Negative controls: maps just outside a symmetry, which must change the function by a stated margin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, SymgaugeError, Undecided
from symgauge.numeric.error_model import Action, Roles, relative_error
from symgauge.numeric.invariance import Invariance, Output, function_of, measure_invariance

MARGIN = 1e-3
FACTOR = 1e6


class ControlHeld(SymgaugeError, AssertionError):
    """A map that was to change the function does not, so the check beside it would not notice a mistake.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, assert_changes, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> assert_changes(a, roles, {**roles, **act(roles, element)}, x)
        Traceback (most recent call last):
            ...
        symgauge.numeric.controls.ControlHeld: the control changes the function by ...; expected ≥ 0.001
    """


@dataclass(frozen=True)
class Controls:
    """Relative change of the function with one role put back or displaced, by role; all are at least ``margin``.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, negative_controls, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> controls = negative_controls(a, roles, act, element, x)
        >>> sorted(controls.broken), min(controls.broken.values()) > controls.margin
        (['layers.0.attention.key.weight', 'layers.0.attention.query.weight'], True)
    """

    broken: Mapping[str, float]
    redundant: Mapping[str, float]
    """Roles that the caller says the function does not see, with the change measured (rounding only)."""
    margin: float
    invariance: Invariance
    """The full element on the same inputs."""

    @property
    def weakest(self) -> float:
        """The smallest change among the controls."""
        return min(self.broken.values())

    def as_dict(self) -> dict[str, object]:
        return {"margin": self.margin, "weakest": self.weakest, "controls": len(self.broken)}


def required_change(invariance: Invariance, margin: float = MARGIN, factor: float = FACTOR) -> float:
    """What a control must exceed: ``margin``, and ``factor`` times what rounding may cause.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, measure_invariance, random_element, random_inputs, required_change
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> required_change(measure_invariance(a, roles, act, element, x))
        0.001
    """
    return max(margin, factor * invariance.allowed)


def assert_changes(
    architecture: Architecture,
    before: Roles,
    after: Roles,
    inputs: Tensor,
    *,
    margin: float = MARGIN,
    output: Output = "logits",
    what: str = "the control",
) -> float:
    """The relative change of the function between two points, which must be finite and at least ``margin``.

    For controls of the caller's own: A⁻¹ in place of A⁻ᵀ, heads permuted without their group. Raises
    :class:`ControlHeld` otherwise.

    Shapes: ``before`` and ``after`` are roles, ``inputs`` (B, T) or (B, T, d_model).

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import assert_changes, random_inputs
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles = random_parameters(a)
        >>> x = random_inputs(a)
        >>> key = "layers.0.attention.key.weight"
        >>> assert_changes(a, roles, {**roles, key: -roles[key]}, x) > 0.1
        True
    """
    function = function_of(architecture, inputs, output)
    expected = function(before)
    if expected.numel() == 0:
        raise InvalidInput("no inputs, so a control cannot fail; give at least one sequence")
    change = relative_error(expected, function({**before, **after}))
    if not margin <= change < torch.inf:
        raise ControlHeld(f"{what} changes the function by {change:.3g} relative to its size; expected ≥ {margin:.3g}")
    return change


def negative_controls(
    architecture: Architecture,
    parameters: Roles,
    act: Action,
    element: Any,
    inputs: Tensor,
    *,
    kind: Literal["undo", "displace"] = "undo",
    redundant: Mapping[str, str] | None = None,
    margin: float = MARGIN,
    factor: float = FACTOR,
    output: Output = "logits",
    device: str | torch.device = "cpu",
    seed: int = 0,
) -> Controls:
    """Spoil the action on one role at a time, in float64: each must change the function.

    Args:
        kind: "undo" puts the role back to its old value, so that one coupling is broken; "displace" adds a random
            change as large as the one the action made, for actions whose roles are each free by themselves.
        redundant: role → why the function does not notice when that role alone is spoiled. Such roles are measured
            too, and must then indeed change nothing.
        margin, factor: every other role must change the function by ``margin`` and by ``factor`` times what rounding
            may cause.

    Raises :class:`ControlHeld` if a control does not break the function, :class:`InvalidInput` if ``redundant`` is
    wrong, :class:`Undecided` if no control is left that could fail.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> from symgauge.numeric import action, negative_controls, random_element, random_inputs
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> roles, family = random_parameters(a), families(a)[0]
        >>> act, element, x = action(family, a), random_element(family, a), random_inputs(a)
        >>> controls = negative_controls(a, roles, act, element, x)
        >>> sorted(controls.broken)
        ['layers.0.attention.key.weight', 'layers.0.attention.query.weight']
    """
    redundant = redundant or {}
    options: dict[str, Any] = {"output": output, "device": device, "seed": seed}
    invariance = measure_invariance(architecture, parameters, act, element, inputs, **options)
    bound = required_change(invariance, margin, factor)
    before = {name: x.to(device) for name, x in parameters.items()}
    after = {**before, **act(before, element)}
    changed = [name for name, x in after.items() if not torch.equal(x, before[name])]
    if unknown := sorted(set(redundant) - set(changed)):
        raise InvalidInput(f"roles {unknown} are declared redundant, but the action does not change them")
    function = function_of(architecture, inputs.to(device), output)
    expected = function(before)
    generator = torch.Generator().manual_seed(seed)

    def spoiled(name: str) -> Tensor:
        if kind == "undo":
            return before[name]
        noise = torch.randn(before[name].shape, generator=generator, dtype=torch.float64).to(device)
        size = torch.linalg.vector_norm(after[name] - before[name]) / torch.linalg.vector_norm(noise)
        return after[name] + size * noise

    changes = {name: relative_error(expected, function({**after, name: spoiled(name)})) for name in changed}
    for name, reason in redundant.items():
        if not changes[name] <= invariance.allowed:
            raise InvalidInput(
                f"role {name!r} is declared redundant ({reason}), but the function changes by {changes[name]:.3g}"
                " when it is spoiled"
            )
    broken = {name: change for name, change in changes.items() if name not in redundant}
    if not broken:
        raise Undecided("every changed role is declared redundant, so nothing here could fail; add another control")
    for name, change in broken.items():
        if not bound <= change < torch.inf:
            raise ControlHeld(
                f"control {kind!r} on role {name!r} changes the function by {change:.3g}; expected ≥ {bound:.3g}. "
                "Declare it redundant, with the reason, if the function cannot see it"
            )
    return Controls(broken, {name: changes[name] for name in redundant}, bound, invariance)
