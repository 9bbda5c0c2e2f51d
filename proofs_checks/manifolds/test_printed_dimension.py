"""The dimensions that the source prints, held against each other and against trainings (abstract, 4.1, Figure 1)."""

from __future__ import annotations

from proofs_checks.manifolds import printed
from proofs_checks.manifolds.support import experiment, measured
from symgauge.claims import EvidenceLog, at_least, at_most, claim, equal
from symgauge.models.marked_sum import Sizes


@claim(
    id="manifolds/abs-dimension",
    source="manifolds",
    place="abstract, 4.1, Figure 1",
    statement="Training trajectories collapse onto execution manifolds of dimension 3–4.",
    verdict="inconsistent",
    remark="At small scale (5 seeds) the mean over matrices and layers is below 3 for the marked sum, 2 for modular "
    "addition and above 4 for a harder sum; a random walk has 6. See the page of the experiments.",
)
def test_printed_dimension(evidence: EvidenceLog) -> None:
    evidence.audit(
        "the range for all four matrices in 4.1 and in the caption of Figure 1 against that of the abstract",
        figures={"upper end": at_most(printed.DIMENSION_OF_MATRICES[1], printed.DIMENSION[1])},
    )
    evidence.audit(
        "the range that the author's repository states for the same experiments (README)",
        figures={"lower end": at_least(printed.README_DIMENSION[0], printed.DIMENSION[0])},
    )


@claim(
    id="manifolds/fig-1",
    source="manifolds",
    place="Figure 1",
    statement=r"All matrices have $r_{90}$ from 3 to 5, $W_V$ and $W_O$ less than $W_Q$ and $W_K$; 5 seeds.",
    verdict="not-reproducible",
    remark="Its script (analysis_alignment.py) reads runs.pt, which is not in the repository; train.py makes two "
    "seeds. "
    "By the referee's reading of the figure itself, second hand here, $W_Q$ and $W_K$ of the first layer stand at "
    "about "
    "6: the value of a random walk.",
)
def test_figure_1(evidence: EvidenceLog) -> None:
    evidence.missing(
        "runs.pt with the trajectories of Figure 1",
        "seeds of Python's `random`, which draws positions and distractors (train.py seeds torch only)",
    )
    low, high = printed.DIMENSION_OF_MATRICES
    found = [measured("figure-1", "$r_{90}$, mean of $W_Q, W_K$"), measured("figure-1", "$r_{90}$, mean of $W_V, W_O$")]
    evidence.numeric(
        "small scale, five seeds, as recorded: mean $r_{90}$ of both kinds of matrices",
        on="reproduction",
        figures={
            "smallest": at_least(round(min(found), 2), low),
            "largest": at_most(round(max(found), 2), high),
            "W_V, W_O": at_most(round(found[1], 2), round(found[0], 2)),
        },
    )


@claim(
    id="manifolds/ambient",
    source="manifolds",
    place="abstract, 6",
    statement="The ambient parameter space has dimension 128.",
    verdict="refuted",
    correction="128 is the width. A path of one matrix lies in 16,384 dimensions (4.1 says so itself), that of all "
    "attention "
    "matrices of the code's model in 327,680.",
)
def test_ambient_dimension(evidence: EvidenceLog) -> None:
    sizes = Sizes()
    evidence.exact(
        "numbers in one path: one matrix, or all attention matrices",
        figures={"one matrix": equal(sizes.d**2, 128)},
        counterexample=r"$W_Q \in R^{128\times128}$ has 16,384 entries",
    )
    evidence.exact(
        "the same",
        on="correction",
        figures={"one matrix": equal(sizes.d**2, 16_384), "all": equal(sizes.attention, printed.ATTENTION)},
    )


@claim(
    id="manifolds/abs-robust",
    source="manifolds",
    place="abstract, 3.2, caption of Figure 1",
    statement="The collapse is robust across random seeds (20 of them) and moderate task difficulties.",
    verdict="inconsistent",
    remark="The code seeds torch but not Python's `random`, from which positions and distractors come.",
)
def test_number_of_seeds(evidence: EvidenceLog) -> None:
    evidence.audit(
        "number of seeds: " + ", ".join(f"{count} in {where}" for where, count in printed.SEEDS.items()),
        figures={"different numbers": at_most(len(set(printed.SEEDS.values())), 1)},
    )
    evidence.audit(
        "length of sequences in 3.1 and in the code",
        figures={"T": equal(printed.LENGTH["3.1"], printed.LENGTH["code"])},
    )


@claim(
    id="manifolds/robust-measured",
    source="manifolds",
    place="4.1",
    statement=r"The dimension stays at 3–4 for other seeds and difficulties, and the orientation varies between seeds.",
    verdict="not-reproducible",
    remark="Orientations are indeed as unrelated as random planes. Scale: small, five seeds per training, as recorded.",
)
def test_robustness(evidence: EvidenceLog) -> None:
    low, high = printed.DIMENSION
    values = {
        name: measured("robustness", f"$r_{{90}}$, four matrices: {name}") for name in ("main", "harder", "addition")
    }
    evidence.numeric(
        "mean $r_{90}$ of the four matrices, three tasks",
        on="reproduction",
        figures={
            "smallest": at_least(round(min(values.values()), 2), low),
            "largest": at_most(round(max(values.values()), 2), high),
        },
        cases=len(values),
    )
    same = measured("robustness", "overlap of the bases of two seeds")
    chance = measured("robustness", "null: overlap of random planes")
    evidence.numeric(
        "overlap of the bases of two seeds over that of random planes",
        on="reproduction",
        figures={"ratio": at_most(round(same / chance, 2), 2.0)},
    )
    assert experiment("robustness").settings["seeds"] >= 5
