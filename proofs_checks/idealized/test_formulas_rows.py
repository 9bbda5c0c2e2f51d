"""How many rows of the Jacobian repeat others: the closed form behind Table 2, on untrained models."""

from __future__ import annotations

from collections import Counter
from itertools import product

import sympy as sp

from proofs_checks.idealized import dimension_formulas as formulas
from proofs_checks.idealized.model import IdealizedModel, architecture
from proofs_checks.idealized.model.tasks import seen
from proofs_checks.support.symbolic_evidence import proves
from symgauge.architecture import Architecture
from symgauge.claims import EvidenceLog, at_least, checks, equal
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.models.reference import forward
from symgauge.profiles import active
from symgauge.symbolic.functions import RowSoftmax
from symgauge.symbolic.proof import prove_equal
from symgauge.symbolic.words import Facts

# |V|, T, d, H, residual: wide enough for the classes to be independent.
MODELS = (
    (1, 3, 2, 1, True), (2, 2, 4, 2, False), (2, 3, 8, 2, True), (2, 3, 8, 2, False), (2, 4, 8, 4, True),
    (2, 5, 8, 4, False), (2, 6, 8, 8, True), (3, 2, 6, 2, False), (3, 3, 8, 2, True), (4, 2, 8, 2, True),
    (5, 2, 8, 2, False), (6, 2, 8, 2, True), (3, 4, 10, 5, True),
)  # fmt: skip
MORE = ((4, 3, 12, 2, True), (2, 7, 10, 10, False), (3, 4, 10, 5, False))


def left_null(a: Architecture, seed: int = 0, *, own: bool = False, model: IdealizedModel | None = None) -> int:
    """Rows (logits at the last position on all words) minus exact rank, for one untrained model or the one given."""
    words = Tokens(a.vocabulary, a.context)
    found = dimension(model or IdealizedModel(a, seed), words, seed=seed, point="own" if own else "random")
    if not found.exhausted:
        raise AssertionError("some words were not looked at")
    return a.vocabulary * words.count - found.rank


def positive(a: Architecture) -> IdealizedModel:
    """A model whose weights are all positive, so that every neuron is on for every input."""
    model = IdealizedModel(a)
    model.set_roles({role: value.abs() for role, value in model.roles().items()})
    return model


@checks("true-rows")
def test_repeated_rows(evidence: EvidenceLog) -> None:
    evidence.proof(
        r"the last position's output is the same for permuted earlier tokens, for every size: "
        r"$\mathrm{softmax}(qK^\top)V$ with $X \mapsto \Pi X$",
        proves(lambda: order_is_unseen(permutation=True)),
    )
    evidence.control(
        "no proof for a matrix that is no permutation",
        not proves(lambda: order_is_unseen(permutation=False)),
        kind="proof",
    )
    v, t = sp.symbols("v t", integer=True, positive=True)
    multisets = sp.binomial(t + v - 1, t)
    step = multisets - multisets.subs(t, t - 1) - multisets.subs(v, v - 1)
    evidence.proof(
        r"multisets of $t$ of $v$ tokens, with or without the last token: $N(t,v) = N(t-1,v) + N(t,v-1)$, solved by "
        r"$\binom{t+v-1}{t}$, and $t = T-1$",
        sp.simplify(sp.gammasimp(step.rewrite(sp.gamma))) == 0
        and all(formulas.classes(sp.Integer(a), sp.Integer(b)) == a * multisets.subs({v: a, t: b - 1})
                for a in range(1, 6) for b in range(1, 6)),
    )  # fmt: skip
    models = MODELS + (MORE if active() == "thorough" else ())
    pairs = sorted({(words, length) for words, length, *_ in models})
    counted = [len({seen(word) for word in product(range(n), repeat=length)}) for n, length in pairs]
    evidence.exact(
        "classes of (last token, multiset of the others), by enumeration",
        figures={"classes": equal(counted, [int(formulas.classes(sp.Integer(n), sp.Integer(m))) for n, m in pairs])},
        cases=len(pairs),
    )
    found = [left_null(architecture(d, h, 1, n, m, residual=residual)) for n, m, d, h, residual in models]
    evidence.exact(
        "exact ranks of untrained models at random points, $(|V|, T)$: " + ", ".join(map(str, pairs)),
        figures={
            "left null": equal(found, [int(formulas.left_null(sp.Integer(n), sp.Integer(m))) for n, m, *_ in models]),
            "pairs": len(pairs),
        },
        cases=len(found),
    )
    own = architecture(16, 2, 1, 2, 4)
    evidence.control(
        "with all weights positive the count is more than that of repeated rows, $d = 16$, $H = 2$, $|V| = 2$, $T = 4$",
        kind="exact",
        figures={"left null": at_least(left_null(own, own=True, model=positive(own)), 17)},
    )
    evidence.control(
        "with position vectors, or with a second layer, nothing repeats at $|V| = 2$, $T = 3$",
        left_null(architecture(8, 2, 1, 2, 3, positions=True)) == left_null(architecture(8, 2, 2, 2, 3)) == 0,
        kind="exact",
    )


def order_is_unseen(*, permutation: bool) -> None:
    """The output of a head at a position whose query comes from ``x``, when the rows that it reads are reordered."""
    n, d, d_k = sp.symbols("n d d_k", integer=True, positive=True)
    x, stream, turn = sp.MatrixSymbol("x", 1, d), sp.MatrixSymbol("X", n, d), sp.MatrixSymbol("Π", n, n)
    query, key, value = (sp.MatrixSymbol(name, d, d_k) for name in ("W_Q", "W_K", "W_V"))

    def head(rows: sp.MatrixExpr) -> sp.MatrixExpr:
        return RowSoftmax(x * query * (rows * key).T) * rows * value

    prove_equal(head(stream), head(turn * stream), Facts(permutation=(turn,) if permutation else ()))


def patterns(model: IdealizedModel) -> tuple[tuple[tuple[bool, ...], ...], ...]:
    """For each query token, the ReLU pattern of each of its classes."""
    a, roles = model.architecture, model.roles()
    words = Tokens(2, a.context).all()
    attention = {role: value for role, value in roles.items() if ".attention." in role}
    alone = a.replace(vocabulary=0, d_ff=0)
    stream = forward(alone, attention, roles["token_table"][words])[:, -1]
    on = (stream @ roles["layers.0.ff.up.weight"] > 0).tolist()
    met = {seen(word): tuple(row) for word, row in zip(words.tolist(), on, strict=True)}
    return tuple(tuple(pattern for (last, _), pattern in met.items() if last == query) for query in (0, 1))


def groups(model: IdealizedModel) -> tuple[tuple[int, ...], ...]:
    """For each query token, the sizes of the sets of classes that share a ReLU pattern."""
    return tuple(tuple(sorted(Counter(mine).values())) for mine in patterns(model))


@checks("true-two-tokens")
def test_two_tokens(evidence: EvidenceLog) -> None:
    exactly, at_most_rank, seen_sizes, common = [], [], set(), 0
    for d, heads, length in ((4, 1, 3), (8, 1, 3), (4, 2, 3), (4, 2, 5), (4, 1, 4)):
        for seed in range(6):
            a = architecture(d, heads, 1, 2, length)
            model = IdealizedModel(a, seed)
            sizes = groups(model)
            common += len(set.intersection(*map(set, patterns(model))))
            gap = left_null(a, seed, own=True) - formulas.two_token_left_null(length, heads, sizes)
            seen_sizes.add(max(map(max, sizes)))
            (exactly if length <= 3 or heads >= 2 else at_most_rank).append(gap)
    evidence.exact(
        "left null space minus the formula at untrained models (initialised as §5 can be), ReLU sides read off in "
        "float64",
        figures={"T ≤ 3 or H ≥ 2": equal(exactly, [0] * len(exactly)), "largest shared pattern": max(seen_sizes),
                 "patterns common to both queries": equal(common, 0)},
        cases=len(exactly),
    )  # fmt: skip
    beyond = {}
    for d, heads, length in ((4, 1, 3), (4, 2, 4)):
        a = architecture(d, heads, 1, 2, length)
        gap = left_null(a, own=True, model=positive(a)) - formulas.two_token_left_null(length, heads, [[length]] * 2)
        beyond[f"H = {heads}, T = {length}"] = at_least(gap, 1)
    evidence.control(
        "with all weights positive, one pattern for both queries, it is more than the formula has, by",
        kind="exact",
        figures=beyond,
    )
    evidence.exact("never below it otherwise", min(at_most_rank) >= 0, cases=len(at_most_rank))
    m, t, s = sp.symbols("m T s", positive=True)
    share = m * s / (t - m + m * s)
    first, second = sp.symbols("v_0 v_1")
    mixed = ((t - m) * first + m * s * second) / (t - m + m * s)
    evidence.proof(
        "a head's output on a query is affine in the share of the second token, which depends on one number and on $m$",
        sp.simplify(mixed - (first + share * (second - first))) == 0,
    )
