"""The record that says what a transformer is: every hyperparameter that decides which parameter symmetries it has.

One frozen dataclass covers attention layers alone, blocks and whole models; :mod:`symgauge.wiring` turns it into named
parameter tensors ("roles"), :mod:`symgauge.models` into a torch module, :mod:`symgauge.symmetries` into dimensions.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from symgauge.checks import did_you_mean, is_integer, shown
from symgauge.errors import InvalidInput
from symgauge.fields import check_fields

Turn = Fraction | float
"""A rotation angle per position, in full turns (ω / 2π): exact coincidences (0, π, aliases) are then exact."""


def _at_least(least: int, what: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < least:
            wanted = "a positive integer" if least == 1 else f"an integer ≥ {least}"
            raise InvalidInput(f"{what} {name!r} must be {wanted}, not {shown(size)}")


def _not_zero(what: str, **factors: float) -> None:
    for name, factor in factors.items():
        if factor == 0:
            raise InvalidInput(
                f"{what} {name!r} must be a number other than 0, which would cut a part of the model off"
            )


@dataclass(frozen=True)
class RotationClass:
    """Planes whose rotations are equal up to direction, so that one commutant block mixes them (Remark D.3, completed).

    ``kind`` is "complex" (angle not a multiple of π), or "real" (angle 0 or π: the rotation is ±1, and every linear
    map of the channels commutes with it). ``channels`` lists the head channels, plane by plane for "complex" (first and
    second coordinate of each plane; ``signs`` says which planes turn the other way).
    """

    kind: Literal["complex", "real"]
    channels: tuple[int, ...]
    signs: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """Real dimension of this block of the commutant: 2r² for r planes, n² for n channels with a real rotation."""
        if self.kind == "complex":
            return 2 * len(self.signs) ** 2
        return len(self.channels) ** 2


@dataclass(frozen=True)
class Rotary:
    """Rotary position encoding of a head: one angle per rotated plane, the other channels left alone.

    ``turns[j]`` is the angle of plane j per position, in full turns. ``interleaved`` planes are the channels
    (2j, 2j+1); otherwise ("rotate half") plane j is (j, j + n), n the number of planes. Unrotated channels come last.
    """

    turns: tuple[Turn, ...]
    unrotated: int = 0
    interleaved: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "rotary field")
        _at_least(0, "rotary field", unrotated=self.unrotated)

    @classmethod
    def standard(cls, channels: int, *, base: float = 10000.0, unrotated: int = 0, interleaved: bool = False) -> Rotary:
        """The usual frequencies ω_j = base^(−2j / channels) on ``channels`` rotated channels."""
        if not is_integer(channels) or channels % 2 or channels <= 0:
            asked = f"{shown(channels)} rotated channels were asked for"
            raise InvalidInput(f"rotary encoding turns channels in pairs; {asked}")
        if isinstance(base, bool) or not isinstance(base, int | float) or not 0 < base < math.inf:
            raise InvalidInput(f"the base of rotary frequencies must be a positive number, not {shown(base)}")
        turns = tuple(base ** (-2 * j / channels) / (2 * math.pi) for j in range(channels // 2))
        return cls(turns, unrotated, interleaved)

    @property
    def channels(self) -> int:
        """Number of channels of a head, rotated and not."""
        return 2 * len(self.turns) + self.unrotated

    def plane(self, j: int) -> tuple[int, int]:
        """The two channels that plane ``j`` turns."""
        return (2 * j, 2 * j + 1) if self.interleaved else (j, j + len(self.turns))

    def classes(self) -> tuple[RotationClass, ...]:
        """Group planes by angle modulo sign and full turns; angles 0 (with the unrotated channels) and π are real."""
        still: list[int] = []
        half: list[int] = []
        moving: dict[Turn, list[tuple[int, int]]] = {}
        for j, turn in enumerate(self.turns):
            reduced = turn % 1
            if reduced == 0:
                still.extend(self.plane(j))
            elif reduced * 2 == 1:
                half.extend(self.plane(j))
            else:
                sign = 1 if reduced * 2 < 1 else -1
                moving.setdefault(reduced if sign == 1 else 1 - reduced, []).append((j, sign))
        still.extend(range(2 * len(self.turns), self.channels))
        classes = [
            RotationClass("complex", tuple(c for j, _ in planes for c in self.plane(j)), tuple(s for _, s in planes))
            for planes in moving.values()
        ]
        classes += [RotationClass("real", tuple(sorted(channels))) for channels in (half, still) if channels]
        return tuple(classes)

    @property
    def commutant_dimension(self) -> int:
        """Real dimension of the matrices that commute with every rotation."""
        return sum(block.dimension for block in self.classes())


@dataclass(frozen=True)
class Latent:
    """Multi-head latent attention (DeepSeek): queries, and keys with values, go through narrow latents.

    ``d_rope`` channels per head carry positions; their key part is one vector shared by all heads. ``query`` is the
    width of the query latent (0: queries come straight from the stream), ``key_value`` that of the key/value latent.
    ``epsilon`` belongs to the norms of the latents; None: that of all norms.
    """

    query: int
    key_value: int
    d_rope: int
    epsilon: float | None = None

    def __post_init__(self) -> None:
        check_fields(self, "latent field")
        _at_least(0, "latent field", query=self.query)
        _at_least(1, "latent field", key_value=self.key_value, d_rope=self.d_rope)


@dataclass(frozen=True)
class Experts:
    """Mixture of experts: ``count`` routed layers of width ``d_ff``, ``active`` per token, ``shared`` always on.

    ``routing`` "softmax" normalises over the chosen experts, so a common shift of the router's logits is invisible;
    "sigmoid" (DeepSeek-V3) sees it. ``first`` is the first layer that has experts; earlier ones are dense.

    With ``groups`` > 1 the experts form as many groups, one after the other; a token goes to experts of its
    ``active_groups`` best groups only, a group's merit being the sum of its two best scores (DeepSeek-V3). ``scale``
    multiplies what the routed experts write.
    """

    count: int
    active: int
    d_ff: int
    shared: int = 0
    routing: Literal["softmax", "sigmoid"] = "softmax"
    first: int = 0
    groups: int = 1
    active_groups: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, "experts field")
        counts = ("count", "active", "d_ff", "groups", "active_groups")
        _at_least(1, "experts field", **{name: getattr(self, name) for name in counts})
        _at_least(0, "experts field", shared=self.shared, first=self.first)
        _not_zero("experts field", scale=self.scale)
        if self.active > self.count:
            raise InvalidInput(f"{self.active} of {self.count} experts cannot be active; there are only {self.count}")
        if self.groups > 1:
            self._check_groups()

    def _check_groups(self) -> None:
        if self.routing != "sigmoid" or self.count % self.groups or self.count < 2 * self.groups:
            raise InvalidInput(
                f"{self.groups} groups need routing='sigmoid' and as many experts in each, two at least; "
                f"there are {self.count} experts with routing={self.routing!r}"
            )
        if self.active_groups >= self.groups or self.active > self.active_groups * (self.count // self.groups):
            raise InvalidInput(
                f"'active_groups' must be less than the {self.groups} groups, and leave {self.active} experts to "
                f"choose, not {self.active_groups} with {self.count // self.groups} experts each"
            )


@dataclass(frozen=True)
class Architecture:
    """Hyperparameters of a transformer, or of one attention layer or block (``vocabulary=0``: vectors in and out).

    Sizes are counts. ``context`` is the number of positions of the learned table, or the longest sequence looked at.
    """

    d_model: int
    heads: int
    d_k: int
    d_v: int
    groups: int = 0
    """Key/value groups; 0 means one per head."""
    layers: int = 1
    d_ff: int = 0
    """Width of the feed-forward layers; 0 means there are none."""
    vocabulary: int = 0
    context: int = 4
    name: str = ""
    # attention
    attention: Literal["softmax", "linear"] = "softmax"
    causal: bool = True
    residual: bool = True
    rotary: Rotary | None = None
    query_bias: bool = False
    key_bias: bool = False
    value_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    """RMSNorm with gains on each query and key head, gains shared by the heads (Qwen3)."""
    attention_softcap: float | None = None
    latent: Latent | None = None
    rotary_by_layer: tuple[Rotary | None, ...] = ()
    """The encoding of each layer, in place of ``rotary``, where layers differ (SmolLM3, Gemma 3)."""
    windows: tuple[int, ...] = ()
    """How many positions each layer looks back, its own included; 0 for all. Empty: all, in every layer."""
    alibi: tuple[float, ...] = ()
    """A slope per head: slope · key position is added to the scores (ALiBi; softmax sees distances alone)."""
    qk_norm_across: bool = False
    """With ``qk_norm``: one norm over all query heads together and one over all key heads, every channel of every head
    with a gain of its own (OLMo 2)."""
    # feed-forward
    activation: Literal["gelu", "gelu_tanh", "relu", "relu2", "silu", "tanh"] = "gelu"
    gated: bool = False
    ff_bias: bool = False
    experts: Experts | None = None
    # norms and stream
    norm: Literal["none", "layer", "rms"] = "none"
    placement: Literal["pre", "post", "sandwich", "parallel", "parallel_shared", "output"] = "pre"
    """"output": each sublayer reads the stream as it is, and its result passes a norm (OLMo 2)."""
    norm_offset: bool = False
    epsilon: float = 1e-5
    """Added to the mean square under the root of every norm. With 0 norms are blind to scale: more symmetries."""
    embedding_norm: bool = False
    final_norm: bool = False
    # embeddings and head
    position_table: bool = False
    token_types: int = 0
    head_transform: bool = False
    """A dense layer, activation and norm before the unembedding (BERT's masked-language-model head)."""
    tied: bool = False
    head_bias: bool = False
    logit_softcap: float | None = None
    unused_positions: int = 0
    """Rows that the position table has before the first position's, and that nothing reads (OPT)."""
    # factors
    embedding_scale: float = 1.0
    """Of the rows of the token table, on their way to the stream (Gemma)."""
    score_scale: float | None = None
    """Of the products of queries and keys; None is 1 / √d_k."""
    rotary_scale: float = 1.0
    """Of queries and keys where they are rotated (YaRN)."""
    residual_scale: float = 1.0
    """Of what each sublayer adds to the stream (Granite)."""
    logit_scale: float = 1.0
    """Of the logits, before their soft cap (Cohere)."""
    gelu_slope: float | None = None
    """With activation="gelu_tanh": its √(2 / π) as the model rounds it (BLOOM)."""

    def __post_init__(self) -> None:
        check_fields(self, "architecture field")
        if self.groups == 0:
            object.__setattr__(self, "groups", self.heads)
        sizes = ("d_model", "heads", "d_k", "d_v", "groups", "layers", "context")
        _at_least(1, "architecture field", **{name: getattr(self, name) for name in sizes})
        none_allowed = ("d_ff", "vocabulary", "token_types")
        _at_least(0, "architecture field", **{name: getattr(self, name) for name in none_allowed})
        for name in ("attention_softcap", "logit_softcap"):
            cap = getattr(self, name)
            if cap is not None and cap <= 0:
                raise InvalidInput(f"architecture field {name!r} must be a positive number or None, not {shown(cap)}")
        if self.heads % self.groups:
            raise InvalidInput(f"{self.heads} heads cannot share {self.groups} key/value groups evenly")
        if self.rotary is not None and self.latent is None and self.rotary.channels != self.d_k:
            raise InvalidInput(f"the rotary encoding describes {self.rotary.channels} channels, but d_k = {self.d_k}")
        if self.latent is not None:
            self._check_latent(self.latent)
        if self.norm == "none" and (self.embedding_norm or self.final_norm or self.placement not in ("pre", "post")):
            raise InvalidInput("norm='none' leaves no embedding, final, sandwich or parallel norm to place")
        if self.norm_offset and self.norm != "layer":
            raise InvalidInput("norm_offset belongs to norm='layer'")
        self._check_constants()
        if self.tied and not self.vocabulary:
            raise InvalidInput("tied=True needs a vocabulary")
        self._check_layers()

    def _check_constants(self) -> None:
        factors = ("embedding_scale", "score_scale", "rotary_scale", "residual_scale", "logit_scale", "gelu_slope")
        _not_zero("architecture field", **{name: getattr(self, name) for name in factors})
        if self.epsilon < 0:
            raise InvalidInput(f"architecture field 'epsilon' must be a number ≥ 0, not {shown(self.epsilon)}")
        if self.gelu_slope is not None and self.activation != "gelu_tanh":
            raise InvalidInput("gelu_slope belongs to activation='gelu_tanh'")

    def _check_layers(self) -> None:
        """What is given layer by layer or head by head fits, and is known to go together."""
        for name in ("rotary_by_layer", "windows"):
            if len(getattr(self, name)) not in (0, self.layers):
                raise InvalidInput(f"architecture field {name!r} must name each of the {self.layers} layers, or none")
        if self.rotary_by_layer and (self.rotary is not None or self.latent is not None):
            raise InvalidInput("'rotary_by_layer' takes the place of 'rotary', and goes with plain attention only")
        found = {(r.channels, len(r.turns)) for r in self.rotary_by_layer if r is not None}
        if found and (len(found) > 1 or next(iter(found))[0] != self.d_k):
            raise InvalidInput(
                f"all encodings of 'rotary_by_layer' must turn as many of d_k = {self.d_k} channels; "
                f"(channels, planes) are {sorted(found)}"
            )
        if any(not isinstance(w, int) or w < 0 for w in self.windows) or (any(self.windows) and not self.causal):
            raise InvalidInput(f"'windows' are numbers of positions ≥ 0, for causal attention, not {self.windows}")
        if self.alibi and (
            len(self.alibi) != self.heads or self.attention != "softmax" or self.attention_softcap or self.latent
        ):
            raise InvalidInput("'alibi' has one slope per head, and goes with plain softmax attention without soft cap")
        if self.qk_norm_across and not (self.qk_norm and self.attention == "softmax"):
            raise InvalidInput("qk_norm_across=True needs qk_norm=True and attention='softmax'")
        if not isinstance(self.unused_positions, int) or self.unused_positions < 0:
            raise InvalidInput(f"'unused_positions' must be an integer ≥ 0, not {self.unused_positions!r}")
        if self.unused_positions and not self.position_table:
            raise InvalidInput("unused_positions > 0 needs position_table=True")

    def _check_latent(self, latent: Latent) -> None:
        if latent.d_rope > self.d_k:
            raise InvalidInput(f"{latent.d_rope} rotated channels (latent.d_rope) do not fit into d_k = {self.d_k}")
        if self.rotary is not None and self.rotary.channels != latent.d_rope:
            raise InvalidInput(
                f"the rotary encoding describes {self.rotary.channels} channels, but latent.d_rope = {latent.d_rope}"
            )
        if latent.epsilon is not None and (latent.epsilon == 0) != (self.epsilon == 0):
            raise InvalidInput("'epsilon' and latent.epsilon must both be 0, or neither")

    def replace(self, **changes: object) -> Architecture:
        """A copy with some fields changed (and checked again)."""
        if unknown := set(changes) - {f.name for f in dataclasses.fields(self)}:
            name = min(unknown)
            near = did_you_mean(name, (f.name for f in dataclasses.fields(self)))
            raise InvalidInput(f"an architecture has no field {name!r}{near}")
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    @property
    def is_model(self) -> bool:
        """Tokens in, logits out."""
        return self.vocabulary > 0

    @property
    def epsilon_is_zero(self) -> bool:
        """Whether every norm divides by the exact root mean square, so that it does not see its input's scale."""
        return self.epsilon == 0

    @property
    def encodings(self) -> tuple[Rotary | None, ...]:
        """The rotary encoding of each layer."""
        return self.rotary_by_layer or (self.rotary,) * self.layers

    def has_experts(self, layer: int) -> bool:
        return self.experts is not None and layer >= self.experts.first


def distinct(values: Sequence[int]) -> bool:
    """Whether the sizes are pairwise distinct, so that a wrong axis shows up as a wrong shape."""
    return len(set(values)) == len(values)
