"""The source's error figures, held against each other."""

from __future__ import annotations

from proofs_checks.gauge.reported import (
    CONFIGURATIONS,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TEXT,
    epsilons,
    exact,
)
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import decided, record_outcome
from symgauge.experiments.result import Agreement, Comparison

IN_GROUP = {
    **{name: row[0] for name, row in (TABLE_2 | TABLE_3).items()},
    **{name: row[1] for name, row in TABLE_6.items()},
}
LARGEST = max(map(epsilons, IN_GROUP.values()))


@checks("abs-11")
def test_headline_error(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the largest error of Tables 2, 3 and 6", figures={"ε": at_most(round(LARGEST, 2), 24)}, cases=len(IN_GROUP)
    )
    within = [name for name in TABLE_2 if epsilons(IN_GROUP[name]) <= 24]
    evidence.control("the rows of Table 2 are within it", kind="audit", figures={"rows": equal(within, list(TABLE_2))})
    above = sorted(name for name, error in IN_GROUP.items() if epsilons(error) > 24)
    names = ["GPT-2 (10k steps)", "GPT-2 (converged)", "GPT-3 config"]
    evidence.audit(
        "the rows above the headline, and the largest of them",
        on="correction",
        figures={"rows": equal(above, names), "largest, ε": equal(f"{LARGEST:.1f}", "33.0")},
    )


@checks("tab-2-eps")
def test_error_range_of_table_2(evidence: EvidenceLog) -> None:
    smallest = min(epsilons(mean) for _, mean, _ in TABLE_2.values())
    largest = max(epsilons(maximum) for maximum, _, _ in TABLE_2.values())
    figures = {"smallest mean, ε": equal(round(smallest), 9), "largest maximum, ε": equal(round(largest), 24)}
    evidence.audit("smallest mean and largest maximum, rounded", on="reproduction", figures=figures)
    query_key = [epsilons(error) for error in TABLE_3["QK only"][:2]]
    evidence.control(
        "the first row of Table 3 lies outside of this range", kind="audit", figures={"ε": at_most(max(query_key), 9)}
    )


@checks("sec6-1")
def test_dimensions_tested(evidence: EvidenceLog) -> None:
    all_sizes = [sizes for sizes, _ in (*CONFIGURATIONS.values(), *TABLE_6.values())]
    pairs = sorted({f"({sizes.d_k}, {sizes.d_v})" for sizes in all_sizes})
    said = ["(64, 64)", "(64, 128)", "(128, 64)"]
    evidence.audit(
        "pairs of the list that F.1.2 and Table 6 do not have",
        figures={"pairs": equal(sorted(set(said) - set(pairs)), []), "all pairs": pairs},
    )


@checks("sec6-3")
def test_error_range(evidence: EvidenceLog) -> None:
    maxima, means = ([row[n] for row in TABLE_2.values()] for n in (0, 1))
    evidence.audit(
        "Table 2, the trials of the configurations of F.1.2: the largest maximum, and the means, rounded",
        figures={
            "maximum": equal(max(maxima, key=exact), "5.28e-15"),
            r"smallest and largest mean, $10^{-15}$": equal(
                [round(1e15 * float(each(means, key=exact))) for each in (min, max)], [2, 4]
            ),
        },
        cases=len(TABLE_2),
    )
    largest = max(IN_GROUP.values(), key=exact)
    smallest = min((mean for _, mean, _ in (*TABLE_2.values(), *TABLE_3.values())), key=exact)
    evidence.control(
        "with the single sectors of Table 3 and the variants of Table 6 both would be others",
        kind="audit",
        figures={
            "maximum": at_least(float(largest), 5.3e-15),
            "smallest mean": at_most(float(smallest), 2e-15),
        },
    )


@checks("sec6-4")
def test_error_band_of_the_sectors(evidence: EvidenceLog) -> None:
    query_key = epsilons(TABLE_3["QK only"][0])
    evidence.audit("largest query-key error of Table 3", figures={"ε": at_least(round(query_key, 2), 10)})
    value_output = epsilons(TABLE_3["VO only"][0])
    evidence.control(
        "the largest value-output error lies in the band",
        10 <= value_output <= 25,
        kind="audit",
        figures={"ε": round(value_output, 2)},
    )
    evidence.audit("the same, rounded", on="correction", figures={"ε": equal(f"{query_key:.1f}", "2.5")})


@checks("F.2.3")
def test_changes_of_order_one(evidence: EvidenceLog) -> None:
    medians = {name: at_least(float(median), 0.1) for name, (median, _, _) in TABLE_4.items()}
    evidence.audit("medians of Table 4", figures=medians, cases=len(medians))
    named = "Non-commuting (RoPE)"
    others = min(float(median) for name, (median, _, _) in TABLE_4.items() if name != named)
    evidence.control(
        "the medians of the other rows are of order one", kind="audit", figures={"least": at_least(others, 0.1)}
    )
    median, _, maximum = TABLE_4[named]
    small = {"median": at_most(float(median), 0.035), "maximum": at_most(float(maximum), 0.065)}
    evidence.audit("that row", on="correction", figures=small)


@checks("tab-5")
def test_time_per_transformation(evidence: EvidenceLog) -> None:
    (outcome,) = record_outcome(evidence)
    reported, ours = zip(*((each.source, each.ours) for each in decided(evidence.claims[0]).comparisons), strict=True)
    rises = [Comparison("rise", by / reported[0], now / ours[0]) for by, now in zip(reported, ours, strict=True)]
    evidence.control(
        "how the times rise with the configuration: in this the same record agrees, by the same factor",
        all(rise.agreement is Agreement.AGREES for rise in rises),
        figures={"reported": [round(r.source, 2) for r in rises], "here": [round(r.ours, 2) for r in rises]},
        of=outcome,
    )
    figures = {name: equal(f"{1000 * float(total) / 10**5:.2f}", each) for name, (total, each) in TABLE_5.items()}
    evidence.audit("total over $10^5$ trials, in milliseconds", figures=figures, cases=len(figures))


@checks("sec6-10")
def test_time_against_complexity(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT,
        {
            "what the complexity of a model is": (
                "complexity is", "complexity measured", "measure of complexity", "model size", "number of parameters",
                "FLOP", "floating-point operations",
            )
        },
        there="scales linearly with model complexity",
    )  # fmt: skip
    seconds = [float(TABLE_5[name][0]) for name in CONFIGURATIONS]
    sizes = [sizes for sizes, _ in CONFIGURATIONS.values()]
    parameters = [2 * s.h * s.d_model * (s.d_k + s.d_v) for s in sizes]
    measures = {
        "width": [s.d_model for s in sizes],
        "parameters": parameters,
        "parameters times batch": [
            p * batch for p, (_, batch) in zip(parameters, CONFIGURATIONS.values(), strict=True)
        ],
    }
    for name, measure in measures.items():
        through_zero = (seconds[2] / seconds[0]) / (measure[2] / measure[0])
        slopes = [(seconds[n + 1] - seconds[n]) / (measure[n + 1] - measure[n]) for n in (0, 1)]
        apart = round(abs(slopes[1] / slopes[0] - 1), 3)
        evidence.audit(
            f"time against {name}: how far the largest is from proportion to the smallest, and how far "
            "the two slopes are from each other",
            on="correction",
            figures={
                "distance from proportion": at_least(round(abs(through_zero - 1), 3), 0.1),
                "distance of the slopes": at_most(apart, 0.1) if name == "parameters" else at_least(apart, 1.0),
            },
        )
