"""The connected components of a fibre, told apart by signs of determinants and by permutations of heads."""

from __future__ import annotations

from itertools import permutations, product

import sympy as sp

from proofs_checks.gauge.recovered_elements import left_inverse
from proofs_checks.support.algebra.group import GaugeElement, act
from proofs_checks.support.attention_points import general_layer
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, equal
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import Attention
from symgauge.symbolic.words import Facts


def record_components(evidence: EvidenceLog, on: str = "statement", only: str | tuple[str, ...] = ()) -> None:
    """Elements of every sign pattern and permutation: 2^{2h}h! different components of the fibre, h = 1, 2."""
    counts, kept = [], []
    for heads in (1, 2):
        point, found = general_layer(4, heads, 2, 2, seed=heads), set()
        for signs in product((1, -1), repeat=2 * heads):
            for sigma in permutations(range(heads)):
                blocks = [sp.ImmutableMatrix([[s, 0], [3, 1]]) for s in signs]
                moved = act(point, GaugeElement(tuple(blocks[:heads]), tuple(blocks[heads:]), sigma))
                kept.append(same(point, moved, tokens=3, cases=1))
                found.add(component(point, moved))
        counts.append(len(found))
    evidence.exact(
        r"$2^{2h}h!$ elements of all signs of $\det A_i$, $\det C_i$ and all permutations keep the function and have "
        r"different component labels, $h = 1, 2$",
        all(kept),
        figures={"labels": equal(counts, [4, 32])},
        cases=len(kept),
        on=on,
        only=only,
    )
    a, q, left = sp.MatrixSymbol("A", 3, 3), sp.MatrixSymbol("W_Q", 5, 3), sp.MatrixSymbol("W_Q⁺", 3, 5)
    evidence.proof(
        r"on the fibre $A_i = W_Q^{(\sigma(i))+}W_Q'^{(i)}$ and $C_i$ likewise are continuous functions of $\theta'$, "
        r"and $\sigma$ is locally constant as the $M_i$ are distinct; determinants that never vanish keep their signs "
        r"along a path, so no path joins two labels; points of one label differ by "
        r"$GL^0$'s, which are connected (Corollary B.4)",
        proves(lambda: prove_equal(left * (q * a), a, Facts(equations=((left * q, sp.Identity(3)),)))),
        on=on,
        only=only,
    )


def component(start: Attention, end: Attention) -> tuple[tuple[int, int, int], ...]:
    """(σ(i), sign det A_i, sign det C_i) for every head of a point on the fibre of ``start``."""
    labels = []
    for i in range(end.heads):
        m = end.w_q[i] * end.w_k[i].T
        j = next(j for j in range(start.heads) if start.w_q[j] * start.w_k[j].T == m)
        a, c = (left_inverse(w) * v for w, v in ((start.w_q[j], end.w_q[i]), (start.w_v[j], end.w_v[i])))
        labels.append((j, int(sp.sign(a.det())), int(sp.sign(c.det()))))
    return tuple(labels)
