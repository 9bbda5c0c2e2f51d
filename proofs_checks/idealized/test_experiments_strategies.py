"""Section 7.3: what twenty models say about strategies, beside copies of one of them."""

from __future__ import annotations

from math import factorial

import torch

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.gauges import Mixture, gauge_copies
from proofs_checks.idealized.experiments.geometry import geometry
from proofs_checks.idealized.experiments.groups import COPIES, LISTED, STREAM, TRAINED, UNTRAINED
from proofs_checks.idealized.group_statistics import (
    CLUSTERS,
    ROUNDING,
    changed,
    clustered,
    nearness,
    shape,
    without_structure,
)
from proofs_checks.idealized.model import architecture, copy_last, logits
from proofs_checks.idealized.trained_models import MODELS, seen_from_outside, twenty
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import WHERE, provenance
from symgauge.experiments.record import recorded
from symgauge.parameter_vector import ParameterVector


@checks("fig-5", "7.3-c")
def test_clusters(evidence: EvidenceLog) -> None:
    permuted = geometry(
        gauge_copies(architecture(), twenty()[TRAINED][0], MODELS, 3, Mixture(stream=False, scales=0.0, heads=False))
    )
    bar = without_structure() / 2
    trained = evidence.numeric(
        "distance to the nearest model over the mean distance, in the plane of the first two components; isotropic "
        f"sets have {2 * bar:.2f} on average, and half of that is taken for clusters",
        on="reproduction",
        figures={
            "trained": at_least(nearness(shape(TRAINED).plane), bar),
            "copies of one model": nearness(shape(COPIES).plane),
            "untrained": nearness(shape(UNTRAINED).plane),
        },
        cases=MODELS,
        only="fig-5",
    )
    runs = [recorded("idealized")["paper"].runs[key] for key in ("figure-5", "figure-5-starts")]
    ratios = [value for run in runs for value in run.result.comparison("first to last").values]
    uniform = evidence.numeric(
        "first to last share of the variance, from every initialisation on record: no further from uniform than the "
        "2.55 that the source calls so",
        on="reproduction",
        figures={
            **{f"ratio {n}": at_most(ratio, reported.RATIO) for n, ratio in enumerate(ratios, 1)},
            WHERE: "; ".join(provenance("paper", run) for run in runs),
        },
        cases=len(ratios) * MODELS,
        only="fig-5",
    )
    evidence.control(
        "copies of one model by maps of the stream alone are further from it",
        figures={"ratio": at_least(shape(STREAM).ratio, 1.5 * reported.RATIO)},
        of=uniform,
        only="fig-5",
    )
    number = factorial(64) * factorial(2)
    evidence.exact(
        "number of renumberings of 64 neurons and 2 heads: few enough for 20 models to cluster?",
        number <= MODELS**2,
        figures={"logarithm": len(str(number)) - 1, "models": MODELS},
        counterexample="20 models that differ by a permutation of the neurons: one function, and no two near each "
        "other",
        only="7.3-c",
    )
    copies = evidence.numeric(
        "20 permuted copies of one model: the same share, and their least distance",
        on="correction",
        figures={"share": at_least(nearness(permuted.plane), bar),
                 "least distance": at_least(float(permuted.distances.min()), 1.0)},
        cases=MODELS,
        only="7.3-c",
    )  # fmt: skip
    for record in (trained, copies):
        evidence.control(
            "two to ten models with noise around them, twenty in all, are seen as clusters",
            figures={f"{k} clusters": at_most(clustered(k), bar) for k in CLUSTERS},
            of=record,
            only="fig-5" if record is trained else "7.3-c",
        )


@checks("7.3-a", "abs-7")
def test_multiplicity(evidence: EvidenceLog) -> None:
    names = (TRAINED, UNTRAINED, COPIES)
    cosines = {name: float(shape(name).cosines.mean()) for name in names}
    ratios = {name: shape(name).ratio for name in names}
    evidence.numeric(
        "mean cosine and ratio of components: can they tell solutions from copies of one of them?",
        abs(cosines[COPIES]) > 0.05 or ratios[COPIES] < 2,
        figures={
            **{f"cosine, {n}": round(c, 4) for n, c in cosines.items()},
            **{f"ratio, {n}": round(r, 3) for n, r in ratios.items()},
        },
        counterexample=f"20 gauge copies of one model: mean cosine {cosines[COPIES]:.3f}, ratio {ratios[COPIES]:.2f}, "
        f"logits equal to {changed(COPIES):.0e}",
        cases=3 * MODELS,
    )
    trained, copies = seen_from_outside(TRAINED), seen_from_outside(COPIES)
    evidence.numeric(
        "answers to all sequences of six tokens that are the last token, and accuracy on the task without attention, "
        "least of the trained models",
        on="correction",
        figures={"off the task": equal(float(trained.agree.min()), 1.0),
                 "without attention": equal(float(trained.ablated[0].min()), 1.0),
                 "logits of copies": at_most(changed(COPIES), ROUNDING)},
        cases=MODELS,
    )  # fmt: skip
    evidence.control(
        "longer sequences tell: logits of copies agree on them, those of two trained models do not, and untrained "
        "models answer otherwise",
        figures={"copies": at_most(float(copies.outside.max()), ROUNDING),
                 "trained, least": at_least(float(trained.outside.min()), 1e-3),
                 "untrained, answers": at_most(float(seen_from_outside(UNTRAINED).agree.mean()), 0.9)},
    )  # fmt: skip


@checks("7.3-b")
def test_near_by(evidence: EvidenceLog) -> None:
    a, theta = architecture(), twenty()[TRAINED][0]
    flat = ParameterVector.of(a)
    distances = {}
    outputs = logits(a, theta.unsqueeze(0), copy_last().inputs)
    roles = flat.split(theta)
    query, key = (f"layers.0.attention.{name}.weight" for name in ("query", "key"))
    for power in (1, 4, 10):
        scaled = flat.join({**roles, query: 2.0**power * roles[query], key: roles[key] / 2.0**power})
        same = torch.equal(logits(a, scaled.unsqueeze(0), copy_last().inputs), outputs)
        distances[f"c = 2^{power}, same logits: {same}"] = float((scaled - theta).norm())
    far = max(distances.values())
    evidence.exact(
        "distance of a trained model from its copy with queries times $c$ and keys divided by it; logits equal bit by "
        "bit",
        far <= reported.DISTANCE_HIGH or not all("True" in key for key in distances),
        figures=distances,
        counterexample=f"queries times 1,024 and keys divided by it: distance {far:.0f}, no logit changes",
    )
    g = shape(STREAM)
    evidence.numeric(
        "distances between 20 copies of one model by orthogonal maps of the stream",
        on="correction",
        figures={"mean": at_least(float(g.distances.mean()), 0.9 * reported.DISTANCE),
                 "least": at_least(float(g.distances.min()), 10),
                 "logits": at_most(changed(STREAM), ROUNDING)},
        cases=190,
    )  # fmt: skip
    listed = shape(LISTED)
    evidence.control(
        "the source's families alone leave embedding and output map in place, and copies closer",
        figures={"mean": at_most(float(listed.distances.mean()), 0.95 * float(g.distances.mean()))},
    )


@checks("intro-3")
def test_regions(evidence: EvidenceLog) -> None:
    trained, copies = shape(TRAINED), shape(COPIES)
    evidence.numeric(
        "distances between trained models against those between copies of one of them",
        float(trained.distances.min()) > float(copies.distances.max()),
        figures={"trained, least": float(trained.distances.min()), "copies, largest": float(copies.distances.max())},
        counterexample="two gauge copies of one trained model: one function, and as far apart as two training runs",
        cases=380,
    )
    evidence.numeric(
        "distances between trained models, relative to their norm",
        on="condition",
        figures={"least": at_least(float(trained.distances.min() / trained.norms.mean()), 1)},
        cases=190,
    )
    theta = twenty()[TRAINED]
    near = geometry(theta[:1] + 1e-3 * theta)
    evidence.control(
        "small changes of one model are not far apart", figures={"largest": at_most(float(near.distances.max()), 0.1)}
    )
