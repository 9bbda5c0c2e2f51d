"""The dimensions that the source reports, held against each other and against trainings (abstract, 4.1, Figure 1)."""

from __future__ import annotations

import torch

from proofs_checks.manifolds import reported
from proofs_checks.manifolds.experiments.gauges import RAW
from proofs_checks.manifolds.experiments.robustness import mean_square_cosine
from proofs_checks.manifolds.marked_sum import Sizes
from proofs_checks.manifolds.recorded_results import SCALES, measured, table, where
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.experiments.deciding import record_outcome


@checks("abs-dimension")
def test_reported_dimension(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the range for all four matrices in 4.1 and in the caption of Figure 1 against that of the abstract",
        figures={"upper end": at_most(reported.DIMENSION_OF_MATRICES[1], reported.DIMENSION[1])},
    )
    evidence.audit(
        "the range that the author's repository states for the same experiments (README)",
        figures={"lower end": at_least(reported.README_DIMENSION[0], reported.DIMENSION[0])},
    )
    record_outcome(evidence)
    by_path = {row[0]: row for row in table("figure-1", "r90: mean over layers", "paper").rows}
    trained, null, straight = ({name: _mean(by_path[name][column]) for name in MATRICES} for column in (1, 2, 3))
    walk = measured("figure-1", "null: random walk", "paper")
    evidence.numeric(
        "means over layers and seeds, experiments `figure-1` and `robustness`",
        on="correction",
        figures={
            **{f"{name}, at least": at_least(trained[name], low) for name, low in LEAST.items()},
            **{f"{name}, at most": at_most(trained[name], low + 0.5) for name, low in LEAST.items()},
            **{f"{name}, labels drawn at random": at_most(null[name], walk - 1) for name in MATRICES},
            "modular addition": equal(
                round(measured("robustness", "$r_{90}$, four matrices: addition", "paper"), 2), 2.0
            ),
            **where("figure-1", "paper"),
        },
    )
    evidence.control(
        "a training that learns nothing, by SGD, and a random walk are in neither range",
        figures={"SGD, largest": at_most(max(straight.values()), 2), "random walk": at_least(walk, 5.5)},
    )


MATRICES = ("W_Q", "W_K", "W_V", "W_O")
LEAST = {"W_Q": 4.5, "W_K": 4.5, "W_V": 3.0, "W_O": 3.0}


def _mean(cell: str) -> float:
    """4.76 of “4.76 (4–6)”."""
    return float(cell.split()[0])


@checks("fig-1")
def test_figure_1(evidence: EvidenceLog) -> None:
    low, high = reported.DIMENSION_OF_MATRICES
    over_layers = {
        row[0]: _mean(row[1]) for row in table("figure-1", "r90: mean over layers", "paper").rows if row[0] in MATRICES
    }
    layers = table("figure-1", "r90 by layer", "paper").rows
    by_layer = {row[0]: row[2:] for row in layers if row[0] in MATRICES and row[1] == "trained"}
    every = [value for values in by_layer.values() for value in values]
    evidence.numeric(
        "least and largest, of matrices in a layer (means of five seeds): from 3 to 5?",
        on="reproduction",
        figures={
            "least": at_least(min(every), low),
            "largest": at_most(max(every), high),
            **where("figure-1", "paper"),
        },
        cases=len(every),
    )
    ordered = evidence.numeric(
        "in every layer $W_V$ and $W_O$ have less than $W_Q$ and $W_K$; and the matrices over layers are from 3 to 5",
        on="reproduction",
        figures={
            "layers in order": equal(
                sum(max(v, o) < min(q, k) for q, k, v, o in zip(*map(by_layer.get, MATRICES), strict=True)), 5
            ),
            "least over layers": at_least(min(over_layers.values()), low),
            "largest over layers": at_most(max(over_layers.values()), high),
        },
        cases=len(every),
    )
    others = {row[0]: row for row in table("figure-1", "r90: mean over layers", "paper").rows if row[0] in MATRICES}
    evidence.control(
        "trained on labels drawn at random one matrix is below the range; by SGD, which learns nothing, none has less",
        figures={
            "labels drawn at random, least": at_most(min(_mean(row[2]) for row in others.values()), low),
            "SGD, $W_V$ or $W_O$ less $W_Q$ or $W_K$": at_least(
                max(_mean(others[name][3]) for name in MATRICES[2:])
                - min(_mean(others[name][3]) for name in MATRICES[:2]),
                0,
            ),
        },
        of=ordered,
    )


@checks("ambient")
def test_ambient_dimension(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "numbers in one path: one matrix, or all attention matrices",
        figures={"one matrix": equal(sizes.d**2, 128)},
        counterexample=r"$W_Q \in R^{128\times128}$ has 16,384 entries",
    )
    evidence.control("one row of a matrix has as many", kind="exact", figures={"one row": equal(sizes.d, 128)})
    evidence.exact(
        "the same",
        on="correction",
        figures={"one matrix": equal(sizes.d**2, 16_384), "all": equal(sizes.attention, reported.ATTENTION)},
    )


@checks("seeds")
def test_number_of_seeds(evidence: EvidenceLog) -> None:
    evidence.audit(
        "seeds in the caption of Figure 1 and in the code that trains what it shows",
        figures={"seeds": equal(reported.SEEDS["caption of Figure 1"], reported.SEEDS["code (train.py)"])},
    )


COMPARED = ("main", "harder", "addition", "noise")


@checks("robust-measured")
def test_robustness(evidence: EvidenceLog) -> None:
    for size in SCALES:
        trainings = table("robustness", "r90 by training", size)
        rows = {row[0]: dict(zip(trainings.columns, row, strict=True)) for row in trainings.rows}
        spread = {name: [float(row[f"r90 of {q}"].split(" ± ")[1]) for q in RAW]
                  for name, row in rows.items() if row["seeds"] > 1}  # fmt: skip
        means = {
            name: round(measured("robustness", f"$r_{{90}}$, four matrices: {name}", size), 2) for name in COMPARED
        }
        evidence.numeric(
            "what counts as robust is not said: means of $r_{90}$ over four matrices, and the largest standard "
            f"deviation of a matrix over seeds, scale {size}",
            None,
            on="reproduction",
            figures={
                **{name: f"{means[name]} ± {max(spread[name])}, {rows[name]['seeds']} seeds" for name in COMPARED},
                **where("robustness", size),
            },
        )
    same = measured("robustness", "overlap of the bases of two seeds", "paper")
    chance = measured("robustness", "null: overlap of random planes", "paper")
    evidence.numeric(
        "overlap of the bases of two seeds (0: orthogonal, 1: the same), nearer to 0 than to 1, and that of random "
        "planes",
        on="reproduction",
        figures={
            "overlap": at_most(round(same, 3), 0.5),
            "random planes": round(chance, 3),
            **where("robustness", "paper"),
        },
    )
    plane = torch.linalg.qr(torch.randn(40, 6, generator=torch.Generator().manual_seed(0)))[0]
    evidence.control(
        "the overlap of a plane with itself",
        figures={"overlap": at_least(round(float(mean_square_cosine(plane, plane).sqrt()), 3), 0.5)},
    )
