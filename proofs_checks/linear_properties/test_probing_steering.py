"""Probing and steering, as consequences of relational linearity."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from proofs_checks.linear_properties.asked_queries import Asked, asked
from proofs_checks.linear_properties.drawing import Room, embed, of_rank, random_matrix
from proofs_checks.linear_properties.drawn_models import ROOMS, SEEDS
from proofs_checks.linear_properties.equivalence import Equivalence, equivalence
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Matrix
from proofs_checks.linear_properties.model import Model
from proofs_checks.linear_properties.properties import Affine, Query, affine_map, log_odds, transported_map
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal, for_all
from symgauge.symbolic.identities import d, matrix, n, r
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts


def tokens_of(a: Asked) -> list[int]:
    """Three answers: all tokens, if there are fewer."""
    return list(range(min(3, a.models[0].tokens)))


@checks("probing")
def test_probing(evidence: EvidenceLog) -> None:
    def all_or_none(a: Asked) -> bool:
        probes = [probe(m, a.query, tokens_of(a), m.M) for m in a.models]
        if probes[0] is None or probes[1] is None:
            return probes[0] is probes[1]
        found = equivalence(*a.models)
        assert isinstance(found, Equivalence)
        moved = transported_map(probes[0], found)
        two = a.models[1]
        return moved(two.f.rows(a.query.before)) == log_odds(two, a.query, tokens_of(a))

    drawn = evidence.property("equivalent rational models, answers linear or not", for_all(all_or_none, a=asked()))
    one = Model.of([[1, 0], [1, 1], [0, 0], [1, 0]], [[0, 0], [1, 0]])
    two = Model.of([[1, 0], [1, 0], [0, 0], [1, 0]], [[0, 0], [1, 0]])
    query, tokens = Query((0, 1), (2, 3)), [0, 1]
    own = [probe(m, query, tokens, None) is not None for m in (one, two)]
    within = [probe(m, query, tokens, m.M) is not None for m in (one, two)]
    evidence.exact(
        r"a probe outside $M$ is the model's own: contexts $(1,0),(1,1)$ against $(1,0),(1,0)$, log-odds $0, 1$ "
        r"after the "
        "query",
        one.same_distribution(two),
        figures={"any probe": equal(own, [True, False]), "probe within M": equal(within, [False, False])},
    )
    evidence.control(
        "weights that may leave $M$: a probe in one of these two models only", own[0] != own[1], kind="exact", of=drawn
    )
    evidence.control(
        "log-odds that differ where nothing is seen have no probe within $M$", not any(within), kind="exact"
    )


def probe(m: Model, query: Query, tokens: list[int], reading: Matrix | None) -> Affine | None:
    """A probe of the log-odds of ``tokens``, with weights in ``reading`` if given."""
    return affine_map(m.f.rows(query.before), log_odds(m, query, tokens), reading)


@checks("steering")
def test_steering(evidence: EvidenceLog) -> None:
    def same_effect(seed: int, first: Room, second: Room, complexity: int) -> bool:
        one, two, queries = two_queries(Random(seed), (first, second), complexity)
        tokens = list(range(one.tokens))
        found = equivalence(one, two)
        assert isinstance(found, Equivalence)
        here, there = ([probe(m, q, tokens, m.M) for q in queries] for m in (one, two))
        strong, weak = here
        assert strong is not None
        assert weak is not None
        # Vectors of M that the second query does not read.
        silent = (one.M @ weak.weights).T.annihilator() @ one.M
        back = found.A.T.solve(silent.T)
        assert back is not None
        moved = back.T @ two.M.projector()
        return (
            silent.rank == complexity - 1
            and not (silent @ strong.weights).is_zero
            and all(t is not None for t in there)
            and [moved @ t.weights for t in there if t] == [silent @ strong.weights, silent @ weak.weights]
            and (moved @ there[1].weights).is_zero  # type: ignore[union-attr]
        )

    drawn = evidence.property(
        "all vectors of $M$ that the second query does not read: the same effect on the first, none on the "
        "second; random "
        "rational models",
        for_all(same_effect, seed=SEEDS, first=ROOMS, second=ROOMS, complexity=st.integers(2, 3)),
    )
    v, v_tilde, a, w = matrix("v", 1, d), matrix("u", 1, r), matrix("A", r, d), matrix("W", d, n)
    facts = Facts(equations=((v_tilde * a, v),))
    evidence.proof(
        r"for every size: $\tilde v(AW) = vW$ when $\tilde vA = v$ (on rows)",
        proves(lambda: prove_equal(v_tilde * (a * w), v * w, facts)),
    )
    one = Model.of([[1, 0], [1, 1], [0, 0], [1, 0]], [[0, 0], [1, 0]])
    flat = Model.of([[1], [1], [0], [1]], [[0], [1]])
    query = Query((0, 1), (2, 3))
    steered = affine_map(one.f.rows(query.before), log_odds(one, query, [0, 1]))
    assert steered is not None
    unseen = RATIONALS.matrix([[0, 1]])
    evidence.exact(
        r"$v = e_2\in F\cap G^\perp$ steers answers in the model with contexts $(1,0),(1,1)$; in the partner of "
        r"dimension 1 "
        "the two contexts are one vector with two answers, so no vector does",
        one.same_distribution(flat)
        and (unseen @ one.M.projector()).is_zero
        and not (unseen @ steered.weights).is_zero
        and affine_map(flat.f.rows(query.before), log_odds(flat, query, [0, 1])) is None,
    )
    model, other, queries = two_queries(Random(4), (Room(1, 0, 1), Room(0, 1, 1)), 2)
    found = equivalence(model, other)
    assert isinstance(found, Equivalence)
    here, there = (probe(m, queries[0], list(range(m.tokens)), m.M) for m in (model, other))
    assert here is not None
    assert there is not None
    v = model.M.rows([0])
    wrong = v @ found.A.T @ there.weights
    evidence.control(
        r"$A^\top v$ in place of $A^{-1}v$ has another effect", wrong != v @ here.weights, kind="exact", of=drawn
    )


def two_queries(rng: Random, rooms: tuple[Room, Room], complexity: int) -> tuple[Model, Model, list[Query]]:
    """Equivalent models and two queries whose answers are linear in what is seen: of full rank, and of rank 1."""
    contexts = complexity + 2
    # Contexts that span M affinely: otherwise several maps represent a query, and they differ in what they read.
    visible = of_rank(rng, contexts, complexity, complexity)
    while visible.beside(RATIONALS.ones(contexts)).rank == complexity:
        visible = of_rank(rng, contexts, complexity, complexity)
    shift = RATIONALS.ones(contexts) @ random_matrix(rng, 1, complexity)
    strong = visible @ of_rank(rng, complexity, complexity, complexity) + shift
    weak = visible @ of_rank(rng, complexity, complexity, 1) + shift
    seen = RATIONALS.zeros(1, complexity).over(of_rank(rng, complexity + 1, complexity, complexity))
    one, two = (embed(rng, visible.over(strong).over(weak), seen, room) for room in rooms)
    before = tuple(range(contexts))
    return one, two, [Query(before, tuple(range(k * contexts, (k + 1) * contexts))) for k in (1, 2)]
