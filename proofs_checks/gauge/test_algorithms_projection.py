"""Gauge components of updates: which optimizers have them, and what projecting does (§7.3)."""

from __future__ import annotations

from random import Random

import sympy as sp
import torch

from proofs_checks.gauge.algebra import projection
from proofs_checks.gauge.algebra import scalar_model as scalar
from proofs_checks.gauge.layer_algebra import gradient_of, inner
from proofs_checks.gauge.published_algorithms import algorithm_3
from proofs_checks.gauge.reported import TEXT
from proofs_checks.support.attention_layers import drawn_layers, gaussian_like, inputs_for, layer_outputs
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.algorithms import (
    AttentionParameters,
    project_gradient,
    random_attention,
)
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.symbolic.instances import general_matrix


def vertical_share(p: AttentionParameters, update: AttentionParameters) -> float:
    """‖vertical part‖ / ‖update‖."""
    return project_gradient(p, update).vertical.norm() / update.norm()


def adam(
    layer: AttentionParameters, seed: int, project: bool, steps: int = 10
) -> tuple[AttentionParameters, AttentionParameters]:
    """The parameters after so many steps of Adam, fed with gradients or with projected ones, and the last update."""
    mean = square = layer.map(torch.zeros_like)
    update = mean
    for t in range(1, steps + 1):
        gradient = gradient_of(layer, seed)
        if project:
            gradient = project_gradient(layer, gradient).horizontal
        mean = mean.combine(gradient, lambda m, g: 0.9 * m + 0.1 * g)
        square = square.combine(gradient, lambda v, g: 0.999 * v + 0.001 * g**2)
        one, two = 1 - 0.9**t, 1 - 0.999**t
        update = mean.combine(square, lambda m, v, one=one, two=two: (m / one) / ((v / two).sqrt() + 1e-8))
        layer = layer.combine(update, lambda w, u: w - 1e-3 * u)
    return layer, update


@checks("sec7.3-a")
def test_wasted_updates(evidence: EvidenceLog) -> None:
    start = sp.Matrix([1, 2])
    slope = scalar.at(scalar.GRADIENT, *start)
    later = start - slope / 4
    vertical = scalar.at(scalar.VERTICAL, *start), scalar.at(scalar.VERTICAL, *later)
    projected = slope - slope.dot(vertical[0]) / vertical[0].dot(vertical[0]) * vertical[0]
    evidence.exact(
        "a sign step, the first of Adam, from the projected gradient has no component along the orbit",
        projected.applyfunc(sp.sign).dot(vertical[0]) == 0,
        counterexample=r"$L = \frac12(qk-1)^2$ at $(q,k) = (1,2)$: $\Pi\nabla L = 0$, as everywhere, so the step is "
        r"$(1,1)$ as before, with inner product $-1$ with the tangent $(q,-k)$. Gradient descent has nothing to remove",
    )
    evidence.proof(
        "for every size: gradients have no component along the orbit, so projecting them changes no optimizer's steps",
        proves(projection.prove_gradient_is_horizontal),
        on="correction",
    )
    found = {
        "sign of the gradient": slope.applyfunc(sp.sign).dot(vertical[0]),
        "the last gradient, one step later": slope.dot(vertical[1]),
        "weight decay": start.dot(vertical[0]),
    }
    evidence.exact(
        r"inner products with the orbit's tangent at $(q,k) = (1,2)$, and after a step of size $\frac14$",
        on="correction",
        figures={name: equal(str(x), y) for (name, x), y in zip(found.items(), ("-1", "-3/4", "-3"), strict=True)},
        cases=len(found),
    )
    least, most, left, apart, cases = 1.0, 0.0, 0.0, 0.0, 0
    for layer, seed in drawn_layers("plain", "shared", "rotary"):
        (end, _), (same, update) = (adam(layer, seed, project) for project in (False, True))
        apart = max(apart, end.distance(same) / layer.distance(end))
        least = min(least, vertical_share(end, update))
        left = max(left, vertical_share(end, project_gradient(end, update).horizontal))
        most = max(most, vertical_share(layer, gradient_of(layer, seed)))
        cases += 1
    evidence.numeric(
        "ten steps of Adam on random layers, fed with projected gradients: the parameters reached, the vertical share "
        "of the last update, and that share once the update is projected",
        on="correction",
        figures={
            "distance to Adam on gradients, of the way": at_most(apart, 1e-6),
            "least share": at_least(least, 0.05),
            "share after projecting the update": at_most(left, 1e-12),
        },
        cases=cases,
    )
    evidence.control("the gradient itself, by the same measure", most < 1e-12, figures={"share": at_most(most, 1e-12)})


@checks("sec7.3-b")
def test_acceleration(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT,
        {
            "an experiment: data, optimizer": ("training data", "CIFAR", "MNIST", "AdamW", "SGD", "learning rate"),
            "a measure of convergence": ("convergence rate", "training loss", "iterations", "steps to"),
        },
        there="computational overhead",
    )
    worst, moved, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers("plain", "biases", "rotary"):
        plain = projected = layer
        for _ in range(10):
            plain = plain.combine(gradient_of(plain, seed), lambda w, g: w - 1e-3 * g)
            step = project_gradient(projected, gradient_of(projected, seed)).horizontal
            projected = projected.combine(step, lambda w, g: w - 1e-3 * g)
        worst = max(worst, plain.distance(projected) / layer.norm())
        moved = min(moved, plain.distance(layer) / layer.norm())
        cases += 1
    evidence.numeric(
        "ten steps of gradient descent with and without projection end at the same parameters",
        on="correction",
        figures={"distance": at_most(worst, 1e-12), "way gone": at_least(moved, 1e-4)},
        cases=cases,
    )
    layer = random_attention(9, 3, 2, 4, seed=1)
    signs = gradient_of(layer).map(torch.sign)
    projected = project_gradient(layer, signs).horizontal
    evidence.control(
        "one sign step with and without", figures={"distance": at_least(signs.distance(projected) / signs.norm(), 0.05)}
    )
    tokens, width, heads, rank = 512, 768, 12, 64  # the typical values of G.4, with d_k = d_v
    project = 3 * 2 * heads * width * 2 * rank**2 + heads * 2 * rank**3  # Algorithm 3, W⁺ by the Gram matrix
    forward = 12 * tokens * width**2 + 2 * tokens**2 * width  # with a network of width 4d, per sequence
    step = 32 * 3 * forward  # a backward pass is two forward passes; batches of 32 as in F.1.2
    evidence.exact(
        "multiplications of one projection, of a forward pass of one sequence, and of a training step on 32",
        on="correction",
        figures={
            "projection": project,
            "forward pass": forward,
            "of a forward pass, percent": equal(round(100 * project / forward, 1), 11.4),
            "of a training step, percent": equal(round(100 * project / step, 2), 0.12),
        },
    )


@checks("eq-9")
def test_projected_gradient(evidence: EvidenceLog) -> None:
    rng = Random(11)
    good, cases = True, 0
    for width, rank in ((3, 1), (4, 2), (5, 2)):
        weights = general_matrix(width, rank, rng), general_matrix(width, rank, rng)
        u, v = ((general_matrix(width, rank, rng), general_matrix(width, rank, rng)) for _ in range(2))
        pu, pv = projection.orthogonal_projection(weights, u), projection.orthogonal_projection(weights, v)
        twice = projection.orthogonal_projection(weights, pu)
        z = general_matrix(rank, rank, rng)
        killed = projection.orthogonal_projection(weights, (weights[0] * z, -weights[1] * z.T))
        symmetric = _product(pu, v) == _product(u, pv)
        good &= is_zero(projection.pairing(weights, pu), *(a - b for a, b in zip(pu, twice, strict=True)), *killed)
        good &= symmetric
        cases += 1
    evidence.exact(
        "idempotent, self-adjoint, orthogonal to every generator and zero on them, on general rational matrices",
        good,
        cases=cases,
    )
    evidence.proof(
        "for every size: a gradient is perpendicular to the orbit, so projecting it changes nothing",
        proves(projection.prove_gradient_is_horizontal),
    )
    worst, changed, cases = 0.0, 1.0, 0
    for layer, seed in drawn_layers():
        u, v = gaussian_like(layer, seed), gaussian_like(layer, seed + 100)
        one, two = project_gradient(layer, u), project_gradient(layer, v)
        again = project_gradient(layer, one.horizontal).vertical.norm() / u.norm()
        adjoint = abs(inner(one.horizontal, v) - inner(u, two.horizontal)) / u.norm() / v.norm()
        first_order = _change_along(layer, one.vertical, seed)
        worst = max(worst, again, adjoint, first_order)
        changed = min(changed, _change_along(layer, one.horizontal, seed))
        cases += 1
    evidence.numeric(
        "`project_gradient` on random layers: idempotent, self-adjoint, and what it removes does not move the "
        "outputs at "
        "first order",
        figures={"worst": at_most(worst, 1e-12)},
        cases=cases,
    )
    evidence.control("what it keeps does move them", figures={"relative change per unit": at_least(changed, 1e-3)})
    layer = random_attention(9, 3, 2, 4, seed=1)
    oblique = algorithm_3(layer, gradient_of(layer))
    evidence.control(
        "Algorithm 3 on a true gradient", figures={"change": at_least(oblique.distance(gradient_of(layer)), 1e-3)}
    )


def _product(one: projection.Pair, two: projection.Pair) -> sp.Expr:
    return sum((a.T * b).trace() for a, b in zip(one, two, strict=True))


def _change_along(p: AttentionParameters, direction: AttentionParameters, seed: int) -> float:
    """Derivative of the outputs along a direction of unit length, relative to the outputs."""
    x, size = inputs_for(p, seed), direction.norm()
    along = {name: t / size for name, t in direction.tensors().items()}
    value, slope = torch.func.jvp(lambda t: layer_outputs(p.replace(**t), x), (p.tensors(),), (along,))
    return float(slope.norm() / value.norm())
