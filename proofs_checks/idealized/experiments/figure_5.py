"""Figure 5 and section 7: distances, cosines and components of twenty models, and of twenty that should differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.figure_5_tables import (
    aligned_table,
    shapes_table,
    told_table,
    ways_table,
    where,
)
from proofs_checks.idealized.experiments.geometry import Geometry
from proofs_checks.idealized.experiments.groups import COPIES, NORMAL, TRAINED, UNTRAINED
from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.experiments.solutions import LONGER, Run, measure
from proofs_checks.idealized.model import copy_last, parity
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series
from symgauge.experiments.suite import Experiment, Setting


def run(setting: Setting) -> Result:
    kinds = [(copy_last(), True)]
    if setting.paper:
        kinds += [(copy_last(), False), (parity(), True)]
    runs = [measure(setting, t, r, (n / len(kinds), (n + 1) / len(kinds))) for n, (t, r) in enumerate(kinds)]
    first = runs[0]
    return Result(
        key="figure-5",
        title="Geometry of twenty solutions",
        place="Figure 5, §7",
        protocol=f"{len(first.groups[0].theta)} models of Copy-Last (|V| = 2, T = 3, d = 16, L = 1, H = 2), torch "
        "defaults, Adam at 1e-3 until the mean cross-entropy is below 1e-4. The same statistics for the models before "
        "training, for gauge copies of **one** trained model (random orthogonal head matrices, ReLU factors "
        "$e^{0.3\\,N(0,1)}$, permutations, and an orthogonal map of the residual stream), and for vectors without "
        "structure. Then what no symmetry can change, pairs after alignment, and ways between the models.",
        comparisons=comparisons(first.shapes[TRAINED], {where(r): r.shapes[TRAINED] for r in runs[1:2]}),
        tables=[
            table
            for r in runs
            for table in (shapes_table(r), told_table(r), aligned_table(r), ways_table(r, 200 if setting.paper else 20))
        ],
        figures=[_figure(first)],
        settings={"seed": setting.seed, "models": len(first.groups[0].theta)},
        open_choices={
            "initialisation, optimiser, stopping": "torch defaults, since nothing else is named; Adam 1e-3, mean "
            "cross-entropy below 1e-4",
            "residual stream": "on" + ("; off, and XOR of all, beside it" if setting.paper else ""),
            "components that are not trivial": "all but the last of as many as there are models",
        },
        findings=[*_findings(first), *(_another(r) for r in runs[1:])],
    )


def comparisons(g: Geometry, choices: Mapping[str, Geometry]) -> list[Comparison]:
    p = reported

    def compared(
        quantity: str, source: float, of: Callable[[Geometry], float], factor: float, unit: str = "", note: str = ""
    ) -> Comparison:
        others = {choice: of(other) for choice, other in choices.items()}
        return Comparison(quantity, source, of(g), factor, unit, note, others)

    return [
        compared("mean norm", p.NORM, lambda x: float(x.norms.mean()), 1.1),
        compared("mean distance", p.DISTANCE, lambda x: float(x.distances.mean()), 1.1),
        compared("least distance", p.DISTANCE_LOW, lambda x: float(x.distances.min()), 1.1),
        compared("largest distance", p.DISTANCE_HIGH, lambda x: float(x.distances.max()), 1.1),
        compared("mean cosine, rounded to 0.1", p.COSINE, lambda x: abs(round(float(x.cosines.mean()), 1)), 1,
                 note=f"{float(g.cosines.mean()):.4f}"),
        compared("variance on the first component", p.FIRST, lambda x: x.first, 1.15, "%"),
        compared("on the first ten", p.TEN, lambda x: x.ten, 1.05, "%"),
        compared("on the last", p.LAST, lambda x: x.last, 1.15, "%"),
        compared("first to last", p.RATIO, lambda x: x.ratio, 1.25),
    ]  # fmt: skip


def _findings(r: Run) -> list[str]:
    cosine = {name: float(shape.cosines.mean()) for name, shape in r.shapes.items()}
    nearer = {name: float(x.after[0].mean()) for name, x in r.aligned.items()}
    line, t = r.aligned[TRAINED].straight[1], r.told[TRAINED]
    agree, attention, outside = (float(x.mean()) for x in (t.agree, t.attention, t.outside))
    idle = int((t.ablated[0] == 1).sum())
    shown = (TRAINED, UNTRAINED, COPIES)
    return [
        "The statistics of section 7 do not tell twenty solutions from twenty **untrained** models, nor from twenty "
        f"copies of **one** model: mean cosine {', '.join(f'{cosine[name]:.3f}' for name in shown)}; first component "
        f"{', '.join(f'{r.shapes[name].first:.2f}' for name in shown)} %. They follow from the initialisation.",
        f"Nor are the solutions isotropic: the first component is {r.shapes[TRAINED].ratio:.2f} times the last, and "
        f"{r.shapes[NORMAL].ratio:.2f} times for isotropic vectors.",
        f"After alignment the mean cosine is {nearer[TRAINED]:.2f} for trained models and {nearer[UNTRAINED]:.2f} for "
        f"untrained ones; copies of one model come back to {nearer[COPIES]:.4f}. On the straight lines between aligned "
        f"pairs all answers are right for {line.solving} of {len(line.accuracy)}.",
        f"{r.bent.solving} of {len(r.bent.accuracy)} pairs are joined by a bent way on which every point looked at "
        "solves the task: no sign of disconnected branches.",
        "The trained models are no copies of each other (their canonical forms are as far apart as those of untrained "
        f"models, attention patterns differ by {attention:.2f}), yet {100 * agree:.1f} % of their answers to sequences "
        f"of {LONGER} tokens, which training never showed, follow the same rule, with logits {100 * outside:.0f} % "
        f"apart, and {idle} of {len(t.agree)} answer right without any attention. That is one strategy among many "
        "parameters, as far as these measures see; section 7's cannot see either.",
    ]


def _another(r: Run) -> str:
    t, line = r.told[TRAINED], r.aligned[TRAINED].straight[1]
    same, outside = float(t.same.mean()), float(t.outside.mean())
    return (
        f"{where(r)}: {r.bent.solving} of {len(r.bent.accuracy)} pairs are joined by a bent way; all answers are right "
        f"on the straight lines between {line.solving} of {len(line.accuracy)} aligned pairs. On sequences of {LONGER} "
        f"tokens {100 * same:.0f} % of the answers of two models agree, and their logits differ by {100 * outside:.0f} "
        "%: " + ("one rule." if same > 0.99 else "beyond the inputs of the task these models are different functions.")
    )


def _figure(r: Run) -> Figure:
    shown = (TRAINED, UNTRAINED, COPIES, NORMAL)
    components = Panel(
        "principal components",
        "component",
        "share of the variance (%)",
        [
            Series(name, list(range(1, len(s.shares) + 1)), [100 * x for x in s.shares.tolist()], "line+points")
            for name, s in r.shapes.items()
            if name in shown
        ],
    )
    planes = Panel(
        "first two components",
        "component 1",
        "component 2",
        [_cloud(name, r.shapes[name]) for name in shown[:3]],
    )
    cosines = Panel(
        "pairs, as they come",
        "cosine",
        "pairs (share per bin)",
        [_histogram(name, r.shapes[name].cosines.tolist(), -0.3, 0.3) for name in shown],
    )
    after = Panel(
        "pairs, after alignment",
        "cosine",
        "pairs (share per bin)",
        [_histogram(name, x.after[0].tolist(), 0.5, 1.01) for name, x in r.aligned.items()],
    )
    caption = (
        "Above: the source's two panels, with the controls beside them. Below: cosines of pairs as they come and after "
        "one of the two was moved along its symmetries. What the source reads as many strategies, copies of one model "
        "show too."
    )
    return Figure("figure-5", caption, [components, planes, cosines, after])


def _cloud(name: str, shape: Geometry) -> Series:
    x, y = shape.plane.mT.tolist()
    return Series(name, x, y, "points")


def _histogram(name: str, values: list[float], low: float, high: float, bins: int = 40) -> Series:
    width = (high - low) / bins
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, max(0, int((value - low) / width)))] += 1
    return Series(name, [low + width * (n + 0.5) for n in range(bins)], [c / len(values) for c in counts], "steps")


EXPERIMENT = Experiment("figure-5", "Geometry of twenty solutions", on_processor(run))
