"""Table 7: the Hessian's null dimension."""

from __future__ import annotations

from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.spectrum import ROWS, TOKENS, Spectrum, spectrum
from proofs_checks.gauge.reported import CARD_BYTES, TABLE_7, ZERO_EIGENVALUE
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

# Sizes and predicted null dimension. The source leaves d_model out; F.1.2 has d = h d_v throughout.
REPORTED = [(Sizes(h, k, v, h * v), count) for h, k, v, count in TABLE_7]
PLACE = "place of the eigenvalue by size, over D"
THRESHOLD = float(ZERO_EIGENVALUE)

# The same numbers of heads and ratios d_v : d_k, narrower.
SMALL = (Sizes(4, 6, 6, 24), Sizes(8, 2, 2, 16), Sizes(12, 1, 2, 24))
PAPER = (Sizes(4, 20, 20, 80), Sizes(8, 8, 8, 64), Sizes(12, 3, 6, 72))
EXACT = (Sizes(4, 3, 3, 12), Sizes(8, 2, 2, 16), Sizes(12, 1, 2, 24))
EXACT_SMALL = (Sizes(4, 3, 3, 12), Sizes(8, 1, 1, 8), Sizes(6, 1, 2, 12))
UNSAFE = Sizes(2, 4, 4, 8)
SPREADS = (0.02, 0.05, UNSAFE.d_model**-0.5, 1.0, 2.0)


def hessian_bytes(sizes: Sizes) -> int:
    """A dense float64 Hessian."""
    return 8 * sizes.parameters**2


def exact_nullity(sizes: Sizes) -> int:
    """D − rank J in exact arithmetic at a random point, without any threshold. Raises Undecided if not settled."""
    from symgauge import Vectors, dimension
    from symgauge.architecture import Architecture
    from symgauge.errors import Undecided
    from symgauge.models.reference import ReferenceModel

    h, k, v, d = sizes
    alone = Architecture(d, h, k, v, causal=False, residual=False)
    found = dimension(ReferenceModel(alone), Vectors(3, d))
    if not (found.saturated and found.agree):
        raise Undecided(f"{sizes}: the exact rank did not settle")
    return found.nullity


def threshold_counts(seed: int, device: str = "cpu") -> list[tuple[float, Spectrum]]:
    """Weight scale and spectrum, at a size where everything is quick."""
    return [(spread, spectrum(UNSAFE, spread, seed, device)) for spread in SPREADS]


def run(setting: Setting) -> Result:
    exact_sizes = EXACT if setting.paper else EXACT_SMALL
    exact = []
    for number, sizes in enumerate(exact_sizes):
        setting.tick(f"exact rank, {sizes}", 0.2 * number / len(exact_sizes))
        exact.append((sizes, exact_nullity(sizes)))
    spectra = []
    for number, sizes in enumerate(PAPER if setting.paper else SMALL):

        def tick(share: float, sizes: Sizes = sizes, number: int = number) -> None:
            setting.tick(f"spectrum, {sizes}", 0.2 + 0.7 * (number + share) / 3)

        spectra.append(spectrum(sizes, sizes.d_model**-0.5, setting.seed, setting.device, tick))
    setting.tick("threshold", 0.9)
    unsafe = threshold_counts(setting.seed, setting.device)
    counted = all(nullity == sizes.gauge for sizes, nullity in exact) and all(
        s.nullity == s.sizes.gauge for s in spectra
    )
    wrong = [f"{spread:.3g}" for spread, s in unsafe if {s.below(THRESHOLD), s.below(THRESHOLD, True)} != {s.nullity}]
    return Result(
        key="table-7",
        title="Null dimension of the Hessian",
        place="Table 7, F.5.1",
        protocol=f"Teacher = student, so that the point is critical exactly and the Hessian of the squared loss is "
        f"$J^\\top J$ / outputs. Sequences of {TOKENS} tokens, {ROWS} outputs per parameter, float64, full spectrum; "
        "the null dimension is where neighbouring eigenvalues have their widest ratio. Beside it, the exact rank of "
        "$J$ modulo two primes at a random point.",
        comparisons=_comparisons(),
        tables=[_exact_table(exact), _spectra_table(spectra), _threshold_table(unsafe)],
        figures=[_figure(spectra, unsafe)],
        settings={"seed": setting.seed, "tokens": TOKENS, "outputs per parameter": ROWS},
        open_choices={
            "loss, data, number of inputs": "squared error to a teacher with the same weights, inputs N(0, 1)",
            "how critical points were found": "teacher = student",
            "$d_{\\text{model}}$": "$h d_v$, as in F.1.2",
            "weight scale": "$1/\\sqrt{d}$; its influence is in the last table",
            "normalisation of the loss": "mean of squares / 2; the last table has the sum too",
        },
        findings=[
            "The formula $h(d_k^2+d_v^2)$ gives the reported predictions, and is "
            + ("exact" if counted else "**not always** exact")
            + " at every width that was computed, in exact arithmetic and in the spectrum.",
            "The reported observations cannot have come from a dense Hessian on the card named: it needs "
            + ", ".join(f"{hessian_bytes(s) / 1e12:.3g}" for s, _ in REPORTED)
            + " TB, the card has 0.095 TB. No other method is described, and counting 245,760 zeros among "
            f"{REPORTED[2][0].parameters:,} eigenvalues needs one that sees them all.",
            "An absolute threshold of $10^{-11}$ is unsafe: it counts "
            + (f"wrongly at weight scale {', '.join(wrong)} of {len(unsafe)} tried" if wrong else "correctly here")
            + ", for the mean or for the summed loss. A gap is independent of both.",
        ],
    )


def _comparisons() -> list[Comparison]:
    predicted = [Comparison(f"predicted, {sizes}", count, sizes.gauge, factor=1) for sizes, count in REPORTED]
    observed = [
        Comparison(
            f"observed, {sizes}",
            count,
            None,
            factor=1,
            note=f"the dense Hessian takes {hessian_bytes(sizes) / 1e12:.3g} TB, the card named has "
            f"{CARD_BYTES / 1e12:.3g}, and no other method is described",
        )
        for sizes, count in REPORTED
    ]
    return [*predicted, *observed]


def _exact_table(exact: list[tuple[Sizes, int]]) -> Table:
    rows = [[str(s), s.parameters, s.gauge, nullity] for s, nullity in exact]
    return Table(
        "Exact null dimension at small widths",
        ["layer", "parameters", "predicted", "exact"],
        rows,
        note="Two primes, as many inputs as it takes for the rank to settle.",
    )


def _spectra_table(spectra: list[Spectrum]) -> Table:
    rows = []
    for s in spectra:
        found = s.rank
        summed = 2 * s.outputs * s.largest_zero
        zeros = [s.largest_zero, summed, s.smallest_kept, float(f"{found.gap:.2g}")]
        rows.append([str(s.sizes), s.sizes.parameters, s.sizes.gauge, s.nullity, *zeros])
    columns = ["layer", "parameters", "predicted", "by the gap", 'largest "zero"', "summed loss", "smallest other"]
    note = (
        'The reported largest "zeros" are $8.91$ to $10.2 \\times 10^{-13}$, at other widths and an unstated '
        "normalisation. The gap is taken above the rounding level $\\varepsilon \\lambda_{\\max}$."
    )
    return Table("Spectrum in float64", [*columns, "gap"], rows, note=note)


def _threshold_table(unsafe: list[tuple[float, Spectrum]]) -> Table:
    rows = [
        [
            spread,
            s.sizes.gauge,
            s.nullity,
            s.below(THRESHOLD),
            s.below(THRESHOLD, summed=True),
            s.largest_zero,
            s.smallest_kept,
        ]
        for spread, s in unsafe
    ]
    counts = ["predicted", "by the gap", "below $10^{-11}$, mean loss", "below $10^{-11}$, summed loss"]
    columns = ["weight scale", *counts, 'largest "zero", mean loss', "smallest other, mean loss"]
    return Table(f"The threshold of the source ({UNSAFE}, {UNSAFE.parameters} parameters)", columns, rows)


def _figure(spectra: list[Spectrum], unsafe: list[tuple[float, Spectrum]]) -> Figure:
    return Figure(
        "table-7",
        "Eigenvalues of the Hessian at an exact critical point, by size. Left: layers with the heads of Table 7; the "
        "drop lies where the gauge group says (vertical lines: $D - h(d_k^2+d_v^2)$, as shares of $D$). Right: one "
        "small layer at several weight scales; the threshold "
        "$10^{-11}$ cuts through eigenvalues that are not zero, and the drop stays where it is.",
        [_left(spectra), _right(unsafe)],
    )


def _curve(label: str, s: Spectrum, factor: float = 1.0) -> Series:
    """At most some 400 points; all of those around the drop."""
    count, step, drop = len(s.values), max(1, len(s.values) // 300), len(s.values) - s.sizes.gauge
    at = sorted({*range(0, count, step), *range(max(0, drop - 3), min(count, drop + 3)), count - 1})
    floor = 1e-22
    return Series(label, [i / count for i in at], [max(floor, factor * float(s.values[i])) for i in at])


def _left(spectra: list[Spectrum]) -> Panel:
    curves = [_curve(f"{s.sizes} (D = {s.sizes.parameters})", s) for s in spectra]
    marks = {f"h = {s.sizes.heads}": 1 - s.sizes.gauge / s.sizes.parameters for s in spectra}
    levels = {"threshold of the source": THRESHOLD}
    return Panel(
        "at weight scale 1/√d",
        PLACE,
        "eigenvalue",
        curves,
        "linear",
        "log",
        levels,
        marks,
    )


def _right(unsafe: list[tuple[float, Spectrum]]) -> Panel:
    mean = [_curve(f"weights ~ {spread:.2g}, mean loss", s) for spread, s in unsafe[:3]]
    spread, last = unsafe[-1]
    summed = _curve(f"weights ~ {spread:.2g}, summed loss", last, 2 * last.outputs)
    marks = {"D − h(d_k² + d_v²)": 1 - UNSAFE.gauge / UNSAFE.parameters}
    levels = {"threshold of the source": THRESHOLD}
    title = f"{UNSAFE} (D = {UNSAFE.parameters})"
    return Panel(title, PLACE, "eigenvalue", [*mean, summed], "linear", "log", levels, marks)


EXPERIMENT = Experiment("table-7", "Null dimension of the Hessian", run)
