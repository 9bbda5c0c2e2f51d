"""Full-size architectures of production models by name, and small architectures of the same shape for exact runs.

A preset is a published configuration that its family in the zoo reads without ``transformers``.
"""

from __future__ import annotations

import dataclasses
import difflib

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.zoo import families
from symgauge.zoo.parts.family import Family


def presets() -> tuple[str, ...]:
    """Names that :func:`preset` knows."""
    return tuple(_families())


def preset(name: str) -> Architecture:
    """The full-size architecture of a production model; raises :class:`InvalidInput` with near matches otherwise."""
    known, key = _families(), name.lower()
    if key not in known:
        near = difflib.get_close_matches(key, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
        raise InvalidInput(f"there is no preset {name!r}; {hint}")
    family = known[key]
    assert family.preset is not None
    return family.preset(family.published[key].config).replace(name=key)


def _families() -> dict[str, Family]:
    """Preset → its family."""
    return {name: family for family in families().values() if family.preset for name in family.published}


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
    """Tokens enough for what a first layer must be seen with: see :func:`symgauge.symmetries.degenerate_cases`."""
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
    if graph_of(a).parameters <= _SMALL:
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
