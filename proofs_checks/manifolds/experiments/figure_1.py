"""Figure 1: the dimension of the path of each weight matrix, beside paths without a task and gauge-moved paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.experiments import gauges, runs
from proofs_checks.manifolds.marked_sum import Trajectory
from proofs_checks.manifolds.trajectories import components, random_walk_spectrum, rank_at, spectrum
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

FREE, SCALED = "a new element at each snapshot", "elements that grow"
KEPT = (1, 2, 3, 4, 6, 8, 12, 20)  # components onto which the final weights are projected
R90 = "r90: components with 90 % of the variance"
GROWTH = 1e3  # by which the scalar gauge elements grow
NAMES = (*gauges.RAW, *gauges.INVARIANT, *gauges.BALANCE)
Ranks = Mapping[str, Tensor]


def ranks(run: Trajectory, last: int | None = None) -> Ranks:
    """Quantity → r90 (layers, S) of the path, or of its first `last` snapshots."""
    found: dict[str, list[list[int]]] = {name: [] for name in NAMES}
    for layer in range(run.sizes.layers):
        for name, path in gauges.quantities(run, layer).items():
            found[name].append([rank_at(spectrum(path[:last, s])) for s in range(path.shape[1])])
    return {name: torch.tensor(value) for name, value in found.items()}


def moved(run: Trajectory, qk: Tensor, vo: Tensor) -> Trajectory:
    """The run with gauge elements (n, S or 1, layers, h, d_k, d_k) at its snapshots, in float64."""
    theta = gauges.act(run.sizes, run.theta.double(), qk.to(run.theta.device), vo.to(run.theta.device))
    return Trajectory(run.sizes, run.protocol, run.tasks, run.seeds, run.steps, theta, run.loss)


def controls(run: Trajectory, setting: Setting) -> dict[str, Trajectory]:
    """The same functions at every snapshot on other paths: a new element each time; elements that grow."""
    generator = torch.Generator().manual_seed(setting.seed)
    n, seeds = run.theta.shape[:2]
    free = [gauges.elements(run.sizes, generator, n, seeds) for _ in range(2)]
    k = run.sizes.d // run.sizes.heads
    scale = gauges.growing(n, GROWTH).reshape(n, 1, 1, 1, 1, 1) * torch.eye(k, dtype=torch.float64)
    scale = scale.expand(n, seeds, run.sizes.layers, run.sizes.heads, k, k)
    return {FREE: moved(run, *free), SCALED: moved(run, scale, scale)}


def change(run: Trajectory, other: Trajectory, device: str) -> float:
    """Largest relative difference of logits at any snapshot, float64."""
    ids = runs.probe(run.tasks[0], device)[0][:32]
    worst = 0.0
    for before, after in zip(run.theta.double(), other.theta, strict=True):
        first, second = (runs.evaluate(run.sizes, theta, ids)[0] for theta in (before, after))
        worst = max(worst, float((first - second).abs().max() / first.abs().max()))
    return worst


def kept_accuracy(run: Trajectory, device: str) -> dict[int, Tensor]:
    """k → accuracy (S,) of the final model with the change of every attention matrix since the first snapshot projected
    on the first k components of its path.

    0: attention as it started, all else trained. n − 1 components give the final model again.
    """
    ids, labels, _ = runs.probe(run.tasks[0], device)
    last = len(run.theta) - 1
    counts = [0, *(k for k in KEPT if k < last), last]
    theta = {k: run.theta[-1].clone() for k in counts}
    for layer in range(run.sizes.layers):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            place = run.sizes.slices()[f"{layer}_{name}"]
            for s in range(run.theta.shape[1]):
                path = run.theta[:, s, place].double()
                _, basis = components(path, last)
                along = basis @ (path[-1] - path[0])
                for k in counts:
                    theta[k][s, place] = (path[0] + along[:k] @ basis[:k]).to(run.theta.dtype)
    return {k: runs.accuracy(run.sizes, t, ids, labels) for k, t in theta.items()}


def run(setting: Setting) -> Result:
    main, noise, sgd = (runs.trajectory(name, setting) for name in ("main", "noise", "sgd"))
    setting.tick("principal components", 0.0)
    found = {"trained": ranks(main), "no task": ranks(noise), "SGD as in the text": ranks(sgd)}
    same = controls(main, setting)
    for what, path in same.items():
        setting.tick(f"gauge control: {what}", 0.5)
        found[what] = ranks(path)
    error = max(change(main, path, setting.device) for path in same.values())
    n = len(main.theta)
    walk = rank_at(random_walk_spectrum(n))
    right = {name: float(runs.accuracies(r, setting.device)[-1].mean()) for name, r in (("main", main), ("sgd", sgd))}
    kept = kept_accuracy(main, setting.device)
    kept_moved = kept_accuracy(same[FREE], setting.device)
    raw = torch.stack([found["trained"][name] for name in gauges.RAW]).double()
    by_layer = raw.mean(-1)
    qk, vo = raw[:2].mean().item(), raw[2:].mean().item()
    low, high = reported.DIMENSION
    factor = high / ((low + high) / 2)
    middle = (low + high) / 2
    return Result(
        key="figure-1",
        title="Dimension of the path of the weights",
        place="4.1, Figure 1",
        protocol=_protocol(main, noise, sgd),
        comparisons=[
            Comparison("$r_{90}$, mean of all matrices, layers, seeds", middle, raw.mean().item(), factor),
            Comparison("$r_{90}$, mean of $W_Q, W_K$", middle, qk, factor),
            Comparison("$r_{90}$, mean of $W_V, W_O$", middle, vo, factor, note="3–4 is 3.5 within a factor 8/7"),
            *(
                Comparison(f"{which} of a matrix in a layer, mean of seeds", None, value, note="source: 3 to 5")
                for which, value in (("smallest", by_layer.min().item()), ("largest", by_layer.max().item()))
            ),
            Comparison("null: random walk in many dimensions", None, walk, note=f"{n} snapshots, closed form"),
            Comparison("null: labels drawn at random", None, _raw_mean(found["no task"])),
            Comparison("null: straight line", None, 1),
            Comparison("gauge control: same functions, new elements", None, _raw_mean(found[FREE])),
            Comparison("gauge control: same functions, growing elements", None, _raw_mean(found[SCALED])),
            Comparison("invariant $W_QW_K^\\top$ per head, mean", None, _mean(found["trained"], "W_Q W_Kᵀ")),
            Comparison("invariant $W_VW_O$ per head, mean", None, _mean(found["trained"], "W_V W_O")),
        ],
        tables=[
            _table(found, walk),
            _layers(found["trained"], found["no task"]),
            _seeds(found["trained"], main.seeds),
            _accuracy(right, main.tasks[0].classes),
            _kept(kept, kept_moved),
        ],
        figures=[_figure(found, main, noise, kept, kept_moved)],
        settings={"seed": setting.seed, "seeds": len(main.seeds), "snapshots": n, "interval": main.protocol.interval},
        open_choices={
            "optimizer": "text: SGD, rate 0.001, batch 64; code: AdamW, rate 0.0003, batch 128. AdamW here "
            f"(rate {main.protocol.rate:g}, batch {main.protocol.batch}), and SGD of the text beside it",
            "snapshots": f"text: every 100 steps; code: {reported.SNAPSHOTS} of them. {n} here",
            "variance of all components": "code: of the first 8 only; all here",
        },
        findings=_findings(found, error, walk, right, kept, kept_moved),
    )


def _protocol(main: Trajectory, noise: Trajectory, sgd: Trajectory) -> str:
    s, p = main.sizes, main.protocol
    return (
        f"{len(main.seeds)} seeds ({len(noise.seeds)} without a task, {len(sgd.seeds)} of SGD): {main.tasks[0]}; "
        f"attention only, $d = {s.d}$, {s.heads} "
        f"heads, {s.layers} layers, {s.parameters:,} parameters; {p.steps} steps. $r_{{90}}$ is the least number of "
        "principal components of the path of one flattened matrix with 90 % of its variance. *No task*: labels drawn "
        "at random, all else alike. *Gauge controls*: the trained path with $W_QA$, $W_KA^{-\\top}$, $W_VC$, "
        "$C^{-1}W_O$ at every snapshot, which changes no function; either new general elements each time or "
        f"multiples of the identity that grow by a factor {GROWTH:g}."
    )


def _mean(found: Ranks, name: str) -> float:
    return found[name].double().mean().item()


def _raw_mean(found: Ranks) -> float:
    return sum(_mean(found, name) for name in gauges.RAW) / len(gauges.RAW)


def _table(found: Mapping[str, Ranks], walk: int) -> Table:
    rows = []
    for name in NAMES:
        cells = [
            f"{_mean(each, name):.2f} ({int(each[name].min())}–{int(each[name].max())})" for each in found.values()
        ]
        rows.append([name, *cells, walk])
    return Table(
        "r90: mean over layers and seeds (smallest–largest)",
        ["path of", *found, "random walk"],
        rows,
        "The products and balances are taken per head. Under the gauge controls the products cannot change.",
    )


def _layers(found: Ranks, null: Ranks) -> Table:
    def row(name: str, what: str, each: Ranks) -> list[str | float]:
        return [name, what, *(round(v, 2) for v in each[name].double().mean(1).tolist())]

    rows = [row(name, what, each) for name in NAMES for what, each in (("trained", found), ("no task", null))]
    layers = len(found[NAMES[0]])
    return Table("r90 by layer, mean of seeds", ["path of", "", *(f"layer {i}" for i in range(layers))], rows)


def _seeds(found: Ranks, seeds: Sequence[int]) -> Table:
    rows = [[name, *(round(v, 2) for v in found[name].double().mean(0).tolist())] for name in NAMES]
    return Table("r90 of the trained path by seed, mean over layers", ["path of", *map(str, seeds)], rows)


def _accuracy(right: Mapping[str, float], classes: int) -> Table:
    rows = [[name, round(1 / classes, 3), round(right[key], 3)] for name, key in (("AdamW", "main"), ("SGD", "sgd"))]
    return Table("Final accuracy, mean of seeds", ["optimizer", "chance", "accuracy"], rows)


def _kept(kept: Mapping[int, Tensor], moved: Mapping[int, Tensor]) -> Table:
    rows = [[k, *(round(float(x), 3) for x in (v.mean(), v.min(), v.max(), moved[k].mean()))] for k, v in kept.items()]
    return Table(
        "Accuracy of the final model when each attention matrix keeps only the first components of its change",
        ["components", "mean of seeds", "lowest", "highest", "gauge control, mean"],
        rows,
        "Gauge control: the same functions on the path with a new element at each snapshot. "
        "With 0 components attention is as it started; embeddings, norms, biases and head are the trained ones.",
    )


def _figure(
    found: Mapping[str, Ranks],
    main: Trajectory,
    noise: Trajectory,
    kept: Mapping[int, Tensor],
    moved: Mapping[int, Tensor],
) -> Figure:
    n = len(main.theta)
    walk = {k: rank_at(random_walk_spectrum(k)) for k in range(4, n + 1, 4)}
    by_name = []
    shown = ("trained", "no task", FREE, SCALED)
    for i, what in enumerate(shown):
        values = [found[what][name].double().mean(0) for name in (*gauges.RAW, *gauges.INVARIANT)]
        x = [j + 0.16 * (i - 1.5) for j, v in enumerate(values) for _ in v]
        by_name.append(Series(what, x, [float(y) for v in values for y in v], "points"))
    labels = ("$W_Q$", "$W_K$", "$W_V$", "$W_O$", "$W_QW_K^⊤$", "$W_VW_O$")
    growth = [
        Series(what, list(walk), [_raw_mean(ranks(run, k)) for k in walk], "line+points")
        for what, run in (("trained", main), ("no task", noise))
    ]
    growth.append(Series("random walk", list(walk), list(walk.values()), "line"))
    top = list(range(1, min(13, n)))
    shares = []
    for what, run, name in (
        ("$W_Q$, trained", main, "W_Q"),
        ("$W_V$, trained", main, "W_V"),
        ("$W_Q$, no task", noise, "W_Q"),
    ):
        lines = [
            spectrum(gauges.quantities(run, layer)[name][:, s])
            for layer in range(run.sizes.layers)
            for s in range(len(run.seeds))
        ]
        mean = torch.stack([(v / v.sum()).cumsum(0) for v in lines]).mean(0)
        shares.append(Series(what, top, mean[: len(top)].tolist(), "line+points"))
    null = random_walk_spectrum(n)
    shares.append(Series("random walk", top, (null / null.sum()).cumsum(0)[: len(top)].tolist(), "line"))
    accuracy = [
        Series("gauge control, mean", list(moved), [float(v.mean()) for v in moved.values()], "line+points"),
        Series("mean of seeds", list(kept), [float(v.mean()) for v in kept.values()], "line+points"),
        Series(
            "each seed", [k for k, v in kept.items() for _ in v], [float(y) for v in kept.values() for y in v], "points"
        ),
    ]
    level = {"random walk": float(rank_at(null)), "source, 3 to 4": 3.5}
    return Figure(
        "dimension",
        "Dimension of paths of weights. Above left: $r_{90}$ of the matrices and of what the head gauge leaves "
        "unchanged, a point per seed; the gauge controls are paths of the very same functions. Above right: variance "
        "held by the first components. Below left: $r_{90}$ of the first snapshots only. Below right: what the final "
        "model still can do when its attention matrices keep only the first components of their change.",
        [
            Panel("dimension of the path", "matrix whose path is measured", R90, by_name, y_scale="log", levels=level,
                  ticks={label: float(j) for j, label in enumerate(labels)}),
            Panel("spectrum", "components, largest first", "share of the variance", shares, levels={"90 %": 0.9}),
            Panel("growth with the number of snapshots", "snapshots from the start", "r90, mean of the four matrices",
                  growth),
            Panel("final weights projected", "components, largest first", "accuracy", accuracy),
        ],
    )  # fmt: skip


def _findings(
    found: Mapping[str, Ranks],
    error: float,
    walk: int,
    right: Mapping[str, float],
    kept: Mapping[int, Tensor],
    kept_moved: Mapping[int, Tensor],
) -> list[str]:
    free, scaled = _raw_mean(found[FREE]), _raw_mean(found[SCALED])
    products = [_mean(found["trained"], name) for name in gauges.INVARIANT]
    return [
        f"The mean $r_{{90}}$ of the four matrices is {_raw_mean(found['trained']):.2f}; a random walk with as many "
        f"snapshots has {walk}, the same training on labels without any rule {_raw_mean(found['no task']):.2f}.",
        f"The number is no property of the functions that training passes through: along gauge-moved paths, whose "
        f"logits differ by less than {_power(error)} of their size, it is {free:.1f} or {scaled:.1f}.",
        f"What the head gauge cannot change has its own dimension: {products[0]:.2f} for $W_QW_K^\\top$ and "
        f"{products[1]:.2f} for $W_VW_O$, per head.",
        f"Kept of the change of all attention matrices: nothing leaves an accuracy of {_at(kept, 0)}, one component "
        f"{_at(kept, 1)}, three {_at(kept, 3)}, all {_at(kept, max(kept))}. On a path of the same functions with a "
        f"new gauge element at each snapshot three components leave {_at(kept_moved, 3)}: what few components carry "
        "is a fact about the path that the optimizer takes in these coordinates.",
        f"With SGD as the text has it (rate 0.001, batch 64) accuracy after as many steps is {right['sgd']:.2f}, with "
        f"AdamW as in the code {right['main']:.2f}.",
    ]


def _at(kept: Mapping[int, Tensor], k: int) -> str:
    return f"{float(kept[k].mean()):.2f}"


def _power(x: float) -> str:
    exponent = 0 if x == 0 else torch.tensor(x).log10().ceil().int().item()
    return f"$10^{{{exponent}}}$"


EXPERIMENT = Experiment("figure-1", "Dimension of the path of the weights", run)
