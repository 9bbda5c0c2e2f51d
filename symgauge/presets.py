"""Full-size architectures of production models, and small architectures of the same shape for exact runs.

Hyperparameters are those of the published configuration files, but for the stretching of rotary frequencies for long
contexts (DeepSeek-V3), which keeps frequencies apart. Falcon-7B's head is tied, as its class has it, although the
published files hold the shared matrix twice; DeepSeek-V3 is without its extra multi-token-prediction layer.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable
from typing import Any

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.errors import InvalidInput
from symgauge.wiring import wire


def _gpt2(d_model: int, heads: int, layers: int) -> Architecture:
    return Architecture(
        d_model=d_model,
        heads=heads,
        d_k=d_model // heads,
        d_v=d_model // heads,
        layers=layers,
        d_ff=4 * d_model,
        vocabulary=50257,
        context=1024,
        query_bias=True,
        key_bias=True,
        value_bias=True,
        output_bias=True,
        ff_bias=True,
        activation="gelu_tanh",
        norm="layer",
        norm_offset=True,
        final_norm=True,
        position_table=True,
        tied=True,
    )


def _bert(d_model: int, heads: int, layers: int) -> Architecture:
    return _gpt2(d_model, heads, layers).replace(
        vocabulary=30522,
        context=512,
        causal=False,
        activation="gelu",
        placement="post",
        embedding_norm=True,
        final_norm=False,
        token_types=2,
        head_transform=True,
        head_bias=True,
        epsilon=1e-12,
    )


def _llama(
    d_model: int, heads: int, groups: int, d_ff: int, layers: int, vocabulary: int, base: float = 10000.0, **more: Any
) -> Architecture:
    """LLaMA's shape: RMSNorm, RoPE, gated SiLU, no biases, head width 128 unless ``d_k`` says otherwise."""
    width = more.pop("d_k", 128)
    fields: dict[str, Any] = {
        "rotary": Rotary.standard(width, base=base),
        "gated": True,
        "activation": "silu",
        "norm": "rms",
        "final_norm": True,
        **more,
    }
    fields.setdefault("d_v", width)
    return Architecture(d_model, heads, width, groups=groups, layers=layers, d_ff=d_ff, vocabulary=vocabulary, **fields)


def _gemma2_9b() -> Architecture:
    return _llama(3584, 16, 8, 14336, 42, 256000, d_k=256, context=4096).replace(
        activation="gelu_tanh",
        placement="sandwich",
        attention_softcap=50.0,
        logit_softcap=30.0,
        tied=True,
        epsilon=1e-6,
        embedding_scale=59.866519927978516,  # √3584 in single precision
        score_scale=256**-0.5,
    )


def _falcon_7b() -> Architecture:
    return Architecture(
        d_model=4544,
        heads=71,
        groups=1,
        d_k=64,
        d_v=64,
        layers=32,
        d_ff=18176,
        vocabulary=65024,
        context=2048,
        rotary=Rotary.standard(64),
        norm="layer",
        norm_offset=True,
        placement="parallel_shared",
        final_norm=True,
        tied=True,
    )


def _gpt_neox_20b() -> Architecture:
    # A quarter of each head's 96 channels turns.
    return _gpt2(6144, 64, 44).replace(
        vocabulary=50432,
        context=2048,
        rotary=Rotary.standard(24, unrotated=72),
        activation="gelu_tanh",
        placement="parallel",
        position_table=False,
        tied=False,
    )


def _deepseek_v3() -> Architecture:
    return _llama(
        7168,
        128,
        128,
        18432,
        61,
        129280,
        d_k=192,
        d_v=128,
        context=163840,
        rotary=Rotary.standard(64, interleaved=True),
        latent=Latent(query=1536, key_value=512, d_rope=64, epsilon=1e-6),
        experts=Experts(256, 8, 2048, shared=1, routing="sigmoid", first=3, groups=8, active_groups=4, scale=2.5),
        epsilon=1e-6,
        score_scale=192**-0.5 * (0.1 * math.log(40) + 1) ** 2,  # YaRN's, for contexts forty times as long
    )


_PRESETS: dict[str, Callable[[], Architecture]] = {
    "gpt2": lambda: _gpt2(768, 12, 12),
    "gpt2-medium": lambda: _gpt2(1024, 16, 24),
    "gpt2-large": lambda: _gpt2(1280, 20, 36),
    "gpt2-xl": lambda: _gpt2(1600, 25, 48),
    "bert-base": lambda: _bert(768, 12, 12),
    "bert-large": lambda: _bert(1024, 16, 24),
    "llama-2-7b": lambda: _llama(4096, 32, 32, 11008, 32, 32000, context=4096),
    "llama-3-8b": lambda: _llama(4096, 32, 8, 14336, 32, 128256, 5e5, context=8192),
    "llama-3-70b": lambda: _llama(8192, 64, 8, 28672, 80, 128256, 5e5, context=8192),
    "mistral-7b": lambda: _llama(4096, 32, 8, 14336, 32, 32000, context=4096),
    "qwen2.5-7b": lambda: _llama(
        3584,
        28,
        4,
        18944,
        28,
        152064,
        1e6,
        context=131072,
        query_bias=True,
        key_bias=True,
        value_bias=True,
        epsilon=1e-6,
    ),
    "qwen3-8b": lambda: _llama(4096, 32, 8, 12288, 36, 151936, 1e6, context=40960, qk_norm=True, epsilon=1e-6),
    "gemma-2-9b": _gemma2_9b,
    "falcon-7b": _falcon_7b,
    "gpt-neox-20b": _gpt_neox_20b,
    "mixtral-8x7b": lambda: _llama(4096, 32, 8, 0, 32, 32000, 1e6, context=32768, experts=Experts(8, 2, 14336)),
    "deepseek-v3": _deepseek_v3,
}


def presets() -> tuple[str, ...]:
    """Names that :func:`preset` knows."""
    return tuple(_PRESETS)


def preset(name: str) -> Architecture:
    """The full-size architecture of a production model; raises :class:`InvalidInput` with near matches otherwise."""
    key = name.lower()
    if key not in _PRESETS:
        near = difflib.get_close_matches(key, _PRESETS, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(_PRESETS)}"
        raise InvalidInput(f"there is no preset {name!r}; {hint}")
    return _PRESETS[key]().replace(name=key)


_SMALL = 2500
"""Architectures with at most this many parameters are run as they are."""


def _generic(rotary: Rotary) -> bool:
    """No two planes turn alike, and only channels outside every plane stand still."""
    classes = rotary.classes()
    still = sum(len(block.channels) for block in classes if block.kind == "real")
    return still == rotary.unrotated and all(len(b.signs) == 1 for b in classes if b.kind == "complex")


def _small_rotary(rotary: Rotary | None, planes: int) -> Rotary | None:
    """The first planes of an encoding, and two of its unrotated channels; special encodings are kept whole."""
    if rotary is None or not _generic(rotary):
        return rotary
    return Rotary(rotary.turns[:planes], min(2, rotary.unrotated), rotary.interleaved)


def _small_experts(experts: Experts | None, layers: int) -> Experts | None:
    if experts is None:
        return None
    return Experts(
        min(4, experts.count),
        min(2, experts.active),
        min(2, experts.d_ff),
        min(1, experts.shared),
        experts.routing,
        min(layers - 1, experts.first),
        min(2, experts.groups),
    )


def _small_vocabulary(a: Architecture) -> int:
    """Tokens enough for what a first layer must be seen with: see :func:`symgauge.symmetries.limits`."""
    if not a.is_model:
        return 0
    parallel = a.placement.startswith("parallel")
    return 23 if a.latent is not None or (parallel and a.gated) else 17 if parallel else 13


def small_depth(architecture: Architecture) -> int:
    """Layers of an instance for an exact run: two, but one where norms after sublayers leave too few probes.

    Each norm asks for a root, which every second probe has; what a position attends to must have passed its norms too.
    """
    return 1 if architecture.placement in ("sandwich", "output") else 2


CONSTANTS = (
    "epsilon", "embedding_scale", "score_scale", "rotary_scale", "residual_scale", "logit_scale", "gelu_slope",
)  # fmt: skip
"""Fields that belong to the full size, as a stream of width 7 is not multiplied by 60: defaults in small ones."""


def scaled_down(architecture: Architecture) -> Architecture:
    """A small architecture with the same parts: same norms, biases, sharing, rotary kind, experts; one or two layers.

    Key/value groups stay unshared, shared by two heads, or single, as they were; frequencies are the first ones of the
    original; sizes are as distinct as that allows. Architectures that are small already come back unchanged.
    """
    a = architecture
    if wire(a).parameters <= _SMALL:
        return a
    layers = min(small_depth(a), a.layers)
    if a.groups == a.heads:
        heads, groups, planes = 2, 2, 2
    else:
        # Heads with three planes where there are four heads, so that no axis is mistaken for another.
        heads, groups, planes = (3, 1, 2) if a.groups == 1 else (4, 2, 3)
        if any(encoding is not None and encoding.unrotated for encoding in a.encodings):
            planes = 2  # channels that stand still come on top, and no head may be wider than the stream
    encodings = tuple(_small_rotary(encoding, 2 if a.latent else planes) for encoding in a.encodings)
    # Layers of different kinds, as many as there is room for.
    kept = sorted({encoding: layer for layer, encoding in reversed([*enumerate(encodings)])}.values())[:layers]
    kept += [layer for layer in range(a.layers) if layer not in kept][: layers - len(kept)]
    rotary = next((encoding for encoding in encodings if encoding is not None), None)
    latent, d_k = None, rotary.channels if rotary else 3
    if a.latent is not None:
        d_rope = rotary.channels if rotary else 2
        latent, d_k = Latent(min(6, a.latent.query), 5, d_rope), d_rope + 2
    constants = {f.name: f.default for f in dataclasses.fields(a) if f.name in CONSTANTS}
    if a.epsilon_is_zero:
        del constants["epsilon"]
    return a.replace(
        name=f"{a.name} (scaled down)".strip(),
        d_model=7,
        heads=heads,
        groups=groups,
        d_k=d_k,
        d_v=4 if d_k == 3 else 3,
        layers=layers,
        # Beside attention, a first layer's network sees one vector per token, so it must be narrow for its vocabulary.
        d_ff=min(3 if a.placement.startswith("parallel") else 5, a.d_ff),
        vocabulary=_small_vocabulary(a),
        context=min(4, a.context),
        token_types=min(2, a.token_types),
        rotary=None if a.rotary_by_layer else rotary,
        rotary_by_layer=tuple(encodings[layer] for layer in kept) if a.rotary_by_layer else (),
        windows=(),
        alibi=a.alibi[:heads],
        latent=latent,
        experts=_small_experts(a.experts, layers),
        **constants,
    )
