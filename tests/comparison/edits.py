"""What people do to LLaMA checkpoints, rightly and wrongly, as functions of a state dict (maps lie (out, in))."""

import torch

from symgauge.models.huggingface import tiny

D, HEADS, GROUPS, WIDTH, INNER, VOCABULARY = 16, 4, 2, 8, 24, 40
LAYERS = 2
READERS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
NAME = "model.layers.{}.{}.weight"


def model(layers=LAYERS, **overrides):
    sizes = {
        "hidden_size": D, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": WIDTH,
        "intermediate_size": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": 32,
    }  # fmt: skip
    return tiny("llama", layers, **{**sizes, **overrides})


def draw(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(sign=-1):
    q = torch.linalg.qr(draw(D, D)).Q
    return q if torch.linalg.slogdet(q)[0] == sign else torch.cat([-q[:1], q[1:]])


def fold(s, shift=0.0):
    """Every norm's gain into what reads it."""
    s = dict(s)
    for i in range(LAYERS):
        for norm, readers in (
            ("input_layernorm", READERS),
            ("post_attention_layernorm", ("mlp.gate_proj", "mlp.up_proj")),
        ):
            gain = s[NAME.format(i, norm)]
            for reader in readers:
                s[NAME.format(i, reader)] = s[NAME.format(i, reader)] * (gain + shift)
            s[NAME.format(i, norm)] = torch.ones_like(gain)
    s["lm_head.weight"] = s["lm_head.weight"] * s["model.norm.weight"]
    s["model.norm.weight"] = torch.ones_like(s["model.norm.weight"])
    return s


def rotate(s, q=None):
    """The stream by an orthogonal map; norms must be folded."""
    s, q = dict(s), rotation() if q is None else q
    for name, x in s.items():
        if name.endswith(("embed_tokens.weight", "q_proj.weight", "k_proj.weight", "v_proj.weight", "gate_proj.weight",
                          "up_proj.weight", "lm_head.weight")):  # fmt: skip
            s[name] = x @ q
        elif name.endswith(("o_proj.weight", "down_proj.weight")):
            s[name] = q.T @ x
    return s


def heads(s, i, part):
    x = s[NAME.format(i, f"self_attn.{part}_proj")]
    return x.reshape(D, -1, WIDTH).permute(1, 2, 0) if part == "o" else x.reshape(-1, WIDTH, D)


def with_heads(s, i, part, x):
    flat = x.permute(2, 0, 1).reshape(D, -1) if part == "o" else x.reshape(-1, D)
    return {**s, NAME.format(i, f"self_attn.{part}_proj"): flat}


def order_of_heads(groups=(1, 0), inside=(1, 0)):
    return [g * 2 + j for g in groups for j in inside]


def permute_heads(s, i=0, parts="qkvo"):
    for part in parts:
        order = order_of_heads() if part in "qo" else [1, 0]
        s = with_heads(s, i, part, heads(s, i, part)[order])
    return s


def mix_values(s, i=0, wrong=None):
    """V → V C and O → C⁻¹ O in every group; ``wrong`` in place of C⁻¹."""
    c = draw(GROUPS, WIDTH, WIDTH, seed=2)
    inverse = torch.linalg.inv(c) if wrong is None else wrong(c)
    s = with_heads(s, i, "v", c.mT @ heads(s, i, "v"))
    return with_heads(s, i, "o", inverse.repeat_interleave(2, 0) @ heads(s, i, "o"))


def turn_planes(s, i=0, wrong=False):
    """Q → Q A and K → K A⁻ᵀ with a complex number on every rotary plane; A⁻¹ in place of A⁻ᵀ if ``wrong``."""
    a = torch.complex(draw(GROUPS, WIDTH // 2, seed=3), draw(GROUPS, WIDTH // 2, seed=4))

    def times(x, factors):
        z = torch.complex(x[:, : WIDTH // 2], x[:, WIDTH // 2 :]) * factors.unsqueeze(-1)
        return torch.cat([z.real, z.imag], 1)

    s = with_heads(s, i, "q", times(heads(s, i, "q"), a.repeat_interleave(2, 0)))
    return with_heads(s, i, "k", times(heads(s, i, "k"), 1 / a if wrong else 1 / a.conj()))


def permute_neurons(s, i=0, maps=("gate", "up", "down"), scale=True):
    order = torch.randperm(INNER, generator=torch.Generator().manual_seed(5))
    factors = draw(INNER, seed=6) if scale else torch.ones(INNER, dtype=torch.float64)
    s = dict(s)
    for part in maps:
        name = NAME.format(i, f"mlp.{part}_proj")
        x = s[name][:, order] if part == "down" else s[name][order]
        s[name] = x / factors if part == "down" else x * factors.unsqueeze(-1) if part == "up" else x
    return s


def change(name, function):
    return lambda s: {**s, name: function(s[name])}
