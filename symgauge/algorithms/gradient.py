"""The part of an update that is orthogonal to the gauge orbit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.algorithms.errors import NonGeneric
from symgauge.algorithms.pairs import Pair, Triangular, matrices, score_pairs, value_pair, with_pairs
from symgauge.algorithms.parameters import (
    AttentionParameters,
    require_alike,
    require_finite,
    require_ordinary_value_bias,
)


@dataclass(frozen=True, eq=False)
class Projection:
    """An update split into its horizontal part and the vertical vector of generators (Z, T, shifts).

    Example:
        >>> import symgauge
        >>> from symgauge.algorithms import random_attention
        >>> layer, update = random_attention(6, 2, 2, 3, seed=0), random_attention(6, 2, 2, 3, seed=1)
        >>> split = symgauge.project_gradient(layer, update)
        >>> split.query_key.shape, split.value_output.shape, split.vertical.norm() > 0.1
        (torch.Size([2, 2, 2]), torch.Size([2, 3, 3]), True)
    """

    horizontal: AttentionParameters
    vertical: AttentionParameters
    query_key: Tensor
    """Z (g, d_k, d_k): the vertical part of (W_Q, W_K) is (W_Q Z, −W_K Zᵀ)."""
    value_output: Tensor
    """T (g, d_v, d_v): the vertical part of (W_V, W_O) is (W_V T, −T W_O)."""


@dataclass(frozen=True, eq=False)
class _Sylvester:
    """Z ↦ (LᴴL) Z + Z (RᴴR) in the eigenvectors of both, from singular values of triangular factors."""

    left: Tensor
    right: Tensor
    sums: Tensor

    @classmethod
    def of(cls, pair: Pair, epsilon: float) -> _Sylvester:
        t = Triangular.of(pair)
        _, a, left = torch.linalg.svd(t.left_factor)
        _, b, right = torch.linalg.svd(t.right_factor)
        sums = a.square().unsqueeze(-1) + b.square().unsqueeze(-2)
        if bool((sums.amin((-2, -1)) <= epsilon * sums.amax((-2, -1))).any()):
            raise NonGeneric(f"{pair.what}: both factors nearly lose rank, so the vertical part is not determined")
        return cls(left.mH, right.mH, sums)

    def solve(self, rhs: Tensor) -> Tensor:
        return self.left @ ((self.left.mH @ rhs @ self.right) / self.sums) @ self.right.mH


def project_gradient(parameters: AttentionParameters, gradient: AttentionParameters) -> Projection:
    """Split an update (a gradient, a preconditioned or momentum step) at ``parameters`` orthogonally.

    ``gradient`` holds ∂L/∂W in the shapes of ``parameters``. The vertical space is spanned by all generators of the
    layer's group: (W_Q Z, −W_K Zᵀ) with Z in gl(d_k), or in the commutant of the rotations; (W_V T, −T W_O); free key
    biases; value bias against output bias. Z solves Sylvester's equation (W_QᵀW_Q) Z + Z (W_KᵀW_K) = W_QᵀG_Q − G_KᵀW_K,
    with Gram matrices and right sides summed over the heads of a key/value group. On the gradient of any function of
    the layer's outputs the right side is zero, and the gradient comes back unchanged to rounding.

    Cost O(h d_model (d_k² + d_v²)), with value and output biases also O(d_model³). Raises :class:`InvalidInput` for
    shapes that differ and entries that are not finite, :class:`NonGeneric` where both factors nearly lose rank.

    The normal equations of a least-squares problem; for Sylvester's equation Golub and Van Loan, Matrix Computations,
    §7.6.3.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.algorithms import random_attention
        >>> layer, update = random_attention(6, 2, 2, 3, seed=0), random_attention(6, 2, 2, 3, seed=1)
        >>> split = symgauge.project_gradient(layer, update)
        >>> split.horizontal.combine(split.vertical, torch.add).distance(update) < 1e-12
        True
        >>> again = symgauge.project_gradient(layer, split.horizontal)
        >>> again.vertical.norm() < 1e-12
        True
    """
    p = parameters
    require_alike(p, gradient)
    require_finite(p, "project_gradient, parameters")
    require_finite(gradient, "project_gradient, gradient")
    require_ordinary_value_bias(p)
    free = p.free_key_channels()
    plain, update = p, gradient
    if p.key_bias is not None and gradient.key_bias is not None:
        plain = p.replace(key_bias=torch.where(free, 0.0, p.key_bias))
        update = gradient.replace(key_bias=torch.where(free, 0.0, gradient.key_bias))
    pairs = [*score_pairs(plain), value_pair(plain)]
    updates = [*score_pairs(update), value_pair(update)]
    solvers = [_Sylvester.of(pair, p.epsilon) for pair in pairs]
    sides = [x.left.mH @ u.left - u.right.mH @ x.right for x, u in zip(pairs, updates, strict=True)]
    shift = None
    if p.value_bias is not None and p.output_bias is not None:
        found = [solver.solve(side) for solver, side in zip(solvers[:-1], sides[:-1], strict=True)]
        value, shift = _with_carried_bias(p, gradient, solvers[-1], sides[-1])
        found.append(value)
    else:
        found = [solver.solve(side) for solver, side in zip(solvers, sides, strict=True)]
    moved = [Pair(x.left @ z, -x.right @ z.mH, x.channels, x.what) for x, z in zip(pairs, found, strict=True)]
    vertical = with_pairs(p.map(torch.zeros_like), moved)
    if vertical.key_bias is not None and gradient.key_bias is not None:
        vertical = vertical.replace(key_bias=torch.where(free, gradient.key_bias, vertical.key_bias))
    if shift is not None and p.value_bias is not None:
        # ``shift`` is how b_V moves in all; what it writes beyond that of the moving values is taken back in b_O.
        written = (p.value_bias.unsqueeze(-2) @ found[-1][0] - shift.unsqueeze(-2)) @ p.grouped_output()
        vertical = vertical.replace(value_bias=shift, output_bias=written.sum((0, 1)))
    z, t = matrices(p, pairs, found)
    return Projection(gradient.combine(vertical, torch.sub), vertical, z, t)


def _with_carried_bias(
    p: AttentionParameters, gradient: AttentionParameters, sylvester: _Sylvester, side: Tensor
) -> tuple[Tensor, Tensor]:
    """T (1, g, d_v, d_v) and the movement τ of b_V (g, d_v) where an output bias takes back what they write.

    The vertical vectors are (W_V T, τ, −T W_O, B(T, τ)) with B(T, τ) = Σ_groups (b_V T − τ) S and S = Σ W_O of a group.
    Their Gram operator is Sylvester's and the identity plus BᵀB of rank d_model: Woodbury's formula.
    """
    b, s, u = p.value_bias, p.grouped_output(), gradient.output_bias
    assert b is not None
    assert u is not None
    assert gradient.value_bias is not None

    def adjoint(u: Tensor) -> tuple[Tensor, Tensor]:
        w = s @ u
        return b.unsqueeze(-1) * w.unsqueeze(-2), -w

    def written(t: Tensor, tau: Tensor) -> Tensor:
        return ((b.unsqueeze(-2) @ t - tau.unsqueeze(-2)) @ s).sum((0, 1))

    t_side, tau_side = adjoint(u)
    t, tau = sylvester.solve(side + t_side)[0], gradient.value_bias + tau_side
    beta = (b.unsqueeze(-2) @ sylvester.left[0]).squeeze(-2)
    weights = (beta.square().unsqueeze(-1) / sylvester.sums[0]).sum(-2)
    inside = s + sylvester.right[0] @ (weights.unsqueeze(-1) * (sylvester.right[0].mT @ s))
    small = torch.eye(p.d_model, dtype=s.dtype, device=s.device) + (s.mT @ inside).sum(0)
    factor = torch.linalg.cholesky((small + small.mT) / 2)
    y = torch.cholesky_solve(written(t, tau).unsqueeze(-1), factor).squeeze(-1)
    t_less, tau_less = adjoint(y)
    return (t - sylvester.solve(t_less[None])[0])[None], tau - tau_less
