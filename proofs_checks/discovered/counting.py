"""Evidence that a count by hand is the dimension of the fibre: exact ranks, float64 ranks, and where it has to fail."""

from __future__ import annotations

import symgauge
from proofs_checks.discovered.specimens.attention import Sizes, Variant, in_words, variants
from symgauge.claims import EvidenceLog, at_least, equal


def record(evidence: EvidenceLog, name: str) -> None:
    """All evidence on the count of a variant, which has the name of the claim."""
    variant = variants()[name]
    measured = [_measure(variant, sizes) for sizes in variant.sizes]
    for sizes, fibre in zip(variant.sizes, measured, strict=True):
        evidence.exact(
            f"exact rank at {in_words(sizes)}",
            figures={
                "nullity": equal(fibre.nullity, variant.count(sizes)),
                "rank settled": equal(fibre.saturated, True),
                "primes agree": equal(fibre.agree, True),
                "parameters": fibre.parameters,
                "failure bound": fibre.failure_bound,
                **variant.by_hand(**sizes),
            },
        )
    found = evidence.numeric(
        "float64 Jacobian of the plain module: nullity by a gap of its singular values",
        figures={
            in_words(sizes): equal(fibre.parameters - (fibre.float_rank or 0), variant.count(sizes))
            for sizes, fibre in zip(variant.sizes, measured, strict=True)
        },
    )
    where, (module, inputs), count = variant.broken()
    fibre = symgauge.dimension(module, inputs)
    off = {
        "exact": at_least(abs(fibre.nullity - count), 1),
        "float64": at_least(abs(fibre.parameters - (fibre.float_rank or 0) - count), 1),
    }
    evidence.control(f"the count is off {where}", figures=off, of=found)


def _measure(variant: Variant, sizes: Sizes) -> symgauge.FibreDimension:
    return symgauge.dimension(*variant.make(sizes))
