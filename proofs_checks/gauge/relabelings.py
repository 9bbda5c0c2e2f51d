"""Every relabeling of query heads and key/value groups tried by brute force: on the exact function, and on symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import permutations, product
from math import factorial
from random import Random

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.gauge.shared_heads import KEY, OUTPUT, QUERY, VALUE, relabelled, shared
from proofs_checks.support.algebra import group
from proofs_checks.support.exact_function import ExactFunction, Roles
from symgauge.architecture import Architecture, Rotary
from symgauge.arithmetic.wrapper_tensor import WrapperTensor
from symgauge.claims import EvidenceLog, equal
from symgauge.models.reference import forward, random_parameters

Relabeling = tuple[tuple[int, ...], tuple[int, ...]]


def relabelings(heads: int, groups: int) -> list[Relabeling]:
    """All of S_h × S_g."""
    return list(product(permutations(range(heads)), permutations(range(groups))))


def grouping(heads: int, groups: int) -> tuple[int, ...]:
    """m: the group of each head, for groups of equal size."""
    return tuple(i // (heads // groups) for i in range(heads))


def wiring_along(m: Sequence[int], relabeling: Relabeling) -> tuple[int, ...]:
    """τ⁻¹∘m∘σ: the group of head i once it has the queries of σ(i), and group r the keys of τ(r)."""
    sigma, tau = relabeling
    return tuple(tau.index(m[sigma[i]]) for i in range(len(m)))


class EnumeratedLayer:
    """A layer over GF(p), and the output of every query head on every group, from which all relabelings are sums.

    ``heads[q][r]`` holds the values of query head q (with its own W_O) reading the keys and values of group r.
    """

    def __init__(self, heads: int, groups: int, rotary: Rotary | None = None) -> None:
        architecture = shared((7, heads, groups, rotary.channels if rotary else 2, 3), rotary)
        self.grouping = grouping(heads, groups)
        self.function = ExactFunction(architecture)
        self.prime = self.function.calculus.field.p
        alone = architecture.replace(heads=1, groups=1)

        def one(q: int, r: int) -> Tensor:
            chosen = {QUERY: q, OUTPUT: q, KEY: r, VALUE: r}
            roles = {name: self.function.roles[name][index : index + 1] for name, index in chosen.items()}
            with torch.no_grad():
                return residues(forward(alone, roles, self.function.inputs))

        self.heads = torch.stack([torch.stack([one(q, r) for r in range(groups)]) for q in range(heads)])
        self.values = residues(self.function.values)

    def keeps(self, relabeling: Relabeling) -> bool:
        """Whether head i, now with the queries of σ(i) and the keys of τ(m(i)), gives the same sum over heads."""
        sigma, tau = relabeling
        read = torch.tensor([tau[r] for r in self.grouping])
        return bool(torch.equal(self.heads[torch.tensor(sigma), read].sum(0) % self.prime, self.values))

    def keeps_with_wiring(self, relabeling: Relabeling) -> bool:
        """The same with m relabelled along, so that the queries of σ(i) read the keys they always read."""
        sigma, tau = relabeling
        read = torch.tensor([tau[r] for r in wiring_along(self.grouping, relabeling)])
        return bool(torch.equal(self.heads[torch.tensor(sigma), read].sum(0) % self.prime, self.values))

    def keeps_in_full(self, relabeling: Relabeling) -> bool:
        """The same, by relabeling the parameters and running the layer."""
        sigma, tau = relabeling
        return self.function.keeps(partial(relabelled, sigma=sigma, tau=tau))


def residues(output: Tensor) -> Tensor:
    """The residues mod p of an exact output (no square root occurs in a lone attention layer)."""
    assert isinstance(output, WrapperTensor)
    value = output.element.value
    if value.im is not None:
        raise AssertionError("a lone attention layer should stay in GF(p)")
    return value.re.flatten()


def kept_on_symbols(
    pairs: Iterable[Relabeling], m: Sequence[int], *, equal_groups: bool = False
) -> tuple[set[Relabeling], int]:
    """The relabelings that keep the multiset of (q_i·k_r, v_r·o_i) with independent letters, and how many were tried.

    These are the (M_i, N_i) at d = d_k = d_v = 1, and the leading entries' part of them at any other size, where all
    entries but the first are set to zero: a multiset that changes here changes for generic parameters of every size.
    ``equal_groups`` gives all groups the same k and v.
    """
    heads, groups = range(len(m)), range(max(m) + 1)
    q, o = (sp.symbols(f"{letter}0:{len(m)}") for letter in "qo")
    k, v = (
        [sp.Symbol(letter)] * len(groups) if equal_groups else sp.symbols(f"{letter}0:{len(groups)}") for letter in "kv"
    )
    entry = [[(q[i] * k[r], v[r] * o[i]) for r in groups] for i in heads]
    before, kept, tried = Counter(entry[i][m[i]] for i in heads), set(), 0
    for sigma, tau in pairs:
        tried += 1
        if Counter(entry[sigma[i]][tau[m[i]]] for i in heads) == before:
            kept.add((sigma, tau))
    return kept, tried


def record_enumeration(
    evidence: EvidenceLog, shapes: Sequence[tuple[int, int]], example: str, rotary: Rotary | None = None
) -> None:
    """Every (σ, τ) in S_h × S_g on the exact function and on symbols: which keep it, and how many are they?"""
    kept, claimed, expected, exactly, agreed, symbolic = [], [], [], [], [], []
    rng = Random(0)
    for heads, groups in shapes:
        layer, pairs = EnumeratedLayer(heads, groups, rotary), relabelings(heads, groups)
        found = {pair for pair in pairs if layer.keeps(pair)}
        fixing = set(group.stabiliser(layer.grouping))
        sample = [*rng.sample(sorted(found), 1), *rng.sample(pairs, 2)]
        agreed += [layer.keeps_in_full(pair) == (pair in found) for pair in sample]
        exactly.append(found == fixing)
        symbolic.append(kept_on_symbols(pairs, layer.grouping) == (fixing, len(pairs)))
        kept.append(len(found))
        claimed.append(len(pairs))
        expected.append(factorial(heads // groups) ** groups * factorial(groups))
    sizes = {"(h, g)": [list(s) for s in shapes], "primes": [layer.prime], "seed": 0}
    evidence.exact(
        "every relabeling tried on the exact function",
        kept == claimed,
        counterexample=example,
        figures=sizes | {"kept": kept, "claimed": claimed},
        cases=sum(claimed),
    )
    evidence.exact(
        r"those kept are exactly the $(\sigma,\tau)$ with $m\sigma = \tau m$, $(s!)^gg!$ of them",
        all(exactly),
        on="correction",
        figures=sizes | {"kept": equal(kept, expected)},
        cases=sum(claimed),
    )
    evidence.exact(
        "three relabelings of each shape (one of them kept) again, by moving the parameters and running the layer",
        all(agreed),
        on="correction",
        cases=len(agreed),
    )
    evidence.proof(
        r"with independent letters, head $i$ of the relabelled layer has $M = q_{\sigma(i)}k_{\tau(m(i))}$, "
        r"$N = v_{\tau(m(i))}o_{\sigma(i)}$; monomials with different indices differ, so the multiset is kept only if "
        r"$\tau m\sigma^{-1} = m$, for every size (the letters are the first entries of the matrices); generic layers "
        r"with different multisets are different functions of $n\ge3$ tokens (Theorem 3.6)",
        all(symbolic),
        on="correction",
        cases=sum(claimed),
    )
    heads, groups = next(s for s in shapes if s[1] > 1)
    everything, tried = kept_on_symbols(relabelings(heads, groups), grouping(heads, groups), equal_groups=True)
    evidence.control(
        "when all groups have the same keys and values, every relabeling keeps the multiset",
        len(everything) == tried,
        kind="proof",
        figures={"kept": len(everything), "stabiliser": group.stabiliser_order(grouping(heads, groups))},
    )


def record_routing_of_relabelings(evidence: EvidenceLog, a: Architecture, only: str = "") -> None:
    """h = 4, g = 2: all relabelings of a layer with a router, m relabelled along; with m kept some change it."""
    m, roles = grouping(a.heads, a.groups), random_parameters(a, 0)

    def wired(relabeling: Relabeling, along: bool) -> Roles:
        """The relabelled roles, keys and values once for every head that reads them."""
        moved = relabelled(roles, *relabeling)
        read = torch.tensor(wiring_along(m, relabeling) if along else m)
        return {**moved, **{role: moved[role][read] for role in (KEY, VALUE)}}

    pairs = relabelings(a.heads, a.groups)
    start = {**roles, **wired(pairs[0], along=True)}  # pairs[0] moves nothing
    function = ExactFunction(a.replace(groups=a.heads), start, batch=200)
    kept = [pair for pair in pairs if function.keeps(wired(pair, along=True))]
    evidence.exact(
        r"all of $S_h\times S_g$ with $m$ relabelled along, $h = 4$, $g = 2$: what the router reads stays, in GF(p²)",
        figures={"kept": equal(len(kept), len(pairs))},
        cases=len(pairs),
        only=only,
    )
    exchanged = (2, 1, 0, 3), (0, 1)
    evidence.control(
        "query heads 1 and 3 exchanged, of different groups, with $m$ kept",
        not function.keeps(wired(exchanged, along=False)),
        kind="exact",
        only=only,
    )
