"""The experiments on the loss landscape, run again in small: gradients, orbits, spectra, depth (F.5, F.6, §6)."""

from __future__ import annotations

import math

import sympy as sp
import torch

from proofs_checks.gauge.experiments import depth, figure_1, gradient_orthogonality, orbits
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.spectrum import spectrum
from proofs_checks.gauge.experiments.table_7 import EXACT_SMALL, REPORTED, exact_nullity, hessian_bytes
from proofs_checks.gauge.reported import CARD_BYTES, SPECTRUM_METHODS, TEXT, WAYS_TO_CRITICAL_POINTS
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome
from symgauge.experiments.suite import Setting
from symgauge.profiles import scale


def rounded(x: float) -> float:
    """One digit: the rest of a rounding error differs from processor to processor."""
    return float(f"{x:.0e}")


@checks("F.5.2")
def test_gradient_orthogonality(evidence: EvidenceLog) -> None:
    q, k = sp.symbols("q k", real=True)
    loss = sp.Function("L")(q * k)
    slope = (q * loss.diff(q) - k * loss.diff(k)).doit()
    evidence.proof(r"for every loss of $qk$: $\langle\nabla L, (q, -k)\rangle = 0$", sp.simplify(slope) == 0)
    sizes, points = gradient_orthogonality.SIZES, scale(1, 5)
    found = {
        name: gradient_orthogonality.products(sizes, spread, Setting(), points)
        for name, spread in gradient_orthogonality.SPREADS.items()
    }
    tests = points * gradient_orthogonality.DIRECTIONS
    record_outcome(evidence)
    sums = [float(p.product.max()) for p in found.values()]
    means = [float(p.product.max() / p.outputs) for p in found.values()]
    evidence.numeric(
        "largest cosine at two weight scales; the absolute values for the summed and the mean loss",
        on="correction",
        figures={
            "cosine": at_most(max(rounded(float(p.cosine.max())) for p in found.values()), 1e-15),
            "largest": at_least(rounded(max(sums)), 1e-12),
            "smallest": at_most(rounded(min(means)), 1e-14),
            "ratio": at_least(rounded(max(sums) / min(means)), 1e4),
        },
        cases=2 * tests,
    )
    random = min(float(p.random.median()) for p in found.values())
    decay = min(float(p.decay.median()) for p in found.values())
    evidence.control("random directions have cosines", figures={"median": at_least(rounded(random), 1e-4)})
    evidence.control(
        "weight decay, which is no function of the layer's output, breaks orthogonality",
        figures={"median": at_least(rounded(decay), 1e-4)},
    )


@checks("F.5.3")
def test_loss_along_orbits(evidence: EvidenceLog) -> None:
    sizes, setting, tokens = figure_1.SIZES, Setting(), 16
    times = torch.tensor([0.5, 1.0, 1.5, 2.0, 2.25, 3.0], dtype=torch.float64)
    paths = [orbits.follow(sizes, setting, seed, times, 1, tokens) for seed in range(scale(1, 4))]
    stops = [orbits.at_distance(path, 100.0) for path in paths]
    near = "residual 1 %"
    pairs = list(zip(paths, stops, strict=True))
    record_outcome(evidence)
    allowed = [p.error / (torch.finfo(torch.float64).eps * p.condition) for p in paths]
    evidence.numeric(
        r"relative error of the function over $\varepsilon \mathrm{cond}(\exp tX)$, up to $t = 3$; variation "
        "for a residual of 1 %",
        on="correction",
        figures={
            "ratio": at_most(round(max(float(each.max()) for each in allowed)), 30),
            "relative variation": at_least(rounded(min(float(p.change[near][: i + 1].max()) for p, i in pairs)), 1e-14),
        },
        cases=len(paths),
    )
    lines = orbits.straight(sizes, setting, 0, float(times[stops[0]]), 3, 1, tokens)
    evidence.control(
        "the straight line between the same end points, at its middle",
        figures={"loss / loss at the ends": at_least(round(float(lines["residual 10 %"][1][1]), 1), 10)},
    )


@checks("sec6-11")
def test_headline_experiments(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT.between("F EXPERIMENTAL VALIDATION DETAILS", "G PRACTICAL IMPLEMENTATION DETAILS"),
        {
            "what the checkpoints were trained on, and how": ("training data", "optimizer", "learning rate"),
            "how the spectrum was computed at sizes whose Hessian does not fit": SPECTRUM_METHODS,
            "how critical points were found": WAYS_TO_CRITICAL_POINTS,
        },
        there="computing Hessian eigenvalues at critical points",
    )
    smallest = min(hessian_bytes(sizes) for sizes, _ in REPORTED)
    evidence.audit(
        "the smallest dense Hessian of Table 7 against the card of F.1.1",
        on="reproduction",
        figures={"bytes": at_most(smallest, CARD_BYTES)},
    )
    record_null_dimensions(evidence)


def record_null_dimensions(evidence: EvidenceLog) -> None:
    """Exact ranks and a gapped spectrum at widths where both cost little."""
    evidence.exact(
        "exact null dimension, two primes: " + "; ".join(map(str, EXACT_SMALL)),
        on="correction",
        figures={"nullity": equal([exact_nullity(s) for s in EXACT_SMALL], [s.gauge for s in EXACT_SMALL])},
        cases=len(EXACT_SMALL),
    )
    layers = (Sizes(3, 3, 2, 6), Sizes(2, 2, 3, 7))
    spectra = [spectrum(sizes, sizes.d_model**-0.5, 0) for sizes in layers]
    evidence.numeric(
        "float64 spectrum, teacher = student: " + "; ".join(map(str, layers)),
        on="correction",
        figures={
            "nullity": equal([s.nullity for s in spectra], [s.gauge for s in layers]),
            "gap": at_least(rounded(min(s.rank.gap for s in spectra)), 1e6),
        },
        cases=len(layers),
    )
    fewer = [s.below(s.smallest_kept * 1.01) for s in spectra]
    evidence.control(
        "a cut one eigenvalue higher counts differently",
        figures={"excess": at_least(min(n - s.gauge for n, s in zip(fewer, layers, strict=True)), 1)},
    )


@checks("eq-91")
def test_recursion(evidence: EvidenceLog) -> None:
    kappa, error, made = (sp.IndexedBase(name, positive=True) for name in ("kappa", "epsilon", "e"))
    for depth_ in (2, 3, 4):
        carried = sum(kappa[m] * error[m - 1] for m in range(2, depth_ + 1))
        readings = {
            "inside the sum": error[1] + carried + sum(error[m] for m in range(2, depth_ + 1)) - error[depth_],
            "outside, l = L": error[1] + carried,
        }
        for name, rest in readings.items():
            at_one = rest.subs({kappa[m]: 1 for m in range(1, 5)} | {error[m]: 1 for m in range(1, 5)})
            evidence.audit(
                f"$L = {depth_}$, last term {name}: after $\\varepsilon_L$ cancels, a sum of positive terms has to "
                "vanish; its value with all terms one",
                figures={"sum": equal(int(sp.expand(at_one)), 0)},
            )
    recursion = made[1]
    for m in range(2, 7):
        recursion = kappa[m] * recursion + made[m]
        closed = sum(made[l] * sp.prod(kappa[j] for j in range(l + 1, m + 1)) for l in range(1, m + 1))
        evidence.proof(f"closed form of the recursion, $L = {m}$", sp.expand(recursion - closed) == 0, on="correction")
    found = grown("with residual and norm")
    over = [a / b for a, b in zip(found.error, found.worst, strict=True)]
    evidence.numeric(
        "measured error over the bound, at every depth up to 16 (residual and norm)",
        on="correction",
        figures={"largest ratio": at_most(round(max(over), 2), 1.2)},
        cases=len(over),
    )
    alone = [a / b for a, b in zip(found.error, found.local, strict=True)]
    evidence.control(
        "a bound without the carried error is broken", figures={"largest ratio": at_least(round(max(alone), 1), 1.5)}
    )


def grown(name: str, coherent: float = 0.0) -> depth.Growth:
    return depth.growth(depth.KINDS[name], Sizes(4, 8, 8, 32), 1.0, 16, 12, scale(2, 6), Setting(), coherent)


@checks("F.6.2")
def test_accumulation(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT.between("F.6.2 Layer-wise Error Accumulation", "F.7 STATISTICAL ANALYSIS"),
        {
            "the model and its depth": ("GPT", "12 layers", "depth", "number of layers"),
            "what told the cause apart": ("without residual", "ablation", "compared"),
        },
        there="sub-linear accumulation due to the residual connections",
    )
    found = {name: grown(name) for name in ("attention alone", "with norm", "with residual", "with residual and norm")}
    without = [found["attention alone"].exponent, found["with norm"].exponent]
    evidence.numeric(
        "if residual connections were the cause, errors would grow at least linearly without them; exponents without",
        on="reproduction",
        figures={"smallest": at_least(round(min(without), 1), 1)},
        cases=2,
    )
    tame = [g for name, g in found.items() if name != "with residual"]
    squares = [g.quadratic[-1] / g.error[-1] for g in tame]
    gains = [math.exp(sum(map(math.log, g.gain[1:])) / (len(g.gain) - 1)) for g in tame]
    evidence.numeric(
        "exponents of growth over 16 layers, the sum of squares over the measured error, and mean gains",
        on="correction",
        figures={
            "without residual": at_most(round(max(without), 1), 0.9),
            "with residual and norm": at_most(round(found["with residual and norm"].exponent, 1), 0.9),
            "with residual alone": at_least(round(found["with residual"].exponent, 1), 1.2),
            "squares, smallest": at_least(round(min(squares), 1), 0.6),
            "squares, largest": at_most(round(max(squares), 1), 1.5),
            "gain, smallest": at_least(round(min(gains), 1), 0.8),
            "gain, largest": at_most(round(max(gains), 1), 1.2),
        },
        cases=len(found),
    )
    coherent = grown("with residual and norm", depth.COHERENT)
    evidence.control("errors of one direction", figures={"exponent": at_least(round(coherent.exponent, 1), 0.9)})
