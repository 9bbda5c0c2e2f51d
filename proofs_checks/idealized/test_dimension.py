"""Is (5) an upper bound, and of what? Fibres by exact rank, the families that fill them, and the bound proved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.dimension_cases import (
    AS_WIDE,
    DRAWN,
    FEWER,
    MORE,
    PINNED,
    SHORTER,
    SMALLEST,
    TOKENS,
    VECTORS,
)
from proofs_checks.idealized.exact_fibres import Case, Measured, generators_rank, measure
from proofs_checks.idealized.reported import SYMMETRIES
from proofs_checks.support.symbolic_evidence import is_zero, proves
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.profiles import active, scale
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

LISTED = ("query-key", "value-output", "relu-rescale")
PRIMES = [2147483579, 2147483123]


def measured(cases: Iterable[Case]) -> list[Measured]:
    """All cases, thinned by the dev profile."""
    chosen = tuple(cases)
    return [measure(case) for case in chosen[: scale(len(chosen), len(chosen))]]


def off(found: list[Measured]) -> list[str]:
    """The cases whose nullity is not the formula's, or not filled by known symmetries."""
    wrong = [m for m in found if m.nullity != m.case.formula or not (m.explained is None or m.complete)]
    return [f"{m.case}: {m.nullity}, {m.explained}" for m in wrong]


def prove_layers(evidence: EvidenceLog, on: str, only: str | list[str]) -> None:
    """The group of S and the maps of the stream fixes the function, for every size."""
    for residual in (True, False):
        name = "with a residual stream, one $M$" if residual else "without, one $M_i$ for each gap"
        identity = formulas.layer_symmetry(residual=residual)
        evidence.proof(
            f"{name}: $f_{{g\\theta}}(XM_0) = f_\\theta(X)M_2$ for a layer, any mask, every size; layers compose, "
            r"$EM_0$ comes before and $M^{-1}W_{out}$ behind",
            proves(identity.prove),
            on=on,
            only=only,
        )
        evidence.exact(
            "the same on an explicit rational instance, to 50 digits",
            is_zero(identity.difference_at_instance()),
            on=on,
            only=only,
        )
        evidence.control(
            f"with {identity.how_broken}: no proof, and an instance that differs",
            not proves(identity.prove_broken) and not is_zero(identity.refute_broken().difference),
            kind="proof",
            only=only,
        )


@checks("eq-5", "three-fam")
def test_upper_or_lower(evidence: EvidenceLog) -> None:
    smallest = [measure(case) for case in SMALLEST]
    evidence.exact(
        "the smallest model there is",
        all(m.nullity <= m.case.listed for m in smallest),
        counterexample=r"$d = H = L = |V| = 1$ on sequences of real numbers: $P = 14$, $S = 6$, fibre of dimension 10 "
        r"(11 without a residual stream). With $d = H = 2$, $|V| = 3$, $L = 1$: 16 against $S = 12$.",
        figures={"nullities": [m.nullity for m in smallest], "S": [m.case.listed for m in smallest], "primes": PRIMES},
        cases=len(smallest),
        only="eq-5",
    )
    found = measured((*VECTORS, *TOKENS, *AS_WIDE))
    excess = min(m.nullity - m.case.listed - m.case.d**2 for m in found)
    evidence.exact(
        "fibres with an embedding exceed $S$ by $d^2$ or more in every case of the grid; generators in the kernel",
        figures={
            "least excess over $S + d^2$": at_least(excess, 0),
            "violations": equal(sum(m.violations for m in found), 0),
        },
        on="correction",
        cases=len(found),
        only="eq-5",
    )
    evidence.exact(
        "the three families alone do not fill the kernel",
        all(m.nullity == m.case.listed for m in found),
        counterexample=r"$E \mapsto cE$, $W_Q, W_K, W_V, W_1, W_{out} \mapsto c^{-1}\cdot$, $W_O, W_2 \mapsto "
        r"c\,\cdot$ keeps the logits and moves $E$, which none of the three families does",
        cases=len(found),
        only="three-fam",
    )
    evidence.exact(
        "with the maps of the stream nothing is unexplained on vectors",
        all(m.complete for m in found if m.case.kind == "real"),
        on="correction",
        cases=sum(m.case.kind == "real" for m in found),
        only="three-fam",
    )
    prove_layers(evidence, "correction", ["eq-5", "three-fam"])
    plain = [m for m in measured(PINNED) if m.case.residual and m.case.vocabulary >= m.case.d]
    evidence.exact(
        "vectors in place of the embedding, residual stream, $|V| \\ge d$: the fibre has dimension $S$",
        figures={"nullity − S": equal([m.nullity - m.case.listed for m in plain], [0] * len(plain))},
        on="correction",
        cases=len(plain),
        only="eq-5",
    )
    own = Case(16, 2, 1, 2, True, "tokens")
    evidence.exact(
        "orbits at the size of §5, as ranks of tangent vectors at a random point",
        figures={
            "listed": equal(generators_rank(own, LISTED), SYMMETRIES),
            "with the stream": equal(generators_rank(own, (*LISTED, "stream-map")), SYMMETRIES + 16**2),
        },
        on="correction",
        only="three-fam",
    )


@checks("true-dimension", "true-as-wide", "true-pinned")
def test_corrected_dimension(evidence: EvidenceLog) -> None:
    general, wide, pinned = "true-dimension", "true-as-wide", "true-pinned"
    more = MORE if active() == "thorough" else ()
    groups = {
        general: measured((*VECTORS, *TOKENS, *(c for c in more if c.kind != "pinned"))),
        wide: measured(AS_WIDE),
        pinned: measured((*PINNED, *(c for c in more if c.kind == "pinned"))),
    }
    for name, found in groups.items():
        with_residual = sum(m.case.residual for m in found)
        evidence.exact(
            "exact rank against the formula, and against the rank of the known generators where these can act",
            figures={
                "off the formula": equal(off(found), []),
                "with residual stream": with_residual,
                "without": len(found) - with_residual,
                "nullities": [m.nullity for m in found],
                "primes": PRIMES,
            },
            cases=len(found),
            only=name,
        )
    for name, cases in SHORTER.items():
        shorter = [measure(case) for case in cases]
        evidence.control(
            "on shorter sequences the fibre is larger: " + ", ".join(f"{c.kind}, T = {c.length}" for c in cases),
            kind="exact",
            figures={
                "least excess": at_least(min(m.nullity - m.case.formula for m in shorter), 1),
                "nullities": [m.nullity for m in shorter],
            },
            only=name,
        )
    prove_layers(evidence, "statement", general)
    vectors = [m for m in groups[general] if m.case.kind == "real" and m.case.vocabulary == m.case.d]
    evidence.control(
        "on vectors the shifts through $Eu = \\mathbf 1$ are no symmetries: their generators leave the kernel",
        figures={"fewest outside": at_least(min(m.token_violations for m in vectors), 1)},
        kind="exact",
        only=[general, wide],
    )
    evidence.proof(
        r"$W_K \mapsto W_K + ub^\top$ with $Eu = \mathbf 1$ shifts the scores of each query alike, for every size",
        proves(lambda: key_shift(fixed=True)),
        only=wide,
    )
    evidence.control(
        "no proof for a $u$ of which nothing is known",
        not proves(lambda: key_shift(fixed=False)),
        kind="proof",
        only=wide,
    )
    narrow = [measure(case) for case in FEWER]
    evidence.exact(
        "at $d = 2, 3$ too the known generators, the shifts among them, lie in the kernel and are so many",
        figures={
            "independent": equal([m.explained for m in narrow], [m.case.formula for m in narrow]),
            "outside the kernel": equal(sum(m.violations + m.token_violations for m in narrow), 0),
            "nullities": [m.nullity for m in narrow],
        },
        cases=len(narrow),
        only=wide,
    )
    drawn = [[measure(replace(case, seed=seed)).nullity for seed in range(6)] for case in DRAWN]
    evidence.exact(
        "small cases at the seeds 0 to 5: the least nullity of each",
        figures={"least": equal([min(x) for x in drawn], [case.formula for case in DRAWN]), "nullities": drawn},
        cases=6 * len(DRAWN),
        only=pinned,
    )
    single = measure(Case(1, 1, 1, 1, True, "pinned"))
    evidence.control(
        "at $d = 1$ it is more",
        kind="exact",
        figures={"nullity": at_least(single.nullity, single.case.formula + 1)},
        only=pinned,
    )
    wrong = [m for m in groups[pinned] if m.nullity == m.case.listed + m.case.d**2]
    evidence.control("the count with an embedding would not fit the pinned cases", not wrong, kind="exact", only=pinned)


def key_shift(*, fixed: bool) -> None:
    """Attention weights of tokens under W_K + u bᵀ; ``fixed`` says that E u = 1."""
    n, d, d_k, vocabulary = sp.symbols("n d d_k V", integer=True, positive=True)
    words, table = sp.MatrixSymbol("X", n, vocabulary), sp.MatrixSymbol("E", vocabulary, d)
    query, key = sp.MatrixSymbol("W_Q", d, d_k), sp.MatrixSymbol("W_K", d, d_k)
    u, b, mask = sp.MatrixSymbol("u", d, 1), sp.MatrixSymbol("b", 1, d_k), sp.MatrixSymbol("N", n, n)

    def weights(keys: sp.MatrixExpr) -> sp.MatrixExpr:
        return RowSoftmax(words * table * query * (words * table * keys).T + mask)

    equations = ((table * u, sp.OneMatrix(vocabulary, 1)),) if fixed else ()
    prove_equal(weights(key), weights(key + u * b), Facts(stochastic=(words,), equations=equations))
