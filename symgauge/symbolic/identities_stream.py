"""Identities outside attention: norms, feed-forward networks, the residual stream, embeddings and logits."""

from __future__ import annotations

from sympy import hadamard_product

from symgauge.symbolic.functions import Entrywise, RowSoftmax, layer_norm, rms_norm
from symgauge.symbolic.identities import Identity, V, d, d_ff, d_k, identity_builder, matrix, n, ones
from symgauge.symbolic.words import Facts

X, W, b = matrix("X", n, d), matrix("W", d, d_k), matrix("b", 1, d_k)
GAIN, OFFSET, SCALE = matrix("Γ", d, d), matrix("β", 1, d), matrix("Λ", d, d)
W_1, b_1, W_2 = matrix("W_1", d, d_ff), matrix("b_1", 1, d_ff), matrix("W_2", d_ff, d)
R, P, M = matrix("R", d, d), matrix("P", d, d), matrix("M", d, d)


def _read(gain, offset, weight, bias):
    """What a linear map sees through a LayerNorm with gain and offset."""
    return (layer_norm(X) * gain + ones(n) * offset) * weight + ones(n) * bias


@identity_builder
def norm_gain_fold() -> Identity:
    t = matrix("t", 1, d)
    before = _read(GAIN, OFFSET, W, b)
    return Identity(
        "norm_gain_fold",
        r"Gain and offset of a norm fold into its readers: "
        r"$(\Gamma,\beta,W,b)\mapsto(\Gamma\Lambda,\beta\Lambda+t,\Lambda^{-1}W,b-t\Lambda^{-1}W)$",
        before,
        _read(GAIN * SCALE, OFFSET * SCALE + t, SCALE.I * W, b - t * SCALE.I * W),
        (before, _read(GAIN * SCALE, OFFSET, SCALE.I * W, b)),
        "offset left as it is while the gain moves",
        Facts(diagonal=(GAIN, SCALE)),
    )


@identity_builder
def norm_null_direction() -> Identity:
    c = matrix("c", 1, d_k)
    before = _read(GAIN, OFFSET, W, b)
    return Identity(
        "norm_null_direction",
        r"A reader of a LayerNorm: $W\mapsto W+\Gamma^{-1}\mathbf 1c$, $b\mapsto "
        r"b-\beta\Gamma^{-1}\mathbf 1c$, since $\mathrm{LN}(X)\mathbf 1=0$",
        before,
        _read(GAIN, OFFSET, W + GAIN.I * ones(d) * c, b - OFFSET * GAIN.I * ones(d) * c),
        (before, _read(GAIN, OFFSET, W + GAIN.I * ones(d) * c, b)),
        "bias not compensated",
        Facts(diagonal=(GAIN,)),
    )


@identity_builder
def writer_centring() -> Identity:
    u = matrix("u", n, 1)
    return Identity(
        "writer_centring",
        r"LayerNorm ignores the mean: $\mathrm{LN}(X+u\mathbf 1^\top)=\mathrm{LN}(X)$, so writers may "
        r"add any multiple of $\mathbf 1$",
        layer_norm(X),
        layer_norm(X + u * ones(d).T),
        (rms_norm(X), rms_norm(X + u * ones(d).T)),
        "RMSNorm in place of LayerNorm",
    )


@identity_builder
def rms_rotation() -> Identity:
    return Identity(
        "rms_rotation",
        r"RMSNorm stream: $X\mapsto XR$ for orthogonal $R$, gain moved into the reader: "
        r"$\mathrm{RMS}(XR)R^\top\Gamma W=\mathrm{RMS}(X)\Gamma W$",
        rms_norm(X) * GAIN * W,
        rms_norm(X * R) * R.T * GAIN * W,
        (rms_norm(X) * GAIN * W, rms_norm(X * M) * M.I * GAIN * W),
        "a general invertible M in place of an orthogonal R",
        Facts(orthogonal=(R,), diagonal=(GAIN,)),
    )


@identity_builder
def layer_norm_rotation() -> Identity:
    return Identity(
        "layer_norm_rotation",
        r"LayerNorm stream: $\mathrm{LN}(XR)=\mathrm{LN}(X)R$ for orthogonal $R$ with $R\mathbf 1=\mathbf 1$",
        layer_norm(X) * R,
        layer_norm(X * R),
        (layer_norm(X) * M, layer_norm(X * M)),
        "an orthogonal M that moves 1",
        Facts(fixing_ones=(R,), orthogonal=(M,)),
    )


@identity_builder
def residual_permutation() -> Identity:
    read = lambda x, gain, offset, weight: (layer_norm(x) * gain + ones(n) * offset) * weight  # noqa: E731
    before = read(X, GAIN, OFFSET, W)
    return Identity(
        "residual_permutation",
        r"Permuting the residual coordinates everywhere: $(X,\Gamma,\beta,W)\mapsto(XP,P^\top\Gamma "
        r"P,\beta P,P^\top W)$",
        before,
        read(X * P, P.T * GAIN * P, OFFSET * P, P.T * W),
        (before, read(X * P, P.T * GAIN * P, OFFSET, P.T * W)),
        "offset not permuted",
        Facts(permutation=(P,), diagonal=(GAIN,)),
    )


@identity_builder
def unnormalised_stream() -> Identity:
    H = matrix("H", n, d_ff)
    write = lambda x, w_2, w: (x + H * w_2) * w  # noqa: E731
    return Identity(
        "unnormalised_stream",
        r"Residual stream without norms: $(X, W_2, W)\mapsto(XM, W_2M, M^{-1}W)$ for every invertible $M$",
        write(X, W_2, W),
        write(X * M, W_2 * M, M.I * W),
        (write(X, W_2, W), write(X * M, W_2, M.I * W)),
        "one writer left as it is",
    )


def _feed_forward(name, kind, mix, out, w_1=W_1, b_1=b_1):
    hidden = (X * w_1 + ones(n) * b_1) if mix is None else (X * (w_1 * mix) + ones(n) * (b_1 * mix))
    return Entrywise(name, hidden, kind) * (W_2 if out is None else out * W_2)


@identity_builder
def hidden_permutation() -> Identity:
    S = matrix("S", d_ff, d_ff)
    before = _feed_forward("gelu", "plain", None, None)
    unmoved_bias = Entrywise("gelu", X * W_1 * S + ones(n) * b_1) * S.T * W_2
    return Identity(
        "hidden_permutation",
        r"Hidden neurons: $(W_1,b_1,W_2)\mapsto(W_1S,b_1S,S^\top W_2)$ for a permutation $S$",
        before,
        _feed_forward("gelu", "plain", S, S.T),
        (before, unmoved_bias),
        "bias not permuted",
        Facts(permutation=(S,)),
    )


@identity_builder
def relu_rescaling() -> Identity:
    L = matrix("Λ", d_ff, d_ff)
    return Identity(
        "relu_rescaling",
        r"ReLU neurons: $(W_1,b_1,W_2)\mapsto(W_1\Lambda,b_1\Lambda,\Lambda^{-1}W_2)$ for a positive "
        r"diagonal $\Lambda$",
        _feed_forward("relu", "homogeneous", None, None),
        _feed_forward("relu", "homogeneous", L, L.I),
        (_feed_forward("gelu", "plain", None, None), _feed_forward("gelu", "plain", L, L.I)),
        "GELU in place of ReLU",
        Facts(positive=(L,)),
    )


@identity_builder
def tanh_signs() -> Identity:
    S = matrix("S", d_ff, d_ff)
    return Identity(
        "tanh_signs",
        r"tanh neurons: $(W_1,b_1,W_2)\mapsto(W_1S,b_1S,SW_2)$ for a diagonal $S$ of signs",
        _feed_forward("tanh", "odd", None, None),
        _feed_forward("tanh", "odd", S, S),
        (_feed_forward("gelu", "plain", None, None), _feed_forward("gelu", "plain", S, S)),
        "GELU in place of tanh",
        Facts(signs=(S,)),
    )


@identity_builder
def gated_rescaling() -> Identity:
    gate, up, L = matrix("W_g", d, d_ff), matrix("W_u", d, d_ff), matrix("Λ", d_ff, d_ff)
    network = lambda g, u, w: hadamard_product(Entrywise("silu", X * g), X * u) * w  # noqa: E731
    return Identity(
        "gated_rescaling",
        r"Gated network $(\mathrm{SiLU}(XW_g)\odot XW_u)W_2$: $(W_u, "
        r"W_2)\mapsto(W_u\Lambda,\Lambda^{-1}W_2)$ for any invertible diagonal $\Lambda$",
        network(gate, up, W_2),
        network(gate, up * L, L.I * W_2),
        (network(gate, up, W_2), network(gate * L, up, L.I * W_2)),
        "the gate rescaled in place of the up map",
        Facts(diagonal=(L,)),
    )


@identity_builder
def table_shift() -> Identity:
    tokens, table, positions, c = matrix("E", n, V), matrix("T", V, d), matrix("T_pos", n, d), matrix("c", 1, d)
    return Identity(
        "table_shift",
        r"Token and position tables: $(T, T_{pos})\mapsto(T+\mathbf 1c, T_{pos}-\mathbf 1c)$, since "
        r"one-hot rows sum to one",
        tokens * table + positions,
        tokens * (table + ones(V) * c) + (positions - ones(n) * c),
        (tokens * table + positions, tokens * (table + ones(V) * c) + (positions + ones(n) * c)),
        "the same sign in both tables",
        Facts(stochastic=(tokens,)),
    )


@identity_builder
def logit_shift() -> Identity:
    U, u, flat = matrix("U", d, V), matrix("u", d, 1), matrix("v", 1, V)
    return Identity(
        "logit_shift",
        r"Probabilities: $U\mapsto U+u\mathbf 1^\top$ adds one number to all logits of a position, which "
        r"softmax ignores",
        RowSoftmax(X * U),
        RowSoftmax(X * (U + u * ones(V).T)),
        (RowSoftmax(X * U), RowSoftmax(X * (U + ones(d) * flat))),
        "a shift that differs between tokens of the vocabulary",
    )


@identity_builder
def bilinear_next_token() -> Identity:
    F, G = matrix("F", n, d), matrix("G", V, d)
    return Identity(
        "bilinear_next_token",
        r"Log-bilinear model: $FG^\top$ is unchanged under $(F, G)\mapsto(FM, GM^{-\top})$ for every invertible $M$",
        F * G.T,
        F * M * (G * M.I.T).T,
        (F * G.T, F * M * (G * M.I).T),
        "M⁻¹ in place of M⁻ᵀ",
    )
