"""The loss along gauge orbits: constant on them, gradient orthogonal to them, flat at critical points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, Undecided
from symgauge.model_graph import Attention, Map, graph_of
from symgauge.numeric.gaps import RankWithGap, rank_with_gap, visible_lengths
from symgauge.numeric.invariance import function_of
from symgauge.parameter_vector import ParameterVector

Loss = Callable[[Tensor], Tensor]
"""θ (P,) → a number."""


def squared_loss(architecture: Architecture, inputs: Tensor, targets: Tensor) -> Loss:
    """½ · mean square of f_θ(inputs) − targets as a function of θ in the order of :class:`ParameterVector`.

    With ``targets`` computed at some θ* ("teacher = student") the loss is exactly zero there, so θ* is an exact
    critical point and the Hessian is the Gauss–Newton matrix JᵀJ / (number of outputs).
    """
    flat, function = ParameterVector.of(architecture), function_of(architecture, inputs)

    def loss(theta: Tensor) -> Tensor:
        return 0.5 * (function(flat.split(theta)) - targets).square().mean()

    return loss


@dataclass(frozen=True)
class Orthogonality:
    """|⟨∇L, v⟩| / (‖∇L‖ ‖v‖): the worst over the vectors, and the typical one of random vectors for comparison."""

    worst: float
    random: float
    gradient: float
    """‖∇L‖."""


def gradient_orthogonality(loss: Loss, theta: Tensor, vectors: Tensor, seed: int = 0) -> Orthogonality:
    """How orthogonal the gradient at ``theta`` (P,) is to ``vectors`` (m, P).

    Raises :class:`InvalidInput` without vectors or with a zero one, :class:`Undecided` where the gradient vanishes or
    is not finite.
    """
    sizes = torch.linalg.vector_norm(vectors, dim=-1)
    if vectors.numel() == 0 or not bool((sizes > 0).all()):
        raise InvalidInput("orthogonality needs vectors other than zero")
    gradient = grad(loss)(theta)
    size = torch.linalg.vector_norm(gradient)
    if not bool(torch.isfinite(size)) or float(size) == 0:
        raise Undecided(f"the gradient has norm {float(size)}, so orthogonality to it says nothing")
    generator = torch.Generator().manual_seed(seed)
    other = torch.randn(vectors.shape, generator=generator, dtype=torch.float64).to(theta.device)
    cosines = (vectors @ gradient).abs() / (sizes * size)
    controls = (other @ gradient).abs() / (torch.linalg.vector_norm(other, dim=-1) * size)
    return Orthogonality(float(cosines.max()), float(controls.median()), float(size))


def hessian(loss: Loss, theta: Tensor) -> Tensor:
    """Hessian (P, P) of a loss, symmetrised."""
    matrix: Tensor = torch.func.hessian(loss)(theta)
    return (matrix + matrix.mT) / 2


@dataclass(frozen=True)
class Nullity:
    """Dimension of a symmetric matrix's kernel with the gap behind it."""

    dimension: int
    singular: RankWithGap


def hessian_nullity(loss: Loss, theta: Tensor, min_gap: float = 1e3) -> Nullity:
    """dim ker ∇²L(θ) from a clear gap of eigenvalues; :class:`Undecided` without one.

    At a least-squares minimum with zero residual the eigenvalues are squares of the Jacobian's singular values, so gaps
    are half as wide (in digits) as those of :func:`symgauge.numeric.jacobian.reference_jacobian`.
    """
    matrix = hessian(loss, theta)
    sizes = matrix.diagonal().abs()
    noise = torch.finfo(matrix.dtype).eps * len(sizes) * float(sizes.max())
    scale = visible_lengths(sizes, noise, min_gap).sqrt()
    found = rank_with_gap(matrix / scale[:, None] / scale, min_gap)
    return Nullity(len(theta) - found.rank, found)


def kernel_residual(loss: Loss, theta: Tensor, vectors: Tensor) -> float:
    """max ‖H v‖ / (‖H‖₂ ‖v‖) over ``vectors`` (m, P): of the size of ε when they lie in the Hessian's kernel."""
    if vectors.numel() == 0:
        raise InvalidInput("the kernel residual needs at least one vector")
    matrix = hessian(loss, theta)
    images = torch.linalg.vector_norm(vectors @ matrix, dim=-1) / torch.linalg.vector_norm(vectors, dim=-1)
    return float(images.max() / torch.linalg.matrix_norm(matrix, 2))


Path = Callable[[float], dict[str, Tensor]]


def gauge_path(architecture: Architecture, parameters: Mapping[str, Tensor], seed: int = 0) -> Path:
    """t ↦ parameters · exp(tX): W_Q e^{tX}, W_K e^{−tXᵀ}, W_V e^{tY}, e^{−tY} W_O, random X, Y per group and layer.

    For attention without rotary encoding and without normalised queries (gauge paper, Section 5.1); others are refused.
    """
    if any(architecture.encodings) or architecture.qk_norm or architecture.latent is not None:
        raise InvalidInput("gauge_path needs plain attention: no rotary encoding, QK-norm or latents")
    generator = torch.Generator().manual_seed(seed)
    groups, directions = architecture.groups, []

    def random(n: int) -> Tensor:
        return torch.randn((groups, n, n), generator=generator, dtype=torch.float64) / n

    for sub in graph_of(architecture).sublayers():
        if isinstance(sub, Attention):
            directions.append((sub, random(architecture.d_k), random(architecture.d_v)))
    share = torch.arange(architecture.heads) // (architecture.heads // groups)

    def times(m: Map, right: Tensor) -> dict[str, Tensor]:
        changed = {m.weight: parameters[m.weight] @ right}
        if m.bias is not None:
            changed[m.bias] = (parameters[m.bias].unsqueeze(-2) @ right).squeeze(-2)
        return changed

    def at(t: float) -> dict[str, Tensor]:
        roles = dict(parameters)
        for sub, x, y in directions:
            roles |= times(sub.query, torch.matrix_exp(t * x)[share])
            roles |= times(sub.key, torch.matrix_exp(-t * x.mT))
            roles |= times(sub.value, torch.matrix_exp(t * y))
            roles[sub.output.weight] = torch.matrix_exp(-t * y)[share] @ parameters[sub.output.weight]
        return roles

    return at


def loss_along(loss: Loss, flat: ParameterVector, path: Path, times: Sequence[float]) -> float:
    """(max − min) / max of the loss at the given times along a path; raises where that says nothing."""
    if len(set(times)) < 2:
        raise InvalidInput("the loss along a path needs at least two different times")
    values = [float(loss(flat.join(path(t)))) for t in times]
    top, bottom = max(values), min(values)
    if not (0 < top < float("inf")) or any(v != v for v in values):
        raise Undecided(f"losses along the path run from {bottom:.3g} to {top:.3g}, so no relative change exists")
    return (top - bottom) / top
