"""Rotary attention at exact angles, its first-order kernel, and layers with rotary positions measured."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from proofs_checks.gauge.shared_heads import KEY, QUERY
from proofs_checks.support.algebra.commutant import (
    CirclePoint,
    commutant_basis,
    rotation_matrix,
)
from proofs_checks.support.census import census
from proofs_checks.support.integer_matrices import unimodular
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, at_least, for_all
from symgauge.models.reference import random_parameters
from symgauge.numeric import action, assert_changes, measure_invariance, random_element, random_inputs
from symgauge.symbolic import lie_algebra as lie
from symgauge.symbolic.tangent import Attention, random_attention
from symgauge.symmetries import families

OPPOSITE = CirclePoint(Fraction(3, 5), Fraction(-4, 5))


def kernel_with_rotations(angles: list[CirclePoint], unrotated: int = 0) -> tuple[Attention, lie.Characterisation]:
    """A two-head rotary attention with these angles, its commutant as generators, and its exact first-order kernel."""
    rotation = rotation_matrix(angles, unrotated).to_Matrix()
    size = rotation.rows
    point = random_attention(d=5, d_k=size, d_v=3, groups=(0, 1), rotations=[rotation**p for p in range(size + 1)])
    algebra = [element.to_Matrix() for element in commutant_basis(angles, unrotated)]
    return point, lie.characterise(
        point, [lie.query_key_generators(point, algebra), lie.value_output_generators(point)]
    )


def record_rotary_layers(
    evidence: EvidenceLog, encodings: Sequence[Rotary], *, on: str = "statement", only: Sequence[str] = ()
) -> None:
    """Attention layers with these encodings: exact nullity h (dim C + d_v²), drawn elements, a general A as control."""
    layers = [
        Architecture(d_model=7, heads=2, d_k=r.channels, d_v=3, residual=False, context=4, rotary=r) for r in encodings
    ]
    found = census(layers, lambda a: a.heads * ((a.rotary.commutant_dimension if a.rotary else 0) + a.d_v**2))
    evidence.exact(
        r"exact nullity of whole attention layers is $h(\dim\mathcal C+d_v^2)$, nothing unexplained",
        on=on,
        only=only,
        figures=found.figures,
        cases=found.cases,
    )

    def keeps(layer: int, seed: int) -> bool:
        a = layers[layer]
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        family = next(f for f in families(a) if f.name == "query-key")
        return measure_invariance(a, roles, action(family, a), random_element(family, a, seed), x).holds

    evidence.property(
        r"drawn elements of $\mathcal C$, far from the identity, keep the layer in float64",
        for_all(keeps, layer=st.integers(0, len(layers) - 1), seed=st.integers(0, 2**16)),
        on=on,
        only=only,
    )
    weakest = 1.0
    for seed, a in enumerate(layers):
        roles, x = random_parameters(a, seed), random_inputs(a, seed)
        matrix, inverse = unimodular(a.d_k, seed)
        general = {name: roles[name] @ m for name, m in ((QUERY, matrix), (KEY, inverse.mT))}
        weakest = min(weakest, assert_changes(a, roles, general, x))
    evidence.control(
        "a general $A$, of determinant −1, on the same layers", only=only, figures={"change": at_least(weakest, 1e-3)}
    )
