"""Random permutations and signs, and roles renumbered by them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sympy import Expr, factorial
from torch import Tensor

from symgauge.symmetries.base import Roles


def permutation(n: int, generator: torch.Generator) -> Tensor:
    """A random permutation of n things other than the identity (if there is one)."""
    while True:
        drawn = torch.randperm(n, generator=generator)
        if n == 1 or bool((drawn != torch.arange(n)).any()):
            return drawn


def wreath(n: int, groups: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A random element of S_{n/g} wr S_g on n things in g runs: the permutations of runs (g,) and of things (n,)."""
    size, order = n // groups, permutation(groups, generator)
    inside = [permutation(size, generator) for _ in range(groups)]
    return order, torch.cat([g * size + within for g, within in zip(order, inside, strict=True)])


def wreath_order(n: Expr, groups: Expr) -> Expr:
    """The order of S_{n/g} wr S_g."""
    return factorial(n / groups) ** groups * factorial(groups)


def signs(n: int, generator: torch.Generator) -> Tensor:
    """Random signs (float64), at least one of them −1."""
    drawn = 2.0 * torch.randint(0, 2, (n,), generator=generator, dtype=torch.float64) - 1
    return torch.cat([-drawn[:1].abs(), drawn[1:]])


def renumbered(roles: Roles, names: Sequence[str | None], index: Tensor, axis: int = 0) -> dict[str, Tensor]:
    """The roles of these names (None: there is none) with entries taken along ``axis`` in the order of ``index``."""
    return {name: roles[name].index_select(axis, index) for name in names if name is not None}
