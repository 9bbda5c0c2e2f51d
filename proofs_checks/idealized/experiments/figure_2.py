"""Figure 2: the null dimension against the size of the model, of the rows and of the parameters."""

from __future__ import annotations

from proofs_checks.idealized.experiments.processor import on_processor
from proofs_checks.idealized.experiments.spaces import mean_and_spread, predicted_left, spaces
from proofs_checks.idealized.experiments.table_1 import parameters, symmetries
from proofs_checks.idealized.model import Protocol, architecture, copy_last, initial, train
from proofs_checks.idealized.reported import FIGURE_2, FIGURE_2_NULL
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

PROTOCOL = Protocol(rate=1e-3, loss=1e-4, steps=10_000)
# Width and heads: d_k = 8 throughout, as "proportionally scaled head counts" suggests; and two heads at d = 8.
SIZES = ((8, 1), (8, 2), (16, 2), (24, 3), (32, 4))
PROPORTIONAL = tuple((d, h) for d, h in SIZES if d == 8 * h)


def run(setting: Setting) -> Result:
    count = setting.seeds or 8
    task, rows, means, right = copy_last(), [], {}, {}
    predicted_right = 0
    for number, (d, heads) in enumerate(SIZES):
        setting.tick(f"d = {d}, H = {heads}", number / len(SIZES))
        a = architecture(d, heads)
        trained = train(a, task, initial(a, range(setting.seed, setting.seed + count)), PROTOCOL)
        s = spaces(a, trained.theta, task.inputs)
        predicted = [predicted_left(a, one, task.inputs) for one in trained.theta]
        predicted_right += sum(p == int(n) for p, n in zip(predicted, s.left, strict=True))
        means[d, heads] = mean_and_spread(s.left)
        right[d, heads] = mean_and_spread(s.right)[0]
        counts = sorted(set(s.left.tolist()))
        rows.append(
            [
                f"d={d}, H={heads}",
                s.parameters,
                f"{int(trained.solved.sum())}/{count}",
                f"{means[d, heads][0]:.3g} ± {means[d, heads][1]:.2g}",
                ", ".join(map(str, counts)),
                ", ".join(map(str, sorted(set(predicted)))),
                right[d, heads],
                symmetries(d, 1, heads),
            ]
        )
    columns = ["model", "P", "solved", "rows − rank", "values", "from ReLU patterns", "P − rank", "equation (5)"]
    ends = (f"{right[s]:,.0f}" for s in ((8, 2), (32, 4)))
    one_head = means[8, 1]
    return Result(
        key="figure-2",
        title="Null dimension against the size of the model",
        place="Figure 2, §5.3",
        protocol=f"Copy-Last, |V| = 2, T = 3, {count} seeds per size, Adam at 1e-3 until the mean cross-entropy is "
        "below 1e-4. Both null dimensions of the Jacobian of all logits on all inputs.",
        comparisons=[
            *(
                Comparison(f"parameters at d={d}", reported, parameters(d, 1, 2), factor=1)
                for d, reported in FIGURE_2.items()
            ),
            *(
                Comparison(f"null dimension of the rows, d={d}, H={h}", FIGURE_2_NULL, means[d, h][0], factor=1)
                for d, h in PROPORTIONAL
            ),
        ],
        tables=[
            Table(
                "Both null dimensions",
                columns,
                rows,
                note="From ReLU patterns: if all T classes of a query token switch on the same neurons, its 2T logits "
                f"depend on 2 + 3H numbers only. This rule gives rows − rank in {predicted_right} of "
                f"{count * len(SIZES)} runs.",
            )
        ],
        figures=[_figure(means, right)],
        settings={"seed": setting.seed, "seeds": count},
        open_choices={"heads at each width": "d / 8, and 2 at d = 8 beside it"},
        findings=[
            "With two or more heads the reported count is 4 at every width; with one head at d = 8 it is "
            f"{one_head[0]:.3g} on average. It counts repeated rows, which depend on |V| and T alone, and in the last "
            "case also a query token whose inputs all fall on one linear piece.",
            f"The dimension of the solution set grows with the model, from {' to '.join(ends)}: it is P minus a number "
            "that the task sets, so it is set by capacity.",
        ],
    )


def _figure(means: dict[tuple[int, int], tuple[float, float]], right: dict[tuple[int, int], float]) -> Figure:
    widths = [d for d, _ in PROPORTIONAL]
    sizes = [parameters(d, 1, 2) for d in widths]
    two = [(d, h) for d, h in SIZES if h > 1]
    left = Panel(
        "what the source counts",
        "parameters P",
        "rows − rank, mean over seeds",
        [
            Series("H = d / 8", sizes, [means[s][0] for s in PROPORTIONAL], "line+points"),
            Series("H = 2 at d = 8", [parameters(8, 1, 2)], [means[8, 2][0]], "points"),
        ],
        "log",
        levels={"reported": FIGURE_2_NULL},
    )
    true = Panel(
        "dimension of the solution set",
        "parameters P",
        "free directions",
        [
            Series("P − rank", [parameters(d, 1, 2) for d, _ in two], [right[s] for s in two], "line+points"),
            Series("equation (5), H = d / 8", sizes, [symmetries(d, 1, h) for d, h in PROPORTIONAL], "line+points"),
        ],
        "log",
        "log",
        {"reported": FIGURE_2_NULL},
    )
    caption = (
        "Left: the number that the source follows, rows without effect. Right: directions of parameters that move no "
        "logit, always more than the symmetries that equation (5) counts."
    )
    return Figure("figure-2", caption, [left, true])


EXPERIMENT = Experiment("figure-2", "Null dimension against the size of the model", on_processor(run))
