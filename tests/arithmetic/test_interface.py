"""Rules use what the interface of arithmetics has, all of it and nothing else, and both arithmetics have it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from symgauge.arithmetic import rules
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.arithmetic.interface import Arithmetic, Element, RunEnded, Watcher
from symgauge.arithmetic.multiprecision import Multiprecision
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.arithmetic.record import Record
from symgauge.arithmetic.traced_value import Calculus
from symgauge.arithmetic.wrapper_tensor import wrap

NAMES = {"c", "calculus"}
"""What rules call the arithmetic that they are given."""
BOTH = pytest.mark.parametrize("make", [lambda: Calculus(FiniteField(DEFAULT_PRIMES[0])), lambda: Multiprecision(30)])


def test_rules_use_the_interface_and_nothing_else() -> None:
    folder = Path(rules.__file__).parent
    used = {
        node.attr
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in NAMES
    }
    offered = {name for name in vars(Arithmetic) if not name.startswith("_")} - {"watched_by"}
    assert used == offered | {"watcher"}


@BOTH
def test_every_operation_is_there(make) -> None:
    c = make()
    x = c.lift(torch.tensor([[0.5, 2.0], [0.25, 4.0]], dtype=torch.float64))
    one = c.number(1)
    found = {
        "add": c.add(x, one, 2), "sub": c.sub(x, one), "neg": c.neg(x), "scale": c.scale(x, 0.5),
        "divide_by_count": c.divide_by_count(x, 4), "mul": c.mul(x, x), "matmul": c.matmul(x, x), "sum": c.sum(x, [0]),
        "cumsum": c.cumsum(x, 1), "mean": c.mean(x, [0, 1]), "reciprocal": c.reciprocal(x), "div": c.div(one, x),
        "sqrt": c.sqrt(x), "rsqrt": c.rsqrt(x), "exp": c.exp(x), "log": c.log(x), "erf": c.erf(x), "atan": c.atan(x),
        "sigmoid": c.sigmoid(x), "tanh": c.tanh(x), "cos": c.cos_sin(x)[0], "softmax": c.softmax(x, 1),
        "log_softmax": c.log_softmax(x, 1), "select": c.select(x.reference > 1, x, one),
        "gather": c.gather(lambda t: t.mT, x),
        "concatenate": c.concatenate(lambda parts: torch.cat([*parts]), [x, x]), "expand": c.expand(one, (3, 2)),
    }  # fmt: skip
    y = x.reference
    expected = {
        "add": y + 2, "sub": y - 1, "neg": -y, "scale": y / 2, "divide_by_count": y / 4, "mul": y * y, "matmul": y @ y,
        "sum": y.sum(0), "cumsum": y.cumsum(1), "mean": y.mean(), "reciprocal": 1 / y, "div": 1 / y, "sqrt": y.sqrt(),
        "rsqrt": y.rsqrt(), "exp": y.exp(), "log": y.log(), "erf": y.erf(), "atan": y.atan(), "sigmoid": y.sigmoid(),
        "tanh": y.tanh(), "cos": y.cos(), "softmax": y.softmax(1), "log_softmax": y.log_softmax(1),
        "select": y.where(y > 1, torch.ones_like(y)), "gather": y.mT, "concatenate": torch.cat([y, y]),
        "expand": torch.ones(3, 2, dtype=torch.float64),
    }  # fmt: skip
    for name, element in found.items():
        assert isinstance(element, Element)
        torch.testing.assert_close(element.reference, expected[name], msg=name)


def test_an_arithmetic_that_lacks_an_operation_is_none() -> None:
    class Poor(Arithmetic[Element]):
        def neg(self, a: Element) -> Element:
            return a

    with pytest.raises(TypeError, match="abstract method"):
        Poor()  # type: ignore[abstract]


@BOTH
def test_a_watcher_hears_and_nobody_else_does(make) -> None:
    class Ear(Watcher):
        def __init__(self) -> None:
            self.entries: list[int] = []

        def made(self, entries: int) -> None:
            self.entries.append(entries)
            if len(self.entries) == 3:
                raise RunEnded

    plain, ear = make(), Ear()
    watched = plain.watched_by(ear)
    x = wrap(watched.lift(torch.ones(2, 3, dtype=torch.float64)), watched)
    assert ear.entries == [6]
    y = x.sum(0)
    assert ear.entries == [6, 3]
    with pytest.raises(RunEnded):
        y * 2
    wrap(plain.lift(torch.ones(2, 3)), plain) * 2
    assert len(ear.entries) == 3


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda x: x.sqrt() / x + x**3, set()),
        (torch.exp, {"exp"}),
        (torch.tanh, {"exp"}),
        (torch.sigmoid, {"exp"}),
        (lambda x: x.softmax(-1), {"exp"}),
        (torch.log, {"log"}),
        (torch.erf, {"erf"}),
        (torch.atan, {"atan"}),
        (torch.cos, {"sin"}),
        (torch.asin, {"atan"}),
    ],
)
def test_functions_whose_values_are_hashes_are_told(run: Callable[[Tensor], Tensor], told: set[str]) -> None:
    record, calculus = Record(), Calculus(FiniteField(DEFAULT_PRIMES[0]))
    watched = calculus.watched_by(record)
    with torch.no_grad():
        run(wrap(watched.variable(torch.tensor([0.25, 0.5], dtype=torch.float64)), watched))
        torch.erf(wrap(calculus.number(2), calculus))
    assert record.functions == told
