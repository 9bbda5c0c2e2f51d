"""Figures 3 to 5: commutators of gradient steps, their size, and their share in the execution basis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.commutators import random_share
from proofs_checks.manifolds.experiments import gauges, runs
from proofs_checks.manifolds.experiments.figure_1 import moved
from proofs_checks.manifolds.experiments.measured import Measured, measure
from proofs_checks.manifolds.marked_sum import Sizes, Trajectory
from symgauge.experiments.result import Comparison, Figure, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting

EVERY = {"small": (4, 12), "paper": (2, 9)}  # snapshots between measurements: main training, the others
RATIO = "share of δ in the basis / in random planes"
FIFTH = 0.2  # the source's "early" and "late": the first and last fifth of the measurements


def planes(sizes: Sizes) -> dict[str, int]:
    """Dimension of the space that a random basis is drawn from."""
    return {
        "all parameters made, dead ones too": sizes.parameters + sizes.dead,
        "parameters in use": sizes.parameters,
        "attention matrices": sizes.attention,
    }


def early(values: Tensor) -> float:
    """Median over seeds of the first fifth of the measurements (n, S), at least one."""
    return values[: max(1, int(FIFTH * len(values)))].median().item()


def late(values: Tensor) -> float:
    return values[-max(1, int(FIFTH * len(values))) :].median().item()


def constant_element(run: Trajectory, setting: Setting) -> Trajectory:
    """The same functions: one general gauge element, the same at all snapshots of a seed."""
    generator = torch.Generator().manual_seed(setting.seed)
    qk, vo = (gauges.elements(run.sizes, generator, 1, run.theta.shape[1]) for _ in range(2))
    return moved(run, qk, vo)


def run(setting: Setting) -> Result:
    main, noise = (runs.trajectory(name, setting) for name in ("main", "noise"))
    dense, sparse = EVERY[setting.scale]
    with runs.one_thread_on(setting.device):
        found = {
            "trained": measure(main, setting, dense, "main"),
            "no task": measure(noise, setting, sparse, "no task"),
            "gauge-moved": measure(constant_element(main, setting), setting, sparse, "gauge control"),
        }
    sizes, m = main.sizes, found["trained"]
    base = {name: random_share(m.k, p) for name, p in planes(sizes).items()}
    made, live, _ = base.values()
    return Result(
        key="figure-5",
        title="Commutators of gradient steps",
        place="4.3, Figures 3–5",
        protocol=_protocol(main, m),
        comparisons=_comparisons(found, made, live),
        tables=[_ratios(found, base), _perpendicular(m, made), _precision(m), _directions(m)],
        figures=[_figure(main, found, made)],
        settings={"seed": setting.seed, "seeds": len(main.seeds), "K": m.k, "parameters": sizes.parameters},
        open_choices={
            "random bases": "source: mean over 10 drawn; here the exact mean "
            "$\\Gamma(\\frac{K+1}2)\\Gamma(\\frac P2)/(\\Gamma(\\frac K2)\\Gamma(\\frac{P+1}2))$",
            "precision": "code: float32; float64 here, and float32 beside it",
            "early, late": "code: first and last fifth of the measurements that have a basis, that is from the fifth "
            "snapshot on",
        },
        findings=_findings(found, base),
    )


def _protocol(main: Trajectory, m: Measured) -> str:
    return (
        f"{len(main.seeds)} seeds of the main training. At {len(m.snapshots)} snapshots from the fifth on: "
        f"$\\delta = \\theta_{{AB}} - \\theta_{{BA}}$ for {reported.SAMPLES} pairs of batches, $\\eta = 0.001$, the "
        f"one with median defect counts. Basis: the first {reported.COMPONENTS} components of the path so far of every "
        f"attention matrix, $K = {m.k}$, made anew every four snapshots. Null models: random planes among all "
        "parameters that the source's code makes, among those in use, among the attention matrices; the basis of "
        "another seed; a training without a task. *Gauge control*: one general element at all snapshots."
    )


def _comparisons(found: Mapping[str, Measured], made: float, live: float) -> list[Comparison]:
    m, idle, gauge = found.values()
    at_most = float(1 - m.share.max())
    return [
        Comparison("ρ_exec / ρ_rand early, baseline with dead parameters, float32", 9.7, early(m.share_single) / made),
        Comparison("ρ_exec / ρ_rand late, baseline with dead parameters, float32", 2.1, late(m.share_single) / made),
        Comparison("the same early, float64", 9.7, early(m.share) / made),
        Comparison("the same late, float64", 2.1, late(m.share) / made),
        Comparison(
            "fall of the ratio from early to late",
            reported.EARLY / reported.LATE,
            early(m.share_single) / late(m.share_single),
            note="float32, as in the code",
            choices={"float64": early(m.share) / late(m.share)},
        ),
        Comparison("early, float64, baseline of parameters in use", None, early(m.share) / live),
        Comparison("late, float64, baseline of parameters in use", None, late(m.share) / live),
        Comparison("null: early, training without a task", None, early(idle.share) / live),
        Comparison("null: late, training without a task", None, late(idle.share) / live),
        Comparison("null: early, basis of another seed", None, early(m.share_other) / live),
        Comparison("null: late, basis of another seed", None, late(m.share_other) / live),
        Comparison("gauge control: late, same functions moved", None, late(gauge.share) / live),
        Comparison("least $1 - \\rho_{exec}$, the source's perpendicular share", 0.92, at_most, 1.02),
        Comparison(
            "least $\\sqrt{1-\\rho_{exec}^2}$, the perpendicular share", None, math.sqrt(1 - (1 - at_most) ** 2)
        ),
        Comparison("null: perpendicular share of a random plane", None, math.sqrt(1 - live**2)),
        Comparison("gauge control: least perpendicular share", None, math.sqrt(1 - gauge.share.max().item() ** 2)),
        Comparison("defect late / early, float32", None, late(m.defect_single) / early(m.defect_single)),
        Comparison("defect late / early, float64", None, late(m.defect) / early(m.defect)),
        Comparison("defect late, float32", 137.5, late(m.defect_single), 175 / 137.5, note="100–175"),
        Comparison("defect late, float64", 137.5, late(m.defect), 175 / 137.5, note="100–175"),
        Comparison("relative error of δ in float32, late", None, late(m.single_error)),
    ]


def _ratios(found: Mapping[str, Measured], base: Mapping[str, float]) -> Table:
    m, idle, gauge = found.values()
    rows = []
    for what, values in (
        ("trained, float64", m.share),
        ("trained, float32 as in the code", m.share_single),
        ("gradient itself in place of δ", m.share_gradient),
        ("basis of another seed", m.share_other),
        ("no task", idle.share),
        ("gauge control", gauge.share),
    ):
        for when, value in (("early", early(values)), ("late", late(values))):
            rows.append([what, when, round(value, 4), *(round(value / null, 2) for null in base.values())])
    columns = ["δ", "", "ρ_exec, median", *(f"ratio to random: {name}" for name in base)]
    return Table(
        "Share of the commutator in the execution basis, and its ratio to that of random planes", columns, rows
    )


def _perpendicular(m: Measured, made: float) -> Table:
    rows = []
    for when, value in (("early", early(m.share)), ("late", late(m.share)), ("largest ρ", m.share.max().item())):
        rows.append([when, *(round(x, 4) for x in (value, 1 - value, math.sqrt(1 - value**2), (value / made) ** 2))])
    return Table(
        "What is perpendicular to the basis",
        ["", "ρ_exec", "1 − ρ (source)", "√(1 − ρ²)", "ratio of energies to random"],
        rows,
    )


def _precision(m: Measured) -> Table:
    rows = [
        [at, *(_short(v[i].median().item()) for v in
               (m.defect, m.defect_single, m.single_error, m.rounding, m.bracket_error))]
        for i, at in enumerate(m.snapshots)
    ]  # fmt: skip
    return Table(
        "Precision, median of seeds",
        ["snapshot", "defect, float64", "defect, float32", "relative error of δ in float32",
         "that error / half units of all θ", "relative error of η² [H_B g_A − H_A g_B], float64"],
        rows,
        "Defects have the dimension of an inverse parameter. An error above 1 means that δ in float32 is rounding.",
    )  # fmt: skip


def _directions(m: Measured) -> Table:
    rows = [
        [when, *(_short(pick(v)) for v in (m.scaling, m.rotation, m.gauge_gradient))]
        for when, pick in (("early", early), ("late", late))
    ]
    return Table(
        "Share of δ along directions of the query-key gauge, float64, median",
        ["", "δ along scalings", "δ along rotations", "gradient along either"],
        rows,
        "To leading order a commutator has no component along scalings, and one along rotations although gradients "
        "have none.",
    )


def _short(x: float) -> float:
    return float(f"{x:.3g}")


def _figure(main: Trajectory, found: Mapping[str, Measured], made: float) -> Figure:
    m, idle, gauge = found.values()

    def curve(label: str, each: Measured, values: Tensor) -> Series:
        return Series(label, main.steps[each.snapshots].tolist(), values.median(1).values.tolist(), "line+points")

    ratio = [curve("float64", m, m.share / made), curve("float32, as in the code", m, m.share_single / made)]
    nulls = [
        curve("trained", m, m.share / made),
        curve("basis of another seed", m, m.share_other / made),
        curve("no task", idle, idle.share / made),
        curve("gauge control", gauge, gauge.share / made),
    ]
    perpendicular = [
        curve("1 − ρ, float64", m, 1 - m.share),
        curve("√(1 − ρ²), float64", m, (1 - m.share**2).sqrt()),
        curve("1 − ρ, float32", m, 1 - m.share_single),
    ]
    defect = [curve("float64", m, m.defect), curve("float32, as in the code", m, m.defect_single)]
    error = [
        curve("error of δ in float32", m, m.single_error),
        curve("error of η² times the Lie bracket, float64", m, m.bracket_error),
    ]
    return Figure(
        "commutators",
        "Commutators along training, medians over seeds. Where the last panel's error is above 1, δ in float32, the "
        "precision of the source's code, is rounding.",
        [
            Panel("share in the basis over that of random planes", "training step", RATIO, ratio,
                  levels={"random": 1.0, "source, early": reported.EARLY, "source, late": reported.LATE}),
            Panel("the same in float64, null models", "training step", RATIO, nulls, y_scale="log",
                  levels={"random": 1.0, "all of δ in the basis": 1 / made}),
            Panel("perpendicular share", "training step", "share of |δ|", perpendicular, levels={"0.92": 0.92}),
            Panel("defect", "training step", "|δ| / (|ηg_A| |ηg_B|), 1/parameter", defect, y_scale="log"),
            Panel("precision", "training step", "relative error", error, y_scale="log", levels={"δ itself": 1.0}),
        ],
    )  # fmt: skip


def _turn(single: Sequence[float], double: Sequence[float]) -> str:
    """Whether alignment falls as training converges, and with which precision; a fall is one by a third or more."""
    rounded, exact = (after < before / 1.5 for before, after in (single, double))
    if exact:
        return f"Alignment does fall as training converges, {'in either precision' if rounded else 'in float64 alone'}."
    if rounded:
        return "Most of the fall is rounding: in float64 it is less than by a third."
    return "Alignment does not fall as training converges."


def _findings(found: Mapping[str, Measured], base: Mapping[str, float]) -> list[str]:
    m, idle, gauge = found.values()
    made, live, _ = base.values()
    single, double = ([pick(v) / made for pick in (early, late)] for v in (m.share_single, m.share))
    growth, growth_single = (late(v) / early(v) for v in (m.defect, m.defect_single))
    largest = m.share.max().item()
    return [
        f"The relative error of δ in float32 is {early(m.single_error):.2g} early and {late(m.single_error):.2g} late"
        f"{': δ is lost in rounding' if late(m.single_error) > 1 else ''}. The defect grows {growth_single:.0f}-fold "
        f"in float32, {growth:.1f}-fold in float64.",
        f"The ratio goes from {single[0]:.1f} to {single[1]:.1f} in float32, from {double[0]:.1f} to {double[1]:.1f} "
        f"in float64. {_turn(single, double)}",
        f"Dead parameters inflate every ratio by {live / made:.2f}.",
        f"Late, without a task the ratio (to parameters in use) is {late(idle.share) / live:.1f}, with the task "
        f"{late(m.share) / live:.1f}, for the same functions at another point of their fibres "
        f"{late(gauge.share) / live:.1f}; in the basis of another seed {late(m.share_other) / live:.1f}. The gradient "
        f"itself has {late(m.share_gradient) / live:.1f}.",
        f"The perpendicular share $\\sqrt{{1-\\rho^2}}$ is never below {math.sqrt(1 - largest**2):.3f}; a random plane "
        f"leaves {math.sqrt(1 - live**2):.4f}, so a large share says nothing. The source's $1-\\rho$ falls to "
        f"{1 - largest:.3f}.",
    ]


EXPERIMENT = Experiment("figure-5", "Commutators of gradient steps", run)
