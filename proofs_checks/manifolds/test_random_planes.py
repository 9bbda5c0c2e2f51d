"""Shares of commutators in the execution basis against those of random planes (3.3.2, 4.3)."""

from __future__ import annotations

import math

import sympy as sp
import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.algebra.trajectories import beta_moment, mean_over_coordinate_planes
from proofs_checks.manifolds.commutators import random_share, share_in
from proofs_checks.manifolds.marked_sum import Sizes
from proofs_checks.manifolds.recorded_results import SCALES, measured, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome
from symgauge.profiles import scale

K, P, LIVE = reported.BASELINE_PLANE, reported.PARAMETERS, reported.LIVE


@checks("random-plane")
def test_random_planes(evidence: EvidenceLog) -> None:
    u = sp.Matrix([3, 4, 0, 0])
    evidence.exact(
        "every plane of dimension 1 in 4 dimensions",
        figures={"share of the line through u, squared": equal(str(u.dot(u) / u.dot(u)), "1/4")},
        counterexample=r"the line through $u$ itself captures all of it, a line perpendicular to $u$ nothing",
    )
    k, p = sp.symbols("k p", positive=True)
    evidence.proof(
        r"$\|\Pi u\|^2/\|u\|^2$ is Beta $(K/2, (P-K)/2)$: its mean is $K/P$",
        sp.gammasimp(beta_moment(sp.Integer(1), k, p) - k / p) == 0,
        on="condition",
    )
    half = beta_moment(sp.Rational(1, 2), k, p)
    printed_form = sp.gamma((k + 1) / 2) * sp.gamma(p / 2) / (sp.gamma(k / 2) * sp.gamma((p + 1) / 2))
    evidence.proof("and the mean of its root is as stated", sp.gammasimp(half / printed_form) == 1, on="condition")
    # A drawn axis holds all of a unit vector on an axis, or nothing: square and root have one mean.
    axis = [sp.Integer(1), *[sp.Integer(0)] * 3]
    evidence.control(
        "an axis drawn from 4, whose law is not uniform, and a vector on one of them: the mean square is $K/P$ still, "
        "the mean of the root 1/4 and not as stated",
        mean_over_coordinate_planes(axis, 1) == sp.Rational(1, 4),
        figures={"formula": at_least(round(random_share(1, 4), 3), 0.4)},
        kind="exact",
    )
    generator = torch.Generator().manual_seed(0)
    drawn = []
    fixed = torch.randn(40, generator=generator, dtype=torch.float64)
    for _ in range(scale(400, 4000)):
        plane = torch.linalg.qr(torch.randn(40, 6, generator=generator, dtype=torch.float64))[0]
        drawn.append(float(share_in(fixed, plane)))
    mean, error = float(torch.tensor(drawn).mean()), float(torch.tensor(drawn).std()) / math.sqrt(len(drawn))
    evidence.numeric(
        "drawn planes, $K=6$, $P=40$: distance of the mean from the formula in standard errors; the source's case",
        on="condition",
        figures={
            "distance": at_most(round(abs(mean - random_share(6, 40)) / error, 2), 4.0),
            "formula, 7 digits": equal(round(random_share(K, P), 7), 0.0076147),
        },
        cases=len(drawn),
    )
    evidence.control(
        r"$\sqrt{K/P}$ is not the mean of the root",
        figures={"gap": at_least(math.sqrt(6 / 40) - random_share(6, 40), 1e-3)},
    )


@checks("dead-parameters")
def test_dead_parameters(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "parameters that the code counts against those on which the function depends",
        figures={"P": equal(sizes.parameters + sizes.dead, sizes.parameters)},
        counterexample="the code's model, $d=128$, 5 layers, 256 tokens, 16 positions, 8 classes",
    )
    evidence.exact(
        "the counts, from the shapes of our module",
        on="correction",
        figures={
            "made": equal(sizes.parameters + sizes.dead, reported.PARAMETERS),
            "dead": equal(sizes.dead, reported.DEAD),
            "live": equal(sizes.parameters, reported.LIVE),
            "attention": equal(sizes.attention, reported.ATTENTION),
        },
    )
    inflation = math.sqrt(P / LIVE)
    evidence.exact(
        "inflation to first order, and with the exact means",
        on="correction",
        figures={
            "first order": equal(round(inflation, 4), 1.6707),
            "exact means": at_most(round(abs(random_share(K, LIVE) / random_share(K, P) / inflation - 1), 9), 1e-6),
        },
    )
    delta, basis = torch.tensor([3.0, 4.0, 1.0]), torch.tensor([[1.0], [0.0], [0.0]])
    longer, padded = torch.cat([delta, torch.zeros(5)]), torch.cat([basis, torch.zeros(5, 1)])
    evidence.exact(
        r"zeros appended to $\delta$ and to the basis change no share",
        bool(share_in(delta, basis) == share_in(longer, padded)),
        on="correction",
    )
    live = torch.cat([delta, torch.ones(5)])
    evidence.control("parameters in use do", bool(share_in(delta, basis) != share_in(live, padded)), kind="exact")


@checks("parameterization")
def test_parameterization(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "entries of the attention matrices against all parameters in use",
        figures={"attention": equal(sizes.attention, sizes.parameters)},
        counterexample="the code's model has token and position tables, biases, norms and a head",
    )
    evidence.control(
        "four matrices in each of five layers are all of its attention",
        kind="exact",
        figures={"attention": equal(sizes.attention, 4 * 5 * sizes.d**2)},
    )
    evidence.exact("the rest", on="correction", figures={"others": equal(sizes.parameters - sizes.attention, 39_944)})


@checks("abs-10x")
def test_ten_times(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the peak in the caption of Figure 5 against “up to 10” in the abstract",
        figures={"peak": at_most(reported.PEAK, 10)},
    )
    evidence.control(
        "the median of 4.3 is within “up to 10”", kind="audit", figures={"median": at_most(reported.EARLY, 10)}
    )
    for name, plane in (("in use", LIVE), ("attention", reported.ATTENTION)):
        factor = math.sqrt(P / plane)
        expected = {"in use": (5.8, 1.26), "attention": (5.5, 1.19)}[name]
        evidence.exact(
            f"reported ratios over $\\sqrt{{P/P'}}$, planes among parameters {name}",
            on="correction",
            figures={
                "early": equal(round(reported.EARLY / factor, 1), expected[0]),
                "late": equal(round(reported.LATE / factor, 2), expected[1]),
            },
        )
    evidence.exact(
        "squares",
        on="correction",
        figures={"early": equal(round(reported.EARLY**2), 94), "late": equal(round(reported.LATE**2, 1), 4.4)},
    )


@checks("abs-92")
def test_perpendicular(evidence: EvidenceLog) -> None:
    largest = reported.SHARE[1]
    cases = [(sp.Rational(3, 5), sp.Rational(4, 5)), (sp.Rational(5, 13), sp.Rational(12, 13))]
    evidence.exact(
        r"$\|\delta_\perp\| = \sqrt{1-\rho^2}\,\|\delta\|$ (Pythagoras), two rational cases; it is above $1-\rho$",
        all(r**2 + s**2 == 1 and s > 1 - r for r, s in cases),
        on="correction",
        cases=len(cases),
    )
    record_outcome(evidence)
    for size in SCALES:
        magnitude = measured("figure-5", r"least $\sqrt{1-\rho_{exec}^2}$", size)
        found = evidence.numeric(
            f"by other measures it does come out: least perpendicular magnitude, and its energy, scale {size}",
            on="reproduction",
            figures={
                "√(1 − ρ²)": at_least(round(magnitude, 3), reported.PERPENDICULAR),
                "1 − ρ²": at_least(round(magnitude**2, 3), reported.PERPENDICULAR),
                **where("figure-5", size),
            },
        )
        evidence.control(
            r"at $\rho = 1/2$ they would be below",
            figures={
                "√(1 − ρ²)": at_most(round(math.sqrt(3 / 4), 3), reported.PERPENDICULAR),
                "1 − ρ²": at_most(3 / 4, reported.PERPENDICULAR),
            },
            of=found,
        )
    evidence.exact(
        "values",
        on="correction",
        figures={
            "√(1 − 0.13²)": at_least(round(math.sqrt(1 - largest**2), 4), 0.991),
            "1 − 0.13²": at_least(round(1 - largest**2, 4), 0.983),
            "1 − 0.13": at_most(round(1 - largest, 2), 0.87),
            "random plane": at_least(round(math.sqrt(1 - K / P), 6), 0.9999),
        },
    )


@checks("alignment-measured")
def test_alignment(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    # An independent plane of K dimensions holds more than this with a probability of less than one in ten thousand.
    beyond = round(1 + 4 / math.sqrt(2 * K), 2)
    idle, other = (
        [measured("figure-5", f"null: {when}, {what}", "paper") for when in ("early", "late")]
        for what in ("training without a task", "basis of another seed")
    )
    evidence.numeric(
        r"a training without a task: $\rho_{exec}/\rho_{rand}$ among the parameters in use",
        on="correction",
        figures={
            "early": at_least(round(idle[0], 2), beyond),
            "late": at_most(round(idle[1], 2), 1.0),
            "with the task, early": at_least(
                round(measured("figure-5", "early, float64, baseline of parameters in use", "paper"), 2), beyond
            ),
            **where("figure-5", "paper"),
        },
    )
    evidence.control(
        "the basis of another seed holds no more than a random plane, by the same record",
        figures={"early": at_most(round(other[0], 2), beyond), "late": at_most(round(other[1], 2), beyond)},
    )
