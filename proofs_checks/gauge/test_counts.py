"""Dimension counts: the headline numbers, recomputed in integers from the sizes that the source names."""

from __future__ import annotations

import sympy

from proofs_checks.gauge.dimension_counts import (
    BASE,
    BASE_LAYERS,
    GPT_3,
    GPT_3_LAYERS,
    gauge_dimension,
    orbit_dimension,
)
from proofs_checks.gauge.experiments.spectrum import spectrum
from proofs_checks.gauge.experiments.table_7 import THRESHOLD, UNSAFE
from proofs_checks.gauge.reported import (
    BASE_PARAMETERS,
    CARD_BYTES,
    GPT_3_PARAMETERS,
    SPECTRUM_METHODS,
    TABLE_6,
    TABLE_7,
    TEXT,
    WAYS_TO_CRITICAL_POINTS,
    Heads,
)
from proofs_checks.support.algebra import linearised
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome


@checks("cor-3.7")
def test_gauge_dimension_per_layer(evidence: EvidenceLog) -> None:
    evidence.audit(
        "$h(d_k^2 + d_v^2)$ at the sizes given", figures={"dimension": equal(gauge_dimension(*BASE[:3]), 98_304)}
    )
    evidence.proof(
        "for every size: $W_QX = 0$ only for $X = 0$ and $W_VY = 0$ only for $Y = 0$, as their columns are "
        "independent, so the orbit has the dimension of the group",
        proves(linearised.prove_freeness),
    )
    small = [Heads(1, 1, 2, 2), Heads(2, 2, 1, 5), Heads(2, 2, 3, 4), Heads(3, 3, 2, 6), Heads(2, 3, 2, 3)]
    wrong = [sizes for sizes in small if orbit_dimension(sizes, seed=0) != gauge_dimension(*sizes[:3])]
    evidence.exact(
        "the generators are linearly independent at random integer weights, so the orbit has this dimension",
        figures={"sizes with another rank": equal(len(wrong), 0), "seed": 0},
        cases=len(small),
    )
    lost = gauge_dimension(2, 2, 3) - orbit_dimension(Heads(2, 2, 3, 4), seed=0, degenerate=True)
    evidence.control(
        "a zero column in every $W_Q$ and $W_K$ (against A4) makes the orbit smaller",
        kind="exact",
        figures={"dimensions lost": at_least(lost, 1)},
    )


@checks("abs-10", "sec7.1-a")
def test_redundancy_of_the_base_model(evidence: EvidenceLog) -> None:
    total = BASE_LAYERS * gauge_dimension(*BASE[:3])
    evidence.audit(
        "twelve layers of 98,304",
        on="reproduction",
        figures={"redundant dimensions": equal(total, 1_179_648), "against the claim": at_least(total, 1_100_000)},
    )
    evidence.audit(
        "rounded as reported",
        on="reproduction",
        only="sec7.1-a",
        figures={
            "millions": equal(f"{total / 10**6:.2f}", "1.18"),
            "percent": equal(f"{100 * total / BASE_PARAMETERS:.1f}", "1.1"),
        },
    )
    fewer = total * (BASE_LAYERS - 1) // BASE_LAYERS
    evidence.control(
        "eleven layers do not reach the claim", kind="audit", figures={"dimensions": at_most(fewer, 1_100_000)}
    )


@checks("sec7.1-c")
def test_redundancy_of_gpt_3(evidence: EvidenceLog) -> None:
    total = GPT_3_LAYERS * gauge_dimension(*GPT_3[:3])
    figures = {"redundant dimensions": equal(total, 301_989_888), "against the claim": at_least(total, 300_000_000)}
    evidence.audit("$96 \\cdot 96 \\cdot 2 \\cdot 128^2$", on="reproduction", figures=figures)
    evidence.control(
        "queries and keys alone do not reach the claim",
        kind="audit",
        figures={"dimensions": at_most(total // 2, 300_000_000)},
    )


@checks("sec7.1-b")
def test_redundancy_is_not_proportional(evidence: EvidenceLog) -> None:
    base = 100 * BASE_LAYERS * gauge_dimension(*BASE[:3]) / BASE_PARAMETERS
    large = 100 * GPT_3_LAYERS * gauge_dimension(*GPT_3[:3]) / GPT_3_PARAMETERS
    evidence.audit(
        "the shares that §7.1's own counts give, to a tenth of a percent",
        figures={"percent, GPT-3 against base": equal(f"{large:.1f}", f"{base:.1f}")},
    )
    doubled = 100 * 2 * BASE_LAYERS * gauge_dimension(*BASE[:3]) / (2 * BASE_PARAMETERS)
    evidence.control(
        "a base model of twice the layers and parameters has the same share",
        kind="audit",
        figures={"percent": equal(f"{doubled:.1f}", f"{base:.1f}")},
    )
    shares = {"base": equal(f"{base:.2f}", "1.07"), "GPT-3": equal(f"{large:.3f}", "0.173")}
    evidence.audit("the shares in percent", on="correction", figures=shares)


@checks("sec7.1-d")
def test_ratio_falls_with_the_number_of_heads(evidence: EvidenceLog) -> None:
    h, d_k, layers, vocabulary = sympy.symbols("h d_k L V", positive=True)
    width = h * d_k
    redundant = 2 * h * d_k**2
    evidence.proof("share of a block is $1/(6h)$", sympy.simplify(redundant / (12 * width**2) - 1 / (6 * h)) == 0)
    ratio = layers * redundant / (12 * layers * width**2 + vocabulary * width)
    slope = sympy.factor(sympy.diff(ratio, h))
    evidence.proof(
        "with an embedding of $V$ rows too, the derivative in $h$ is negative for all sizes", slope.is_negative
    )


@checks("tab-7a")
def test_predicted_null_dimensions(evidence: EvidenceLog) -> None:
    evidence.audit(
        "$h(d_k^2 + d_v^2)$ at the sizes of the table",
        figures={
            f"h={h}, {d_k}, {d_v}": equal(gauge_dimension(h, d_k, d_v), reported) for h, d_k, d_v, reported in TABLE_7
        },
        cases=len(TABLE_7),
    )


@checks("tab-7b")
def test_observed_null_dimensions(evidence: EvidenceLog) -> None:
    record_outcome(evidence)
    evidence.not_stated(
        TEXT.between("F.5.1 Hessian Nullspace Verification", "F.5.2 Gradient Orthogonality"),
        {
            "how the spectrum of a Hessian of this size was computed": SPECTRUM_METHODS,
            "how critical points were found": WAYS_TO_CRITICAL_POINTS,
            "loss, data and number of inputs": ("loss", "inputs", "data"),
            r"$d_{\text{model}}$": (r"d_{\text{model}}", "d_{model}"),
        },
        there="computing Hessian eigenvalues at critical points",
    )
    for h, d_k, d_v, _ in TABLE_7:
        size = 2 * h * (h * d_v) * (d_k + d_v)
        evidence.audit(
            "one triangle of the dense float64 Hessian against the card's 95 GB",
            on="reproduction",
            figures={"parameters": size, "bytes": at_most(8 * size * (size + 1) // 2, CARD_BYTES)},
        )
    small, large = (spectrum(UNSAFE, weights, 0) for weights in (0.02, 2.0))
    evidence.numeric(
        f"zeros of the Hessian at an exact critical point ({UNSAFE}), by the gap",
        on="correction",
        figures={
            "weights 0.02": equal(small.nullity, UNSAFE.gauge),
            "weights 2": equal(large.nullity, UNSAFE.gauge),
        },
        cases=2,
    )
    evidence.control(
        "the threshold counts differently",
        figures={
            "too many at 0.02, mean loss": at_least(small.below(THRESHOLD), UNSAFE.gauge + 10),
            "too few at 2, summed loss": at_most(large.below(THRESHOLD, summed=True), UNSAFE.gauge - 10),
        },
    )


@checks("F.4-null")
def test_null_dimensions_of_the_non_square_configurations(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT.between("F.4 EXTENDED ARCHITECTURE COVERAGE", "F.5 Optimization Landscape Validation"),
        {"a nullspace dimension observed for configurations A, B or C": ("observed", "null dim", "zero eigenvalues")},
        there="correctly predicts the nullspace dimension in each case",
    )
    tested = {(h, d_k, d_v) for h, d_k, d_v, _ in TABLE_7}
    named = [TABLE_6[name][0][:3] for name in ("Config A", "Config B", "Config C")]
    evidence.audit(
        "configurations of F.4 for which Table 7 reports a nullspace",
        on="reproduction",
        figures={"reported": equal(sum(sizes in tested for sizes in named), len(named))},
    )


@checks("tab1-A2")
def test_canonical_dimensions(evidence: EvidenceLog) -> None:
    others = [name for name, (sizes, _) in TABLE_6.items() if sizes.h * sizes.d_v != sizes.d_model]
    example = TABLE_6["GPT-2"][0]
    evidence.audit("the example, GPT-2", figures={"width": equal(example.h * example.d_v, example.d_model)})
    evidence.audit("every row of Table 6", figures={"rows that violate it": equal(others, [])}, cases=len(TABLE_6))
