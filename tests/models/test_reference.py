"""The reference model against torch's own transformer modules, against loops, and against itself under vmap."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.errors import InvalidInput
from symgauge.layout import flatten
from symgauge.model_graph import graph_of
from symgauge.models.reference import ReferenceModel, forward, random_parameters, reference_layout
from symgauge.models.rotation import cos_sin, rotate

SIZES: dict[str, Any] = {"d_model": 6, "heads": 3, "d_k": 4, "d_v": 5}
BIASES: dict[str, Any] = {"query_bias": True, "key_bias": True, "value_bias": True, "output_bias": True}
MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {**BIASES, "norm": "layer", "norm_offset": True, "position_table": True, "final_norm": True, "tied": True},
    "bert": {
        "norm": "layer",
        "placement": "post",
        "causal": False,
        "embedding_norm": True,
        "token_types": 2,
        "head_transform": True,
        "head_bias": True,
        "tied": True,
    },
    "qwen3": {"norm": "rms", "rotary": Rotary.standard(4), "groups": 1, "gated": True, "qk_norm": True},
    "gemma": {"norm": "rms", "placement": "sandwich", "attention_softcap": 2.0, "logit_softcap": 3.0},
    "neox": {"norm": "layer", "placement": "parallel", "rotary": Rotary.standard(2, unrotated=2)},
    "falcon": {"norm": "layer", "placement": "parallel_shared", "groups": 1, "activation": "relu2"},
    "linear": {"attention": "linear", "residual": False, "activation": "tanh"},
    "mixture": {"gated": True, "experts": Experts(4, 2, 3, shared=2), "norm": "rms", "epsilon": 0.0},
    "latent": {
        "norm": "rms",
        "d_k": 7,
        "latent": Latent(5, 3, 2),
        "rotary": Rotary.standard(2, interleaved=True),
        "experts": Experts(4, 2, 3, routing="sigmoid", first=1),
    },
}


def _model(name: str, **changes: Any) -> Architecture:
    return Architecture(**{**SIZES, "layers": 2, "d_ff": 7, "vocabulary": 11, "context": 5, **MODELS[name], **changes})


def _ids(vocabulary: int = 11) -> Tensor:
    return torch.randint(vocabulary, (3, 5), generator=torch.Generator().manual_seed(0))


def _vectors(width: int) -> Tensor:
    return torch.randn(3, 5, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


# --- against torch.nn -----------------------------------------------------------------------------------------------


def _encoder_layer(a: Architecture, roles: dict[str, Tensor]) -> nn.TransformerEncoderLayer:
    """torch's own encoder layer with the same weights (it stores (out, in), and wants h·d_k = d_model)."""
    layer = nn.TransformerEncoderLayer(
        a.d_model,
        a.heads,
        a.d_ff,
        dropout=0.0,
        activation=a.activation,
        batch_first=True,
        norm_first=a.placement == "pre",
        dtype=torch.float64,
    )

    def side_by_side(part: str) -> Tensor:
        return roles[f"layers.0.attention.{part}.weight"].transpose(0, 1).reshape(a.d_model, -1).T

    parts = ("query", "key", "value")
    state = {
        "self_attn.in_proj_weight": torch.cat([side_by_side(part) for part in parts]),
        "self_attn.in_proj_bias": torch.cat([roles[f"layers.0.attention.{part}.bias"].flatten() for part in parts]),
        "self_attn.out_proj.weight": roles["layers.0.attention.output.weight"].reshape(-1, a.d_model).T,
        "self_attn.out_proj.bias": roles["layers.0.attention.output.bias"],
    }
    for theirs, ours in (("linear1", "ff.up"), ("linear2", "ff.down")):
        state[f"{theirs}.weight"] = roles[f"layers.0.{ours}.weight"].T
        state[f"{theirs}.bias"] = roles[f"layers.0.{ours}.bias"]
    for i in (1, 2):
        state[f"norm{i}.weight"] = roles[f"layers.0.norm_{i}.gain"]
        state[f"norm{i}.bias"] = roles[f"layers.0.norm_{i}.offset"]
    layer.load_state_dict(state)
    return layer


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_block_is_torchs_encoder_layer(placement: Any, activation: Any, causal: bool) -> None:
    a = Architecture(
        6,
        3,
        2,
        2,
        d_ff=7,
        **BIASES,
        ff_bias=True,
        activation=activation,
        norm="layer",
        norm_offset=True,
        placement=placement,
        causal=causal,
    )
    roles = random_parameters(a, 1)
    x = _vectors(6)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64) if causal else None
    expected = _encoder_layer(a, roles)(x, src_mask=mask)
    torch.testing.assert_close(forward(a, roles, x), expected, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(forward(a.replace(causal=not causal), roles, x), expected, rtol=1e-3)


# --- against loops --------------------------------------------------------------------------------------------------


def test_linear_attention_uses_scores_as_they_are() -> None:
    a = Architecture(**SIZES, groups=1, attention="linear", residual=False)
    roles = random_parameters(a)
    q, k, v, o = (roles[f"layers.0.attention.{part}.weight"] for part in ("query", "key", "value", "output"))
    x = _vectors(6)[0]
    expected = torch.zeros(5, 6, dtype=torch.float64)
    for i in range(3):
        for t in range(5):
            for s in range(t + 1):
                score = (x[t] @ q[i]) @ (x[s] @ k[0]) / math.sqrt(4)
                expected[t] += score * (x[s] @ v[0]) @ o[i]
    torch.testing.assert_close(forward(a, roles, x[None])[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("routing", ["softmax", "sigmoid"])
def test_a_mixture_sends_each_token_to_its_best_experts(routing: Any) -> None:
    experts = Experts(4, 2, 3, shared=1, routing=routing)
    a = Architecture(6, 1, 2, 2, gated=True, activation="silu", experts=experts)
    roles = random_parameters(a, 2)
    # Attention that writes nothing leaves the mixture alone.
    roles["layers.0.attention.output.weight"].zero_()
    x = _vectors(6)[0]

    def expert(name: str, token: Tensor) -> Tensor:
        gate, up, down = (roles[f"layers.0.ff.{name}.{part}.weight"] for part in ("gate", "up", "down"))
        hidden: Tensor = nn.functional.silu(token @ gate) * (token @ up) @ down
        return hidden

    expected = []
    for token in x:
        logits = token @ roles["layers.0.ff.router.weight"]
        merit = logits.exp() if routing == "softmax" else torch.sigmoid(logits)
        best = sorted(range(4), key=lambda i: -float(merit[i]))[:2]
        total = merit[best[0]] + merit[best[1]]
        expected.append(
            token + expert("shared.0", token) + sum(merit[i] / total * expert(f"experts.{i}", token) for i in best)
        )
    torch.testing.assert_close(forward(a, roles, x[None])[0], torch.stack(expected), rtol=1e-12, atol=1e-12)


# --- rotations ------------------------------------------------------------------------------------------------------


def test_quarter_turns_and_coinciding_angles_are_exact() -> None:
    assert [cos_sin(Fraction(1, 4), p) for p in range(4)] == [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    assert [cos_sin(Fraction(1, 2), p) for p in range(3)] == [(1.0, 0.0), (-1.0, 0.0), (1.0, 0.0)]
    for p in range(20):
        cos, sin = cos_sin(Fraction(1, 7), p)
        assert cos_sin(Fraction(8, 7), p) == (cos, sin)
        assert cos_sin(Fraction(-1, 7), p) == cos_sin(Fraction(6, 7), p) == (cos, -sin)
        assert (cos, sin) == pytest.approx((math.cos(2 * math.pi * p / 7), math.sin(2 * math.pi * p / 7)), abs=1e-14)


@pytest.mark.parametrize("interleaved", [True, False])
def test_planes_turn_like_complex_numbers(interleaved: bool) -> None:
    rotary = Rotary((0.1, Fraction(1, 3)), unrotated=3, interleaved=interleaved)
    x = torch.randn(2, 6, 7, dtype=torch.float64)
    turned = rotate(x, rotary)
    for j, turn in enumerate(rotary.turns):
        first, second = rotary.plane(j)
        angles = 2 * math.pi * float(turn) * torch.arange(6, dtype=torch.float64)
        expected = torch.complex(x[..., first], x[..., second]) * torch.polar(torch.ones_like(angles), angles)
        torch.testing.assert_close(torch.complex(turned[..., first], turned[..., second]), expected)
    assert torch.equal(turned[..., 4:], x[..., 4:])
    assert torch.equal(rotate(x, None), x)


# --- parameters, module, layout -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_module_and_layout_hold_every_role(name: str) -> None:
    a = _model(name)
    model = ReferenceModel(a, seed=3)
    layout = reference_layout(model, a)
    theta, names = flatten(model)
    assert layout.names == names
    assert layout.size == graph_of(a).parameters == len(theta)
    assert layout.unused.numel() == 0
    roles = layout.read(theta)
    assert {role: tuple(value.shape) for role, value in roles.items()} == graph_of(a).shapes
    logits = model(_ids())
    assert logits.shape == (3, 5, 11)
    assert torch.equal(forward(a, roles, _ids()), logits)
    assert 0.05 < float(logits.detach().std()) < 20
    assert torch.equal(layout.write(roles, torch.zeros_like(theta)), theta)


@pytest.mark.parametrize("name", MODELS)
def test_parameter_sets_can_be_evaluated_together(name: str) -> None:
    a = _model(name)
    sets = [random_parameters(a, seed) for seed in range(3)]
    stacked = {role: torch.stack([roles[role] for roles in sets]) for role in sets[0]}
    ids = _ids()
    together = torch.func.vmap(lambda roles: forward(a, roles, ids))(stacked)
    for logits, roles in zip(together, sets, strict=True):
        torch.testing.assert_close(logits, forward(a, roles, ids), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(together[0], together[1], rtol=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_every_role_is_used(name: str) -> None:
    """A random change of one role changes the logits, except where the architecture makes it invisible."""
    a = _model(name)
    roles, other = random_parameters(a, 0), random_parameters(a, 1)
    base = forward(a, roles, _ids())
    unused = [r for r in roles if torch.allclose(forward(a, {**roles, r: other[r]}, _ids()), base, rtol=1e-9)]
    # Without rotary encoding softmax cancels the key bias.
    assert unused == [r for r in roles if r.endswith("key.bias") and a.rotary is None]


def test_only_the_first_token_type_is_used() -> None:
    a = _model("bert")
    roles = random_parameters(a)
    base = forward(a, roles, _ids())
    for row, same in ((0, False), (1, True)):
        changed = roles["type_table"].clone()
        changed[row] += torch.arange(6)
        assert torch.equal(forward(a, {**roles, "type_table": changed}, _ids()), base) is same


def test_zero_epsilon_makes_norms_blind_to_scale() -> None:
    x = _vectors(6)
    for zero in (True, False):
        a = Architecture(**SIZES, norm="rms", residual=False, epsilon=0.0 if zero else 1e-5)
        roles = random_parameters(a)
        error = (forward(a, roles, 0.01 * x) - forward(a, roles, x)).norm() / forward(a, roles, x).norm()
        assert (error < 1e-13) if zero else (error > 1e-3)


def test_random_parameters_are_generic_and_reproducible() -> None:
    a = _model("gpt2", ff_bias=True)
    roles = random_parameters(a, 5)
    assert all(torch.equal(value, random_parameters(a, 5)[role]) for role, value in roles.items())
    assert not torch.equal(roles["token_table"], random_parameters(a, 6)["token_table"])
    for value in roles.values():
        assert value.dtype is torch.float64
        assert value.unique().numel() == value.numel()
        assert value.abs().min() > 0
    gains = torch.cat([value for role, value in roles.items() if role.endswith(".gain")])
    assert gains.min() < -0.5 < 0.5 < gains.max()


# --- bad input ------------------------------------------------------------------------------------------------------


def test_bad_input_is_named() -> None:
    a = _model("gpt2")
    roles = random_parameters(a)
    missing = {role: value for role, value in roles.items() if role != "final_norm.gain"}
    with pytest.raises(InvalidInput, match=r"'final_norm\.gain' of shape \(6,\) is missing"):
        forward(a, missing, _ids())
    with pytest.raises(InvalidInput, match=r"'token_table' must have shape \(11, 6\)"):
        forward(a, {**roles, "token_table": roles["token_table"].T}, _ids())
    with pytest.raises(InvalidInput, match="integer token ids"):
        forward(a, roles, _vectors(6))
    with pytest.raises(InvalidInput, match="6 tokens do not fit"):
        forward(a, roles, torch.zeros(1, 6, dtype=torch.long))
    block = Architecture(**SIZES)
    with pytest.raises(InvalidInput, match="must be vectors"):
        forward(block, random_parameters(block), _vectors(5))
    with pytest.raises(InvalidInput, match="no role of this architecture"):
        reference_layout(nn.Linear(2, 2), a)
