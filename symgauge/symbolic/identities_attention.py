"""Identities of attention: query–key, value–output, biases, sharing, rotary positions, gains, low-rank factors."""

from __future__ import annotations

import sympy as sp

from symgauge.symbolic.functions import RowSoftmax, rms_norm
from symgauge.symbolic.identities import Identity, d, d_k, d_v, identity_builder, matrix, n, ones, r
from symgauge.symbolic.words import Facts

X = matrix("X", n, d)
W_Q, W_K, W_V, W_O = matrix("W_Q", d, d_k), matrix("W_K", d, d_k), matrix("W_V", d, d_v), matrix("W_O", d_v, d)
A, C = matrix("A", d_k, d_k), matrix("C", d_v, d_v)
b_Q, b_K, b_V, b_O = matrix("b_Q", 1, d_k), matrix("b_K", 1, d_k), matrix("b_V", 1, d_v), matrix("b_O", 1, d)
ALPHA = RowSoftmax(X * W_Q * W_K.T * X.T / sp.sqrt(d_k))  # attention weights, n×n, rows sum to one


@identity_builder
def query_key() -> Identity:
    return Identity(
        "query_key",
        r"Scores: $XW_QA\,(XW_KA^{-\top})^\top = XW_QW_K^\top X^\top$ for every invertible $A$",
        X * W_Q * W_K.T * X.T,
        X * W_Q * A * (X * W_K * A.I.T).T,
        (X * W_Q * W_K.T * X.T, X * W_Q * A * (X * W_K * A.I).T),
        "A⁻¹ in place of A⁻ᵀ",
    )


@identity_builder
def scaled_softmax() -> Identity:
    c = sp.Symbol("c", real=True)
    weights = lambda q, k: RowSoftmax(c * X * q * (X * k).T)  # noqa: E731
    return Identity(
        "scaled_softmax",
        r"Attention weights with any constant scale $c$: $\mathrm{softmax}(c\,QK^\top)$ is "
        r"unchanged under $(W_QA, W_KA^{-\top})$",
        weights(W_Q, W_K),
        weights(W_Q * A, W_K * A.I.T),
        (weights(W_Q, W_K).subs(c, 1), weights(W_Q * A, W_K * A.I).subs(c, 1)),
        "A⁻¹ in place of A⁻ᵀ",
    )


@identity_builder
def value_output() -> Identity:
    return Identity(
        "value_output",
        r"Head output: $\alpha XW_VC\,C^{-1}W_O = \alpha XW_VW_O$ for every invertible $C$",
        ALPHA * X * W_V * W_O,
        ALPHA * (X * (W_V * C)) * (C.I * W_O),
        (ALPHA * X * W_V * W_O, ALPHA * (X * (W_V * C)) * (C.T * W_O)),
        "Cᵀ in place of C⁻¹",
    )


@identity_builder
def shared_group() -> Identity:
    q, o = (matrix("W_Q1", d, d_k), matrix("W_Q2", d, d_k)), (matrix("W_O1", d_v, d), matrix("W_O2", d_v, d))

    def group(a1, a2, key, c1, c2, value):
        heads = zip(q, o, (a1, a2), (c1, c2), strict=True)
        return sum(
            (RowSoftmax(X * w_q * a * (X * key).T) * X * value * (c * w_o) for w_q, w_o, a, c in heads),
            sp.ZeroMatrix(n, d),
        )

    identity_k, identity_v = sp.Identity(d_k), sp.Identity(d_v)
    before = group(identity_k, identity_k, W_K, identity_v, identity_v, W_V)
    return Identity(
        "shared_group",
        r"Two query heads sharing $(W_K, W_V)$: one $A$ and one $C$ per group act on both heads and on the shared maps",
        before,
        group(A, A, W_K * A.I.T, C.I, C.I, W_V * C),
        (before, group(A, A, W_K * A.I.T, C.I, identity_v, W_V * C)),
        "C⁻¹ applied to the output map of one of the two heads only",
    )


@identity_builder
def rotary_commutant() -> Identity:
    x_t, x_s = matrix("x_t", 1, d), matrix("x_s", 1, d)
    R_t, R_s, B = matrix("R_t", d_k, d_k), matrix("R_s", d_k, d_k), matrix("B", d_k, d_k)
    score = lambda q, k: x_t * q * R_t * (x_s * k * R_s).T  # noqa: E731
    return Identity(
        "rotary_commutant",
        r"Rotary score $q_tR_t(k_sR_s)^\top$ is unchanged under $(W_QA, W_KA^{-\top})$ when $A$ commutes "
        r"with all rotations",
        score(W_Q, W_K),
        score(W_Q * A, W_K * A.I.T),
        (score(W_Q, W_K), score(W_Q * B, W_K * B.I.T)),
        "a general B in place of an element A of the commutant",
        Facts(orthogonal=(R_t, R_s), commuting=((A, R_t), (A, R_s))),
    )


@identity_builder
def covariant_biases() -> Identity:
    score = lambda q, k, bq, bk: (X * q + ones(n) * bq) * (X * k + ones(n) * bk).T  # noqa: E731
    before = score(W_Q, W_K, b_Q, b_K)
    return Identity(
        "covariant_biases",
        r"Biased scores: $b_Q\mapsto b_QA$, $b_K\mapsto b_KA^{-\top}$ together with the query–key action",
        before,
        score(W_Q * A, W_K * A.I.T, b_Q * A, b_K * A.I.T),
        (before, score(W_Q * A, W_K * A.I.T, b_Q, b_K * A.I.T)),
        "b_Q left as it is",
    )


@identity_builder
def key_bias() -> Identity:
    c = matrix("c", 1, d_k)
    weights = lambda bq, bk: RowSoftmax((X * W_Q + ones(n) * bq) * (X * W_K + ones(n) * bk).T / sp.sqrt(d_k))  # noqa: E731
    return Identity(
        "key_bias",
        r"$b_K\mapsto b_K+c$ adds a constant to each row of the scores, which softmax ignores",
        weights(b_Q, b_K),
        weights(b_Q, b_K + c),
        (weights(b_Q, b_K), weights(b_Q + c, b_K)),
        "c added to the query bias instead",
    )


@identity_builder
def value_bias() -> Identity:
    t = matrix("t", 1, d_v)
    output = lambda bv, bo: ALPHA * (X * W_V + ones(n) * bv) * W_O + ones(n) * bo  # noqa: E731
    return Identity(
        "value_bias",
        r"$(b_V, b_O)\mapsto(b_V+t,\ b_O-tW_O)$: attention rows sum to one",
        output(b_V, b_O),
        output(b_V + t, b_O - t * W_O),
        (output(b_V, b_O), output(b_V + t, b_O)),
        "b_O not compensated",
    )


@identity_builder
def linear_attention_scale() -> Identity:
    c = sp.Symbol("c", nonzero=True)
    output = lambda q, v: X * q * W_K.T * X.T * X * v * W_O  # noqa: E731
    return Identity(
        "linear_attention_scale",
        r"Attention without softmax: $(W_Q, W_V)\mapsto(cW_Q, W_V/c)$ moves a scale between scores and values",
        output(W_Q, W_V),
        output(c * W_Q, W_V / c),
        (output(W_Q, W_V), output(3 * W_Q, W_V)),
        "values not rescaled",
    )


@identity_builder
def query_key_norm_gains() -> Identity:
    gain_q, gain_k, scale = matrix("Γ_q", d_k, d_k), matrix("Γ_k", d_k, d_k), matrix("Λ", d_k, d_k)
    score = lambda gq, gk: rms_norm(X * W_Q) * gq * (rms_norm(X * W_K) * gk).T  # noqa: E731
    return Identity(
        "query_key_norm_gains",
        r"Normalised queries and keys: the gains trade a diagonal, $(\Gamma_q, "
        r"\Gamma_k)\mapsto(\Gamma_q\Lambda, \Gamma_k\Lambda^{-1})$",
        score(gain_q, gain_k),
        score(gain_q * scale, gain_k * scale.I),
        (score(gain_q, gain_k), rms_norm(X * W_Q * A) * gain_q * (rms_norm(X * W_K * A.I.T) * gain_k).T),
        "the query–key action of GL(d_k) under the norms",
        Facts(diagonal=(gain_q, gain_k, scale)),
    )


@identity_builder
def latent_factors() -> Identity:
    down, up_k, up_v, B = matrix("W_D", d, r), matrix("U_K", r, d_k), matrix("U_V", r, d_v), matrix("B", r, r)

    def output(w, u, v):
        return RowSoftmax(X * W_Q * (X * w * u).T) * X * w * v * W_O

    return Identity(
        "latent_factors",
        r"Keys and values from a shared latent: $(W_D, U_K, U_V)\mapsto(W_DB, B^{-1}U_K, B^{-1}U_V)$",
        output(down, up_k, up_v),
        output(down * B, B.I * up_k, B.I * up_v),
        (output(down, up_k, up_v), output(down * B, B.I * up_k, up_v)),
        "U_V not compensated",
    )


@identity_builder
def low_rank_update() -> Identity:
    W, left, right, B = matrix("W", d, d_v), matrix("L", d, r), matrix("R", r, d_v), matrix("B", r, r)
    return Identity(
        "low_rank_update",
        r"Low-rank update $W + LR$: $(L, R)\mapsto(LB, B^{-1}R)$ for invertible $B$",
        W + left * right,
        W + (left * B) * (B.I * right),
        (W + left * right, W + (left * B) * (B * right)),
        "B in place of B⁻¹",
    )
