"""Everything that is measured on the twenty models of Figure 5 and on their controls."""

from __future__ import annotations

from dataclasses import dataclass

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.geometry import Geometry, geometry, pairs
from proofs_checks.idealized.experiments.groups import (
    COPIES,
    TRAINED,
    UNTRAINED,
    Aligned,
    Group,
    Told,
    align_pairs,
    groups,
    leaving,
    told,
)
from proofs_checks.idealized.experiments.paths import Along, along, bent
from proofs_checks.idealized.model import Task, architecture
from symgauge.experiments.suite import Setting

LONGER = 6  # tokens of the sequences off the task
ALIGNED = 8  # models of which all pairs are aligned at the small scale
BENDING = {"Copy-Last": 250, "XOR of all": 1000}  # training steps of the ways between models
STEPS = (0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False)
class Run:
    """What was measured for one task and one setting of the residual stream."""

    task: Task
    residual: bool
    groups: list[Group]
    shapes: dict[str, Geometry]
    told: dict[str, Told]
    aligned: dict[str, Aligned]
    straight: Along
    bent: Along
    leaving: list[int]


def measure(setting: Setting, task: Task, residual: bool, share: tuple[float, float]) -> Run:
    """share: where in the whole this part begins and ends, for the report of progress."""
    begin, end = share
    name = f"{task.name}, residual stream {'on' if residual else 'off'}"

    def tick(what: str, part: float) -> None:
        setting.tick(f"{name}: {what}", begin + (end - begin) * part)

    a = architecture(residual=residual)
    tick("training", 0.0)
    found = groups(a, task, setting.seeds or reported.MODELS, setting.seed)
    named = {group.name: group.theta for group in found}
    tick("what symmetries cannot change", 0.1)
    measures = {name: told(a, named[name], task, LONGER) for name in (TRAINED, UNTRAINED, COPIES)}
    count = len(named[TRAINED]) if setting.paper else min(ALIGNED, len(named[TRAINED]))
    near = {}
    for number, group in enumerate((TRAINED, UNTRAINED, COPIES)):
        near[group] = align_pairs(
            a,
            named[group][:count],
            task,
            tick=lambda s, n=number: tick("alignment", 0.15 + 0.15 * (n + s)),  # type: ignore[misc]
        )
    i, j = pairs(len(named[TRAINED]))
    one, two = named[TRAINED][i], named[TRAINED][j]
    steps = BENDING[task.name] if setting.paper else 150
    control = bent(a, one, two, task, steps, seed=setting.seed, tick=lambda s: tick("paths", 0.6 + 0.3 * s))
    points = 401 if setting.paper else 51
    return Run(
        task,
        residual,
        found,
        {group.name: geometry(group.theta) for group in found},
        measures,
        near,
        along(a, one, (one + two) / 2, two, task, 101 if setting.paper else 51),
        along(a, one, control, two, task, points),
        [leaving(a, named[TRAINED], task, size, 200 if setting.paper else 20) for size in STEPS],
    )
