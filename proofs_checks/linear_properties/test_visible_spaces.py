"""Effective complexity and the subspaces M and N: what probabilities see of embeddings and unembeddings."""

from __future__ import annotations

import sympy as sp

from proofs_checks.linear_properties.drawn_models import PRIME, Pair, pairs, symbolic_projector, vanishes
from proofs_checks.linear_properties.model import Model
from proofs_checks.support.symbolic_evidence import proves
from symgauge.claims import EvidenceLog, checks, equal, for_all
from symgauge.symbolic.identities import V, d, matrix, n
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

TILTED = Model.of([[1, 1], [2, 2]], [[0, 0], [1, 0]])
"""The smallest model with M ≠ N: F = span(1,1), G = span(1,0)."""


@checks("effective-complexity", "complexity-bound")
def test_effective_complexity(evidence: EvidenceLog) -> None:
    complexity, bound = "effective-complexity", "complexity-bound"

    def one_number(pair: Pair) -> bool:
        found = {pair.model.effective_complexity, pair.other.effective_complexity}
        for m in (pair.model, pair.other):
            found |= {m.M.shape[0], m.N.shape[0], (m.F.projector() @ m.G.projector()).rank}
        return len(found) == 1

    ranks = evidence.property(
        "four ranks and two models give one number; rational models of all shapes", for_all(one_number, pair=pairs()),
        only=complexity,
    )  # fmt: skip

    one, two = (Model.of([[1]], [[0], [k]]) for k in (1, 2))
    evidence.control(
        "two predictors of one complexity that are not equivalent: it is an invariant, and no more",
        one.effective_complexity == two.effective_complexity and not one.same_distribution(two),
        kind="exact",
        only=complexity,
    )

    def over_finite_field(pair: Pair) -> bool:
        m, ratios = pair.model, pair.other.effective_complexity
        unseen = m.F.shape[0] - (m.F @ m.G.T).rank
        return m.effective_complexity == ratios == m.F.shape[0] - unseen == (m.F @ m.G.T).rank

    finite = evidence.property(
        rf"over GF({PRIME.prime}), where projections need not exist: $\dim F/(F\cap G^\perp)$ is that number",
        for_all(over_finite_field, pair=pairs(PRIME)),
        only=complexity,
    )
    f, g, projector_f, projector_m = matrix("f", n, d), matrix("g", V, d), matrix("P_F", d, d), matrix("P_M", d, d)
    facts = Facts(
        symmetric=(projector_f, projector_m),
        equations=((f * projector_f, f), (projector_m * g.T, projector_f * g.T)),
    )
    evidence.proof(
        r"for every size: $fP_Mg^\top = fg^\top$, from $fP_F = f$ and $P_Mg^\top = P_FG^\top$ ($P_Fg$ lies in "
        r"$M\subseteq F$)",
        proves(lambda: prove_equal(f * projector_m * g.T, f * g.T, facts)),
        only=complexity,
    )

    def bounded(pair: Pair) -> bool:
        return all(
            m.effective_complexity <= min(m.dimension, m.tokens - 1, m.contexts)
            and (m.effective_complexity == m.dimension) == m.diverse
            for m in (pair.model, pair.other)
        )

    models = evidence.property("random rational models", for_all(bounded, pair=pairs()), only=bound)
    steps = [Model.of([[1, 0], [0, k]], [[0, 0], [j, 0], [0, k]]) for k, j in ((1, 1), (0, 1), (0, 0))]
    evidence.exact(
        "dimension 2 with complexity 2, 1 and 0",
        figures={"complexities": equal([m.effective_complexity for m in steps], [2, 1, 0])},
        only=bound,
    )
    evidence.control(
        "the rank of $f$ in place of that of $L$ tells equivalent models apart",
        any(m.f.rank != m.effective_complexity for m in steps),
        kind="exact",
        of=[ranks, finite],
        only=complexity,
    )
    tight = Model.of([[1, 0], [0, 1]], [[0, 0], [1, 0], [0, 1]])
    evidence.control(
        r"$|\mathcal A|-2$ in place of $|\mathcal A|-1$ is too small a bound: two coordinates, three tokens",
        tight.effective_complexity > min(tight.dimension, tight.tokens - 2, tight.contexts),
        kind="exact",
        of=models,
        only=bound,
    )


@checks("dot-products")
def test_dot_products(evidence: EvidenceLog) -> None:
    def forms(pair: Pair) -> bool:
        for m in (pair.model, pair.other):
            p_m, p_n, p_f, p_g = (space.projector() for space in (m.M, m.N, m.F, m.G))
            three = (m.f @ p_m @ p_n @ m.g0.T, m.f @ p_m @ m.g0.T, m.f @ p_n @ m.g0.T)
            if any(form != pair.model.logit_ratios for form in three):
                return False
            if m.f @ p_n != m.f @ p_g or m.g0 @ p_m != m.g0 @ p_f or (m.M @ p_n).rank != m.M.shape[0]:
                return False
        return True

    evidence.property("random pairs of rational models", for_all(forms, pair=pairs()))

    def unseen_parts(pair: Pair) -> bool:
        m = pair.model
        return (m.f - m.f @ m.M.projector()) @ m.g0.T == m.logit_ratios

    evidence.control(
        "the invisible parts in place of the visible", not for_all(unseen_parts, pair=pairs()).passed, kind="property"
    )
    s, t, a, b, u, v, p, q = sp.symbols("s t a b u v p q", real=True)
    f, g = sp.Matrix([[s, t, 0, 0]]), sp.Matrix([[1, 0, u, v], [0, 0, p, q]])
    g0 = sp.Matrix([[a, b]]) * g
    projectors = {"F": sp.diag(1, 1, 0, 0), "G": symbolic_projector(g)}
    p_m = symbolic_projector(sp.Matrix([[1, 0, 0, 0]]))
    p_n = symbolic_projector(sp.Matrix([[1, 0, 0, 0]]) * projectors["G"])
    product = f * g0.T
    evidence.proof(
        r"symbolic instance $d = 4$, $F = \mathrm{span}(e_1,e_2)$, $G$ spanned by $(1,0,u,v)$ and $(0,0,p,q)$: "
        r"all three "
        r"forms equal $L = sa$, and $P_Nf = P_Gf$, $P_Mg_0 = P_Fg_0$; $M\ne N$",
        vanishes([*(f * p_m * p_n * g0.T - product), *(f * p_m * g0.T - product), *(f * p_n * g0.T - product)])
        and vanishes(f * (p_n - projectors["G"]))
        and vanishes(g0 * (p_m - projectors["F"])),
    )
    moved = f * sp.diag(0, 1, 0, 0) * g0.T - product
    evidence.control("projecting on another line changes the product", not vanishes(moved), kind="proof")


@checks("m-and-n")
def test_m_and_n(evidence: EvidenceLog) -> None:
    seen = {True: 0, False: 0}

    def agree(pair: Pair) -> bool:
        results = []
        for m in (pair.model, pair.other):
            p_f, p_g = m.F.projector(), m.G.projector()
            same = m.M == m.N
            seen[same] += 1
            results.append(same == (p_f @ p_g == p_g @ p_f) and (not same or (m.F.contains(m.N) and m.G.contains(m.M))))
        return all(results)

    pairs_of_models = evidence.property("random pairs of rational models", for_all(agree, pair=pairs()))
    evidence.exact("both cases occur among them", min(seen.values()) > 0, figures={"least": min(seen.values())})
    met = [0]

    def no_room(pair: Pair) -> bool:
        for m in (pair.model, pair.other):
            if m.F.shape[0] + m.G.shape[0] == m.dimension + m.effective_complexity:
                met[0] += 1
                if m.M != m.N:
                    return False
        return True

    without_room = evidence.property(
        r"where $\dim F+\dim G = d+\mathrm{rank}\,L$ (every dimension is used) $G^\perp\subseteq F$, and $M = "
        r"N$ in every "
        "basis: a generator of examples has to leave a dimension unused",
        for_all(no_room, pair=pairs()),
    )
    evidence.exact("such models occur among them", met[0] > 0, figures={"models": met[0]})
    evidence.control(
        "$M = N$ in every drawn model, commuting or not, with room or without",
        not for_all(lambda pair: pair.model.M == pair.model.N, pair=pairs()).passed,
        kind="property",
        of=[pairs_of_models, without_room],
    )
    evidence.exact(
        "smallest case of $M\\ne N$: $d = 2$, $F = \\mathrm{span}(1,1)$, $G = \\mathrm{span}(1,0)$",
        figures={"M and N": equal([str(TILTED.M), str(TILTED.N)], ["[1 1]", "[1 0]"])},
    )
    evidence.control("the two spaces are told apart in the smallest case", TILTED.M != TILTED.N, kind="exact")
