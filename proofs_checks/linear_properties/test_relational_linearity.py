"""Theorem 14: a query represented linearly on a subspace is so in all equivalent models or in none."""

from __future__ import annotations

from random import Random

from proofs_checks.linear_properties.asked_queries import Asked, ask, asked
from proofs_checks.linear_properties.drawing import Room
from proofs_checks.linear_properties.drawn_models import PRIME
from proofs_checks.linear_properties.equivalence import Equivalence, equivalence
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Matrix
from proofs_checks.linear_properties.model import Model
from proofs_checks.linear_properties.properties import (
    Query,
    affine_map,
    answers,
    criterion,
    relational_map,
    transported_map,
    transported_space,
)
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal, for_all
from symgauge.symbolic.identities import d, matrix, n, ones, r
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

QUERY = Query((0, 1), (2, 3))
SEEN_ONLY_HERE = (
    Model.of([[1, 0], [1, 1], [0, 0], [1, 0]], [[0, 0], [1, 0]]),
    Model.of([[1, 0], [1, 0], [0, 0], [1, 0]], [[0, 0], [1, 0]]),
)
"""Same probabilities. Before the query both contexts look alike (visible part 1), after it they do not (0 and 1); the
first model tells them apart by its second coordinate, which no token sees."""
E1 = RATIONALS.matrix([[1, 0]])
E2 = RATIONALS.matrix([[0, 1]])
UNSEEN_ANSWER = (
    Model.of([[1, 0], [2, 0], [3, 0], [1, 1], [1, 2], [1, 3]], [[0, 0], [1, 0]]),
    Model.of([[1, 0], [2, 0], [3, 0], [1, 0], [1, 1], [1, 5]], [[0, 0], [1, 0]]),
)
"""Same probabilities. The second coordinate after the query, seen by no token, is linear in the first model only."""


def pseudo_inverse(b: Matrix, onto: Matrix, back: Matrix) -> Matrix:
    """The map that is B⁻¹ on N, spanned by the rows ``onto`` with preimages ``back``, and zero on its complement."""
    return onto.T @ (onto @ onto.T).inverse() @ back


def published_formula(a: Asked) -> bool:
    """Ã_q = D A_q A P_M̃ and ã_q = D a_q on Γ̃ = B⁻¹Γ, with D the inverse of P_Γ C|Γ̃ and C = B^(−⊤), on vectors."""
    one, two = a.models
    found, gamma, here = equivalence(one, two), a.gamma(one).span, None
    assert isinstance(found, Equivalence)
    here = relational_map(one, a.query, gamma, reading=one.M)
    assert here is not None
    there = transported_space(gamma, found)
    if not gamma.shape[0]:
        return there.shape[0] == 0
    lift = (gamma @ gamma.T).inverse() @ gamma
    a_q, bias = here.weights @ lift, here.bias @ lift
    c = pseudo_inverse(found.B, one.N, transported_space(one.N, found)).T
    image = there @ c @ gamma.projector()
    steps = image.T.solve(gamma.T)
    assert steps is not None
    d_map = gamma.T @ (gamma @ gamma.T).inverse() @ steps.T @ there
    before, after = (two.f.rows(rows) for rows in (a.query.before, a.query.after))
    predicted = before @ (found.A @ a_q @ d_map) + RATIONALS.ones(before.shape[0]) @ (bias @ d_map)
    return predicted == after @ there.projector()


@checks("thm-14")
def test_theorem_14(evidence: EvidenceLog) -> None:
    seen = {True: 0, False: 0}

    def all_or_none(a: Asked) -> bool:
        held = {a.map_within_m(m) is not None for m in a.models}
        for outcome in held:
            seen[outcome] += 1
        return len(held) == 1

    evidence.property("equivalent rational models, answers linear or not", for_all(all_or_none, a=asked()))

    def reading_everything(a: Asked) -> bool:
        return len({relational_map(m, a.query, a.gamma(m)) is not None for m in a.models}) == 1

    evidence.control(
        r"maps that may read what no token sees, $\Gamma_q\not\subseteq M$: in one model and not in the other",
        not for_all(reading_everything, a=asked(linear=False)).passed,
        kind="property",
    )
    evidence.exact("both outcomes occur", min(seen.values()) > 0, figures={"all, none": [seen[True], seen[False]]})
    f, f_tilde, p_m, a = matrix("f", n, d), matrix("g", n, r), matrix("P_M", d, d), matrix("A", r, d)
    w, b = matrix("W", d, d), matrix("b", d, 1)
    facts = Facts(symmetric=(p_m,), equations=((f * p_m, f_tilde * a),))
    evidence.proof(
        r"for every size: answers $f P_MW + \mathbf 1b^\top$ are $\tilde f(AW) + \mathbf 1b^\top$ when $fP_M = "
        r"\tilde fA$",
        proves(lambda: prove_equal(f * p_m * w + ones(n) * b.T, f_tilde * a * w + ones(n) * b.T, facts)),
    )
    evidence.control(
        "no proof without the projection: weights outside $M$",
        not proves(lambda: prove_equal(f * w + ones(n) * b.T, f_tilde * a * w + ones(n) * b.T, facts)),
        kind="proof",
    )


@checks("thm-14-conditions", "abstract-question")
def test_conditions(evidence: EvidenceLog) -> None:
    dropped, question = "thm-14-conditions", "abstract-question"
    one, two = SEEN_ONLY_HERE
    outside_m = [relational_map(m, QUERY, E1) is not None for m in (one, two)]
    evidence.exact(
        r"$\Gamma_q\not\subseteq M$: $f = (1,0),(1,1)$, after the query $(0,0),(1,0)$, $g_0 = 0, e_1$; the partner has "
        r"$(1,0)$ twice",
        one.same_distribution(two) and one.N.contains(E1) and not one.M.contains(E2),
        figures={"linear on span(e1)": equal(outside_m, [True, False])},
        only=dropped,
    )
    one, two = UNSEEN_ANSWER
    query = Query((0, 1, 2), (3, 4, 5))
    outside_n = [relational_map(m, query, E2) is not None for m in (one, two)]
    evidence.exact(
        r"$\Gamma = \mathrm{span}(e_2)\not\subseteq N = \mathrm{span}(e_1)$: an unseen coordinate after the "
        r"query, linear in "
        "one model and free in the other",
        one.same_distribution(two) and not one.N.contains(E2),
        figures={"linear on span(e2)": equal(outside_n, [True, False])},
        only=dropped,
    )

    def shared(a: Asked) -> bool:
        return all(a.map_within_m(m) is not None for m in a.models)

    evidence.property(
        r"linear answers on $\Gamma\subseteq N$ with $\Gamma_q\subseteq M$, in both of two equivalent models",
        for_all(shared, a=asked(linear=True)),
        only=question,
    )
    evidence.control(
        r"without $\Gamma_q\subseteq M$ one of two equivalent models alone can have the property: contexts "
        r"$(1,0),(1,1)$, after the query $(0,0),(1,0)$, tokens $0, e_1$, linear through the second coordinate; with "
        r"$(1,0)$ for both contexts the distribution is the same",
        kind="exact",
        figures={"linear": equal(outside_m, [True, False])},
        only=question,
    )

    def some_model_has_it(a: Asked) -> bool:
        m = a.models[0]
        targets = a.targets(m)
        padded = targets.over(m.f.field.zeros(len(a.query.after), targets.shape[1]))
        carrying = Model(m.f.beside(padded), m.g.beside(m.f.field.zeros(m.tokens, targets.shape[1])), m.pivot)
        width = targets.shape[1]
        gamma = a.gamma(m).beside(m.f.field.zeros(a.coefficients.shape[0], width))
        return carrying.same_distribution(m) and relational_map(carrying, a.query, gamma) is not None

    evidence.control(
        "without it any answers at all are linear in an equivalent model, one that carries them unseen",
        for_all(some_model_has_it, a=asked(linear=False)).passed,
        kind="property",
        only=question,
    )
    free = [relational_map(m, QUERY, E1, reading=m.M) is None for m in SEEN_ONLY_HERE]
    evidence.control("answers that differ where nothing is seen are not linear within $M$", all(free), kind="exact")


@checks("criterion")
def test_criterion(evidence: EvidenceLog) -> None:
    def same_as_subspaces(a: Asked) -> bool:
        decided = criterion(a.models[0].logit_ratios.rows(a.query.before), a.targets(a.models[0]))
        return all(
            answers(m, a.query, a.gamma(m)) == a.targets(m) and (a.map_within_m(m) is not None) == decided
            for m in a.models
        )

    def same_as_quotients(a: Asked) -> bool:
        decided = criterion(a.models[1].logit_ratios.rows(a.query.before), a.targets(a.models[1]))
        seen = a.models[0].modulo_unseen.f.rows(a.query.before)
        return (affine_map(seen, a.targets(a.models[0])) is not None) == decided

    def without_ones(a: Asked) -> bool:
        one, two = (m.logit_ratios.rows(a.query.before) for m in a.models)
        linear = one.beside(a.targets(a.models[0])).rank == one.rank
        return linear == criterion(two, a.targets(a.models[1]))

    evidence.property("rational models, against projections", for_all(same_as_subspaces, a=asked()))
    evidence.control("the column of ones left out", not for_all(without_ones, a=asked()).passed, kind="property")
    evidence.property(f"GF({PRIME.prime}), against quotients", for_all(same_as_quotients, a=asked(field=PRIME)))
    evidence.control(
        f"the same over GF({PRIME.prime})", not for_all(without_ones, a=asked(field=PRIME)).passed, kind="property"
    )
    ratios = RATIONALS.matrix([[0, 1], [0, 2], [0, 4]])
    evidence.exact(
        r"smallest instances: $\ell = 3L+2$ passes; $L = 1, 1$ with $\ell = 0, 1$ has ranks 2 and 1",
        criterion(ratios, RATIONALS.matrix([[5], [8], [14]]))
        and not criterion(RATIONALS.matrix([[0, 1], [0, 1]]), RATIONALS.matrix([[0], [1]])),
    )
    constant = criterion(RATIONALS.zeros(3, 2), RATIONALS.matrix([[7]] * 3))
    bare = RATIONALS.zeros(3, 2).beside(RATIONALS.matrix([[7]] * 3)).rank == 0
    evidence.control("without the column of ones the affine term is refused", constant and not bare, kind="exact")


@checks("transport")
def test_transport(evidence: EvidenceLog) -> None:
    formula = evidence.property("the formula, on rational models", for_all(published_formula, a=asked(linear=True)))

    def pairings(a: Asked) -> bool:
        one, two = a.models
        found, here = equivalence(one, two), a.map_within_m(one)
        assert isinstance(found, Equivalence)
        assert here is not None
        there, gamma = transported_map(here, found), transported_space(a.gamma(one), found)
        before = two.f.rows(a.query.before)
        return there(before) == answers(two, a.query, gamma) and two.M.contains(there.reads) and two.N.contains(gamma)

    products = evidence.property(
        r"the same on dot products: weights $AW$, in $\tilde M$, the same bias", for_all(pairings, a=asked(linear=True))
    )
    rng = Random(11)
    visible = RATIONALS.matrix([[1, 0], [0, 1], [2, 1], [1, 3], [3, -1]])
    first, free = visible @ RATIONALS.matrix([[2], [5]]), RATIONALS.matrix([[1], [0], [0], [2], [7]])
    seen = RATIONALS.matrix([[0, 0], [1, 0], [0, 1], [1, 1]])
    gamma = RATIONALS.matrix([[0, 1, 0, 0]])
    a = ask(rng, visible, first.beside(free), seen, (Room(1, 0, 1), Room(0, 1, 1)), gamma)
    on_gamma = [relational_map(m, a.query, a.gamma(m), reading=m.M) is not None for m in a.models]
    on_n = [relational_map(m, a.query, m.N, reading=m.M) is not None for m in a.models]
    evidence.exact(
        r"complexity 2, the first of two visible answers linear, the second free: on $\Gamma$ and "
        r"$B^{-1}\Gamma$, but not "
        r"on $N$ and $\tilde N$",
        figures={"on the lines": equal(on_gamma, [True, True]), "on N": equal(on_n, [False, False])},
    )
    evidence.control(
        r"the whole of $\tilde N$ in place of $B^{-1}\Gamma$", not any(on_n), kind="exact", of=[formula, products]
    )
