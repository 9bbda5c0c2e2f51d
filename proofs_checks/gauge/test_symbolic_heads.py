"""The group acting on heads (Definition 3.1), and mixing of values across heads (Lemma B.6)."""

from __future__ import annotations

from random import Random

import sympy as sp
import torch
from torch import Tensor

from proofs_checks.gauge.algebra import head_mixing
from proofs_checks.support.algebra.group import GaugeElement, act, compose, invariants, inverse, random_element
from proofs_checks.support.attention_points import head, layer, on_theta_0
from proofs_checks.support.explicit_attention import same
from proofs_checks.support.poles import prove_poles
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.models.reference import random_parameters
from symgauge.numeric import assert_changes, measure_invariance, random_inputs
from symgauge.profiles import scale
from symgauge.symbolic.dimensions import h
from symgauge.symbolic.identities import d, d_k, d_v, matrix
from symgauge.symbolic.instances import general_matrix
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.tangent import random_attention
from symgauge.symbolic.words import Facts
from symgauge.symmetries.base import Roles


@checks("def-3.1", "def-3.1b")
def test_action(evidence: EvidenceLog) -> None:
    action, product = "def-3.1", "def-3.1b"
    point = random_attention(d=4, d_k=2, d_v=3, groups=(0, 1, 2))
    w_k, a, b = matrix("W_K", d, d_k), matrix("A", d_k, d_k), matrix("B", d_k, d_k)
    evidence.proof(
        r"on one head, for every size: $W_KA^{-\top}B^{-\top} = W_K((AB)^{-1})^\top$, so acting by $A$ then $B$ "
        r"is acting by $AB$",
        proves(lambda: prove_equal(w_k * a.I.T * b.I.T, w_k * (a * b).I.T)),
        only=action,
    )
    evidence.control(
        r"the order $BA$",
        not proves(lambda: prove_equal(w_k * a.I.T * b.I.T, w_k * (b * a).I.T)),
        kind="proof",
        only=action,
    )
    triples = [[random_element(3, 2, 3, 3 * s + i) for i in range(3)] for s in range(6)]
    evidence.exact(
        "acting twice is acting by the composite, on integer matrices",
        all(act(act(point, f), g) == act(point, compose(f, g)) for f, g, _ in triples),
        cases=len(triples),
        only=action,
    )
    evidence.exact(
        "composition is associative, and every element has an inverse",
        all(compose(compose(f, g), k) == compose(f, compose(g, k)) for f, g, k in triples)
        and all(act(act(point, f), inverse(f)) == point for f, *_ in triples),
        cases=len(triples),
        only=action,
    )
    evidence.exact(
        "the action keeps the multiset of $(M_i, N_i)$",
        all(invariants(act(point, f)) == invariants(point) for f, *_ in triples),
        cases=len(triples),
        only=action,
    )

    def direct(first: GaugeElement, second: GaugeElement) -> GaugeElement:
        pairs = zip(first.a, second.a, strict=True), zip(first.c, second.c, strict=True)
        a, c = (tuple(x * y for x, y in pair) for pair in pairs)
        return GaugeElement(a, c, tuple(first.sigma[j] for j in second.sigma))

    swap, scale = random_element(3, 2, 3, 1, sigma=(1, 0, 2)), random_element(3, 2, 3, 2, sigma=(0, 1, 2))
    evidence.control(
        "the law of the direct product",
        act(act(point, swap), scale) != act(point, direct(swap, scale)),
        kind="exact",
        only=action,
    )
    commute = compose(swap, scale) == compose(scale, swap)
    units = sp.ImmutableMatrix(sp.eye(2)), sp.ImmutableMatrix(sp.eye(3))
    pure_swap = GaugeElement(*((unit,) * 3 for unit in units), (1, 0, 2))
    alike = GaugeElement(scale.a[:1] * 3, scale.c[:1] * 3, (0, 1, 2))
    evidence.control(
        "with an element that is the same in all heads a swap does commute",
        compose(pure_swap, alike) == compose(alike, pure_swap),
        kind="exact",
        only=product,
    )
    evidence.audit(
        "in a direct product a swap of two heads would commute with the continuous factor", commute, only=product
    )
    evidence.exact("it does not: the product is semidirect", not commute, on="correction", only=product)


@checks("lem-B.6")
def test_mixing_of_heads(evidence: EvidenceLog) -> None:
    e1, e2 = [1, 0], [0, 1]
    before = layer(head(e1, e2, e1, e1), head(e1, e2, e2, e2))
    after = layer(head(e1, e2, e1, [1, -1]), head(e1, e2, [1, 1], e2))
    evidence.exact(
        "whatever preserves the layer is block-diagonal up to a permutation, at every point of $\\Theta_0$",
        not (on_theta_0(before) and on_theta_0(after) and same(before, after, tokens=3, cases=6)),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $M_1 = M_2$, $W_V = W_O = I_2$: $P = "
        r"\begin{pmatrix}1&1\\0&1\end{pmatrix}$ keeps $N_1+N_2$, hence the function; A1–A6 hold",
        cases=6,
    )
    apart = [
        layer(head(e1, e2, e1, out_1), head([1, 1], e2, value_2, e2))
        for out_1, value_2 in ((e1, e2), ([1, -1], [1, 1]))
    ]
    evidence.control(
        "the same $P$ with $M_1\\ne M_2$ changes the layer", not same(*apart, tokens=3, cases=6), kind="exact"
    )
    rng = Random(4)
    w_v, w_o = general_matrix(5, 2, rng), general_matrix(2, 5, rng)
    swapped = head_mixing.head_changes(w_v, w_o, sp.Matrix([[0, 1], [1, 0]]), 2)
    evidence.control("a permutation of blocks is seen to change both heads", not is_zero(*swapped), kind="exact")
    shapes = ((2, 1), (2, 2), (3, 1), (3, 2))
    dimensions, blocks = [], True
    for heads, size in shapes:
        full = heads * size
        basis = head_mixing.preserving_basis(general_matrix(7, full, rng), general_matrix(full, 7, rng), heads)
        dimensions.append(len(basis))
        dense = [element.to_Matrix() for element in basis]
        blocks &= all(m[i, j] == 0 for m in dense for i in range(full) for j in range(full) if i // size != j // size)
    evidence.exact(
        "the linear conditions $PE_j = E_jP$ solved: block-diagonal, diagonal blocks free",
        blocks,
        on="condition",
        figures={"dimensions": equal(dimensions, [heads * v**2 for heads, v in shapes])},
        cases=len(shapes),
    )
    full_size = matrix("P", h * d_v, h * d_v).shape
    p, e_i, e_j = (sp.MatrixSymbol(name, *full_size) for name in ("P", "E_i", "E_j"))
    facts = Facts(commuting=((p, e_j),), equations=((e_i * e_j, sp.ZeroMatrix(*full_size)),))
    evidence.proof(
        r"for every size: $PE_j = E_jP$ and $E_iE_j = 0$ give $E_iPE_j = 0$, the off-diagonal blocks vanish",
        proves(lambda: prove_equal(e_i * p * e_j, sp.ZeroMatrix(*full_size), facts)),
        on="condition",
    )
    evidence.proof(
        r"for $n\ge3$ the poles of a layer with distinct $M_i$ give every $N_i$, so that each head has to be kept",
        prove_poles(),
        on="condition",
    )
    kept = head_mixing.head_changes(w_v, w_o, sp.diag(2, -3), 2)
    evidence.exact(r"$\mathrm{diag}(2,-3)$ preserves both heads", is_zero(*kept), on="condition")
    mixed = head_mixing.head_changes(w_v, w_o, sp.Matrix([[1, 1], [0, 1]]), 2)
    evidence.control("a shear across heads", not is_zero(*mixed), kind="exact")
    _record_mixing_in_float(evidence)


def _record_mixing_in_float(evidence: EvidenceLog) -> None:
    """Block-diagonal P, blocks of negative determinant, against P with one entry more, on a layer in float64."""
    a = Architecture(d_model=7, heads=3, d_k=4, d_v=2, residual=False, context=5)
    value, output = (f"layers.0.attention.{part}.weight" for part in ("value", "output"))

    def mix(roles: Roles, p: Tensor) -> dict[str, Tensor]:
        size = p.shape[-1]
        values = roles[value].transpose(0, 1).reshape(7, size) @ p
        outputs = torch.linalg.inv(p) @ roles[output].reshape(size, 7)
        return {value: values.reshape(7, 3, 2).transpose(0, 1), output: outputs.reshape(3, 2, 7)}

    worst, weakest = 0.0, 1.0
    for seed in range(scale(4, 20)):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        generator = torch.Generator().manual_seed(seed)
        reflection = torch.diag(torch.tensor([1.0, -2.0], dtype=torch.float64))
        p = torch.block_diag(*(reflection + 0.3 * torch.randn(3, 2, 2, generator=generator, dtype=torch.float64)))
        worst = max(worst, measure_invariance(a, roles, mix, p, x).ratio)
        shear = p.clone()
        shear[0, -1] += 1
        weakest = min(weakest, assert_changes(a, roles, {**roles, **mix(roles, shear)}, x))
    evidence.numeric(
        r"random $\mathrm{diag}(C_1,\dots,C_h)$ on a layer of three heads",
        on="condition",
        figures={"largest observed / allowed": at_most(worst, 1.0)},
    )
    evidence.control("one entry outside the diagonal blocks added", figures={"change": at_least(weakest, 1e-3)})
