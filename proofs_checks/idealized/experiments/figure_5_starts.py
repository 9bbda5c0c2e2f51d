"""Section 7's numbers from other initialisations than torch's defaults, since the source names none."""

from __future__ import annotations

import torch

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.figure_5 import comparisons
from proofs_checks.idealized.experiments.geometry import COLUMNS, Geometry, geometry
from proofs_checks.idealized.experiments.groups import PROTOCOL, SPARE
from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.model import architecture, copy_last, initial, train
from proofs_checks.idealized.model.model import Start
from symgauge.errors import InvalidInput, Undecided
from symgauge.experiments.result import Result, Table
from symgauge.experiments.suite import Experiment, Setting

TITLE = "Geometry of twenty solutions, other initialisations"
STARTS: dict[Start, str] = {"xavier": "Xavier, uniform", "normal": "N(0, 0.1²) for all weights"}


def run(setting: Setting) -> Result:
    count = setting.seeds or reported.MODELS
    if count < 3:
        raise InvalidInput(f"the geometry of {count} models says nothing; ask for at least 3 (--seeds)")
    shapes: dict[str, tuple[Geometry, Geometry]] = {}
    for number, (how, name) in enumerate(STARTS.items()):
        setting.tick(name, number / len(STARTS))
        shapes[name] = _trained_and_not(how, count, setting.seed)
    first, *others = ((name, trained) for name, (trained, _) in shapes.items())
    return Result(
        key="figure-5-starts",
        title=TITLE,
        place="Figure 5, §7",
        protocol=f"As Figure 5, {count} models of Copy-Last with a residual stream, from other initialisations than "
        "torch's defaults: " + "; ".join(STARTS.values()) + ".",
        comparisons=comparisons(first[1], dict(others)),
        tables=[
            Table(
                "Section 7's statistics (Copy-Last, residual stream on)",
                ["twenty vectors", *COLUMNS],
                [
                    [f"{name}: {what}", *shape.row()]
                    for name, both in shapes.items()
                    for what, shape in zip(("trained", "untrained"), both, strict=True)
                ],
            )
        ],
        settings={"seed": setting.seed, "models": count},
        open_choices={"initialisation": f"{first[0]}, and " + ", ".join(name for name, _ in others)},
        findings=[
            "Norms, distances and shares of variance are those of the initialisation: mean norm "
            + ", ".join(f"{float(trained.norms.mean()):.2f} ({name})" for name, (trained, _) in shapes.items())
            + f", reported {reported.NORM}."
        ],
    )


def _trained_and_not(how: Start, count: int, seed: int) -> tuple[Geometry, Geometry]:
    """Of the first models that learn the task, after training and before. Raises Undecided where too few learn."""
    a = architecture()
    start = initial(a, range(seed, seed + count + max(1, count // SPARE)), how)
    result = train(a, copy_last(), start, PROTOCOL)
    good = torch.nonzero(result.solved).flatten()[:count]
    if len(good) < count:
        raise Undecided(f"only {len(good)} of {len(start)} models learnt the task; {count} are needed")
    return geometry(result.theta[good]), geometry(start[good])


EXPERIMENT = Experiment("figure-5-starts", TITLE, on_processor(run))
