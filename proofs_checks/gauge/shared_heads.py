"""Attention with shared keys and values: group elements and relabelings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, equal
from symgauge.models.reference import random_parameters

ATTENTION = "layers.0.attention"
QUERY, KEY, VALUE, OUTPUT = (f"{ATTENTION}.{name}.weight" for name in ("query", "key", "value", "output"))
# (d, h, g, d_k, d_v): grouped, one group, more head channels than d, heads wider than d/2.
SIZES = ((7, 4, 2, 3, 2), (5, 3, 1, 2, 4), (5, 4, 2, 2, 3), (5, 6, 3, 2, 4), (5, 4, 2, 4, 3))
ROTARY = ((7, 4, 2, 4, 3), (5, 3, 1, 2, 4), (7, 2, 2, 6, 3))
NO_BIAS: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias", "residual"), False)


def shared(sizes: tuple[int, int, int, int, int], rotary: Rotary | None = None) -> Architecture:
    d, h, g, d_k, d_v = sizes
    return Architecture(d, h, d_k, d_v, groups=g, context=3, rotary=rotary, **ALONE)


def group_element(a: Architecture, roles: Roles, seed: int, of_group: Callable[[int], int] | None = None) -> Roles:
    """A_r, C_r of determinant −1 in every group; ``of_group`` says which one a head uses (its own group's)."""
    share = a.heads // a.groups
    owner = of_group or (lambda i: i // share)
    mats = [(unimodular(a.d_k, seed + i), unimodular(a.d_v, seed + 50 + i)) for i in range(a.heads)]
    heads, groups = [mats[owner(i)] for i in range(a.heads)], mats[: a.groups]
    if a.rotary is not None:  # the commutant: here a real number per plane, and per unrotated channel
        plane = torch.tensor([2.0, -0.5, 4.0, 0.25][: a.d_k // 2], dtype=torch.float64)
        diagonal = torch.cat([plane, plane])
        scales = [torch.diag(diagonal * (-2.0) ** r) for r in range(a.heads)]
        heads = [((scales[owner(i)], torch.linalg.inv(scales[owner(i)])), mats[owner(i)][1]) for i in range(a.heads)]
        groups = [((scales[r], torch.linalg.inv(scales[r])), mats[r][1]) for r in range(a.groups)]
    return {
        QUERY: torch.stack([roles[QUERY][i] @ heads[i][0][0] for i in range(a.heads)]),
        KEY: torch.stack([roles[KEY][r] @ groups[r][0][1].mT for r in range(a.groups)]),
        VALUE: torch.stack([roles[VALUE][r] @ groups[r][1][0] for r in range(a.groups)]),
        OUTPUT: torch.stack([heads[i][1][1] @ roles[OUTPUT][i] for i in range(a.heads)]),
    }


def relabelled(roles: Roles, sigma: tuple[int, ...], tau: tuple[int, ...]) -> Roles:
    """Query heads (with their outputs) renumbered by σ, groups by τ; the grouping m stays."""
    order, groups = torch.tensor(sigma), torch.tensor(tau)
    by_head = {role: roles[role].index_select(0, order) for role in (QUERY, OUTPUT)}
    return by_head | {role: roles[role].index_select(0, groups) for role in (KEY, VALUE)}


def resplit(roles: Roles) -> Roles:
    """W_O⁽¹⁾ + Z, W_O⁽²⁾ − Z for the first two heads."""
    z = torch.zeros(tuple(roles[OUTPUT].shape), dtype=torch.float64)
    z[0, 0, 0], z[1, 0, 0] = 1.0, -1.0
    return {OUTPUT: roles[OUTPUT] + z}


def record_resplitting(evidence: EvidenceLog, a: Architecture, only: str) -> None:
    """The counterexample to maximality without distinct heads inside a group."""
    roles = random_parameters(a, 1)
    roles[QUERY][1] = roles[QUERY][0]
    rank = int(torch.linalg.matrix_rank(roles[QUERY][0]))
    evidence.exact(
        "equal functions lie on one orbit, whatever the query maps",
        not ExactFunction(a, roles).keeps(resplit),
        counterexample=r"$W_Q^{(1)} = W_Q^{(2)}$ of full rank inside one group: $W_O^{(1)}+Z$, $W_O^{(2)}-Z$ is the "
        r"same "
        r"function for every $Z\in\mathbb R^{d_v\times d}$ (a further $d_vd$ dimensions); A4 asks for ranks only",
        figures={"rank of $W_Q$": equal(rank, a.d_k)},
        only=only,
    )
    evidence.control(
        "the same change with distinct query maps",
        not ExactFunction(a, random_parameters(a, 1)).keeps(resplit),
        kind="exact",
        only=only,
    )
