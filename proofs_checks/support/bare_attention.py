"""What an attention layer by itself leaves out: a norm in front and rotated positions; the fibre differs with them."""

from __future__ import annotations

from collections.abc import Sequence

from proofs_checks.support.small_architectures import ALONE, EPSILON
from symgauge.architecture import Architecture, Rotary
from symgauge.claims import EvidenceLog, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Vectors
from symgauge.models.reference import ReferenceModel


def record_more_than_bare_attention(evidence: EvidenceLog, only: str | Sequence[str] = ()) -> None:
    """Exact nullities of one layer with a norm before it or with rotary positions, at general parameters."""
    plain = Architecture(6, 2, 2, 3, context=3, **ALONE)
    claimed = plain.heads * (plain.d_k**2 + plain.d_v**2)
    layers = {
        "RMSNorm": plain.replace(norm="rms", **EPSILON),
        "LayerNorm": plain.replace(norm="layer", **EPSILON),
        "rotary positions": plain.replace(rotary=Rotary.standard(2)),
    }
    found = {name: dimension(ReferenceModel(a), Vectors(3, a.d_model)).nullity for name, a in layers.items()}
    evidence.exact(
        "a layer behind a norm, or with rotary positions, has as many directions",
        set(found.values()) == {claimed},
        counterexample=rf"$d = 6$, $h = 2$, $d_k = 2$, $d_v = 3$, general parameters: $h(d_k^2+d_v^2) = {claimed}$, "
        + ", ".join(f"{nullity} with {name}" for name, nullity in found.items()),
        figures=found,
        cases=len(found),
        only=only,
    )
    bare = dimension(ReferenceModel(plain), Vectors(3, plain.d_model)).nullity
    evidence.control("the same layer by itself has", kind="exact", figures={"nullity": equal(bare, claimed)}, only=only)
