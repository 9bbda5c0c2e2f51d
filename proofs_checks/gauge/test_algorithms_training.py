"""Averaging trained models (§7.4, proof of Proposition E.10): students of one teacher, started independently."""

from __future__ import annotations

import itertools

import sympy as sp

from proofs_checks.gauge.layer_algebra import average
from proofs_checks.gauge.reported import TEXT
from proofs_checks.gauge.trained_students import School, Student, school
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


@checks("sec7.4-a", "prop-E.10d")
def test_independent_training(evidence: EvidenceLog) -> None:
    q, k, x, w = sp.symbols("q k x w", real=True)
    single = w * x * sp.exp(q * k * x**2) / sp.exp(q * k * x**2)  # one token: softmax of one score
    frozen = sp.simplify(sp.diff(single, q)) == 0 and sp.simplify(sp.diff(single, k)) == 0
    one, two = (sp.Integer(1), sp.Integer(1)), (sp.Integer(1), sp.Integer(2))
    evidence.exact(
        "two models trained to zero loss on the same data end on one orbit",
        not frozen or one[0] * one[1] == two[0] * two[1],
        counterexample=r"$d = 1$, training sequences of one token: the loss does not depend on $W_Q$, $W_K$, so "
        r"training leaves "
        r"them at their initial values, $(1,1)$ and $(1,2)$; both models fit exactly, and $W_QW_K = 1$ and $2$ differ",
        only="sec7.4-a",
    )
    near = sp.Symbol("epsilon", positive=True)
    evidence.exact(
        "two models of similar functions lie on one orbit",
        sp.simplify((1 + near) - 1) == 0,
        counterexample=r"one head, $W_O = I$ and $(1+\epsilon)I$, the other weights equal: outputs differ by "
        r"$\epsilon$ times themselves, and $W_VW_O$, which is the same along an orbit, by $\epsilon W_V\ne0$",
        only="prop-E.10d",
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
