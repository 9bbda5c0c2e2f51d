"""Theorem 15: parallelism of differences is shared within N, and nowhere else."""

from __future__ import annotations

from random import Random

import sympy as sp
from hypothesis import strategies as st

from proofs_checks.linear_properties.drawing import NO_ROOM, Room, embed, partner, random_matrix, random_model
from proofs_checks.linear_properties.drawn_models import PRIME, ROOMS, SEEDS
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field
from proofs_checks.linear_properties.model import Model
from proofs_checks.linear_properties.properties import difference, parallel_ratio
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal, for_all
from symgauge.symbolic.identities import d, matrix, r
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

FLAT = Model.of([[1, 0], [2, 0]], [[0, 0], [1, 0], [2, 0]])
BENT = Model.of([[1, 0], [2, 0]], [[0, 0], [1, 0], [2, 1]])
"""The smallest pair: same probabilities; tokens 0, 1, 2 lie on a line in the first model only."""
ONLY_SEEN = st.builds(Room, embedding=st.integers(0, 2), unembedding=st.just(0), unused=st.integers(0, 2))


def on_a_line(rng: Random, first: Room, second: Room, field: Field, parallel: bool) -> tuple[Model, Model, int]:
    """Equivalent models with tokens 1, 0 and 3, 2 whose visible differences have the ratio returned, if parallel."""
    complexity, ratio = rng.randint(1, 3), rng.choice((-2, 2, 3))
    contexts, tokens = complexity + 2, complexity + 5
    visible = random_model(rng, complexity, NO_ROOM, contexts=contexts, tokens=tokens, field=field)
    seen = [list(row) for row in visible.g0.table]
    if parallel:
        seen[1] = [seen[0][j] + ratio * (seen[3][j] - seen[2][j]) for j in range(complexity)]
    g0 = field.matrix(seen, complexity)
    return embed(rng, visible.f, g0, first), embed(rng, visible.f, g0, second), ratio


def ratio_in_n(m: Model) -> object:
    """β of tokens 1, 0 against 3, 2 within N; by visible coordinates where there are no projections."""
    u, v = difference(m, 1, 0), difference(m, 3, 2)
    if m.f.field.prime:
        return parallel_ratio((m.f @ u.T).T, (m.f @ v.T).T)
    return parallel_ratio(u @ m.N.projector(), v @ m.N.projector())


@checks("thm-15")
def test_theorem_15(evidence: EvidenceLog) -> None:
    def shared(seed: int, first: Room, second: Room, parallel: bool) -> bool:
        one, two, ratio = on_a_line(Random(seed), first, second, RATIONALS, parallel)
        ratios = {ratio_in_n(one), ratio_in_n(two)}
        vanishing = (difference(one, 3, 2) @ one.N.projector()).is_zero
        return len(ratios) == 1 and (not parallel or vanishing or ratios == {ratio})

    drawn = {"seed": SEEDS, "first": ROOMS, "second": ROOMS, "parallel": st.booleans()}
    rational = evidence.property("rational models, parallel or not", for_all(shared, **drawn))

    def shared_over_finite_field(seed: int, first: Room, second: Room, parallel: bool) -> bool:
        one, two, ratio = on_a_line(Random(seed), first, second, PRIME, parallel)
        return ratio_in_n(one) == ratio_in_n(two) and (not parallel or ratio_in_n(one) == ratio % PRIME.prime)

    finite = evidence.property(
        f"modulo what is not seen, over GF({PRIME.prime})", for_all(shared_over_finite_field, **drawn)
    )
    evidence.exact(
        "the pair of smallest models: ratio 1/2 for tokens 1, 0 against 2, 0 in both",
        figures={
            "ratios": equal(
                [str(parallel_ratio(*(difference(m, y, 0) @ m.N.projector() for y in (1, 2)))) for m in (FLAT, BENT)],
                ["1/2", "1/2"],
            )
        },
    )

    u, v, p, inverse = matrix("u", 1, d), matrix("v", 1, d), matrix("P_N", d, d), matrix("C", d, r)
    beta, other = sp.symbols("beta gamma")
    facts = Facts(symmetric=(p,), equations=((u * p, beta * v * p),))
    evidence.proof(
        r"for every size: $uP_N = \beta vP_N$ carries over along any linear map of $N$, such as $B^{-1}$",
        proves(lambda: prove_equal(u * p * inverse, beta * v * p * inverse, facts)),
    )
    evidence.control(
        "no proof of another ratio",
        not proves(lambda: prove_equal(u * p * inverse, other * v * p * inverse, facts)),
        kind="proof",
    )
    free = [
        on_a_line(Random(seed), NO_ROOM, NO_ROOM, field, parallel=False)[0]
        for field in (RATIONALS, PRIME)
        for seed in range(20)
    ]
    evidence.control(
        "differences in general are not parallel, over either field",
        all(any(ratio_in_n(m) is None for m in models) for models in (free[:20], free[20:])),
        kind="exact",
        of=[rational, finite],
    )


@checks("thm-15-elsewhere", "parallel-when-seen")
def test_whole_space(evidence: EvidenceLog) -> None:
    elsewhere, seen = "thm-15-elsewhere", "parallel-when-seen"
    whole = [str(parallel_ratio(difference(m, 1, 0), difference(m, 2, 0))) for m in (FLAT, BENT)]
    evidence.exact(
        r"smallest pair: $f = (1,0),(2,0)$; $g = (0,0),(1,0),(2,0)$ against $(0,0),(1,0),(2,1)$",
        FLAT.same_distribution(BENT),
        figures={"ratio in the plane": equal(whole, ["1/2", "None"])},
        only=elsewhere,
    )

    def bent(seed: int, room: Room) -> tuple[Model, Model]:
        one = on_a_line(Random(seed), room, room, RATIONALS, parallel=True)[0]
        junk = [[0, 0], [1, 0], [0, 0], [0, 1]] + [[0, 0]] * (one.tokens - 4)
        zeros = one.f.field.zeros(one.contexts, 2)
        return one, Model(one.f.beside(zeros), one.g.beside(one.f.field.matrix(junk)), one.pivot)

    def breakable(seed: int, room: Room) -> bool:
        one, other = bent(seed, room)
        return other.same_distribution(one) and parallel_ratio(difference(other, 1, 0), difference(other, 3, 2)) is None

    evidence.property(
        "every model with parallel differences has a partner, two dimensions larger, in which they are not parallel",
        for_all(breakable, seed=SEEDS, room=ROOMS),
        only=elsewhere,
    )
    evidence.control(
        "looked at within $N$ they stay parallel there",
        not for_all(lambda seed, room: ratio_in_n(bent(seed, room)[1]) is None, seed=SEEDS, room=ROOMS).passed,
        kind="property",
        only=elsewhere,
    )

    def kept(seed: int, first: Room, second: Room, parallel: bool) -> bool:
        one, two, _ = on_a_line(Random(seed), first, second, RATIONALS, parallel)
        ratios = {parallel_ratio(difference(m, 1, 0), difference(m, 3, 2)) for m in (one, two)}
        return one.N == one.G and two.N == two.G and len(ratios) == 1

    drawn = {"first": ONLY_SEEN, "second": ONLY_SEEN, "parallel": st.booleans()}
    pairs = evidence.property("pairs of models with $N = G$", for_all(kept, seed=SEEDS, **drawn), only=seen)
    evidence.exact(
        r"$N = G$ in the first of the smallest pair, not in the second",
        figures={"N = G": equal([FLAT.N == FLAT.G, BENT.N == BENT.G], [True, False])},
        only=seen,
    )
    lost = [not kept(seed, Room(0, 1, 1), Room(0, 2, 0), True) for seed in range(5)]
    evidence.control("without $N = G$ the property fails", any(lost), kind="exact", of=pairs)


@checks("geometry")
def test_geometry(evidence: EvidenceLog) -> None:
    one = Model.of([[1, 0], [0, 1]], [[0, 0], [1, 1], [1, -1]])
    two = Model.of([[1, 0], [0, "1/2"]], [[0, 0], [1, 2], [1, -2]])
    products = [(difference(m, 1, 0) @ difference(m, 2, 0).T).table[0][0] for m in (one, two)]
    evidence.exact(
        r"$A = \mathrm{diag}(1,2)$ in $d = 2$: $(1,1)\perp(1,-1)$ in one model, $(1,2)\not\perp(1,-2)$ in the other",
        one.same_distribution(two) and one.diverse and two.diverse,
        figures={"products": equal(list(map(int, products)), [0, -3])},
    )
    rng = Random(2)
    model = random_model(rng, 3, NO_ROOM, contexts=5, tokens=6)
    grams = {str(m.g0 @ m.g0.T) for m in (model, *(partner(rng, model) for _ in range(4)))}
    evidence.exact(
        "five equivalent diverse models, five Gram matrices of unembeddings",
        figures={"different": equal(len(grams), 5)},
    )
    turned = Model(one.f, one.g + RATIONALS.ones(3) @ random_matrix(rng, 1, 2), 0)
    same = [(difference(m, 1, 0) @ difference(m, 2, 0).T).table[0][0] for m in (one, turned)]
    evidence.control("one vector added to every $g(y)$ keeps them", same[0] == same[1], kind="exact")
