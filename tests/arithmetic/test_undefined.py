"""What rests on a value that could not be taken (a root that does not exist) is marked, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import symgauge.arithmetic.rules  # noqa: F401
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import WrapperTensor, wrap
from tests.arithmetic import cases
from tests.arithmetic.test_rules import CASES, Case, X

ALL = {**CASES, **cases.CASES}
COARSE = {
    # Derivatives that are zero by chance or by convention, where the value depends all the same.
    "inverse at the identity", "rnn", "straight through", "signs and sides",
    # More than must be is marked.
    "sdpa without choosing a kernel", "mha masks", "atan2", "solve_triangular",
}  # fmt: skip


def marked(run: Case, entry: int | None, prime: int = DEFAULT_PRIMES[0]) -> Tensor:
    """Where the result is marked if that entry of the input is."""
    calculus = Calculus(FiniteField(prime))
    x = calculus.variable(X.clone())
    if entry is not None:
        x = replace(x, undefined=(torch.arange(X.numel()) == entry).reshape(X.shape))
    with torch.no_grad():
        y = run(wrap(x, calculus))
    assert isinstance(y, WrapperTensor)
    return (
        torch.zeros(y.element.shape, dtype=torch.bool)
        if y.element.undefined is None
        else y.element.undefined.expand(y.element.shape)
    )


@pytest.mark.parametrize("name", ALL)
def test_marked_is_what_depends_on_a_marked_entry(name: str) -> None:
    """Seen from torch's own derivatives; what failed by itself is marked besides."""
    slopes = torch.autograd.functional.jacobian(ALL[name], X)
    depends = (slopes != 0).reshape(*slopes.shape[:-3], X.numel())
    failed = marked(ALL[name], None)
    for entry in (0, 7, 23):
        found, expected = marked(ALL[name], entry), depends[..., entry] | failed
        assert not bool((expected & ~found).any())
        assert name in COARSE or torch.equal(found, expected)


def test_a_softmax_row_whose_sum_is_zero_is_marked_besides() -> None:
    """Modulo a small prime that is often so."""

    def run(x: Tensor) -> Tensor:
        return torch.softmax(torch.cat([x * i for i in range(1, 60)]), -1)

    by_itself, after = (marked(run, entry, prime=23).all(-1) for entry in (None, 5))
    assert int(by_itself.sum()) > 2
    rests = torch.zeros_like(by_itself)
    rests[::2, 1] = True
    assert torch.equal(after, by_itself | rests)


def test_the_logarithm_of_a_masked_weight_is_minus_infinity_and_not_unknown() -> None:
    """Zero in float64 is a mask; zero modulo a prime alone, as p is, is bad luck."""
    prime = DEFAULT_PRIMES[0]
    calculus = Calculus(FiniteField(prime))
    found = calculus.log(calculus.lift(torch.tensor([0.0, 1.0, float(prime)], dtype=torch.float64)))
    assert found.undefined is not None
    assert found.undefined.tolist() == [False, False, True]
