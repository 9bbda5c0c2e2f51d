"""The worked LayerNorm example of C.3, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

from proofs_checks.gauge.reported import exact, interval, read
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
    reported = {
        first: (*read(rf"\mu({point}) = {first}/768 \approx {mean}"), *read(rf"\approx {deviation}"))
        for first, point, mean, deviation in ((2, "Mx_1", "0.0026", "0.0721"), (1, "x_1", "0.0013", "0.0361"))
    }
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
    moved = read(r"The first component of LN($Mx_1$) equals $(2-2/768)/0.0721 \approx 27.71$")[1]
    start = read(r"The first component equals $(1 - 1/768)/0.0361 \approx 27.67$")[1]
    evidence.audit(
        "(66) is twice (68), so the two quotients are one number", figures={"first components": equal(moved, start)}
    )
    factor, doubled = read(r"first component $2 \times 27.67 = 55.34$")
    evidence.control(
        "the product is that of the reported number",
        kind="audit",
        figures={"2 ×": equal(str(2 * exact(factor)), str(exact(doubled)))},
    )
    for first, text in ((2, moved), (1, start)):
        low, high = interval(text)
        evidence.audit(f"the exact number, rounded, against {text}", low**2 <= squared_output(first) <= high**2)
    squares = {"LN(Mx)": equal(str(squared_output(2)), "767"), "LN(x)": equal(str(squared_output(1)), "767")}
    evidence.exact("squares of the first components", on="correction", figures=squares)
    low, high = interval("27.69")
    twice_low, twice_high = interval("55.39")
    evidence.exact(
        "$\\sqrt{767}$ and its double, rounded",
        low**2 <= 767 <= high**2 and twice_low**2 <= 4 * 767 <= twice_high**2,
        on="correction",
    )
