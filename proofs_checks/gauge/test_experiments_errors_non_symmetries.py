"""Table 4: how much the maps outside the group change, as F.3.2 constructs them and otherwise."""

from __future__ import annotations

from proofs_checks.gauge.experiments.distribution import Distribution
from proofs_checks.gauge.experiments.subject import SMALL_SPREAD
from proofs_checks.gauge.reported import TABLE_4
from proofs_checks.gauge.small_samples import ELEMENTS, MEDIUM, SMALL, blocks, drawn, mixed, rotated
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.experiments.deciding import record_outcome

CROSS = next(iter(TABLE_4))


def near(found: Distribution, reported: str) -> float:
    """The largest factor between our and the reported median, percentile and maximum."""
    ratios = [ours / float(text) for ours, text in zip(found.quantiles(), TABLE_4[reported], strict=True)]
    return round(max(max(r, 1 / r) for r in ratios), 1)


@checks("tab-4a", "sec6-7")
def test_cross_head_mixing(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    layers = [drawn(SMALL), drawn(MEDIUM)]
    expected = [0.1 * ((s.sizes.heads - 1) / s.sizes.d_v) ** 0.5 for s in layers]
    alone = [mixed(s, "frobenius", False).median for s in layers]
    off = [round(abs(found / formula - 1), 1) for found, formula in zip(alone, expected, strict=True)]
    among = [rotated(s, "heads back") for s in layers]
    evidence.numeric(
        r"uncompensated, relative distance from $0.1\sqrt{(h-1)/d_v}$; an orthogonal matrix among the heads, factor "
        r"from the reported row",
        on="correction",
        figures={
            "Small": at_most(off[0], 0.25),
            "Medium": at_most(off[1], 0.25),
            "orthogonal": at_most(max(near(found, CROSS) for found in among), 1.25),
        },
        cases=4 * layers[0].inputs.shape[0] * ELEMENTS,
    )
    unit = [mixed(s, "entries", False).median for s in layers]
    evidence.control("unit entries do change by order one", figures={"change": at_least(round(min(unit), 1), 1.0)})


@checks("tab-4b")
def test_blocks_under_rotary(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    flat, steep = drawn(SMALL, SMALL_SPREAD), drawn(SMALL)
    every = [blocks(s, law).median for s in (flat, steep) for law in ("near", "positive", "gaussian")]
    evidence.numeric(
        "medians under three laws of the blocks and two scales of the weights",
        on="correction",
        figures={"largest / smallest": at_least(float(f"{max(every) / min(every):.0e}"), 100)},
        cases=len(every) * flat.inputs.shape[0] * ELEMENTS,
    )
    evidence.control(
        "blocks $aI+bJ$ commute with the rotations and change nothing",
        figures={"change": at_most(float(f"{blocks(steep, 'commuting').maximum:.0e}"), 1e-14)},
    )


@checks("tab-4c")
def test_orthogonal_everywhere(evidence: EvidenceLog) -> None:
    layers = [drawn(SMALL), drawn(MEDIUM), drawn(SMALL, SMALL_SPREAD)]
    readings = ("everywhere", "in and back", "values", "values back")
    medians = [rotated(s, r).median for s in layers for r in readings]
    record_outcome(evidence)
    evidence.numeric(
        r"four readings, two configurations, two weight scales: largest relative distance of the medians from $\sqrt2$",
        on="correction",
        figures={"distance": at_most(round(max(abs(m / 2**0.5 - 1) for m in medians), 2), 0.05)},
        cases=len(medians) * layers[0].inputs.shape[0] * ELEMENTS,
    )
    among = max(rotated(s, "heads back").median for s in layers[:2])
    evidence.control(
        "among the joined heads and undone, the outputs stay related", figures={"change": at_most(round(among, 1), 1.2)}
    )
