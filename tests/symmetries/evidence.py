"""How much two parameter points differ as functions, and how much of that rounding explains.

By the library's own function and error model (:mod:`symgauge.numeric`); here of two points alone, however one was made
from the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from symgauge.accounting import account
from symgauge.architecture import Architecture
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.exact import dimension as engine
from symgauge.models.reference import random_parameters
from symgauge.numeric import function_of
from symgauge.numeric.error_model import allowed_error, longest_sum, relative_error, sensitivity
from symgauge.subjects import subject_of
from symgauge.symmetries import degenerate_cases, dimension
from symgauge.symmetries.base import Output
from symgauge.symmetries.symbols import evaluate

EPSILON = torch.finfo(torch.float64).eps
VISIBLE = 1e-3
accounted = partial(account, primes=DEFAULT_PRIMES[:1])
"""By one prime: whether two agree is asked in tests/exact, and takes as long again."""


def nullity(a: Architecture, seed: int = 0) -> int:
    """The exact dimension of the fibre, by one prime."""
    subject = subject_of(a, seed=seed)
    return engine.dimension(subject.module, subject.inputs, seed=seed, primes=DEFAULT_PRIMES[:1]).nullity


def point(a: Architecture) -> dict[str, Tensor]:
    """Random roles at which no norm's Σ β/γ is near zero, where its null direction would add no visible constant."""
    for seed in range(200):
        roles = random_parameters(a, seed)
        sums = [(v / roles[r.removesuffix("offset") + "gain"]).sum() for r, v in roles.items() if r.endswith(".offset")]
        if all(abs(float(value)) > 0.5 for value in sums):
            return roles
    raise AssertionError("no such point among 200")


def inputs(a: Architecture, generator: torch.Generator, count: int = 12) -> Tensor:
    if a.is_model:
        return torch.randint(a.vocabulary, (count, a.context), generator=generator)
    return torch.randn(count, a.context, a.d_model, generator=generator, dtype=torch.float64)


def difference(
    a: Architecture, one: Mapping[str, Tensor], two: Mapping[str, Tensor], x: Tensor, output: Output
) -> float:
    """Relative difference of the two functions on the inputs, which must be finite."""
    function = function_of(a, x, output)
    change = relative_error(function(one), function(two))
    assert change < torch.inf, "an output is not finite"
    return change


def rounding(
    a: Architecture, before: Mapping[str, Tensor], after: Mapping[str, Tensor], x: Tensor, output: Output
) -> float:
    """What rounding can change: of the function at both points, and of the action between them.

    Products such as A · A⁻¹ cancel intermediate values that are larger than the result, by at most the growth of
    either factor: the action's condition is taken for the largest growth of a role, squared.
    """
    function = function_of(a, x, output)
    growth = max(1.0, *(float(after[r].norm() / before[r].norm()) for r in before))
    responses = sensitivity(function, before, {}, 1), sensitivity(function, after, dict.fromkeys(after, growth**2), 1)
    return allowed_error(EPSILON, longest_sum(a, x.shape[1]), *responses)


Edge = tuple[tuple[int, int, int, int], dict[str, Any], str]
"""(d_model, heads, d_k, d_v), other fields, and what each reason says; nothing, where the formula is right."""


def assert_named_where_off(edge: Edge) -> None:
    """A degenerate case is said to hold exactly where exact rank and formula differ, and for the reason given."""
    (d_model, heads, d_k, d_v), fields, reason = edge
    a = Architecture(d_model, heads, d_k, d_v, **{"epsilon": 0.1, "context": 3, **fields})
    # What depends on the point, an expert or a rectified unit, is at this point as in general.
    found = [why for why in degenerate_cases(a) if "expert" not in why and "may be on" not in why]
    assert bool(found) == bool(reason)
    assert all(reason in why for why in found)
    assert (nullity(a) != evaluate(dimension(a), a)) == bool(reason)
