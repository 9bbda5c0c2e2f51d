"""Figure 6: sparse autoencoders, and whether removing latents where the source removes them can have any effect."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from proofs_checks.manifolds.experiments import runs
from proofs_checks.manifolds.experiments.sparse import STEPS, Dictionary, Kind, correlations, explained, fit
from proofs_checks.manifolds.marked_sum import MarkedSum, Sizes, Trajectory
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

STAGES = {"early": 0.1, "middle": 0.4, "late": 0.9}  # code: steps 2,000, 8,000 and 18,000 of 20,000
REMOVED = 6  # code: the six latents of largest variance
REMOVED_AT_VALUES = "latents removed at values (source)"
ZEROED = "all set to 0 at values"
AT_END, REMOVED_AT_END, RANDOM_AT_END = (
    "reconstructed at the end",
    "latents removed at the end",
    "random latents removed at the end",
)
NOT_LAST, LAST = ", value not last", ", value last"
KINDS: tuple[Kind, ...] = ("ReLU + L1", "top-k")


def read(sizes: Sizes, theta: Tensor, stream: Tensor) -> Tensor:
    """Normed stream at the last position (S, N, d) → the answers (S, N)."""
    slices = sizes.slices()
    head = theta[:, slices["head"]].unflatten(-1, sizes.shapes["head"])
    return (stream @ head + theta[:, None, slices["head_bias"]]).argmax(-1)


def without(made: Dictionary, x: Tensor, gone: Tensor) -> Tensor:
    """The reconstruction of x (S, N, d) without the latents gone (S, r)."""
    z = made.encode(x)
    return made.decode(z.scatter(-1, gone.unsqueeze(1).expand(-1, x.shape[1], -1), 0.0))


def largest(made: Dictionary, x: Tensor) -> Tensor:
    """(S, 6): the latents of largest variance."""
    return made.encode(x).var(1).topk(REMOVED, -1).indices


def stage(run: Trajectory, at: int, kind: Kind, setting: Setting) -> dict[str, Tensor]:
    """What → numbers (S,), for the models at snapshot `at`, sequences with the largest m only, as in the code."""
    task = run.tasks[0]
    assert isinstance(task, MarkedSum)
    hardest = MarkedSum(task.length, task.classes, (max(task.markers),), task.vocabulary, shared=False)
    ids, labels, _ = runs.probe(hardest, setting.device)
    theta = run.theta[at]
    stream = runs.evaluate(run.sizes, theta, ids)[2]
    marker = (ids >= task.classes) & (ids < task.first_distractor)
    value = torch.zeros_like(marker)
    value[:, 1:] = marker[:, :-1]
    seen = value[:, -1]  # the last token is a value: only then is one of the changed positions read
    right = {"before": read(run.sizes, theta, stream[:, :, -1]) == labels}
    tokens = stream[:, value]
    dictionary = fit(tokens, kind, setting.seed, STEPS[setting.scale])
    changed = stream.clone()
    changed[:, value] = without(dictionary, tokens, largest(dictionary, tokens))
    right[REMOVED_AT_VALUES] = read(run.sizes, theta, changed[:, :, -1]) == labels
    changed[:, value] = 0.0
    right[ZEROED] = read(run.sizes, theta, changed[:, :, -1]) == labels
    end = stream[:, :, -1]
    at_end = fit(end, kind, setting.seed + 1, STEPS[setting.scale])
    top = largest(at_end, end)
    generator = torch.Generator().manual_seed(setting.seed)
    some = torch.stack([torch.randperm(2 * run.sizes.d, generator=generator)[:REMOVED] for _ in end]).to(end.device)
    right[AT_END] = read(run.sizes, theta, at_end.decode(at_end.encode(end))) == labels
    right[REMOVED_AT_END] = read(run.sizes, theta, without(at_end, end, top)) == labels
    right[RANDOM_AT_END] = read(run.sizes, theta, without(at_end, end, some)) == labels
    found = {what: ok.double().mean(-1) for what, ok in right.items()}
    for what in ("before", REMOVED_AT_VALUES, ZEROED):
        found[what + NOT_LAST] = right[what][:, ~seen].double().mean(-1)
        found[what + LAST] = right[what][:, seen].double().mean(-1)
    found["explained"] = explained(end, at_end).double()
    found["active"] = (at_end.encode(end) != 0).double().sum(-1).mean(-1)
    found["share read"] = seen.double().mean().expand(len(end))
    return {what: value.cpu() for what, value in found.items()}


def marker_counts(run: Trajectory, kind: Kind, setting: Setting) -> tuple[Tensor, Tensor]:
    """(S,) largest |correlation| of a latent at the end with m, and with m of other sequences (the null)."""
    ids, _, number = runs.probe(run.tasks[0], setting.device)
    end = runs.evaluate(run.sizes, run.theta[-1], ids)[2][:, :, -1]
    z = fit(end, kind, setting.seed, STEPS[setting.scale]).encode(end)
    other = number[torch.randperm(len(number), generator=torch.Generator().manual_seed(setting.seed)).to(number.device)]
    return correlations(z, number).amax(-1).cpu(), correlations(z, other).amax(-1).cpu()


def run(setting: Setting) -> Result:
    main = runs.trajectory("main", setting)
    n = len(main.theta)
    found: dict[Kind, dict[str, dict[str, Tensor]]] = {}
    counts = {}
    with runs.one_thread_on(setting.device):
        for i, kind in enumerate(KINDS):
            found[kind] = {}
            for j, (name, share) in enumerate(STAGES.items()):
                setting.tick(f"sparse autoencoders: {kind}", (3 * i + j) / 6)
                found[kind][name] = stage(main, int(share * n), kind, setting)
            counts[kind] = marker_counts(main, kind, setting)
    task = main.tasks[0]
    assert isinstance(task, MarkedSum)
    m = max(task.markers)
    chance = m / (task.length - 1 - m)
    late, both = found["top-k"]["late"], counts.items()
    return Result(
        key="figure-6",
        title="Sparse autoencoders",
        place="4.4, Figure 6",
        protocol=f"{len(main.seeds)} seeds of the main training, snapshots at 10, 40 and 90 % of the steps, sequences "
        f"with m = {m}. Autoencoders with {2 * main.sizes.d} latents on the normed stream. *Source*: fitted at the "
        "tokens after markers, the six latents of largest variance removed there, answer read at the last position "
        "from the same stream. *Null*: those positions set to 0 outright. *Where it is read*: fitted and changed at "
        "the last position, beside reconstruction alone and six random latents.",
        comparisons=[
            Comparison("fall of accuracy, source's procedure, late, top-k", None, _fall(late, REMOVED_AT_VALUES)),
            Comparison("the same where no changed position is read", None, _fall(late, REMOVED_AT_VALUES, NOT_LAST)),
            Comparison("null: all set to 0 there, no changed position read", None, _fall(late, ZEROED, NOT_LAST)),
            Comparison("the same latents removed where the answer is read", None, _fall(late, REMOVED_AT_END)),
            Comparison("share of placements in which a changed position is read", None, chance, note="$m/(T-1-m)$"),
            Comparison("share found", None, float(late["share read"].mean())),
        ],
        tables=[_table(found), _counts(counts)],
        figures=[_figure(found)],
        settings={"seed": setting.seed, "seeds": len(main.seeds), "m": m, "latents": 2 * main.sizes.d},
        open_choices={
            "autoencoder": "text: ReLU with an L1 penalty of unknown weight; code: top-k. Both here",
            "positions": "code: one placement for a whole batch, so accuracy falls for all of it or for none",
        },
        findings=[
            f"The source's test cannot see most of what it changes. It changes the stream after the last norm, where "
            f"positions no longer mix, at the tokens after markers, and reads the last position: only in "
            f"{100 * chance:.0f} % of placements is that one of them. In the others setting the whole vector to 0 "
            "costs exactly as little: nothing.",
            f"Where a changed position is read, removing the six latents costs "
            f"{_fall(late, REMOVED_AT_VALUES, LAST):.2f} of accuracy (late, top-k); at the last position of all "
            f"sequences {_fall(late, REMOVED_AT_END):.2f}, six random latents {_fall(late, RANDOM_AT_END):.2f}, "
            f"reconstruction alone {_fall(late, AT_END):.2f}.",
            "Some latent correlates with m by "
            + ", ".join(f"{a.mean().item():.2f} ({kind}; null {b.mean().item():.2f})" for kind, (a, b) in both)
            + ".",
        ],
    )  # fmt: skip


def _fall(found: Mapping[str, Tensor], what: str, where: str = "") -> float:
    return float((found[f"before{where}"] - found[what + where]).mean())


def _table(found: Mapping[Kind, Mapping[str, Mapping[str, Tensor]]]) -> Table:
    columns = (
        "before",
        REMOVED_AT_VALUES,
        REMOVED_AT_VALUES + NOT_LAST,
        ZEROED + NOT_LAST,
        REMOVED_AT_VALUES + LAST,
        AT_END,
        REMOVED_AT_END,
        RANDOM_AT_END,
    )
    rows = [
        [kind, name, *(round(each[c].mean().item(), 3) for c in (*columns, "explained", "active"))]
        for kind, stages in found.items()
        for name, each in stages.items()
    ]  # fmt: skip
    return Table(
        "Accuracy, mean of seeds; share of variance explained and latents active at the end",
        ["autoencoder", "stage", *columns, "explained", "active"],
        rows,
    )


def _counts(counts: Mapping[Kind, tuple[Tensor, Tensor]]) -> Table:
    rows = [
        [kind, *(round(float(x), 3) for x in (a.mean(), a.min(), b.mean(), b.max()))] for kind, (a, b) in counts.items()
    ]
    return Table(
        "Largest |correlation| of a latent with the number m of summands",
        ["autoencoder", "mean of seeds", "lowest", "null: m of other sequences, mean", "highest"],
        rows,
    )


def _figure(found: Mapping[Kind, Mapping[str, Mapping[str, Tensor]]]) -> Figure:
    shown = (
        "before",
        REMOVED_AT_VALUES,
        REMOVED_AT_END,
        RANDOM_AT_END,
    )
    panels = []
    for kind, stages in found.items():
        series = []
        for i, what in enumerate(shown):
            x = [j + 0.15 * (i - 1.5) for j, each in enumerate(stages.values()) for _ in each[what]]
            series.append(Series(what, x, [float(v) for each in stages.values() for v in each[what]], "points"))
        ticks = {name: float(j) for j, name in enumerate(stages)}
        panels.append(Panel(kind, "stage of training", "accuracy (a point per seed)", series, ticks=ticks))
    return Figure(
        "sparse-autoencoders",
        "Accuracy before and after removing latents, where the source removes them and where the answer is read.",
        panels,
    )


EXPERIMENT = Experiment("figure-6", "Sparse autoencoders", run)
