"""The commutator in float32, the precision of the source's code: what of its growth and its turn is rounding (4.3)."""

from __future__ import annotations

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.manifolds.commutators import commutator
from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks
from symgauge.experiments.deciding import record_outcome

ETA = 1e-3


def defect(h_a: Tensor, h_b: Tensor, minimum: Tensor, offset: Tensor) -> float:
    """D at minimum + offset of the losses ½ Σ h (θ − minimum)², one for each h: their steps commute."""
    fields = [lambda theta, h=h: h * (theta - minimum) for h in (h_a, h_b)]
    return float(commutator(fields[0], fields[1], minimum + offset, ETA).defect)


@checks("defect-precision")
def test_rounding_makes_a_defect(evidence: EvidenceLog) -> None:
    x, a, b, eta = sp.symbols("x a b eta")
    evidence.proof(
        "one parameter, curvatures $a$ and $b$, a common minimum: the exact commutator is 0 for every step",
        sp.expand((1 - eta * b) * (1 - eta * a) * x - (1 - eta * a) * (1 - eta * b) * x) == 0,
        on="correction",
    )
    one = defect(*(torch.tensor([value]) for value in (1.0, 3.0, 1.0, 0.004)))
    evidence.exact(
        "where the exact commutator is zero, the computed $D$ is",
        figures={"D in float32": at_most(float(f"{one:.4g}"), 0.0)},
        counterexample=r"$\frac12(\theta-1)^2$ and $\frac32(\theta-1)^2$ at $\theta = 1.004$: the exact $\delta$ is "
        r"0, in "
        r"float32 it is one unit in the last place and $D = 2484$",
    )
    generator = torch.Generator().manual_seed(0)
    h_a, h_b = (1 + 2 * torch.rand(200, generator=generator) for _ in range(2))
    minimum, offset = (torch.randn(200, generator=generator) for _ in range(2))
    parts = h_a, h_b, minimum
    far, near = (defect(*parts, distance * offset) for distance in (1.0, 1e-3))
    double = defect(*(part.double() for part in parts), 1e-3 * offset.double())
    commuting = evidence.numeric(
        "200 parameters, random curvatures and a common minimum: $D$ at distances 1 and 0.001 times a normal vector",
        on="correction",
        figures={
            "growth in float32": at_least(float(f"{near / far:.2g}"), 1e3),
            "float64 over float32": at_most(float(f"{double / near:.1g}"), 1e-6),
        },
    )
    for size in SCALES:
        growth = {name: measured("figure-5", f"defect late / early, {name}", size) for name in ("float32", "float64")}
        error = measured("figure-5", "relative error of δ in float32, late", size)
        evidence.numeric(
            rf"error of $\delta$ in float32 over $\delta$, late, and growth of $D$ from early to late, medians, "
            f"scale {size}",
            on="correction",
            figures={
                "error": at_least(round(error, 1), 1.0),
                **{f"growth, {name}": round(factor, 1) for name, factor in growth.items()},
                **where("figure-5", size),
            },
        )
        precision = table("figure-5", "Precision", size)
        first = dict(zip(precision.columns, precision.rows[0], strict=True))["relative error of δ in float32"]
        evidence.control(
            f"at the first snapshot float32 still resolves it, scale {size}", figures={"error": at_most(first, 1.0)}
        )
    turned = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[2.0, 1.0], [1.0, 2.0]])
    fields = [lambda theta, h=h: h @ theta for h in turned]
    found = float(commutator(fields[0], fields[1], torch.tensor([1.0, 1.0]), ETA).defect)
    evidence.control(
        "with Hessians that do not commute, far from the minimum, float32 sees a defect as well",
        figures={"D": at_least(float(f"{found:.2g}"), 0.05)},
        of=commuting,
    )


@checks("abs-decreasing")
def test_alignment_decreases(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
