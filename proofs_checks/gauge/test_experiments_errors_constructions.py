"""The constructions of F.3.2 as matrices: which are well defined, and which lie outside the group at all."""

from __future__ import annotations

from typing import Any

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.gauge.experiments import non_symmetries
from proofs_checks.gauge.experiments.distribution import distribution
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.small_samples import ELEMENTS, SMALL, blocks, drawn, generator, rotated
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.group_elements import rotate_stream
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal


@checks("eq-89")
def test_mixing_is_invertible(evidence: EvidenceLog) -> None:
    bounds = [sp.Rational(h - 1, 10) for h in range(2, 11)]
    evidence.exact(
        r"$\|P-I\|_2\le0.1(h-1)$, the norm of the matrix of block norms, is below 1 up to $h=10$",
        max(bounds) < 1,
        figures={"largest": str(max(bounds))},
        cases=len(bounds),
    )

    def determinant(h: int, r: sp.Rational) -> sp.Expr:
        return (sp.eye(h) + r * (sp.ones(h) - sp.eye(h)) / 10).det()

    evidence.exact(
        "$h=12$: the determinant, a polynomial in the $R_{ij}$, is not zero at $R_{ij}=e_1e_1^\\top$, so it "
        "vanishes only on a null set",
        determinant(12, sp.Integer(1)) != 0,
        figures={"determinant": str(determinant(12, sp.Integer(1)))},
    )
    evidence.control("$h=11$, $R_{ij}=-e_1e_1^\\top$ is singular", determinant(11, sp.Integer(-1)) == 0, kind="exact")
    sizes = Sizes(12, 3, 5, 60)
    p, inverse = non_symmetries.mixings(generator(), sizes, 5)
    off = p.unflatten(1, (12, 5)).unflatten(3, (12, 5)).transpose(2, 3)
    norms = torch.linalg.matrix_norm(off)[:, ~torch.eye(12, dtype=torch.bool)]
    residual = float((p @ inverse - torch.eye(60, dtype=torch.float64)).abs().max())
    evidence.numeric(
        "drawn at $h=12$: block norms, and $PP^{-1}$",
        figures={
            "norm": equal(sorted({f"{float(n):.10f}" for n in norms.flatten()}), ["0.1000000000"]),
            "residual": at_most(float(f"{residual:.0e}"), 1e-12),
        },
        cases=5,
    )
    mistaken = float((p @ inverse.roll(1, 0) - torch.eye(60, dtype=torch.float64)).abs().max())
    evidence.control("the inverse of another draw", figures={"residual": at_least(round(mistaken, 2), 0.01)})


@checks("eq-90")
def test_blocks_that_commute(evidence: EvidenceLog) -> None:
    cos, sin, a, b, c, d = sp.symbols("cos sin a b c d")
    turn, j = sp.Matrix([[cos, sin], [-sin, cos]]), sp.Matrix([[0, 1], [-1, 0]])
    evidence.exact(
        "a block with off-diagonal terms that commutes with every rotation",
        not (j * turn - turn * j).expand().is_zero_matrix,
        counterexample=r"$A_1=J=\begin{pmatrix}0&1\\-1&0\end{pmatrix}$: $JR=RJ$ for every rotation $R$ of the plane",
    )
    general = sp.Matrix([[a, b], [c, d]])
    gap = (general * turn - turn * general).expand()
    solution = sp.solve([entry.coeff(sin) for entry in gap], [c, d], dict=True)
    free_of_cosine = all(entry.coeff(cos) == 0 for entry in gap)
    evidence.proof(
        r"$AR=RA$ with $\sin\neq0$, solved for a general block: $d=a$, $c=-b$",
        solution == [{c: -b, d: a}] and free_of_cosine,
        on="correction",
    )
    diagonal = sp.diag(2, 1)
    evidence.control(
        "a block without off-diagonal terms that does not commute: diag(2, 1)",
        not (diagonal * turn - turn * diagonal).expand().is_zero_matrix,
        kind="exact",
    )
    s = drawn(SMALL)
    evidence.numeric(
        "a rotary layer under blocks $aI+bJ$, whose off-diagonal terms are as large as the others",
        on="correction",
        figures={"change": at_most(float(f"{blocks(s, 'commuting').maximum:.0e}"), 1e-14)},
        cases=ELEMENTS,
    )
    evidence.control("general blocks", figures={"change": at_least(round(blocks(s, "gaussian").median, 1), 0.1)})


@checks("F.3.2-3")
def test_global_orthogonal(evidence: EvidenceLog) -> None:
    alone = ExactFunction(Architecture(4, 2, 3, 2, context=3, **ALONE))

    def turned(function: ExactFunction, q: Tensor) -> bool:
        def act_on(roles: dict[str, Tensor]) -> dict[str, Tensor]:
            return {name: w @ q if "output" in name else q @ w for name, w in roles.items()}

        return function.keeps(act_on)  # type: ignore[arg-type]

    identity = torch.eye(4, dtype=torch.float64)
    integers = 5 * identity
    integers[:2, :2] = torch.tensor([[3.0, 4.0], [-4.0, 3.0]])
    mirror = torch.diag(torch.tensor([1.0, 1.0, 1.0, -1.0], dtype=torch.float64))
    evidence.exact(
        r"one $Q$ of each determinant, a rational rotation and one with a reflection behind it, changes a single "
        r"layer, which no element of the group does; what keeps $\{(M_i,N_i)\}$ is algebraic in $Q$, so a null set of "
        r"$O(d)$ at these and at almost all weights",
        all(not turned(alone, alone.lift(integers @ q) / 5.0) for q in (identity, mirror)),
        cases=2,
    )
    evidence.control(
        "$Q=-1$, of probability 0, is found to keep it", turned(alone, alone.lift(-identity)), kind="exact"
    )
    sizes: dict[str, Any] = {"layers": 2, "d_ff": 5, "vocabulary": 40, "context": 3, "epsilon": 0.1}
    model = Architecture(4, 2, 2, 3, norm="rms", final_norm=True, gated=True, activation="silu", **sizes)
    function = ExactFunction(model, batch=1500, length=2)
    rotation = function.lift(integers) / 5.0
    evidence.control(
        "that rotation throughout an RMSNorm model of two layers, with the gains, is found to keep its function, and "
        "in the second layer only it is not",
        function.keeps(lambda r: rotate_stream(model, r, rotation))
        and not function.keeps(lambda r: rotate_stream(model, r, rotation, layers=range(1, 2))),
        kind="exact",
    )
    shapes = (Sizes(2, 3, 5, 7), Sizes(3, 4, 2, 11), SMALL)
    least = min(rotated(drawn(s), "everywhere").median for s in shapes)
    evidence.numeric(
        "random $Q$ on single layers, smallest median change",
        figures={"change": at_least(round(least, 1), 0.5)},
        cases=len(shapes) * ELEMENTS,
    )
    whole, unturned = drawn(SMALL), torch.eye(SMALL.d_model, dtype=torch.float64)
    still = distribution(whole.errors([non_symmetries.rotate(whole.layer, unturned, "everywhere")])).maximum
    evidence.control("$Q = 1$", figures={"change": at_most(float(f"{still:.0e}"), 1e-14)})
