"""Theorem 5: equal distributions, and extended-linear equivalence of models of any dimensions."""

from __future__ import annotations

from random import Random

import sympy as sp
from hypothesis import strategies as st

from proofs_checks.linear_properties.drawing import NO_ROOM, Room, of_rank, partner, random_model
from proofs_checks.linear_properties.drawn_models import PRIME, SEEDS, Pair, pairs, symbolic_projector, vanishes
from proofs_checks.linear_properties.equivalence import Equivalence, Inequivalence, equivalence
from proofs_checks.linear_properties.exact_matrices import RATIONALS
from proofs_checks.linear_properties.model import Model, model_of_ratios
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal, for_all
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.identities import V, d, matrix, n, ones
from symgauge.symbolic.proof import prove_equal


def decides_as_the_distribution_does(pair: Pair) -> bool:
    """Equivalent to the partner, and not to the perturbed partner, in both orders; log-ratios say the same."""
    wrong = pair.perturbed()
    orders = ((pair.model, pair.other), (pair.other, pair.model))
    alike = all(bool(equivalence(a, b)) and a.same_distribution(b) for a, b in orders)
    return alike and not equivalence(pair.model, wrong) and not pair.model.same_distribution(wrong)


def takes_the_perturbed_for_equal(pair: Pair) -> bool:
    return bool(equivalence(pair.model, pair.perturbed()))


@checks("thm-5")
def test_theorem_5(evidence: EvidenceLog) -> None:
    evidence.property(
        "random rational models of complexity 1 to 3 and dimensions 1 to 9, $M\\ne N$ included: the decision, "
        "which never "
        "compares distributions, agrees with equality of all log-ratios, for equal and for perturbed models",
        for_all(decides_as_the_distribution_does, pair=pairs()),
    )
    evidence.control(
        "one embedding moved along a visible direction: no longer taken for equivalent",
        not for_all(takes_the_perturbed_for_equal, pair=pairs()).passed,
        kind="property",
    )
    evidence.property(
        f"the same over GF({PRIME.prime}), with quotients in place of projections",
        for_all(decides_as_the_distribution_does, pair=pairs(PRIME)),
    )
    evidence.control(
        f"the same over GF({PRIME.prime})",
        not for_all(takes_the_perturbed_for_equal, pair=pairs(PRIME)).passed,
        kind="property",
    )
    f, g, c = matrix("f", n, d), matrix("g", V, d), matrix("c", d, 1)
    a, b, k = matrix("A", d, d), matrix("B", d, d), matrix("K", d, d)
    shifted = RowSoftmax(f * a * k * (g * b + ones(V) * c.T).T)
    evidence.proof(
        r"for every size, that equivalent models are equal: with $f = \tilde fA$, $g_0 = \tilde g_0B$ and pairing "
        r"$\tilde K = AKB^\top$ the probabilities agree, and adding one vector to every $g(y)$ changes none",
        proves(lambda: prove_equal(shifted, RowSoftmax(f * (a * k * b.T) * g.T))),
    )
    evidence.control(
        "no proof when a different vector is added to each $g(y)$",
        not proves(lambda: prove_equal(RowSoftmax(f * (g + matrix("D", V, d)).T), RowSoftmax(f * g.T))),
        kind="proof",
    )
    s, h, t, alpha, p, q, u, v = sp.symbols("s h t alpha p q u v")
    change = sp.Matrix([[1, u], [v, 1 + 2 * u * v]])
    wide_f, wide_g = sp.Matrix([[s, h]]) * change, sp.Matrix([[alpha, 0]]) * change.inv().T
    own_f, own_g = sp.Matrix([[s, t, 0]]), sp.Matrix([[alpha, 0, alpha * p + q]])
    m, m_tilde = sp.Matrix([[1, 0, 0]]), (sp.Matrix([[1, 0]]) * change.inv().T)
    image = (own_f * symbolic_projector(m), wide_f * symbolic_projector(m_tilde))
    ratio = sp.cancel(image[0][0] / (image[1] * m_tilde.T)[0])
    map_a = m_tilde.T * sp.Matrix([[ratio, 0, 0]])
    evidence.proof(
        r"symbolic instance of dimensions 3 and 2, complexity 1: equal $L$, and $A$ comes out free of the "
        r"contexts' symbols",
        vanishes([(own_f * own_g.T)[0] - (wide_f * wide_g.T)[0]]) and vanishes(image[0] - image[1] * map_a)
        and not ratio.free_symbols & {s, h, t},
    )  # fmt: skip
    model = Model.of([[1], [2]], [[0], [1]])
    found = equivalence(model, Model.of([[2], [4]], [[0], ["1/2"]]))
    assert isinstance(found, Equivalence)
    evidence.exact(
        "smallest instance: $f = 1, 2$, $g = 0, 1$ against $2f$, $g/2$",
        figures={"A": equal(str(found.A), "[1/2]"), "B": equal(str(found.B), "[2]")},
    )


@checks("thm-5-conditions")
def test_parts_of_the_relation(evidence: EvidenceLog) -> None:
    one = Model.of([[1]], [[0], [1]])
    half = equivalence(one, Model.of([["1/2"]], [[0], [1]]))
    line = Model.of([[1], [2]], [[0], [1]])
    bent = equivalence(line, Model.of([[1], [3]], [[0], [1]]))
    plane = Model.of([[1], [2]], [[0], [1], [2]])
    other = equivalence(plane, Model.of([[1], [2]], [[0], [1], [3]]))
    flat = equivalence(line, Model.of([[1], [2]], [[1], [1]]))
    found = [x.condition if isinstance(x, Inequivalence) else "none" for x in (half, bent, other, flat)]
    evidence.exact(
        r"pairs that meet all parts but one: $f = 1$ against $\tilde f = 1/2$ with $g = 0, 1$ (maps $A = 2$, $B "
        r"= 1$ exist); "
        r"$f = 1, 2$ against $1, 3$; $g = 0, 1, 2$ against $0, 1, 3$; complexity 1 against 0",
        figures={"first part that fails": equal(found, ["pairing", "A", "B", "complexity"])},
    )
    shifted = Model.of([[1], [2]], [[5], [6]])
    stacked = line.g.beside(shifted.g)
    evidence.exact(
        r"$g = 0, 1$ against $5, 6$: same distribution, no linear map between the unembeddings themselves",
        line.same_distribution(shifted) and bool(equivalence(line, shifted)) and stacked.rank > line.g.rank,
    )
    evidence.control("the decision accepts the model against itself", bool(equivalence(plane, plane)), kind="exact")


@checks("thm-5-onto")
def test_every_distribution_has_a_model(evidence: EvidenceLog) -> None:
    x = sp.Symbol("x", real=True)
    evidence.proof(
        r"a probability of 0 is none of a model's: $e^x$ is positive for every real $x$",
        False if sp.exp(x).is_positive else None,
        counterexample="one context, two tokens, $p = (1, 0)$",
    )

    def has_a_model(seed: int, rank: int, contexts: int, tokens: int) -> bool:
        rng = Random(seed)
        ratios = of_rank(rng, contexts, tokens, min(rank, contexts, tokens))
        ratios = RATIONALS.zeros(contexts, 1).beside(ratios)
        model = model_of_ratios(ratios)
        again = partner(rng, model, Room(1, 1, 1))
        return (
            model.logit_ratios == ratios == again.logit_ratios
            and model.dimension == ratios.rank <= again.dimension
            and bool(equivalence(model, again))
        )

    sizes = {"rank": st.integers(1, 4), "contexts": st.integers(1, 5), "tokens": st.integers(1, 5)}
    evidence.property(
        r"any table of log-ratios $L$ (pivot column 0) is that of a model of dimension rank $L$, equivalent to "
        r"every other "
        "model of it",
        for_all(has_a_model, seed=SEEDS, **sizes),
        on="condition",
    )
    evidence.control(
        "with one dimension less the ratios cannot be met: rank 2 in dimension 1",
        RATIONALS.matrix([[1, 0], [0, 1]]).rank > 1,
        kind="exact",
    )
    # log p(j|k) − log p(0|k) = −j + δ_jk − δ_0k
    ranks = [
        RATIONALS.matrix([[(j == k) - j - (k == 0) for j in range(n)] for k in range(n)]).rank for n in range(2, 9)
    ]
    evidence.control(
        r"with infinitely many tokens no dimension need suffice: of $p(j|k)\propto e^{-j+\delta_{jk}}$, the first 2 to "
        "8 tokens and contexts alone",
        ranks == list(range(1, 8)),
        kind="exact",
        figures={"ranks": ranks},
    )


@checks("thm-5-dimensions", "diversity")
def test_dimension_and_diversity(evidence: EvidenceLog) -> None:
    line, parabola = Model.of([[1], [2], [3]], [[0], [1]]), Model.of([[1, 1], [2, 4], [3, 9]], [[0, 5], [1, 5]])
    evidence.exact(
        r"$f = x$, $g\in\{0,1\}$ against $\tilde f = (x,x^2)$, $\tilde g\in\{(0,5),(1,5)\}$ at $x = 1, 2, 3$: same "
        r"distribution; stacking $[f|\tilde f]$ raises the rank of $f$",
        line.same_distribution(parabola) and bool(equivalence(line, parabola)),
        figures={
            "ranks of f, f~, both": equal([line.f.rank, parabola.f.rank, line.f.beside(parabola.f).rank], [1, 2, 2]),
            "M~ and N~": equal([str(parabola.M), str(parabola.N)], ["[1 0]", "[1 0]"]),
        },
    )

    def classical(pair: Pair) -> bool:
        found = equivalence(pair.model, pair.other)
        assert isinstance(found, Equivalence)
        one, two, a = pair.model, pair.other, found.A
        return one.diverse and two.f @ a == one.f and two.g0 @ a.inverse().T == one.g0 and found.B == a.inverse().T

    evidence.property(
        r"diverse models of equal dimension: $A$ invertible, $B = A^{-\top}$, on the whole embeddings",
        for_all(classical, pair=pairs(rooms=st.just(NO_ROOM))),
        only="diversity",
    )

    def transposed(pair: Pair) -> bool:
        found = equivalence(pair.model, pair.other)
        assert isinstance(found, Equivalence)
        return pair.other.f @ found.A.T == pair.model.f

    evidence.control(
        r"$A^\top$ in place of $A$",
        not for_all(transposed, pair=pairs(rooms=st.just(NO_ROOM))).passed,
        kind="property",
        only="diversity",
    )
    rng = Random(5)
    blind = random_model(rng, 2, Room(1, 1, 1), contexts=6, tokens=6)
    again = partner(rng, blind, Room(1, 1, 1))
    evidence.exact(
        "two equivalent models of dimension 5 and complexity 2: no linear map takes one's embeddings to the "
        "other's, nor "
        "one's unembeddings",
        bool(equivalence(blind, again)) and again.f.solve(blind.f) is None and again.g0.solve(blind.g0) is None,
        only="diversity",
    )
    square = Model.of([[1], [4], [9]], [[0], [1]])
    evidence.control("$x^2$ in place of $(x, x^2)$ is no partner", not equivalence(line, square), kind="exact")
