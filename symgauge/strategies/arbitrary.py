"""Architectures drawn over all fields that decide symmetries, general position or not: every size from one on."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any, Literal, TypeVar

from symgauge.architecture import Architecture, Experts, Latent, Rotary, Turn
from symgauge.model_graph import graph_of

T = TypeVar("T")
Fields = dict[str, Any]

TURNS: tuple[Turn, ...] = (0.11, 0.23, 0.37, Fraction(0), Fraction(1, 2), -0.11, -0.23, -0.37)
"""Few angles, so that planes often turn alike, or the other way, or not at all."""
MAX_PARAMETERS = 200
"""What the exact engine measures in about a second."""


def arbitrary_architecture(seed: int, max_parameters: int = MAX_PARAMETERS) -> Architecture:
    """The architecture that a seed stands for: any attention, norms, network, tables and sizes that fit together.

    What exceeds ``max_parameters`` is drawn again; as small sizes fit more often, larger ones are listed more often.
    Constants without influence on symmetries, and the name, are left alone.

    Example:
        >>> from symgauge.strategies import arbitrary_architecture
        >>> arbitrary_architecture(3) == arbitrary_architecture(3)
        True
    """
    draw = _Draw(Random(seed))
    while True:
        architecture = Architecture(**draw.fields())
        if graph_of(architecture).parameters <= max_parameters:
            return architecture


class _Draw:
    """Draws field by field; later fields follow from earlier ones where they depend on them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def one(self, *options: T) -> T:
        return self.rng.choice(options)

    def flags(self, *names: str, odds: int = 2) -> Fields:
        """Each of these fields, true once in ``odds`` times."""
        return {name: self.rng.randrange(odds) == 0 for name in names}

    def fields(self) -> Fields:
        groups = self.one(1, 2, 3)
        fields: Fields = {
            "layers": self.one(1, 1, 1, 1, 1, 2, 2, 2, 3),
            "d_model": self.one(1, 2, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6),
            "heads": groups * self.one(1, 1, 2, 3),
            "d_v": self.one(1, 1, 2, 2, 3, 3, 4, 5),
            "context": self.one(1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5),
            "attention": self.one("softmax", "softmax", "softmax", "softmax", "linear"),
            "attention_softcap": self.one(None, None, None, None, 3.0),
            "norm": self.one("none", "rms", "layer"),
            "vocabulary": self.one(0, self.one(1, 3, 5, 7, 9, 9, 11, 11, 13, 13, 17, 19)),
            **self.flags("causal", odds=2),
            "epsilon": 0.0 if self.rng.randrange(3) == 0 else 1e-5,
        }
        fields["residual"] = self.rng.randrange(4) > 0
        if self.rng.randrange(8) == 0:
            fields |= self.latent()
        else:
            fields |= {"groups": groups, **self.attention(fields)}
        fields |= self.network()
        if fields["norm"] != "none":
            fields |= self.norms(fields["norm"])
        return fields | (self.tables() if fields["vocabulary"] else {})

    def rotary(self, planes: int, unrotated: int, interleaved: bool) -> Rotary:
        return Rotary(tuple(self.rng.choice(TURNS) for _ in range(planes)), unrotated, interleaved)

    def latent(self) -> Fields:
        planes, rotated = self.one(0, 1, 2), self.one(1, 2, 3)
        rotary = self.rotary(planes, self.one(0, 0, 1), self.one(False, True)) if planes else None
        d_rope = rotated if rotary is None else rotary.channels
        latent = Latent(self.one(0, 1, 2, 3, 4), self.one(1, 2, 3, 4), d_rope)
        return {"latent": latent, "rotary": rotary, "d_k": d_rope + self.one(0, 1, 2, 3)}

    def attention(self, fields: Fields) -> Fields:
        found = self.flags("query_bias", "key_bias", "value_bias", "output_bias") | self.flags("qk_norm", odds=5)
        found |= self.encodings(fields["layers"])
        if fields["causal"] and self.rng.randrange(5) == 0:
            found["windows"] = tuple(self.one(0, 1, 2, 3) for _ in range(fields["layers"]))
        if fields["attention"] == "softmax":
            found["qk_norm_across"] = found["qk_norm"] and self.one(False, True)
            if fields["attention_softcap"] is None and self.rng.randrange(5) == 0:
                found["alibi"] = tuple(0.5 / (head + 1) for head in range(fields["heads"]))
        return found

    def encodings(self, layers: int) -> Fields:
        kind = self.one("none", "none", "none", "none", "all layers", "all layers", "by layer")
        if kind == "none":
            return {"d_k": self.one(1, 2, 2, 3, 3, 4, 5)}
        shape = (self.one(1, 2), self.one(0, 0, 1, 2), self.one(False, True))
        d_k = 2 * shape[0] + shape[1]
        if kind == "all layers":
            return {"d_k": d_k, "rotary": self.rotary(*shape)}
        return {"d_k": d_k, "rotary_by_layer": tuple(self.one(self.rotary(*shape), None) for _ in range(layers))}

    def network(self) -> Fields:
        found = {
            "activation": self.one("gelu", "gelu_tanh", "silu", "tanh", "relu", "relu2"),
            **self.flags("gated", odds=3),
            **self.flags("ff_bias"),
        }
        kind = self.one("none", "dense", "dense", "dense", "experts")
        if kind == "dense" or (kind == "experts" and self.one(False, True)):
            found["d_ff"] = self.one(1, 2, 3, 4, 5)
        if kind == "experts":
            count = self.one(1, 2, 3)
            active = self.one(*range(1, count + 1))
            routing: Literal["softmax", "sigmoid"] = "softmax" if self.one(True, False) else "sigmoid"
            width, shared = self.one(1, 2), self.one(0, 1, 2)
            found["experts"] = Experts(count, active, width, shared, routing, first=self.one(0, 0, 1))
        return found

    def norms(self, norm: str) -> Fields:
        placement = self.one("pre", "post", "sandwich", "parallel", "parallel_shared", "output")
        found = {"placement": placement, **self.flags("embedding_norm", odds=3), **self.flags("final_norm")}
        return found | (self.flags("norm_offset") if norm == "layer" else {})

    def tables(self) -> Fields:
        found = self.flags("tied") | self.flags("head_bias", "position_table", odds=3)
        found |= self.flags("head_transform", odds=5)
        found |= {"token_types": self.one(0, 0, 0, 1, 2), "logit_softcap": self.one(None, None, None, None, 3.0)}
        if found["position_table"] and self.rng.randrange(5) == 0:
            found["unused_positions"] = 2
        return found
