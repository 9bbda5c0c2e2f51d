"""Does a symmetry family keep the function of a module of one's own? Up to rounding, and with negative controls.

The module says what the function is, a layout where each role of an architecture lies in its parameters, and the family
moves roles; :mod:`symgauge.numeric` has the error model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.architecture import Architecture
from symgauge.checks import check_seed, shown
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Arrays, Inputs
from symgauge.layout import Layout, flatten
from symgauge.model_graph import graph_of
from symgauge.numeric.controls import ControlHeld, required_change
from symgauge.numeric.error_model import Function, Roles, conditions, longest_sum, relative_error
from symgauge.numeric.inputs import random_element
from symgauge.numeric.invariance import Invariance, NotInvariant, Output, centred, compare
from symgauge.plain import float64, prepare, run
from symgauge.private import private_copy
from symgauge.subjects.inputs import natural_inputs
from symgauge.symmetries.base import DiscreteSymmetry, Family, Symmetry

BATCH = 8
"""Inputs on which functions are compared."""
CALM = 0.25
"""Times the probes of exact runs: where softmax is flat a wrong action would be as good as a right one."""
NOISE = 65_537
"""Added to the seed of what spoils a motion: noise that repeats the numbers of the point would only scale it."""


@dataclass(frozen=True)
class ModuleInvariance:
    """The function was kept, and it was seen that it might not have been."""

    invariance: Invariance
    """The change of the function under a group element, with what rounding may cause; its ``ratio`` is at most 1."""
    controls: Mapping[str, float]
    """Role → relative change of the function where the action is spoiled on that role alone."""


def assert_invariant(
    module: nn.Module,
    layout: Layout,
    family: Symmetry | DiscreteSymmetry,
    *,
    architecture: Architecture,
    inputs: Inputs | None = None,
    output: Output = "logits",
    seed: int = 0,
) -> ModuleInvariance:
    """Assert that a general element of ``family`` keeps what ``module`` computes, in float64.

    Args:
        module: any torch module; it is copied and left as it is. Its parameters are the point that is looked at.
        layout: where each role lies in the module's parameters.
        family: one of ``symgauge.symmetries.families(architecture)``, or a class of your own.
        architecture: what the family is told of the module.
        inputs: what the module takes; tokens or vectors as the architecture has them by default.
        output: "probabilities" compares outputs up to a shift along their last axis.
        seed: of the element and the inputs.

    As a negative control each role that the element moves is put back alone, or displaced where that cannot show by the
    family's own word, and the function must change by at least 1e-3 and a millionfold what rounding may cause.

    Raises:
        NotInvariant: the function changes (an AssertionError).
        ControlHeld: a spoiled action keeps the function too, so that the check has no power (an AssertionError).
        Undecided: rounding may cause too much, or nothing that is spoiled could show.
        InvalidInput: the layout lacks a role that the family moves, or an argument does not fit.

    Example:
        >>> import symgauge
        >>> from symgauge.models.reference import ReferenceModel, reference_layout
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> module = ReferenceModel(a)
        >>> found = symgauge.assert_invariant(module, reference_layout(module, a), families(a)[0], architecture=a)
        >>> found.invariance.holds, sorted(found.controls)
        (True, ['layers.0.attention.key.weight', 'layers.0.attention.query.weight'])
    """
    check_seed(seed)
    if not isinstance(family, Family) or not family.applies(architecture, output):
        raise InvalidInput(f"{shown(family)} is no symmetry family that acts on this architecture and keeps {output}")
    inputs = natural_inputs(architecture) if inputs is None else inputs
    function = function_of(module, layout, inputs, output, seed)
    before, element = layout.read(flatten(module)[0]), random_element(family, architecture, seed)

    def act(roles: Roles, x: Any) -> Mapping[str, Tensor]:
        return {**roles, **family.act(architecture, graph_of(architecture), roles, x)}

    try:
        after = act(before, element)
    except KeyError as error:
        raise InvalidInput(f"the layout has no role {error}, which family {family.name!r} acts on") from error
    longest = 1 if isinstance(inputs, Arrays) else inputs.length
    length = max(longest_sum(architecture, longest), *(max(x.shape, default=1) for x in before.values()))
    condition = conditions(act, before, element, seed)
    invariance = compare(function, before, after, length=length, condition=condition, output=output, seed=seed)
    try:
        invariance.require()
    except NotInvariant as error:
        raise NotInvariant(f"{family!r}, seed {seed}: {error}") from None
    return ModuleInvariance(invariance, _controls(function, family, architecture, before, after, invariance, seed))


def function_of(module: nn.Module, layout: Layout, inputs: Inputs, output: Output, seed: int) -> Function:
    """Roles → all outputs of a copy of the module in one vector, on inputs drawn from ``seed``."""
    theta, named = flatten(module)
    twin, names = private_copy(module), [name for name, _ in named]
    fed = ByKeyword(twin, inputs.keyword) if inputs.keyword else twin
    batch = inputs.draw(BATCH, torch.Generator().manual_seed(seed)).movedim(0, inputs.batch_axis)
    batch = batch * CALM if batch.is_floating_point() else batch

    def function(roles: Roles) -> Tensor:
        with torch.no_grad(), float64():
            prepare(twin, names, layout.write(roles, theta))
            found = run(fed, batch)
        if output == "probabilities":
            found = [centred(y) for y in found]
        return torch.cat([y.detach().double().flatten() for y in found])

    return function


class ByKeyword(nn.Module):
    """A module that takes its one input by name."""

    def __init__(self, module: nn.Module, keyword: str) -> None:
        super().__init__()
        self.module, self.keyword = module, keyword

    def forward(self, x: Tensor) -> Any:
        return self.module(**{self.keyword: x})


def _controls(
    function: Function,
    family: Symmetry | DiscreteSymmetry,
    architecture: Architecture,
    before: Roles,
    after: Roles,
    invariance: Invariance,
    seed: int,
) -> dict[str, float]:
    """The action spoiled on one role at a time; each must show."""
    expected, bound = function(before), required_change(invariance)
    generator = torch.Generator().manual_seed(seed % 2**61 + NOISE)
    moved = [name for name, x in after.items() if not torch.equal(x, before[name])]
    changes: dict[str, float] = {}
    for name in moved:
        unseen = family.unseen_alone(architecture, name)
        if unseen is None:
            changes[name] = relative_error(expected, function({**after, name: before[name]}))
        elif not unseen.wholly:
            changes[name] = relative_error(expected, function({**after, name: displaced(after[name], generator)}))
    if not changes:  # all that moves is unseen: the function must see the rest
        others = {name: displaced(x, generator) for name, x in after.items() if name not in moved}
        changes["all others"] = relative_error(expected, function({**after, **others}))
    for name, change in changes.items():
        if not bound <= change < torch.inf:
            raise ControlHeld(
                f"{family!r}, seed {seed}: with the action spoiled on {name} the function changes by {change:.3g} "
                f"relative to its size, where ≥ {bound:.3g} would show; a wrong action would not be noticed either"
            )
    return changes


def displaced(x: Tensor, generator: torch.Generator) -> Tensor:
    """A tensor with noise of its own size added."""
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    return x + noise * torch.linalg.vector_norm(x) / torch.linalg.vector_norm(noise)
