"""Parameters and symmetries in letters: equations (1) to (4), the abstract's order of growth, and how ρ behaves."""

from __future__ import annotations

import math

import sympy as sp

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.exact_fibres import Case, generators_rank
from proofs_checks.idealized.model import architecture
from proofs_checks.idealized.reported import FIGURE_1_EXPONENT, TABLE_1, Row
from proofs_checks.support.symbolic_evidence import record_identity
from symgauge.claims import EvidenceLog, at_least, at_most, checks, equal
from symgauge.model_graph import graph_of
from symgauge.symbolic.dimensions import L, V, d, h
from symgauge.symbolic.linear import rank, rational
from symgauge.symmetries import families
from symgauge.symmetries import symbols as letters

SIZES = ((4, 1, 1, 5), (6, 2, 2, 7), (6, 3, 1, 2), (8, 4, 3, 9), (16, 2, 1, 2))
d_k = sp.Symbol("d_k", integer=True, positive=True)


@checks("eq-1")
def test_parameters(evidence: EvidenceLog) -> None:
    models = [architecture(*sizes) for sizes in SIZES]
    counted = [graph_of(a).parameters for a in models]
    formula = [formulas.parameters().at(d=n, h=k, L=layers, V=words) for n, k, layers, words in SIZES]
    evidence.exact(
        "numbers in the tensors of the reference module",
        figures={"parameters": equal(counted, formula)},
        on="condition",
        cases=len(SIZES),
    )
    evidence.proof(
        r"tensor by tensor it is $2|V|d + L(4d^2 + 2d\,d_{ff})$ at $d_{ff} = 4d$",
        sp.expand(formulas.parameters().total - (2 * V * d + L * (4 * d**2 + 2 * d * 4 * d))) == 0,
        on="condition",
    )
    evidence.control(
        r"with $d_{ff} = 3d$ it is not",
        sp.expand(formulas.parameters().total - (2 * V * d + L * (4 * d**2 + 2 * d * 3 * d))) != 0,
        kind="proof",
    )
    small = models[-1]
    others = {
        "biases in the network": small.replace(ff_bias=True),
        "position vectors": small.replace(position_table=True),
        "norms": small.replace(norm="layer", final_norm=True),
        "one matrix for embedding and output": small.replace(tied=True),
    }
    sizes = {name: graph_of(a).parameters for name, a in others.items()}
    evidence.exact(
        "a model of the same description with one of these parts",
        all(size == formula[-1] for size in sizes.values()),
        counterexample=r"$d = 16$, $L = 1$, $|V| = 2$: 3,136 without, "
        + ", ".join(f"{size:,} with {name}" for name, size in sizes.items()),
        cases=len(sizes),
    )


@checks("eq-2", "eq-3", "eq-4", "bg-4")
def test_families(evidence: EvidenceLog) -> None:
    query_key, value_output = ["eq-2", "bg-4"], "eq-3"
    record_identity(evidence, "query_key", on="condition", only=query_key)
    record_identity(evidence, "value_output", on="condition", only=value_output)
    record_identity(evidence, "relu_rescaling", on="condition", only="eq-4")
    names = {"query-key": query_key, "value-output": [value_output], "relu-rescale": ["eq-4"]}
    parts = dict(zip(names, (part for _, part in formulas.listed().parts), strict=True))
    for name, ids in names.items():
        ranks, numbers = [], []
        for n, k, layers, words in SIZES:
            ranks.append(generators_rank(Case(n, k, layers, words, True), (name,)))
            numbers.append(int(parts[name].subs({d: n, h: k, L: layers})))
        evidence.exact(
            "rank of the tangent vectors at random points, modulo a prime",
            figures={"ranks": equal(ranks, numbers), "prime": 2147483579},
            on="condition",
            cases=len(ranks),
            only=ids,
        )
        family = next(f for f in families(architecture()) if f.name == name)
        in_letters = family.dimension(architecture()).subs({letters.g: letters.h, letters.d_ff: 4 * letters.d})
        square = {letters.d_k: letters.d / letters.h, letters.d_v: letters.d / letters.h}
        evidence.proof(
            "the formula is the family's dimension, in letters",
            sp.expand(in_letters.subs(square) - parts[name]) == 0,
            on="condition",
            only=ids,
        )
    evidence.exact(
        "tangents $(QX, -KX^\\top)$ of a head whose two matrices lose rank",
        figures={"dimension": equal(head_orbit([[1, 0], [2, 0]], [[1, 0], [3, 0]]), 4)},
        counterexample=r"$d_k = 2$, $Q = \begin{pmatrix}1&0\\2&0\end{pmatrix}$, $K = "
        r"\begin{pmatrix}1&0\\3&0\end{pmatrix}$"
        r": the orbit has dimension 3, not 4",
        only=query_key,
    )
    evidence.exact(
        "the same for values and outputs",
        figures={"dimension": equal(head_orbit([[1, 0], [2, 0]], [[1, 0], [3, 0]]), 4)},
        counterexample=r"$d_v = 2$, $V$ and $W_O^\top$ as $Q$ and $K$ there: 3, not 4; and with rows as in §4.1, $BV$ "
        r"has "
        r"no meaning for $V$ of $d \times d_v$",
        only=value_output,
    )
    evidence.exact(
        "a rank-full head has all four",
        figures={"dimension": equal(head_orbit([[1, 0], [2, 1]], [[1, 0], [3, 0]]), 4)},
        on="condition",
        only=[*query_key, value_output],
    )
    dead = sp.Matrix([[0], [0]])
    evidence.exact(
        "tangent $(w, -u)$ of a neuron that neither reads nor writes",
        figures={"dimension": equal(rank(rational(dead)), 1)},
        counterexample=r"$w = u = 0$: every $\alpha$ fixes it",
        only="eq-4",
    )
    z, w, alpha = sp.Integer(1), sp.Integer(1), sp.Integer(-1)
    evidence.control(
        r"$\alpha = -1$ changes $\mathrm{ReLU}(wx)\,u$ at $w = x = u = 1$ from 1 to 0",
        sp.Max(0, alpha * w * z) / alpha != sp.Max(0, w * z),
        kind="exact",
        only="eq-4",
    )


def head_orbit(query: list[list[int]], key: list[list[int]]) -> int:
    """Dimension of the orbit of GL(2) through a pair of factors (rows, 2): rank of X ↦ (QX, −KXᵀ)."""
    q, k = sp.Matrix(query), sp.Matrix(key)
    units = [sp.Matrix(2, 2, lambda i, j, at=at: int((i, j) == at)) for at in ((0, 0), (0, 1), (1, 0), (1, 1))]
    return rank(rational(sp.Matrix.hstack(*((q * x).reshape(4, 1).col_join((-k * x.T).reshape(4, 1)) for x in units))))


@checks("abs-1")
def test_order(evidence: EvidenceLog) -> None:
    total = formulas.listed().total.subs(d, h * d_k)
    gap = sp.factor(6 * L * h * d_k**2 - total)
    evidence.proof(
        r"$6LHd_k^2 - S = 4LHd_k(d_k-1) \ge 0$ for $d = Hd_k$",
        sp.expand(gap - 4 * L * h * d_k * (d_k - 1)) == 0,
        figures={"difference": str(gap)},
    )
    whole = formulas.fibre(residual=True).total.subs(d, h * d_k)
    evidence.control(
        r"with $d^2 = H^2d_k^2$ the ratio to $LHd_k^2$ grows with $H$",
        sp.limit(whole / (L * h * d_k**2), h, sp.oo) == sp.oo,
        kind="proof",
    )


def slope(rows: tuple[Row, ...]) -> float:
    """Least-squares slope of log ρ against log d, with ρ from the reported integers."""
    points = [(math.log(row.d), math.log(row.symmetries / row.parameters)) for row in rows]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


@checks("fig-1", "8.3")
def test_growth(evidence: EvidenceLog) -> None:
    ratio = formulas.ratio()
    fixed_heads = sp.limit(ratio, d, sp.oo)
    evidence.exact(
        "log–log slope over the rows of Table 1: that claimed, to a fifth?",
        abs(slope(TABLE_1) - FIGURE_1_EXPONENT) <= 0.2,
        figures={"slope": slope(TABLE_1), "claimed": FIGURE_1_EXPONENT},
        counterexample=f"the eight rows: {slope(TABLE_1):.2f}; the last three, $d = 64$ to $512$ at $H = 8$: "
        f"{slope(TABLE_1[-3:]):.2f}",
        cases=len(TABLE_1),
    )
    fixed_width = sp.limit((ratio * d).subs(h, d / d_k), d, sp.oo)
    evidence.proof(
        r"the exponent is $-1$ at fixed $H$",
        sp.limit(ratio * d, d, sp.oo) != sp.oo,
        counterexample=r"$H = 1$, $L = 1$: $\rho = (d+2)/(6d+|V|) \to 1/6$; for $d = 8 \to 512$ at $H=8$, $L = 12$, "
        r"$|V| = 2$ it even lies above $1/48$ throughout",
        figures={"ρ": str(ratio), "limit of ρ at fixed H": str(fixed_heads)},
    )
    evidence.proof(r"at fixed $H$: $\rho \to 1/(6H)$", sp.simplify(fixed_heads - 1 / (6 * h)) == 0, on="correction")
    evidence.proof(
        r"at fixed $d_k$: $\rho d \to (d_k+2)/6$",
        sp.simplify(fixed_width - (d_k + 2) / 6) == 0,
        on="correction",
        only="fig-1",
    )
    at_eight = tuple(row for row in TABLE_1 if row.heads == 8)
    wide = [row for row in TABLE_1 if row.d == 8 * row.heads]
    times = {row: row.symmetries / row.parameters * row.d for row in TABLE_1}
    evidence.exact(
        "log–log slopes of the reported rows, short of the exponent claimed by a fifth or more: all, and those with "
        "$H = 8$",
        figures={
            "all": at_least(slope(TABLE_1), 0.8 * FIGURE_1_EXPONENT),
            "H = 8": at_least(slope(at_eight), 0.8 * FIGURE_1_EXPONENT),
            "claimed": FIGURE_1_EXPONENT,
        },
        on="correction",
    )
    evidence.exact(
        r"rows with $d_k = 8$: number, slope; $\rho d$ in them and in all",
        figures={
            "rows": equal(len(wide), 5),
            "slope": at_most(slope(tuple(wide)), 0.9 * FIGURE_1_EXPONENT),
            "in them": equal([round(f(times[row] for row in wide), 2) for f in (min, max)], [1.60, 1.65]),
            "in all": equal([round(f(times.values()), 2) for f in (min, max)], [0.96, 10.96]),
        },
        on="correction",
        only="fig-1",
    )  # fmt: skip
    evidence.exact(
        "end points, and the last row against $1/48$",
        round(TABLE_1[0].symmetries / TABLE_1[0].parameters, 2) == 0.20
        and round(TABLE_1[-1].symmetries / TABLE_1[-1].parameters, 3) == 0.021
        and TABLE_1[-1].symmetries * 48 > TABLE_1[-1].parameters,
        on="correction",
        only="8.3",
    )
    whole = (formulas.fibre(residual=True).total / formulas.parameters().total).subs(L, 1)
    evidence.proof(
        r"with the maps of the stream, $L = 1$: $(2/H+1)/12$",
        sp.simplify(sp.limit(whole, d, sp.oo) - (2 / h + 1) / 12) == 0,
        on="correction",
        only="8.3",
    )
    bare = sp.limit((L * d**2 / h) / (L * d**2 + V * d), d, sp.oo)
    evidence.control(
        r"the reason given, $Ld^2/H$ over $Ld^2+|V|d$, tends to $1/H$: no power of $d$", bare == 1 / h, kind="proof"
    )
