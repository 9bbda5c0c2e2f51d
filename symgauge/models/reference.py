"""The model an architecture describes, computed from its roles with elementary torch operations.

One definition serves as the oracle for adapted modules, as the module that exact arithmetic runs, and as the function
on which group actions are tested. Every operation is out of place and has a simple derivative rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.layout import Layout, Slot
from symgauge.model_graph import (
    Attention,
    FeedForward,
    Head,
    LatentAttention,
    Map,
    Mixture,
    ModelGraph,
    Norm,
    Sublayer,
    graph_of,
)
from symgauge.models.parameters import random_parameters
from symgauge.models.rotation import rotate

__all__ = ["ReferenceModel", "forward", "random_parameters", "reference_layout"]


def _squared_relu(x: Tensor) -> Tensor:
    positive = F.relu(x)
    return positive * positive


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "relu2": _squared_relu,
    "silu": F.silu,
    "tanh": torch.tanh,
}


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else x * factor


def _softcap(x: Tensor, cap: float | None) -> Tensor:
    return x if cap is None else cap * torch.tanh(x / cap)


class Evaluation:
    """One evaluation of an architecture at given roles; the methods follow the parts of the model graph.

    ``graph`` takes the place of the architecture's own (a model without its head). Roles are asked for where they are
    used, so a mapping that reads them then keeps no more than a layer in memory.
    """

    def __init__(
        self, architecture: Architecture, roles: Mapping[str, Tensor], graph: ModelGraph | None = None
    ) -> None:
        self.a = architecture
        self.roles = roles
        self.graph = graph_of(architecture) if graph is None else graph

    def linear(self, x: Tensor, m: Map) -> Tensor:
        """(..., in) → (..., out)."""
        y = x @ self.roles[m.weight]
        return y if m.bias is None else y + self.roles[m.bias]

    def per_head(self, x: Tensor, m: Map) -> Tensor:
        """(B, T, in) → (B, heads, T, out): all heads in one product, then apart."""
        weight = self.roles[m.weight]
        heads, width, out = weight.shape
        y = x @ weight.transpose(0, 1).reshape(width, heads * out)
        if m.bias is not None:
            y = y + self.roles[m.bias].reshape(heads * out)
        return y.reshape(*x.shape[:-1], heads, out).transpose(-3, -2)

    def norm(self, x: Tensor, norm: Norm | None, epsilon: float | None = None) -> Tensor:
        if norm is None:
            return x
        if norm.kind == "layer":
            x = x - x.mean(-1, keepdim=True)
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + (self.a.epsilon if epsilon is None else epsilon))
        y = x * scale * self.roles[norm.gain]
        return y if norm.offset is None else y + self.roles[norm.offset]

    def head_norm(self, x: Tensor, norm: Norm | None) -> Tensor:
        """(B, heads, T, d_k): the norm of each head, or of all heads of a token together."""
        if norm is None or not self.a.qk_norm_across:
            return self.norm(x, norm)
        scale = torch.rsqrt((x * x).mean((-3, -1), keepdim=True) + self.a.epsilon)
        return x * scale * self.roles[norm.gain].unsqueeze(-2)

    def mix(self, scores: Tensor, values: Tensor, output: Map, window: int = 0) -> Tensor:
        """Scores (B, h, T, T) and values (B, h, T, d_v) → what attention writes to the stream, (B, T, d_model)."""
        a, length = self.a, scores.shape[-1]
        scale = a.d_k**-0.5 if a.score_scale is None else a.score_scale
        scores = _softcap(scores * scale, a.attention_softcap)
        if a.alibi:
            slopes = torch.tensor(a.alibi, dtype=scores.dtype, device=scores.device)
            scores = scores + slopes[:, None, None] * torch.arange(length, device=scores.device)
        if a.causal:
            unseen = torch.ones(length, length, dtype=torch.bool, device=scores.device).triu(1)
            if window:
                unseen = unseen | ~torch.ones_like(unseen).triu(1 - window)
            scores = scores.masked_fill(unseen, float("-inf") if a.attention == "softmax" else 0.0)
        weights = scores.softmax(-1) if a.attention == "softmax" else scores
        heads = (weights @ values).transpose(-3, -2)
        joined = heads.reshape(*heads.shape[:-2], a.heads * a.d_v)
        y = joined @ self.roles[output.weight].reshape(a.heads * a.d_v, a.d_model)
        return y if output.bias is None else y + self.roles[output.bias]

    def attention(self, x: Tensor, s: Attention) -> Tensor:
        a = self.a
        query, key, value = (self.per_head(x, m) for m in s.readers)
        query, key = self.head_norm(query, s.query_norm), self.head_norm(key, s.key_norm)
        query, key = (rotate(x, s.rotary, a.rotary_scale) for x in (query, key))
        if a.groups != a.heads:
            # Heads i·s … i·s + s − 1 share group i.
            shared = torch.arange(a.heads, device=x.device) // (a.heads // a.groups)
            key, value = key.index_select(-3, shared), value.index_select(-3, shared)
        return self.mix(query @ key.transpose(-2, -1), value, s.output, s.window)

    def latent_attention(self, x: Tensor, s: LatentAttention) -> Tensor:
        a = self.a
        assert a.latent is not None
        epsilon = a.latent.epsilon
        source = x if s.query_down is None else self.norm(self.linear(x, s.query_down), s.query_norm, epsilon)
        latent = self.norm(self.linear(x, s.key_value_down), s.key_value_norm, epsilon)
        query = rotate(self.per_head(source, s.query_rope), a.rotary, a.rotary_scale)
        # One rotary key for all heads.
        key = rotate(self.linear(x, s.key_rope), a.rotary, a.rotary_scale).unsqueeze(-3)
        scores = query @ key.transpose(-2, -1)
        scores = scores + self.per_head(source, s.query_nope) @ self.per_head(latent, s.key_up).transpose(-2, -1)
        return self.mix(scores, self.per_head(latent, s.value_up), s.output)

    def feed_forward(self, x: Tensor, s: FeedForward) -> Tensor:
        up = self.linear(x, s.up)
        hidden = self.activation(up) if s.gate is None else self.activation(self.linear(x, s.gate)) * up
        return self.linear(hidden, s.down)

    def activation(self, x: Tensor) -> Tensor:
        if self.a.gelu_slope is not None:
            return x * 0.5 * (1 + torch.tanh(self.a.gelu_slope * x * (1 + 0.044715 * x * x)))
        return _ACTIVATIONS[self.a.activation](x)

    def chosen(self, logits: Tensor) -> Tensor:
        """Mask (..., count) of the active experts of each token: the largest logits, after the best groups if any."""
        experts = self.a.experts
        assert experts is not None
        if experts.groups > 1:
            # Only experts of the best groups compete; a group's merit is the sum of its two best scores.
            scores = torch.sigmoid(logits)
            grouped = scores.reshape(*scores.shape[:-1], experts.groups, -1)
            merit = grouped.topk(2, dim=-1).values.sum(-1)
            kept = _among(merit.topk(experts.active_groups, dim=-1).indices, experts.groups)
            kept = kept.unsqueeze(-1).expand(grouped.shape).reshape(scores.shape)
            logits = logits.masked_fill(~kept, float("-inf"))
        return _among(logits.topk(experts.active, dim=-1).indices, experts.count)

    def mixture(self, x: Tensor, s: Mixture) -> Tensor:
        """Every expert sees every token; those not chosen have weight zero. Simple, and right for small models."""
        experts = self.a.experts
        assert experts is not None
        logits = self.linear(x, s.router)
        chosen = self.chosen(logits)
        if experts.routing == "softmax":
            weights = logits.masked_fill(~chosen, float("-inf")).softmax(-1)
        else:
            scores = torch.sigmoid(logits).masked_fill(~chosen, 0.0)
            weights = scores / scores.sum(-1, keepdim=True)
        weights = _scaled(weights, experts.scale)
        routed = [weights[..., i : i + 1] * self.feed_forward(x, expert) for i, expert in enumerate(s.experts)]
        return _total([*routed, *(self.feed_forward(x, expert) for expert in s.shared)])

    def sublayer(self, x: Tensor, s: Sublayer) -> Tensor:
        match s:
            case Attention():
                return self.attention(x, s)
            case LatentAttention():
                return self.latent_attention(x, s)
            case FeedForward():
                return self.feed_forward(x, s)
            case Mixture():
                return self.mixture(x, s)

    def head(self, x: Tensor, head: Head, tied: bool) -> Tensor:
        if head.transform is not None:
            x = self.norm(self.activation(self.linear(x, head.transform)), head.transform_norm)
        logits = self.unembed(x, head.unembedding.weight, tied)
        if head.unembedding.bias is not None:
            logits = logits + self.roles[head.unembedding.bias]
        return _softcap(_scaled(logits, self.a.logit_scale), self.a.logit_softcap)

    def unembed(self, x: Tensor, role: str, tied: bool) -> Tensor:
        """(..., d_model) → (..., V), without a bias."""
        weight = self.roles[role]
        return x @ (weight.transpose(-2, -1) if tied else weight)

    def look_up(self, ids: Tensor) -> Tensor:
        """Rows of the token table."""
        return F.embedding(ids, self.roles["token_table"])

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids (B, T) → stream (B, T, d_model); every token has type 0."""
        stream = _scaled(self.look_up(ids), self.a.embedding_scale)
        if self.a.position_table:
            stream = stream + self.roles["position_table"][: ids.shape[-1]]
        if self.a.token_types:
            stream = stream + self.roles["type_table"][0]
        return stream

    def run(self, inputs: Tensor) -> Tensor:
        for stage in self.stages(inputs):
            result = stage
        return result

    def stages(self, inputs: Tensor) -> Iterator[Tensor]:
        """The stream (B, T, d_model) where layers begin, after each step, and last the model's result."""
        graph = self.graph
        stream = self.norm(self.embed(inputs) if self.a.is_model else inputs, graph.embedding_norm)
        yield stream
        for step in graph.steps:
            written = [stream] if self.a.residual else []
            for branch in step.branches:
                x = self.norm(stream, branch.input_norm)
                output = _total([self.sublayer(x, sublayer) for sublayer in branch.sublayers])
                output = self.norm(output, branch.output_norm)
                written.append(_scaled(output, self.a.residual_scale))
            stream = self.norm(_total(written), step.stream_norm)
            yield stream
        stream = self.norm(stream, graph.final_norm)
        yield stream if graph.head is None else self.head(stream, graph.head, graph.tied)


def _total(terms: list[Tensor]) -> Tensor:
    return functools.reduce(torch.add, terms)


def _among(indices: Tensor, count: int) -> Tensor:
    """Mask (..., count) that is true at the given ``indices`` (..., k)."""
    return (indices.unsqueeze(-1) == torch.arange(count, device=indices.device)).any(-2)


def _check(architecture: Architecture, parameters: Mapping[str, Tensor], inputs: Tensor) -> None:
    for name, shape in graph_of(architecture).shapes.items():
        if name not in parameters:
            raise InvalidInput(f"role {name!r} of shape {shape} is missing from the parameters")
        if tuple(parameters[name].shape) != shape:
            raise InvalidInput(f"role {name!r} must have shape {shape}, not {tuple(parameters[name].shape)}")
    if not architecture.is_model:
        if inputs.ndim < 2 or inputs.shape[-1] != architecture.d_model:
            raise InvalidInput(f"inputs must be vectors (B, T, {architecture.d_model}), not {tuple(inputs.shape)}")
    elif inputs.is_floating_point():
        raise InvalidInput("this architecture has a vocabulary, so its inputs are integer token ids (B, T)")
    elif architecture.position_table and inputs.shape[-1] > architecture.context:
        raise InvalidInput(f"{inputs.shape[-1]} tokens do not fit the position table of {architecture.context} rows")


def forward(architecture: Architecture, parameters: Mapping[str, Tensor], inputs: Tensor) -> Tensor:
    """The function an architecture computes at given roles (names and shapes of ``graph_of(architecture).shapes``).

    Token ids (B, T) give logits (B, T, V); without a vocabulary, vectors (B, T, d_model) give (B, T, d_model).
    Positions count from 0. Linear attention uses its scores as they are, scaled by 1/√d_k and not normalised.
    Raises :class:`InvalidInput` when a role is missing or the inputs do not fit.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.models.reference import forward, random_parameters
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7)
        >>> forward(a, random_parameters(a), torch.tensor([[1, 3, 0]])).shape
        torch.Size([1, 3, 7])
    """
    _check(architecture, parameters, inputs)
    return Evaluation(architecture, parameters).run(inputs)


def _attribute(role: str) -> str:
    """Module attributes cannot contain dots."""
    return role.replace(".", "__")


class ReferenceModel(nn.Module):
    """:func:`forward` as a module with one float64 parameter per role, drawn by :func:`random_parameters`.

    With None for ``seed`` they are zero, for a measurement that draws its own point.

    Example:
        >>> import torch, symgauge
        >>> from symgauge.models.reference import ReferenceModel
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7)
        >>> ReferenceModel(a)(torch.tensor([[1, 3, 0]])).shape
        torch.Size([1, 3, 7])
    """

    def __init__(self, architecture: Architecture, seed: int | None = 0) -> None:
        super().__init__()
        self.architecture = architecture
        shapes = graph_of(architecture).shapes
        zero = {role: torch.zeros(shape, dtype=torch.float64) for role, shape in shapes.items()}
        for role, value in (zero if seed is None else random_parameters(architecture, seed)).items():
            self.register_parameter(_attribute(role), nn.Parameter(value))

    def roles(self) -> dict[str, Tensor]:
        """The parameters by role name."""
        return {role: getattr(self, _attribute(role)) for role in graph_of(self.architecture).shapes}

    def forward(self, inputs: Tensor) -> Tensor:
        return forward(self.architecture, self.roles(), inputs)


def reference_layout(module: nn.Module, architecture: Architecture) -> Layout:
    """Layout of a :class:`ReferenceModel`: each parameter is one role, in order.

    Raises :class:`InvalidInput` for a module with a parameter that is no role of the architecture.

    Example:
        >>> import symgauge
        >>> from symgauge.models.reference import ReferenceModel, reference_layout
        >>> a = symgauge.Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7)
        >>> module = ReferenceModel(a)
        >>> reference_layout(module, a).size == sum(p.numel() for p in module.parameters())
        True
    """
    shapes = {_attribute(role): (role, shape) for role, shape in graph_of(architecture).shapes.items()}
    slots: dict[str, Slot] = {}
    names: list[tuple[str, int]] = []
    size = 0
    for name, parameter in module.named_parameters():
        role, shape = shapes.get(name, (None, ()))
        if role is None or tuple(parameter.shape) != shape:
            raise InvalidInput(f"parameter {name!r} {tuple(parameter.shape)} is no role of this architecture")
        slots[role] = Slot(torch.arange(size, size + parameter.numel()).reshape(shape))
        names.append((name, parameter.numel()))
        size += parameter.numel()
    return Layout(slots, size, tuple(names))
