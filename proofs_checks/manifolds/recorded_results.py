"""Results of the experiments on record, looked up by experiment and quantity."""

from __future__ import annotations

from functools import cache

from symgauge.experiments.deciding import WHERE, provenance
from symgauge.experiments.record import recorded
from symgauge.experiments.result import Result, Table

SCALES = ("small", "paper")
"""Of the recorded experiments: small ones that take minutes, and the source's own sizes, which decide."""


@cache
def experiment(key: str, scale: str = "small") -> Result:
    """The recorded result; `symgauge reproduce manifolds --scale ...` measures it again."""
    return recorded("manifolds")[scale].runs[key].result


def measured(key: str, quantity: str, scale: str = "small") -> float:
    """Our number of a comparison, by the start of its name."""
    found = experiment(key, scale).comparison(quantity).ours
    assert found is not None
    return float(found)


def table(key: str, title: str, scale: str = "small") -> Table:
    """A table of an experiment, by the start of its title."""
    return experiment(key, scale).table(title)


def where(key: str, *scales: str) -> dict[str, str]:
    """The figure that says where a result is from, for the evidence that rests on it."""
    return {WHERE: "; ".join(provenance(scale, recorded("manifolds")[scale].runs[key]) for scale in scales)}
