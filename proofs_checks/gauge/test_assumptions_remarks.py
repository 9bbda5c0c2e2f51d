"""Remark A.7 and Remark C.2: a norm between heads and W_O, and whether sharing weights prevents a product."""

from __future__ import annotations

from functools import partial

import sympy as sp
import torch
from hypothesis import strategies as st
from torch import Tensor

from proofs_checks.gauge.algebra.norms import commutes_with_layer_norm, layer_norm
from proofs_checks.gauge.shared_heads import KEY, OUTPUT, QUERY, SIZES, VALUE, group_element, shared
from proofs_checks.support.census import census
from proofs_checks.support.exact_function import ExactFunction, Roles
from proofs_checks.support.group_elements import head_element
from proofs_checks.support.integer_matrices import unimodular
from proofs_checks.support.small_architectures import ALONE, EPSILON
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal, for_all
from symgauge.models.reference import random_parameters
from symgauge.numeric import random_inputs


def normed_heads(a: Architecture, roles: Roles, x: Tensor, normed: bool = True) -> Tensor:
    """Attention whose concatenated head outputs go through LayerNorm (gain 1, offset 0) before W_O."""
    query, key, value = (x.unsqueeze(-3) @ roles[name] for name in (QUERY, KEY, VALUE))
    heads = (query @ key.mT / a.d_k**0.5).softmax(-1) @ value
    joined = heads.transpose(-3, -2).flatten(-2)
    if normed:
        joined = torch.nn.functional.layer_norm(joined, joined.shape[-1:])
    return joined @ roles[OUTPUT].flatten(0, 1)


def relative_change(a: Architecture, seed: int, on_values: Tensor, normed: bool = True) -> float:
    """Of the output, when every W_V,i is multiplied by a matrix of the stack and W_O,i by its inverse."""
    roles, x = random_parameters(a, seed), random_inputs(a, seed)
    moved = {**roles, VALUE: roles[VALUE] @ on_values, OUTPUT: torch.linalg.inv(on_values) @ roles[OUTPUT]}
    before, after = (normed_heads(a, r, x, normed) for r in (roles, moved))
    return float((after - before).norm() / before.norm())


@checks("rem-A.7-1", "rem-C.2")
def test_norm_before_the_output_map(evidence: EvidenceLog) -> None:
    pre = ExactFunction(Architecture(6, 3, 2, 2, context=3, norm="layer", **EPSILON), batch=200)
    kept = [pre.keeps(partial(head_element, pre.architecture, seed=seed)) for seed in range(3)]
    evidence.exact(
        "without a norm after $W_O$ the symmetry is broken",
        not all(kept),
        counterexample=r"Pre-LN, $X+\mathrm{MHA}(\mathrm{LN}(X))$, has no norm after $W_O$, and elements of "
        r"determinant $-1$ in every head keep it over GF(p²)",
        cases=len(kept),
    )
    evidence.control(
        r"$A^{-1}$ in place of $A^{-\top}$ on that block",
        not pre.keeps(partial(head_element, pre.architecture, wrong_inverse=True)),
        kind="exact",
    )
    row, c = sp.Matrix([[0, 1, 5, 2]]), sp.Matrix([[1, 1], [0, 1]])
    block = sp.diag(c, sp.eye(2))
    gap = (layer_norm(row * block) * block.inv() - layer_norm(row)).applyfunc(sp.simplify)
    evidence.exact(
        r"two heads, $d_v = 2$, outputs $(0,1)$ and $(5,2)$, $C_1 = \begin{pmatrix}1&1\\0&1\end{pmatrix}$, $C_2 = I$: "
        r"$\mathrm{LN}(vC)C^{-1}\ne\mathrm{LN}(v)$",
        not gap.is_zero_matrix and not commutes_with_layer_norm(block),
        on="condition",
        figures={"difference": [str(e) for e in gap]},
    )
    third = sp.Rational(1, 3)
    rotation = third * sp.Matrix([[2, 2, -1], [-1, 2, 2], [2, -1, 2]])
    evidence.control(
        r"rotations of a head that fix $\mathbf 1$ pass through the norm: not every $C_i$ breaks it",
        commutes_with_layer_norm(sp.diag(rotation, rotation.T)),
        kind="exact",
    )
    weakest, worst = 1.0, 0.0

    def breaks(h: int, v: int, seed: int) -> bool:
        nonlocal weakest, worst
        a = Architecture(5, h, 2, v, context=3, **ALONE)
        element = torch.stack([unimodular(v, seed + i)[0] for i in range(h)])
        change = relative_change(a, seed, element)
        weakest = min(weakest, change)
        worst = max(worst, relative_change(a, seed, element, normed=False))
        return change > 1e-3

    run = for_all(breaks, h=st.integers(2, 4), v=st.integers(2, 4), seed=st.integers(0, 999))
    evidence.property(
        r"drawn layers with the norm before $W_O$ and general $C_i$ of determinant $-1$: the output changes",
        run,
        on="condition",
        figures={"smallest change": at_least(weakest, 1e-3)},
    )
    evidence.control("the same elements without the norm change nothing", figures={"change": at_most(worst, 1e-11)})
    a = Architecture(5, 2, 2, 3, context=3, **ALONE)
    fixing = torch.tensor([[float(e) for e in rotation.row(i)] for i in range(3)], dtype=torch.float64)
    largest = relative_change(a, 1, torch.stack([fixing, fixing.mT]))
    evidence.control(
        r"rotations that fix $\mathbf 1$ change nothing in float64 either", figures={"change": at_most(largest, 1e-13)}
    )


def one_group(a: Architecture, roles: Roles, group: int, seed: int = 0) -> Roles:
    """An element of one key/value group, the others left alone."""
    share = a.heads // a.groups
    moved = group_element(a, roles, seed)
    keep_heads = [i for i in range(a.heads) if i // share != group]
    keep_groups = [r for r in range(a.groups) if r != group]
    mixed = {}
    for name in (QUERY, KEY, VALUE, OUTPUT):
        kept = set(keep_heads if name in (QUERY, OUTPUT) else keep_groups)
        count = a.heads if name in (QUERY, OUTPUT) else a.groups
        mixed[name] = torch.stack([(roles if i in kept else moved)[name][i] for i in range(count)])
    return mixed


@checks("rem-A.7-2")
def test_product_over_groups(evidence: EvidenceLog) -> None:
    layers = [shared((5, 4, g, 2, 3)) for g in (1, 2)] + [shared(SIZES[3])]
    kept, tied, cases = [], [], 0
    for seed, a in enumerate(layers):
        function = ExactFunction(a, seed=seed)
        kept += [function.keeps(partial(one_group, a, group=r)) for r in range(a.groups)]
        single = partial(group_element, a, seed=seed, of_group=lambda i: i)
        tied.append(not function.keeps(single))
        cases += a.groups
    evidence.exact(
        "with shared keys and values no gauge symmetry is preserved",
        not any(kept),
        counterexample=r"$h = 4$, $g = 2$, $d_k = 2$, $d_v = 3$: $A_1,C_1$ of determinant $-1$ on one group, with the "
        r"queries and outputs of its two heads, keep the function over GF(p)",
        figures={"elements of one group that keep it": equal(sum(kept), 0)},
        cases=cases,
    )
    evidence.exact(
        "heads of a group moved by different elements change the function",
        all(tied),
        on="condition",
        cases=len(tied),
    )
    found = census(layers, lambda a: a.groups * (a.d_k**2 + a.d_v**2))
    over_heads = [a.heads * (a.d_k**2 + a.d_v**2) for a in layers]
    nullities = [account.fibre.nullity for account in found.accounts]
    evidence.exact(
        "exact nullity is that of the product over the groups, nothing unexplained, and less than that over the heads",
        all(n < m for n, m in zip(nullities, over_heads, strict=True)),
        on="condition",
        figures=found.figures | {"over the heads": over_heads},
        cases=found.cases,
    )
    alone = Architecture(5, 4, 2, 3, context=3, **ALONE)
    function = ExactFunction(alone)
    evidence.control(
        "without sharing, by the same change, every head may move by itself",
        function.keeps(partial(group_element, alone, seed=0, of_group=lambda i: i)),
        kind="exact",
    )
