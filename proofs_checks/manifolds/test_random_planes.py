"""Shares of commutators in the execution basis against those of random planes (3.3.2, 4.3)."""

from __future__ import annotations

import math
from random import Random

import sympy as sp
import torch

from proofs_checks.manifolds import printed
from proofs_checks.manifolds.algebra.trajectories import beta_moment, mean_over_coordinate_planes
from proofs_checks.manifolds.commutators import random_share, share_in
from proofs_checks.manifolds.marked_sum import Sizes
from proofs_checks.manifolds.support import SCALES, measured
from symgauge.claims import EvidenceLog, at_least, at_most, claim, equal
from symgauge.profiles import scale
from symgauge.symbolic.instances import general_matrix

K, P, LIVE = printed.BASELINE_PLANE, printed.PARAMETERS, printed.LIVE


@claim(
    id="manifolds/random-plane",
    source="manifolds",
    place="3.3.2, 4.3",
    statement=r"Any $K$-dimensional subspace of a $P$-dimensional space captures about $\sqrt{K/P}$ of a vector's "
    r"norm.",
    verdict="holds-if",
    condition=r"The subspace is drawn at random: then $E\|\Pi u\|^2 = \frac KP\|u\|^2$ exactly and $E\|\Pi u\| = "
    r"\frac{\Gamma((K+1)/2)\Gamma(P/2)}{\Gamma(K/2)\Gamma((P+1)/2)}\|u\|$, 0.0076147 for $K=60$, $P=1{,}026{,}184$.",
)
def test_random_planes(evidence: EvidenceLog) -> None:
    u = sp.Matrix([3, 4, 0, 0])
    evidence.exact(
        "every plane of dimension 1 in 4 dimensions",
        figures={"share of the line through u, squared": equal(str(u.dot(u) / u.dot(u)), "1/4")},
        counterexample=r"the line through $u$ itself captures all of it, a line perpendicular to $u$ nothing",
    )
    k, p = sp.symbols("k p", positive=True)
    evidence.proof(
        r"$\|\Pi u\|^2/\|u\|^2$ is Beta$(K/2, (P-K)/2)$: its mean is $K/P$",
        sp.gammasimp(beta_moment(sp.Integer(1), k, p) - k / p) == 0,
        on="condition",
    )
    half = beta_moment(sp.Rational(1, 2), k, p)
    printed_form = sp.gamma((k + 1) / 2) * sp.gamma(p / 2) / (sp.gamma(k / 2) * sp.gamma((p + 1) / 2))
    evidence.proof("and the mean of its root is as stated", sp.gammasimp(half / printed_form) == 1, on="condition")
    vector = list(general_matrix(1, 7, Random(3)))
    evidence.exact(
        "mean over all planes of coordinates, 7 dimensions, rational vector: exactly $K/7$",
        all(mean_over_coordinate_planes(vector, k) == sp.Rational(k, 7) for k in range(1, 8)),
        on="condition",
        cases=7,
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


@claim(
    id="manifolds/dead-parameters",
    source="manifolds",
    place="code of the commutators, baseline",
    statement=r"The random baseline of the code is that of the model: random planes of $K$ dimensions among the "
    r"parameters "
    r"it has.",
    verdict="refuted",
    correction=r"658,560 of the 1,026,184 parameters belong to feed-forward layers that are never called. Their "
    r"gradients "
    r"vanish, so $\delta$ and $\rho_{exec}$ do not know of them, while $\rho_{rand}$ falls: to first order the ratio "
    r"grows "
    r"by $\sqrt{(P+z)/P} = 1.6707$.",
)
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
            "made": equal(sizes.parameters + sizes.dead, printed.PARAMETERS),
            "dead": equal(sizes.dead, printed.DEAD),
            "live": equal(sizes.parameters, printed.LIVE),
            "attention": equal(sizes.attention, printed.ATTENTION),
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


@claim(
    id="manifolds/parameterization",
    source="manifolds",
    place="3.2",
    statement="The four attention weight matrices together constitute the complete parameterization.",
    verdict="refuted",
    correction="They are 327,680 of 367,624 parameters in use; tables, biases, norms and head are the other 39,944, "
    "and all "
    "of them are trained.",
)
def test_parameterization(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "entries of the attention matrices against all parameters in use",
        figures={"attention": equal(sizes.attention, sizes.parameters)},
        counterexample="the code's model has token and position tables, biases, norms and a head",
    )
    evidence.exact("the rest", on="correction", figures={"others": equal(sizes.parameters - sizes.attention, 39_944)})


@claim(
    id="manifolds/abs-10x",
    source="manifolds",
    place="abstract, 4.3, caption of Figure 5",
    statement=r"The execution subspace captures up to $10\times$ more commutator energy than a random subspace of "
    r"equal "
    r"dimension early in training (median 9.7), 2.1 times late.",
    verdict="inconsistent",
    correction=r"9.7 and 2.1 are ratios of norms: of energies they would be 94 and 4.4. Against random planes among "
    r"the "
    r"parameters in use they are 5.8 and 1.26, among the attention matrices 5.5 and 1.19.",
    remark="“Early” is the first fifth of the measurements that have a basis, steps 2,000 to 5,000 of 20,000, not of "
    "training. Our training at the source's size has, against its baseline, 6.9 and 1.9 in float32, as its code "
    "computes it, and 10.7 and 7.3 in float64.",
)
def test_ten_times(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the peak in the caption of Figure 5 against “up to 10” in the abstract",
        figures={"peak": at_most(printed.PEAK, 10)},
    )
    evidence.audit(
        "norm ratio called energy: 9.7 against its square",
        figures={"energy ratio": equal(round(printed.EARLY**2, 1), printed.EARLY)},
    )
    for name, plane in (("in use", LIVE), ("attention", printed.ATTENTION)):
        factor = math.sqrt(P / plane)
        expected = {"in use": (5.8, 1.26), "attention": (5.5, 1.19)}[name]
        evidence.exact(
            f"printed ratios over $\\sqrt{{P/P'}}$, planes among parameters {name}",
            on="correction",
            figures={
                "early": equal(round(printed.EARLY / factor, 1), expected[0]),
                "late": equal(round(printed.LATE / factor, 2), expected[1]),
            },
        )
    evidence.exact(
        "squares",
        on="correction",
        figures={"early": equal(round(printed.EARLY**2), 94), "late": equal(round(printed.LATE**2, 1), 4.4)},
    )


@claim(
    id="manifolds/abs-92",
    source="manifolds",
    place="abstract, 4.3, Figure 5B",
    statement=r"More than 92 % of the commutator's magnitude is perpendicular to the execution subspace, throughout.",
    verdict="inconsistent",
    correction=r"The text's own $\rho_{exec} \le 0.13$ means $\|\delta_\perp\|/\|\delta\| = \sqrt{1-\rho^2} \ge "
    r"0.991$. The code "
    r"plots $1-\rho$, which falls to 0.87. And a random plane of 60 dimensions leaves more than 99.99 %, so that much "
    r"being perpendicular shows nothing.",
    remark=r"Our training at the source's size has a least $1-\rho$ of 0.866 and a least $\sqrt{1-\rho^2}$ of 0.991.",
)
def test_perpendicular(evidence: EvidenceLog) -> None:
    largest = printed.SHARE[1]
    evidence.audit(
        r"$1-\rho$, the printed quantity, at the text's largest $\rho_{exec} = 0.13$",
        figures={"1 − ρ": at_least(round(1 - largest, 2), printed.PERPENDICULAR)},
    )
    cases = [(sp.Rational(3, 5), sp.Rational(4, 5)), (sp.Rational(5, 13), sp.Rational(12, 13))]
    evidence.exact(
        r"$\|\delta_\perp\| = \sqrt{1-\rho^2}\,\|\delta\|$ (Pythagoras), two rational cases; it is above $1-\rho$",
        all(r**2 + s**2 == 1 and s > 1 - r for r, s in cases),
        on="correction",
        cases=len(cases),
    )
    evidence.exact(
        "values",
        on="correction",
        figures={
            "√(1 − 0.13²)": at_least(round(math.sqrt(1 - largest**2), 4), 0.991),
            "1 − 0.13": at_most(round(1 - largest, 2), 0.87),
            "random plane": at_least(round(math.sqrt(1 - K / P), 6), 0.9999),
        },
    )


@claim(
    id="manifolds/alignment-measured",
    source="manifolds",
    place="4.3, Figure 4",
    statement=r"The execution basis holds more of the commutator than random planes.",
    verdict="reproduced",
    remark="At either size, float64, five seeds. A training without a task and the basis of another seed do not; the "
    "gradient itself does as much as its commutator.",
)
def test_alignment(evidence: EvidenceLog) -> None:
    for size in SCALES:
        early, late = (
            measured("figure-5", f"{when}, float64, baseline of parameters in use", size) for when in ("early", "late")
        )
        evidence.numeric(
            rf"recorded at scale {size}: $\rho_{{exec}}/\rho_{{rand}}$ against planes among the parameters in use",
            on="reproduction",
            figures={"early": at_least(round(early, 2), 2.0), "late": at_least(round(late, 2), 2.0)},
        )
        nulls = [
            measured("figure-5", f"null: late, {what}", size)
            for what in ("training without a task", "basis of another seed")
        ]
        evidence.control(
            f"a training without a task, and the basis of another seed, stay below 1.2; scale {size}",
            figures={"largest": at_most(round(max(nulls), 2), 1.2)},
        )
