"""Conditions of the maximality theorem dropped one by one, each with two points that are one function."""

from __future__ import annotations

from proofs_checks.support.algebra.group import invariants
from proofs_checks.support.attention_points import head, layer, on_theta_0
from proofs_checks.support.explicit_attention import same
from symgauge.claims import EvidenceLog


def record_counterexamples(evidence: EvidenceLog) -> None:
    """Each condition dropped, at an integer point of Θ_0, with equality decided over ℚ(e)."""
    e1, e2 = [1, 0], [0, 1]
    before = layer(head(e1, e2, e1, e1), head(e1, e2, e2, e2))
    after = layer(head(e1, e2, e1, [1, -1]), head(e1, e2, [1, 1], e2))
    evidence.exact(
        "equal score matrices, $M_1 = M_2$: equal functions lie on one orbit",
        not (on_theta_0(before) and on_theta_0(after) and same(before, after, tokens=3, cases=6))
        or invariants(before) == invariants(after),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_Q^{(i)} = (1,0)^\top$, $W_K^{(i)} = (0,1)^\top$, $W_V = "
        r"W_O = I_2$: $W_V\mapsto W_VP$, $W_O\mapsto P^{-1}W_O$ with $P = \begin{pmatrix}1&1\\0&1\end{pmatrix}$ keeps "
        r"$N_1+N_2$, hence the function, and changes $\{N_1, N_2\}$; A1–A6 hold at both points",
        cases=6,
    )
    before = layer(head(e1, e2, e1, [0, 0]), head([1, 1], e2, e2, [1, 2]))
    after = layer(head([2, 3], e2, e1, [0, 0]), head([1, 1], e2, e2, [1, 2]))
    evidence.exact(
        "$W_{O,1} = 0$: equal functions lie on one orbit",
        not (on_theta_0(before) and on_theta_0(after) and same(before, after, tokens=3, cases=6))
        or invariants(before) == invariants(after),
        counterexample=r"$d = h = 2$, $d_k = d_v = 1$, $W_{O,1} = 0$: $W_Q^{(1)} = (1,0)^\top$ and $(2,3)^\top$ give "
        r"the same function; A1–A6 do not mention $W_O$",
        cases=6,
    )
    generic = layer(head(e1, e2, e1, [1, 2]), head([1, 1], e2, e2, [1, -1]))
    other = layer(head([2, 1], e2, e1, [1, 2]), head([1, 1], e2, e2, [1, -1]))
    evidence.exact(
        "one token: equal functions lie on one orbit",
        not (on_theta_0(generic) and on_theta_0(other) and same(generic, other, tokens=1, cases=6)),
        counterexample=r"$n = 1$: softmax of one score is 1, so all $W_Q^{(i)}$, $W_K^{(i)}$ are free",
        cases=6,
    )
    evidence.control("the same two points on three tokens", not same(generic, other, tokens=3, cases=6), kind="exact")
    before = layer(head(e1, e2, [1, 2], [1, 1]), head(e1, [0, -1], [1, 2], [1, 1]))
    after = layer(head([2, 1], [1, 1], [1, 2], [1, 1]), head([2, 1], [-1, -1], [1, 2], [1, 1]))
    evidence.exact(
        "two tokens, $M_2 = -M_1$: equal functions lie on one orbit",
        not (on_theta_0(before) and on_theta_0(after) and same(before, after, tokens=2, cases=6)),
        counterexample=r"$n = 2$, $M_2 = -M_1$, $N_1 = N_2$: as $\sigma(t)+\sigma(-t) = 1$, the layer is $xN + (y-x)N$ "
        r"… whatever $M_1$ is, so $M_1 = e_1e_2^\top$ may become $(2,1)^\top(1,1)$",
        cases=6,
    )
    evidence.control("these two points on three tokens", not same(before, after, tokens=3, cases=6), kind="exact")
    before = layer(head(e1, e2, [1, 2], [1, 1]), head([1, 1], e2, [1, 2], [-1, -1]))
    after = layer(head(e1, [0, -1], [1, 2], [-1, -1]), head([1, 1], [0, -1], [1, 2], [1, 1]))
    evidence.exact(
        "two tokens, $N_1+N_2 = 0$: equal functions lie on one orbit",
        not (on_theta_0(before) and on_theta_0(after) and same(before, after, tokens=2, cases=6))
        or invariants(before) == invariants(after),
        counterexample=r"$n = 2$, $N_1+N_2 = 0$, $M_1\ne\pm M_2$: $(M_i, N_i)\mapsto(-M_i, -N_i)$ in both heads",
        cases=6,
    )
    evidence.control("and these on three tokens", not same(before, after, tokens=3, cases=6), kind="exact")
