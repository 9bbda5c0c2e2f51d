"""A critical point outside of Θ_0, where the orbit and the Hessian's kernel are smaller than the group."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from proofs_checks.gauge.critical_points import hessian, squared_loss
from proofs_checks.gauge.dimension_counts import gauge_dimension
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most
from symgauge.models.reference import random_parameters
from symgauge.numeric import function_of, random_inputs, rank_with_gap
from symgauge.parameter_vector import ParameterVector


def record_kernel_off_the_stratum(evidence: EvidenceLog, only: str | Sequence[str] = ()) -> None:
    """W_V = W_O = 0: every such point is critical, and general targets bend the loss in all directions of both."""
    a = Architecture(4, 1, 1, 4, context=3, **ALONE)
    flat, x = ParameterVector.of(a), random_inputs(a, 0, batch=30)
    drawn = random_parameters(a, 0)
    silent = {name: torch.zeros_like(w) if "value" in name or "output" in name else w for name, w in drawn.items()}
    loss, theta = squared_loss(a, x, function_of(a, x)(random_parameters(a, 1))), flat.join(silent)
    found = rank_with_gap(hessian(loss, theta), 1e3)
    wanted = gauge_dimension(1, 1, 4)
    evidence.numeric(
        "at a critical point outside of $\\Theta_0$ as many zero eigenvalues",
        figures={
            "gradient": at_most(float(torch.func.grad(loss)(theta).norm()), 1e-14),
            "zero eigenvalues": at_least(len(theta) - found.rank, wanted),
            "gap": found.gap,
        },
        counterexample=r"$h = 1$, $d = d_v = 4$, $d_k = 1$ (A2 and the sizes of A6), $W_V = W_O = 0$, general targets: "
        f"{len(theta) - found.rank} zero eigenvalues of {len(theta)}, where {wanted} are claimed",
        only=only,
    )
