"""Degrees of values and derivatives, from which the bound on failure follows; an uninterpreted element counts as 1."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from tests.arithmetic.test_rules import X

DEGREES: dict[str, tuple[Callable[[Tensor], Tensor], int, int]] = {
    "x": (lambda x: x * 1, 1, 0),
    "a constant": (lambda x: x * 0 + 7, 0, 0),
    "a constant's exponential": (lambda x: torch.exp(x * 0 + 7), 0, 1),
    "affine": (lambda x: 1 - 3 * x, 1, 0),
    "square": (lambda x: x * x, 2, 1),
    "cube": (lambda x: x**3, 3, 2),
    "matrix products": (lambda x: x @ x.mT @ x, 3, 2),
    "sums": (lambda x: x.sum(1) * x[:, 0] + x[:, 1], 2, 1),
    "pieces": (lambda x: torch.cat([F.relu(x), x * x]), 2, 1),
    "reciprocal": (lambda x: 1 / x, 1, 2),
    "quotient": (lambda x: x / (x * x + 1), 1 + 1, 1 + (1 + 2)),
    "root": (lambda x: (x * x + 1).sqrt(), 1, 1 + 1),
    "reciprocal root": (lambda x: (x * x + 1).rsqrt(), 1, 1 + 3),
    "exp": (torch.exp, 1, 1),
    "log": (lambda x: (x * x + 1).log(), 1, 1 + 1),
    "erf": (torch.erf, 1, 1),
    "arc tangent": (torch.atan, 1, 2),
    "sigmoid": (torch.sigmoid, 1, 2),
    "tanh": (torch.tanh, 1, 2),
    "cosine": (torch.cos, 2, 2),
    "sine": (torch.sin, 2, 2),
    "softmax": (lambda x: x.softmax(-1), 1, 3),
    "log-softmax": (lambda x: x.log_softmax(-1), 1, 2),
    "silu": (F.silu, 1 + 1, 1 + 2),
    "attention": (lambda x: (x @ x.mT).softmax(-1) @ x, 1 + 1, 1 + (1 + 3)),
}
"""(function, degree, derivative degree): of f(u) that is that of u and the degree of f′; of a product both add up."""


@pytest.mark.parametrize("name", DEGREES)
def test_degrees_add_up(name: str) -> None:
    run, degree, derivative = DEGREES[name]
    calculus = Calculus(FiniteField(DEFAULT_PRIMES[0]))
    with torch.no_grad():
        y = run(wrap(calculus.variable(X.clone()), calculus))
    assert isinstance(y, WrapperTensor)
    assert (y.element.degree, y.element.derivative_degree, y.element.depends) == (degree, derivative, degree > 0)
