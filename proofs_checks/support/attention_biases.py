"""Attention with biases has more symmetries than the group without them, which no map that breaks a layer can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proofs_checks.support.census import census, describe
from proofs_checks.support.explicit_attention import same, scalar
from proofs_checks.support.small_architectures import ALONE, BIASED
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, equal

Formula = Callable[[Architecture], int]
Only = str | tuple[str, ...]

NO_BIASES: dict[str, Any] = {}
SIZES = ((4, 2, 3, 1), (5, 2, 3, 4), (5, 3, 2, 4))  # d, h, d_k, d_v


def record_symmetries_of_biases(evidence: EvidenceLog) -> None:
    """A symmetry outside the group at an explicit point, and the exact fibre with biases and without."""
    evidence.exact(
        "a map outside the group changes outputs",
        not same(scalar(0), scalar(1), tokens=3, cases=8),
        counterexample=r"$d=d_k=d_v=1$, all weights 1, $b_Q=0$: $b_K=0$ and $b_K=1$ give equal outputs, exactly, so "
        r"the layer has more symmetries than $G_{\max}$, and no failing family says otherwise",
        cases=8,
    )
    query = not same(scalar(0), scalar(0, b_q=1), tokens=3, cases=8)
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


def _bias_free(a: Architecture) -> int:
    return a.heads * (a.d_k**2 + a.d_v**2)


def _with_biases(a: Architecture) -> int:
    return a.heads * (a.d_k**2 + a.d_v**2 + a.d_k + a.d_v)


def record_more_with_biases(evidence: EvidenceLog, a: Architecture, claimed: Formula, only: Only = ()) -> None:
    """A layer whose four biases move along with the group: its exact fibre is larger than the group's orbits."""
    found, plain = (census([layer], claimed).accounts[0].fibre for layer in (a.replace(**BIASED), a))
    more = "$b_V$ can be shifted against $b_O$"
    if a.rotary is None:
        more = "$b_K$ is free and " + more
    evidence.exact(
        "with biases that transform covariantly (A3) the fibre has no further direction",
        found.nullity == claimed(a),
        counterexample=f"{describe(a)}, all four biases, general parameters: exact nullity {found.nullity}, where "
        f"{claimed(a)} are claimed; {more}",
        figures={"nullity": found.nullity, "claimed": claimed(a)},
        only=only,
    )
    evidence.control(
        "the same layer without biases has none",
        kind="exact",
        figures={"nullity": equal(plain.nullity, claimed(a))},
        only=only,
    )
