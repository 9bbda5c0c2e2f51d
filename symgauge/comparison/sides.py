"""Two stored models as one architecture, so that one role of one is compared with the same role of the other.

A tied head is read as a map of its own; biases that only one of the two has are zero in the other; heads that share
keys and values are given copies of them where the other has more groups; the narrower hidden layers are filled up with
neurons that add nothing; constant factors are multiplied into weights.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from symgauge.architecture import Architecture, Rotary
from symgauge.checkpoints import StoredModel
from symgauge.checkpoints.rows import Rows
from symgauge.errors import InvalidInput
from symgauge.exact.result import Output
from symgauge.model_graph import ModelGraph, graph_of

_SHARED = (
    "d_ff",
    "groups",
    "query_bias",
    "key_bias",
    "value_bias",
    "output_bias",
    "ff_bias",
    "norm_offset",
    "head_bias",
)
"""Fields in which the larger value describes both."""
_FACTORS = {"embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0, "score_scale": None}
"""Constant factors that can be multiplied into weights, with the value that stands for none."""
_IGNORED = ("name", "tied", "unused_positions")
_COMPUTED = (
    "epsilon", "rotary", "rotary_by_layer", "rotary_scale", "activation", "attention_softcap", "logit_softcap",
    "windows", "alibi", "causal", "gelu_slope", "score_scale", "embedding_scale", "residual_scale", "logit_scale",
    "vocabulary",
)  # fmt: skip
"""Fields that say how tensors are used and not which there are: a difference makes another function. Of vocabularies
what both have is compared, the first tokens."""


_OF_TOKENS = {"token_table": 0, "unembedding.weight": -1, "unembedding.bias": 0}
"""Roles with an entry for every token, on which axis."""
_HEAD = ("unembedding.weight", "unembedding.bias")


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two models, read in the architecture that describes both."""

    model: StoredModel
    architecture: Architecture
    graph: ModelGraph
    factors: dict[str, float] = field(default_factory=dict)
    """Role → constant factor that is multiplied into it."""
    output: Output = "logits"
    """For "probabilities" the head is read without what moves all logits of a position alike."""

    def read(self, role: str) -> Tensor:
        """The role in float64, in the shape of the common graph."""
        own, source = self.model, self.source(role)
        if source is None:
            return torch.zeros(self.graph.shapes[role], dtype=torch.float64)
        found = own.roles[source]
        if role == "unembedding.weight" and source == "token_table":
            found = found.mT
        if role in _OF_TOKENS:
            found = found.narrow(_OF_TOKENS[role], 0, self.architecture.vocabulary)
        if ".attention.key." in role or ".attention.value." in role:
            found = found.repeat_interleave(self.architecture.groups // own.architecture.groups, 0)
        found = self._in_common_order(role, self._filled_up(role, found))
        if self._up_to_shift and role in _HEAD:
            found = found - found.mean(-1, keepdim=True)
        factor = self.factors.get(role, 1.0)
        return found if factor == 1 else factor * found

    def rows(self, role: str) -> Rows:
        """A table, or the unembedding as one (V, d_model), a block of rows at a time."""
        source = self.source(role)
        factor = self.factors.get(role, 1.0)
        found = None if source is None else self.model.rows(source)
        if found is None:
            whole = self.read(role)
            return Rows.of(whole.mT if role == "unembedding.weight" else whole)
        if role in _OF_TOKENS:
            found = found.first(self.architecture.vocabulary)
        if self._up_to_shift and role in _HEAD:
            mean = found.column_mean()
            found = found.map(lambda x: x - mean)
        return found if factor == 1 else found.map(lambda x: factor * x)

    @property
    def _up_to_shift(self) -> bool:
        return self.output == "probabilities" and self.architecture.logit_softcap is None

    def source(self, role: str) -> str | None:
        """The role of the stored model that this one is read from; None for biases that it has not."""
        if role in self.model.parts:
            return role
        if role == "unembedding.weight" and self.model.architecture.tied:
            return "token_table"
        return None

    def name(self, role: str) -> str:
        """The stored tensor that a role lies in; of a bias that there is none, its weight's or its norm's gain's."""
        for candidate in (role, role.replace(".bias", ".weight"), role.replace(".offset", ".gain")):
            source = self.source(candidate)
            if source is not None:
                return self.model.name_of(source)
        return role

    def dtype(self, role: str) -> str:
        source = self.source(role)
        return "float64" if source is None else self.model.dtype_of(source)

    def shifted(self, shifts: Mapping[str, Tensor]) -> Side:
        """The same with some roles shifted."""
        return ShiftedSide(self.model, self.architecture, self.graph, self.factors, self.output, shifts)

    def _filled_up(self, role: str, x: Tensor) -> Tensor:
        """Feed-forward weights with zeros for the neurons that only the other model has."""
        if ".ff." not in role or tuple(x.shape) == self.graph.shapes[role]:
            return x
        wide = x.new_zeros(self.graph.shapes[role])
        wide[tuple(slice(n) for n in x.shape)] = x
        return wide

    def _in_common_order(self, role: str, x: Tensor) -> Tensor:
        """Rotary channels of queries and keys in the order of the common architecture."""
        if not role.endswith((".query.weight", ".key.weight", ".query.bias", ".key.bias")):
            return x
        own, common = self.model.architecture, self.architecture
        layer = int(role.split(".")[1])
        mine, theirs = own.encodings[layer], common.encodings[layer]
        if mine is None or theirs is None or mine.interleaved == theirs.interleaved:
            return x
        return x[..., torch.argsort(interleaving(mine))] if mine.interleaved else x


@dataclass(frozen=True, eq=False)
class ShiftedSide(Side):
    """A side some of whose roles are shifted."""

    shifts: Mapping[str, Tensor] = field(default_factory=dict)

    def shifted(self, shifts: Mapping[str, Tensor]) -> Side:
        both = {role: self.shifts[role] + x if role in self.shifts else x for role, x in shifts.items()}
        return super().shifted({**self.shifts, **both})

    def read(self, role: str) -> Tensor:
        found = super().read(role)
        return found + self.shifts[role] if role in self.shifts else found


def interleaving(rotary: Rotary) -> Tensor:
    """Halved channels in the order of interleaved ones (d_k,): the first and second of each plane side by side."""
    n = len(rotary.turns)
    pairs = torch.stack([torch.arange(n), torch.arange(n) + n], 1).flatten()
    return torch.cat([pairs, torch.arange(2 * n, rotary.channels)])


def two_sides(first: StoredModel, second: StoredModel, output: Output = "logits") -> tuple[Side, Side, tuple[str, ...]]:
    """Both in one architecture, and the fields in which their configurations compute differently.

    Raises :class:`InvalidInput` where the two have different parts or sizes.
    """
    a, b = first.architecture, second.architecture
    if (first.graph.head is None) != (second.graph.head is None):
        with_head, bare = (first, second) if second.graph.head is None else (second, first)
        raise InvalidInput(
            f"{with_head.checkpoint.source} has a head and {bare.checkpoint.source} has none; compare two of one kind"
        )
    values = {f.name: (getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(Architecture)}
    if not a.position_table:
        values["context"] = (0, 0)
    differing = [name for name, (x, y) in values.items() if not _same(x, y) and name not in _IGNORED]
    structural = [name for name in differing if name not in (*_SHARED, *_COMPUTED)]
    larger, smaller = max(a.groups, b.groups), min(a.groups, b.groups)
    if (a.d_ff == 0) != (b.d_ff == 0):
        structural.append("d_ff")
    if larger % smaller:
        structural.append("groups")
    if structural:
        told = "; ".join(f"{name} is {values[name][0]!r} and {values[name][1]!r}" for name in structural[:3])
        raise InvalidInput(
            f"{first.checkpoint.source} and {second.checkpoint.source} are two architectures, whose tensors do not "
            f"correspond: {told}"
        )
    common = {name: max(values[name]) for name in _SHARED} | {"tied": False, "name": ""}
    common |= {"vocabulary": min(values["vocabulary"])}
    neutral = [name for name in _FACTORS if name in differing and _can_multiply(a, name)]
    common |= {name: _FACTORS[name] for name in neutral}
    common |= {"rotary": _halved(a.rotary, b.rotary)} if a.rotary != b.rotary else {}
    computed = [
        name for name in differing
        if name in _COMPUTED and name not in neutral and not _same_turns(*values[name])
    ]  # fmt: skip
    sides = []
    for model in (first, second):
        architecture = dataclasses.replace(model.architecture, **common)
        graph = _graph(architecture, model)
        sides.append(Side(model, architecture, graph, _factors(model.architecture, graph, neutral), output))
    return sides[0], sides[1], tuple(computed)


def side_of(model: StoredModel) -> Side:
    """One model by itself, its head untied."""
    architecture = dataclasses.replace(model.architecture, tied=False)
    return Side(model, architecture, _graph(architecture, model))


def _graph(architecture: Architecture, model: StoredModel) -> ModelGraph:
    """The graph of an architecture, without a head if the model has none."""
    graph = graph_of(architecture)
    if model.graph.head is not None:
        return graph
    shapes = {role: shape for role, shape in graph.shapes.items() if not role.startswith(("head.", "unembedding."))}
    return dataclasses.replace(graph, head=None, shapes=shapes)


def _same(one: object, two: object) -> bool:
    """Equal, floats as float32 has them, for that is what some formats keep."""
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-6)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_same(x, y) for x, y in zip(one, two, strict=True))
    if isinstance(one, Rotary) and isinstance(two, Rotary):
        return one.interleaved == two.interleaved and _same_turns(one, two)
    return one == two


def _same_turns(one: object, two: object) -> bool:
    if not isinstance(one, Rotary) or not isinstance(two, Rotary):
        return False
    return one.unrotated == two.unrotated and _same(one.turns, two.turns)


def _halved(one: Rotary | None, two: Rotary | None) -> Rotary | None:
    return dataclasses.replace(one, interleaved=False) if one is not None and _same_turns(one, two) else one


def _can_multiply(a: Architecture, name: str) -> bool:
    """Whether a factor can be multiplied into weights that nothing else normalises."""
    if name == "score_scale":
        return not a.qk_norm
    if name == "residual_scale":
        return a.placement not in ("sandwich", "output")
    return True


def _factors(a: Architecture, graph: ModelGraph, neutral: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    if "embedding_scale" in neutral:
        found["token_table"] = a.embedding_scale
    if "logit_scale" in neutral:
        found |= {"unembedding.weight": a.logit_scale, "unembedding.bias": a.logit_scale}
    for role in graph.shapes:
        if "residual_scale" in neutral and any(part in role for part in (".attention.output.", ".down.")):
            found[role] = a.residual_scale
        if "score_scale" in neutral and ".attention.query." in role:
            found[role] = 1.0 if a.score_scale is None else a.score_scale * a.d_k**0.5
    return found
