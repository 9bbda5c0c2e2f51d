"""Whether error experiments can show that the group is all there is, on layers with and without biases."""

from __future__ import annotations

from typing import Any

import sympy as sp

from proofs_checks.gauge.core_support import ALONE, census
from proofs_checks.gauge.experiments import outside
from proofs_checks.gauge.experiments.distribution import distribution
from proofs_checks.gauge.experiments.subject import subject
from proofs_checks.gauge.experiments_support import ELEMENTS, SMALL, generator
from proofs_checks.gauge.explicit_attention import same
from proofs_checks.gauge.symbolic_support import record_identity
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least
from symgauge.symbolic.tangent import Attention

BIASED: dict[str, Any] = dict.fromkeys(("query_bias", "key_bias", "value_bias", "output_bias"), True)
NO_BIASES: dict[str, Any] = {}
SIZES = ((4, 2, 3, 1), (5, 2, 3, 4), (5, 3, 2, 4))  # d, h, d_k, d_v


def record_maximality_from_errors(evidence: EvidenceLog) -> None:
    """Maps outside the group change outputs whether or not the group is all there is; a rank tells the two apart."""
    evidence.exact(
        "a map outside the group changes outputs",
        not same(_scalar(0), _scalar(1), tokens=3, cases=8),
        counterexample=r"$d=d_k=d_v=1$, all weights 1, $b_Q=0$: $b_K=0$ and $b_K=1$ give equal outputs, exactly, so "
        r"the layer has more symmetries than $G_{\max}$, and no failing family says otherwise",
        cases=8,
    )
    query = not same(_scalar(0), _scalar(0, b_q=1), tokens=3, cases=8)
    evidence.control("a shift of $b_Q$ does change them", query, kind="exact")
    record_identity(evidence, "key_bias", on="correction")
    record_identity(evidence, "value_bias", on="correction")
    for biases, formula, note in (
        (NO_BIASES, _bias_free, r"without biases nullity $h(d_k^2+d_v^2)$"),
        (BIASED, _with_biases, r"with biases $h(d_k^2+d_v^2+d_k+d_v)$"),
    ):
        layers = [Architecture(d, h, d_k, d_v, context=3, **ALONE, **biases) for d, h, d_k, d_v in SIZES]
        found = census(layers, formula)
        evidence.exact(f"exact {note}, nothing unexplained", on="correction", figures=found.figures, cases=found.cases)
    least = {}
    for name, biased in (("without biases", False), ("with biases", True)):
        s = subject(SMALL, 4, generator(), biased=biased)
        p, inverse = outside.mixings(generator(1), SMALL, ELEMENTS)
        pairs = list(zip(p, inverse, strict=True))
        turns = outside.rotations(generator(2), SMALL, ELEMENTS)
        least[name] = min(
            distribution(s.errors(outside.mix_heads(s.layer, *pair) for pair in pairs)).median,
            distribution(s.errors(outside.rotate(s.layer, q, "everywhere") for q in turns)).median,
        )
    evidence.numeric(
        "Table 4's maps on a layer where the group is complete and on one where it is not: smallest median change",
        on="correction",
        figures={name: at_least(round(change, 3), 1e-2) for name, change in least.items()},
        cases=4 * 4 * ELEMENTS,
    )


def _scalar(b_k: int, b_q: int = 0) -> Attention:
    """d = d_k = d_v = h = 1, all weights 1."""
    one = (sp.Matrix([[1]]),)
    return Attention(one, one, one, one, (0,), b_q=(sp.Matrix([[b_q]]),), b_k=(sp.Matrix([[b_k]]),))


def _bias_free(a: Architecture) -> int:
    return a.heads * (a.d_k**2 + a.d_v**2)


def _with_biases(a: Architecture) -> int:
    return a.heads * (a.d_k**2 + a.d_v**2 + a.d_k + a.d_v)
