"""Which head or group of A each of B's is, by one tensor alone."""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.algorithms.pairs import Pair
from symgauge.comparison.heads import attention_of, misfit, pairs_of, solve_pair
from symgauge.comparison.scene import Scene
from symgauge.model_graph import Attention


def best_match(scene: Scene, s: Attention) -> list[int] | None:
    """For each head (group) of B in this role the one of A that it is up to a matrix; None where one fits none."""
    p = attention_of(scene.moved.roles, s, scene.judge.a.architecture)
    q = attention_of(scene.theirs.roles, s, scene.judge.a.architecture)
    of_scores = scene.role in (s.query.weight, s.key.weight)
    allowed = 4 * scene.allowed
    left = scene.role in (s.query.weight, s.value.weight)
    count = p.heads if scene.role in (s.query.weight, s.output.weight) else p.groups
    chosen = slice(0, -1) if of_scores else slice(-1, None)
    squares: Tensor = torch.zeros(count, count, dtype=torch.float64)
    total: Tensor = torch.zeros(count, dtype=torch.float64)
    for one, two in zip(pairs_of(p)[chosen], pairs_of(q)[chosen], strict=True):
        mine, theirs = ((x.left if left else x.right).reshape(x.left.shape[0], count, -1, x.rank) for x in (one, two))
        sizes = torch.linalg.matrix_norm(theirs).square()
        total += sizes.sum(0)
        for i in range(count):
            again = mine[:, i : i + 1].expand_as(theirs)
            x, y = Pair(again, again, one.channels, ""), Pair(theirs, theirs, one.channels, "")
            off = misfit(x, y, solve_pair(x, y, right=False))[0]
            squares[:, i] += (off.square() * sizes).sum(0)
    distance = (squares / total.clamp_min(1e-300).unsqueeze(-1)).sqrt()
    if bool((distance.amin(-1) > allowed).any()):
        return None
    # A copy of one's own place comes first where several fit.
    distance = distance - torch.eye(count, dtype=torch.float64) * 1e-12
    return [int(j) for j in distance.argmin(-1)]
