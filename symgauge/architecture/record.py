"""The hyperparameters of a transformer in one record."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from symgauge.architecture.experts import Experts
from symgauge.architecture.latent import Latent
from symgauge.architecture.rotary import Rotary
from symgauge.architecture.sizes import at_least, not_zero
from symgauge.checks import did_you_mean, shown
from symgauge.errors import InvalidInput
from symgauge.fields import check_fields


@dataclass(frozen=True)
class Architecture:
    """Hyperparameters of a transformer, or of one attention layer or block (``vocabulary=0``: vectors in and out).

    Sizes are counts. ``context`` is the number of positions of the learned table, or the longest sequence looked at.

    Raises :class:`InvalidInput`, naming the field, for sizes and combinations that no model has.

    Example:
        >>> import symgauge
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=9, d_ff=5, norm="rms")
        >>> a.groups, a.is_model
        (2, True)
        >>> a.replace(layers=2, causal=False).layers
        2
        >>> a.replace(groups=3)
        Traceback (most recent call last):
            ...
        symgauge.errors.InvalidInput: 2 heads cannot share 3 key/value groups evenly
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
        at_least(1, "architecture field", **{name: getattr(self, name) for name in sizes})
        none_allowed = ("d_ff", "vocabulary", "token_types")
        at_least(0, "architecture field", **{name: getattr(self, name) for name in none_allowed})
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
        not_zero("architecture field", **{name: getattr(self, name) for name in factors})
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

    def __repr__(self) -> str:
        """Python that makes this architecture: its fields other than defaults."""
        default = {f.name: f.default for f in dataclasses.fields(self)} | {"groups": self.heads}
        fields = ((name, getattr(self, name)) for name in default)
        return f"Architecture({', '.join(f'{name}={value!r}' for name, value in fields if value != default[name])})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same where IPython and Hypothesis print it."""
        printer.text(repr(self))

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
    """Whether the sizes are pairwise distinct, so that a wrong axis shows up as a wrong shape.

    Example:
        >>> from symgauge.architecture import distinct
        >>> distinct([5, 2, 3]), distinct([4, 2, 2])
        (True, False)
    """
    return len(set(values)) == len(values)
