"""What the function says about its heads' attention weights and value maps: when it determines them, and when not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import sympy as sp
import torch
from hypothesis import strategies as st

from proofs_checks.support.algebra.group import invariants
from proofs_checks.support.attention_points import general_layer, head, layer, on_theta_0
from proofs_checks.support.exact_function import ExactFunction
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.group_elements import ROLES, general_element
from proofs_checks.support.poles import prove_factors, prove_poles
from proofs_checks.support.small_architectures import ALONE
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, for_all
from symgauge.models.reference import random_parameters
from symgauge.numeric import random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic import linear
from symgauge.symbolic.tangent import Attention, random_attention

E1, E2 = [1, 0], [0, 1]
# W_O,1 = 0: head 1 may attend anywhere.
SILENT = (
    layer(head(E1, E2, E1, [0, 0]), head([1, 1], E2, E2, [1, 2])),
    layer(head([2, 3], E2, E1, [0, 0]), head([1, 1], E2, E2, [1, 2])),
)
# Every rank full, that of W_O too: M_1 = M_2 before, and after these two heads are one and the third is split in two.
MERGED = (
    layer(
        head([1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]),
        head([1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]),
        head([0, 1, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]),
    ),
    layer(
        head([1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]),
        head([0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 0, -1]),
        head([0, 1, 1], [1, 0, 1], [0, 1, 0], [-1, 0, 2]),
    ),
)
# Two tokens, N_1 + N_2 = 0: (M_i, N_i) → (−M_i, −N_i) in both heads.
FLIPPED = (
    layer(head(E1, E2, [1, 2], [1, 1]), head([1, 1], E2, [1, 2], [-1, -1])),
    layer(head(E1, [0, -1], [1, 2], [-1, -1]), head([1, 1], [0, -1], [1, 2], [1, 1])),
)


def score_maps(point: Attention) -> Counter[sp.ImmutableMatrix]:
    """The multiset of M_i, which is the multiset of attention weights as functions of the input (n ≥ 2)."""
    return Counter(m for m, n in invariants(point).elements())


def merged(point: Attention) -> dict[sp.ImmutableMatrix, sp.ImmutableMatrix]:
    """The sum of the N_i of each M_i, which gives the function for any number of tokens."""
    found: dict[sp.ImmutableMatrix, sp.ImmutableMatrix] = {}
    for (m, n), times in invariants(point).items():
        found[m] = found.get(m, 0 * n) + times * n
    return found


def is_one_function(points: tuple[Attention, Attention]) -> bool:
    """Whether both lie on Θ_0, have an invertible W_O, and are one function of any number of tokens."""
    one, two = points
    invertible = all(sp.Matrix.vstack(*point.w_o).det() != 0 for point in points)
    return all(map(on_theta_0, points)) and invertible and merged(one) == merged(two)


def attention_weights(a: Architecture, roles: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """(h, B, T, T) attention weights of a layer without mask or biases."""
    query, key = (x.unsqueeze(0) @ roles[name].unsqueeze(1) for name in ROLES[:2])
    return (query @ key.mT / a.d_k**0.5).softmax(-1)


def permuted_distance(one: torch.Tensor, two: torch.Tensor) -> float:
    """Largest difference after each head of the second is matched with its nearest head of the first."""
    gaps = (one.unsqueeze(1) - two.unsqueeze(0)).abs().amax(dim=(-1, -2, -3))
    nearest = gaps.argmin(1)
    bijection = len(set(nearest.tolist())) == len(nearest)
    return float(gaps.amin(1).max()) if bijection else 1.0


def record_weights_identified(evidence: EvidenceLog, only: str) -> None:
    """Equal functions have equal attention weights up to a permutation: when, and when not."""
    before, after = MERGED
    evidence.exact(
        r"on $\Theta_0$ with $W_O$ invertible, for any number of tokens, equal functions have equal attention "
        "weights up to a permutation",
        not is_one_function(MERGED) or score_maps(before) == score_maps(after),
        counterexample=r"$d = h = 3$, $d_k = d_v = 1$, $M_1 = M_2\ne M_3$: joining heads 1 and 2, as $(M_1, "
        "N_1+N_2)$, and splitting head 3, as $(M_3, N_3')$ and $(M_3, N_3-N_3')$, keeps the function; weights "
        r"$\alpha_1, \alpha_1, \alpha_3$ become $\alpha_1, \alpha_3, \alpha_3$",
        only=only,
    )
    before, after = SILENT
    equal_functions = all(map(on_theta_0, SILENT)) and same(before, after, tokens=3, cases=6)
    evidence.exact(
        r"on $\Theta_0$ equal functions have equal attention weights up to a permutation",
        not equal_functions or score_maps(before) == score_maps(after),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$ (A1–A6 hold): $W_Q^{(1)} = (1,0)^\top$ and "
        r"$(2,3)^\top$ give the same function, over $\mathbb Q(e)$, and different weights in head 1",
        cases=6,
        only=only,
    )
    evidence.proof(
        r"for $n\ge3$ and distinct $M_i$ the poles of $\lambda\mapsto\mathrm{MHA}(\lambda X)$ give each head's $t_i = "
        r"xM_i\delta^\top/\sqrt{d_k}$ with residue a multiple of $\delta N_i\ne0$: the multiset of the $M_i$, hence of "
        r"the attention weights, is determined; $h$ families of poles need $h$ heads, so other parameters of the same "
        r"function have distinct $M_i$ and no $N_i = 0$ either",
        prove_poles(),
        on="condition",
        only=only,
    )
    thin = thin_layer()
    turned = replace(thin, w_v=(thin.w_v[0] + sp.Matrix([1, 2, 0, 1]) * sp.Matrix([[1, -1]]), *thin.w_v[1:]))
    evidence.exact(
        r"with $W_{O,1}\ne0$ of rank 1 and $d_v = 2$, another $W_V^{(1)}$ off the orbit keeps the function, over "
        r"$\mathbb Q(e)$, and the weights with it",
        same(thin, turned, tokens=3, cases=3)
        and sp.Matrix.hstack(thin.w_v[0], turned.w_v[0]).rank() > 2
        and score_maps(thin) == score_maps(turned),
        on="condition",
        only=only,
    )
    worst, weakest = 0.0, 1.0

    def same_weights(h: int, d_k: int, seed: int) -> bool:
        nonlocal worst, weakest
        a = Architecture(5, h, d_k, 3, context=3, **ALONE)
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        moved = {**roles, **general_element(a, roles, seed % 500)}
        weights = attention_weights(a, roles, x)
        distance = permuted_distance(weights, attention_weights(a, moved, x))
        worst = max(worst, distance)
        turned = {**roles, ROLES[0]: roles[ROLES[0]].roll(1, -2)}
        weakest = min(weakest, permuted_distance(weights, attention_weights(a, turned, x)))
        return distance < 1e-9

    run = for_all(same_weights, h=st.integers(1, 4), d_k=st.integers(1, 3), seed=st.integers(0, 999))
    evidence.property(
        r"drawn layers under drawn elements of $G_{\max}$: the same weights, heads matched",
        run,
        on="condition",
        figures={"largest difference": at_most(worst, 1e-9)},
        only=only,
    )
    evidence.control(
        "queries read with the coordinates of the stream shifted",
        figures={"smallest difference": at_least(weakest, 1e-3)},
        only=only,
    )


def thin_layer() -> Attention:
    """Two heads with d_v = 2, distinct M_i, and a W_O that is not zero and of rank 1 in the first."""
    point = general_layer(4, 2, 1, 2, seed=5)
    return replace(point, w_o=(sp.Matrix([[1, 0, 2, 1]] * 2), point.w_o[1]))


def sectors(before: Attention, after: Attention) -> tuple[Attention, Attention]:
    """The first with the queries and keys of the second, and with its values and outputs."""
    return (
        replace(before, w_q=after.w_q, w_k=after.w_k),
        replace(before, w_v=after.w_v, w_o=after.w_o),
    )


def record_sectors_factorise(evidence: EvidenceLog, only: str) -> None:
    """Every symmetry is a query–key map and a value–output map, each a symmetry by itself: when, and when not."""
    evidence.exact(
        r"on $\Theta_0$ with $W_O$ invertible, for any number of tokens, the query–key part and the value–output "
        "part of a symmetry are symmetries by themselves",
        not is_one_function(MERGED) or all(merged(MERGED[0]) == merged(part) for part in sectors(*MERGED)),
        counterexample=r"$d = h = 3$, $d_k = d_v = 1$, $M_1 = M_2\ne M_3$: joining heads 1 and 2, as $(M_1, "
        "N_1+N_2)$, and splitting head 3, as $(M_3, N_3')$ and $(M_3, N_3-N_3')$, keeps the function; the new "
        "queries and keys alone change it, and so do the new values and outputs",
        figures={
            "either changes it on three tokens": [
                not same(MERGED[0], part, tokens=3, cases=4) for part in sectors(*MERGED)
            ]
        },
        only=only,
    )
    before, after = FLIPPED
    joint = all(map(on_theta_0, FLIPPED)) and same(before, after, tokens=2, cases=6)
    apart = [same(before, part, tokens=2, cases=6) for part in sectors(before, after)]
    evidence.exact(
        r"on $\Theta_0$ the query–key part and the value–output part of a symmetry are symmetries by themselves",
        not joint or all(apart),
        counterexample=r"two tokens, $d = h = 2$, $N_1+N_2 = 0$: $(M_i,N_i)\mapsto(-M_i,-N_i)$ in both heads keeps the "
        r"function, over $\mathbb Q(e)$; $M_i\mapsto-M_i$ alone and $N_i\mapsto-N_i$ alone do not",
        cases=6,
        only=only,
    )
    evidence.control(
        "on three tokens that map is no symmetry", not same(before, after, tokens=3, cases=6), kind="exact", only=only
    )
    evidence.proof(
        r"for every size: the poles give the multiset of $(M_i,N_i)$; $W_Q'W_K'^\top = W_QW_K^\top$ with full ranks "
        r"gives one $A_i$, $W_V'W_O' = W_VW_O$ likewise one $C_i$, neither depending on the other",
        prove_poles() and prove_factors(),
        on="condition",
        only=only,
    )
    points = [random_attention(d=w, d_k=k, d_v=v, groups=range(2), seed=w) for w, k, v in ((4, 2, 1), (5, 1, 3))]
    split = []
    for point in points:
        parts = (lie.query_key_generators(point), lie.value_output_generators(point))
        found = lie.characterise(point, parts)
        split.append(found.inside and found.kernel.dimension == sum(linear.rank(part) for part in parts))
    evidence.exact(
        "the exact first-order kernel at general points is the direct sum of its two sectors",
        all(split),
        on="condition",
        cases=len(split),
        only=only,
    )
    a = Architecture(5, 3, 2, 4, context=3, **ALONE)
    function = ExactFunction(a, seed=2)

    def sector(roles: dict, names: tuple[str, ...]) -> dict:
        element = general_element(a, roles, 5)
        shift = torch.tensor([2, 0, 1])  # undo the shift of the heads, which moves all four together
        return {name: element[name].index_select(0, shift) for name in names}

    evidence.exact(
        r"over GF(p): each sector of an element of determinant $-1$ keeps the function by itself",
        all(function.keeps(partial(sector, names=names)) for names in (ROLES[:2], ROLES[2:])),
        on="condition",
        cases=2,
        only=only,
    )
    evidence.control(
        "half of a sector, the keys alone",
        not function.keeps(partial(sector, names=ROLES[1:2])),
        kind="exact",
        only=only,
    )
