"""Averaging trained models (§7.4, proof of Proposition E.10): students of one teacher, started independently."""

from __future__ import annotations

import itertools

import sympy as sp

from proofs_checks.gauge.layer_algebra import average
from proofs_checks.gauge.reported import TEXT
from proofs_checks.gauge.trained_students import School, Student, school
from proofs_checks.support.explicit_attention import same, scalar
from symgauge.algorithms import align, canonicalize, equivalent
from symgauge.claims import EvidenceLog, at_least, at_most, checks

_SCHOOL: list[School] = []


def trained() -> School:
    """Eight students, trained once."""
    if not _SCHOOL:
        _SCHOOL.append(school())
    return _SCHOOL[0]


def pairs(students: list[Student]) -> list[tuple[Student, Student]]:
    return list(itertools.combinations(students, 2))


def averaged(found: School, one: Student, two: Student) -> tuple[float, float]:
    """Errors against the teacher of the naive average, and of the average after aligning (both balanced)."""
    reference = canonicalize(one.parameters).parameters
    moved = align(reference, two.parameters).parameters
    naive = found.error(average(one.parameters, two.parameters))
    return naive, found.error(average(reference, moved))


def _forms(
    scores: list[tuple[sp.Matrix, sp.Matrix]], values: list[sp.Matrix], outputs: list[sp.Matrix]
) -> list[tuple[sp.ImmutableMatrix, sp.ImmutableMatrix]]:
    """(M_i, N_i) of heads with d_k = d_v = 1, from the columns of W_Q, W_K, W_V and W_Oᵀ."""
    return [
        (sp.ImmutableMatrix(q * k.T), sp.ImmutableMatrix(v * o.T))
        for (q, k), v, o in zip(scores, values, outputs, strict=True)
    ]


@checks("sec7.4-a", "prop-E.10d")
def test_independent_training(evidence: EvidenceLog) -> None:
    e = sp.Symbol("epsilon", positive=True)
    left, right = sp.eye(2)[:, 0], sp.eye(2)[:, 1]
    one, two = (_forms([(left, right), (m * left, right)], [left, e * right], [left, right]) for m in (2, 3))
    evidence.exact(
        "models that converge to similar functions are gauge-equivalent",
        one == two or one[0] != two[0] or one[1][1] != two[1][1],
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $M_1 = E_{12}$, $N_1 = E_{11}$, $N_2 = \epsilon E_{22}$ in "
        r"both, $M_2 = 2E_{12}$ and $3E_{12}$: ranks as A4 and A6 ask, outputs differ by at most $\epsilon$ times the "
        r"spread of the inputs, for every $\epsilon>0$, and $M_2$ is an invariant",
    )
    evidence.exact(
        "attention layers with biases that have one function are gauge-equivalent",
        not same(scalar(0), scalar(1), tokens=3, cases=8),
        counterexample=r"$d=d_k=d_v=1$, all weights 1, $b_Q=0$: $b_K=0$ and $b_K=1$ give equal outputs, and (6) moves "
        r"$W_K$ with $b_K$, so that $b_K/W_K$ stays as it is",
        cases=8,
    )
    near = school(3, faint=1e-3).students
    answers = [equivalent(a.parameters, b.parameters, tolerance=1e-2) for a, b in pairs(list(near))]
    evidence.numeric(
        "students trained apart to within a few thousandths of a teacher whose second head is faint lie on one orbit",
        all(map(bool, answers)),
        counterexample=r"two heads, $d = 4$, $d_k = d_v = 2$, the second writing a thousandth as much: all students "
        "compute nearly the same, and their invariants differ",
        figures={
            "largest relative error of a student": max(s.error for s in near),
            "least difference of invariants": at_most(min(x.residual for x in answers), 1e-2),
        },
        cases=len(answers),
    )
    found = trained()
    apart, condition = 0.0, True
    for first, second in pairs(found.taught):
        answer = equivalent(first.parameters, second.parameters, tolerance=1e-5)
        condition &= bool(answer)
        apart = max(apart, answer.residual)
    evidence.numeric(
        "students that reached the teacher's function (two heads, $d = 4$): every pair is on one orbit, in "
        "different places",
        condition and len(found.taught) >= 3,
        on="condition",
        figures={
            "students": at_least(len(found.taught), 3),
            "largest difference of invariants": at_most(apart, 1e-5),
            "least distance of parameters": at_least(
                min(a.parameters.distance(b.parameters) for a, b in pairs(found.taught)), 0.5
            ),
        },
        cases=len(pairs(found.taught)),
    )
    others = [equivalent(a.parameters, b.parameters, tolerance=1e-5) for a in found.taught for b in found.stuck]
    evidence.control(
        "a student stuck in another local minimum, against those: no element takes one to the other",
        bool(others) and not any(others),
        figures={"least difference of invariants": at_least(min((x.residual for x in others), default=0.0), 0.1)},
    )
    averages = [averaged(found, a, b) for a, b in pairs(found.taught)]
    naive = evidence.numeric(
        "relative error of their naive averages",
        on="condition",
        figures={"least error": at_least(min(x for x, _ in averages), 0.1)},
        cases=len(averages),
        only="sec7.4-a",
    )
    evidence.control(
        "by the same measure, averages after aligning are right",
        figures={"largest error": at_most(max(x for _, x in averages), 1e-5)},
        of=naive,
        only="sec7.4-a",
    )


@checks("prop-E.10c")
def test_averaging(evidence: EvidenceLog) -> None:
    evidence.not_stated(
        TEXT,
        {
            "data and training": ("training data", "corpus", "CIFAR", "MNIST", "learning rate", "training steps"),
            "how the average is judged": ("test loss", "loss barrier", "perplexity", "accuracy of the average"),
            "what counts as significant": ("statistically significant", "significance", "percent better"),
        },
        there="naive parameter averaging",
    )
    found = trained()
    results = [averaged(found, one, two) for one, two in pairs(found.taught)]
    aligned = evidence.numeric(
        "relative error against the teacher, averages of students that reached its function",
        on="correction",
        figures={
            "aligned, largest": at_most(max(x for _, x in results), 1e-5),
            "naive, least": at_least(min(x for x, _ in results), 0.1),
        },
        cases=len(results),
    )
    mixed = [averaged(found, a, b) for a in found.taught for b in found.stuck]
    gains = [naive / aligned for naive, aligned in mixed]
    evidence.numeric(
        "averages of a student that reached it and one stuck elsewhere: aligned better than naive, and still wrong",
        bool(mixed) and min(gains) > 1 and all(aligned > 0.1 for _, aligned in mixed),
        on="correction",
        figures={
            "aligned, least error": at_least(min((x for _, x in mixed), default=0.0), 0.1),
            "naive over aligned, least": at_least(min(gains, default=0.0), 1.0),
        },
        cases=len(mixed),
    )
    evidence.control(
        "by the same measure, aligned averages of two that reached it are right",
        max(x for _, x in results) < 0.1,
        figures={"aligned, largest error": at_most(max(x for _, x in results), 1e-5)},
    )
    shuffled = []
    for one, two in pairs(found.taught)[:3]:
        reference = canonicalize(one.parameters).parameters
        moved = align(reference, two.parameters).parameters
        wrong = moved.replace(query=moved.query.flip(0))
        shuffled.append(found.error(average(reference, wrong)))
    evidence.control(
        "aligned, but queries of the two heads exchanged", figures={"error": at_least(min(shuffled), 0.01)}, of=aligned
    )
