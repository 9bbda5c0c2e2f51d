"""The (A, C) of every head that takes one attention layer to another, in closed form."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms import AttentionParameters, GaugeElement, head_distances, identity_element, match_heads
from symgauge.algorithms.alignment import with_reference_biases
from symgauge.algorithms.pairs import Pair, matrices, score_pairs, value_pair
from symgauge.algorithms.transform import permute
from symgauge.architecture import Architecture
from symgauge.comparison.pieces import bias_of
from symgauge.model_graph import Attention


def attention_of(roles: dict[str, Tensor], s: Attention, a: Architecture) -> AttentionParameters:
    """The attention layer in the normal form of a piece."""
    maps = {"query": s.query, "key": s.key, "value": s.value, "output": s.output}
    tensors = {name: roles[m.weight] for name, m in maps.items()}
    tensors |= {f"{name}_bias": roles[bias_of(m)] for name, m in maps.items() if bias_of(m) in roles}
    return AttentionParameters(**tensors, rotary=s.rotary, capped=a.attention_softcap is not None)


def into_roles(p: AttentionParameters, s: Attention) -> dict[str, Tensor]:
    """The reverse of :func:`attention_of`."""
    maps = {"query": s.query, "key": s.key, "value": s.value, "output": s.output}
    found = {}
    for name, tensor in p.tensors().items():
        m = maps[name.removesuffix("_bias")]
        found[bias_of(m) if name.endswith("_bias") else m.weight] = tensor
    return found


def solve_pair(one: Pair, two: Pair, *, left: bool = True, right: bool = True) -> Tensor:
    """X (n, g, r, r) with L X ≈ L' and R X⁻ᴴ ≈ R', by least squares on L X − L' and R − R' Xᴴ together.

    Linear in X: G_L X + X G_R' = Lᴴ L' + Rᴴ R' with Gram matrices G, solved in their eigenbases; each factor is
    weighted by its size. With ``left`` or ``right`` alone only that equation is used. In directions that neither
    factor has, X is the identity.
    """
    sizes = [torch.linalg.matrix_norm(x).square().clamp_min(1e-300)[..., None, None] for x in (two.left, one.right)]
    gram_left, gram_right = one.left.mH @ one.left / sizes[0], two.right.mH @ two.right / sizes[1]
    rhs = torch.zeros_like(gram_left)
    if left:
        rhs = rhs + one.left.mH @ two.left / sizes[0]
    if right:
        rhs = rhs + one.right.mH @ two.right / sizes[1]
    la, u = torch.linalg.eigh(gram_left)
    mu, v = torch.linalg.eigh(gram_right)
    la, mu = la.clamp_min(0) * left, mu.clamp_min(0) * right
    total = la.unsqueeze(-1) + mu.unsqueeze(-2)
    known = total > 1e-14 * total.amax((-2, -1), keepdim=True)
    inner = u.mH @ rhs @ v / torch.where(known, total, 1.0)
    return u @ torch.where(known, inner, u.mH @ v) @ v.mH


def misfit(one: Pair, two: Pair, x: Tensor) -> tuple[Tensor, Tensor]:
    """‖L X − L'‖ / ‖L'‖ and ‖R X⁻ᴴ − R'‖ / ‖R'‖ (n, g); infinite where X, found for a head that was pruned, has no
    inverse."""
    norm = torch.linalg.matrix_norm
    moved, singular = torch.linalg.solve_ex(x, one.right.mH)

    def relative(y: Tensor, z: Tensor) -> Tensor:
        return torch.where(singular == 0, norm(y - z) / norm(z).clamp_min(1e-300), torch.inf)

    return relative(one.left @ x, two.left), relative(moved.mH, two.right)


def pairs_of(p: AttentionParameters) -> list[Pair]:
    """All pairs of factors whose product a head's function depends on."""
    return [*score_pairs(p), value_pair(p)]


def solve_heads(one: AttentionParameters, two: AttentionParameters, a: Architecture, close: float) -> GaugeElement:
    """The element that takes ``one`` nearest to ``two``: heads where they are if that is ``close`` enough, else
    matched on invariants; then A and C of every group by least squares.

    Queries and keys that pass a norm of their own keep their channels (A is the identity).
    """
    fixed, moving = two.without_free_biases(), one.without_free_biases()
    heads = torch.arange(one.heads)
    if not _fit(moving, fixed, a, close) and not a.alibi:
        heads = match_heads(head_distances(fixed, moving), fixed.groups)
        moving = permute(moving, heads)
    a_matrix, c_matrix = _matrices(moving, fixed, a, close)
    return with_reference_biases(two, one, heads, a_matrix, c_matrix)


def _fit(one: AttentionParameters, two: AttentionParameters, a: Architecture, close: float) -> bool:
    pairs = list(zip(pairs_of(one), pairs_of(two), strict=True))
    chosen = pairs[-1:] if a.qk_norm else pairs
    worst = [torch.stack(misfit(p, q, solve_pair(p, q))).max() for p, q in chosen]
    if a.qk_norm:
        worst.append(torch.stack([(one.query - two.query).norm() / two.query.norm()]).max())
    return bool(torch.stack(worst).max() <= close)


def _matrices(
    one: AttentionParameters, two: AttentionParameters, a: Architecture, close: float
) -> tuple[Tensor, Tensor]:
    mine, theirs = pairs_of(one), pairs_of(two)
    found = [simplest(p, q, close) for p, q in zip(mine, theirs, strict=True)]
    x, c = matrices(one, mine, found)
    return (identity_element(one).query_key, c) if a.qk_norm else (x, c)


def simplest(one: Pair, two: Pair, close: float) -> Tensor:
    """The identity where it fits and no solution leaves less than half of what it does, else the solution that fits
    both factors, or one of them, so that a mistake in the other does not spread; else the one that fits best."""
    eye = torch.eye(one.rank, dtype=one.left.dtype).expand(*one.left.shape[:2], one.rank, one.rank)
    best, worst = eye.clone(), torch.stack(misfit(one, two, eye)).amax(0)
    joint = torch.stack(misfit(one, two, solve_pair(one, two))).amax(0)
    settled = (worst <= close) & (worst <= 2 * joint)
    alone: list[tuple[Tensor, Tensor]] = []
    for left, right in ((True, True), (True, False), (False, True)):
        x = solve_pair(one, two, left=left, right=right)
        x = torch.where((torch.linalg.cond(x) < 1e7)[..., None, None], x, eye)
        misfits = torch.stack(misfit(one, two, x))
        better = (misfits.amax(0) < worst) & ~settled
        best, worst = torch.where(better[..., None, None], x, best), torch.where(better, misfits.amax(0), worst)
        settled = settled | (worst <= close)
        if left != right:
            alone.append((x, misfits[0 if left else 1] <= close))
    for x, fits in reversed(alone):
        best = torch.where((fits & ~settled)[..., None, None], x, best)
    return best


def amplification(p: AttentionParameters, element: GaugeElement) -> dict[str, float]:
    """How much larger than the rounding of the second layer a residual may be, per tensor, because X is found from it.

    Measured: the exact image is rounded by a known small amount, and the element found again.
    """
    generator = torch.Generator().manual_seed(0)
    moved = permute(p.without_free_biases(), element.heads)
    worst = {"query": 1.0, "key": 1.0, "value": 1.0, "output": 1.0}
    for pair in pairs_of(moved):
        x = element.value_output[None] if pair.channels is None else pair.channels.take_matrix(element.query_key)
        if pair.channels is not None and not pair.channels.complex:
            x = x.real if x.is_complex() else x
        names = ("value", "output") if pair.channels is None else ("query", "key")
        for name, found in zip(names, amplified_by(pair, x, generator), strict=True):
            worst[name] = max(worst[name], found)
    return worst


def amplified_by(pair: Pair, x: Tensor, generator: torch.Generator | None = None) -> tuple[float, float]:
    """How much larger than rounding the misfits of both factors may be where X is found from a rounded image."""
    size = 1e-7
    generator = torch.Generator().manual_seed(0) if generator is None else generator

    def noisy(t: Tensor) -> Tensor:
        noise = torch.randn(t.shape, generator=generator, dtype=torch.float64)
        return t * (1 + size * noise)

    image = Pair(noisy(pair.left @ x), noisy(torch.linalg.solve(x, pair.right.mH).mH), pair.channels, pair.what)
    left, right = (float(m.max()) / size for m in misfit(pair, image, solve_pair(pair, image)))
    return left, right
