"""The worked LayerNorm example of C.3, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.gauge.reported import interval
from symgauge.claims import EvidenceLog, checks, equal

WIDTH = 768


def moments(first: int) -> tuple[Fraction, Fraction]:
    """Mean and variance of the vector (first, 0, ..., 0)."""
    mean = Fraction(first, WIDTH)
    return mean, ((first - mean) ** 2 + (WIDTH - 1) * mean**2) / WIDTH


def squared_output(first: int) -> Fraction:
    """The square of the first component of LN(first, 0, ..., 0), without gain, offset and epsilon, as in (63)."""
    mean, variance = moments(first)
    return (first - mean) ** 2 / variance


@checks("eq-65..68")
def test_moments(evidence: EvidenceLog) -> None:
    reported = {2: ("0.0026", "0.0721"), 1: ("0.0013", "0.0361")}
    for first, (mean_text, deviation_text) in reported.items():
        mean, variance = moments(first)
        low, high = interval(deviation_text)
        evidence.exact(
            f"the mean rounds to {mean_text}, and the variance lies between the squares that round to {deviation_text}",
            interval(mean_text)[0] <= mean <= interval(mean_text)[1] and low**2 <= variance <= high**2,
            figures={"mean": str(mean), "variance": str(variance)},
        )


@checks("C.3-val")
def test_values(evidence: EvidenceLog) -> None:
    evidence.audit(
        "(66) is twice (68), so the two quotients are one number",
        figures={"first components": equal("27.71", "27.67")},
    )
    for first, text in ((2, "27.71"), (1, "27.67")):
        low, high = interval(text)
        evidence.audit(f"the number rounds to {text}", low**2 <= squared_output(first) <= high**2)
    squares = {"LN(Mx)": equal(str(squared_output(2)), "767"), "LN(x)": equal(str(squared_output(1)), "767")}
    evidence.exact("squares of the first components", on="correction", figures=squares)
    low, high = interval("27.69")
    twice_low, twice_high = interval("55.39")
    evidence.exact(
        "$\\sqrt{767}$ and its double, rounded",
        low**2 <= 767 <= high**2 and twice_low**2 <= 4 * 767 <= twice_high**2,
        on="correction",
    )
