"""Finite symmetries: permutations of heads, neurons, experts and stream coordinates, and sign flips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from sympy import Expr, Integer, factorial
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.symmetries import symbols as s
from symgauge.symmetries.base import DiscreteSymmetry, Output, Roles
from symgauge.symmetries.elements import identity
from symgauge.symmetries.feed_forward import columns_times, feed_forwards
from symgauge.wiring import Attention, FeedForward, LatentAttention, Map, Mixture, Norm, Wiring, wire


def permutation(n: int, generator: torch.Generator) -> Tensor:
    """A random permutation of n things other than the identity (if there is one)."""
    while True:
        drawn = torch.randperm(n, generator=generator)
        if n == 1 or bool((drawn != torch.arange(n)).any()):
            return drawn


def signs(n: int, generator: torch.Generator) -> Tensor:
    """Random signs (float64), at least one of them −1."""
    drawn = 2.0 * torch.randint(0, 2, (n,), generator=generator, dtype=torch.float64) - 1
    return torch.cat([-drawn[:1].abs(), drawn[1:]])


def _wreath(n: int, groups: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A random element of S_{n/g} wr S_g on n things in g runs: the permutations of runs (g,) and of things (n,)."""
    size, order = n // groups, permutation(groups, generator)
    inside = [permutation(size, generator) for _ in range(groups)]
    return order, torch.cat([g * size + within for g, within in zip(order, inside, strict=True)])


def _wreath_order(n: Expr, groups: Expr) -> Expr:
    return factorial(n / groups) ** groups * factorial(groups)


def _taken(roles: Roles, names: Sequence[str | None], index: Tensor, axis: int = 0) -> dict[str, Tensor]:
    return {name: roles[name].index_select(axis, index) for name in names if name is not None}


class HeadPermutation(DiscreteSymmetry):
    name = "head-permutation"
    title = "Heads are renumbered: inside each key/value group, and whole groups with their keys and values."
    source = "gauge paper, Theorem 3.1; with sharing claims CT-4 (S_{h/g} wr S_g)"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        # Heads with slopes of their own are told apart.
        return a.heads > 1 and not a.alibi

    def order(self, a: Architecture) -> Expr:
        return _wreath_order(s.h, s.g) ** s.L

    def sample(self, a: Architecture, w: Wiring, generator: torch.Generator) -> dict[str, Tensor]:
        element: dict[str, Tensor] = {}
        for index, sub in enumerate(w.sublayers()):
            if isinstance(sub, Attention | LatentAttention):
                groups, heads = _wreath(a.heads, a.groups, generator)
                element |= {f"{index}.groups": groups, f"{index}.heads": heads}
        return element

    def act(self, a: Architecture, w: Wiring, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for index, sub in enumerate(w.sublayers()):
            if isinstance(sub, Attention):
                by_head = [sub.query.weight, sub.query.bias, sub.output.weight]
                by_group = [sub.key.weight, sub.key.bias, sub.value.weight, sub.value.bias]
            elif isinstance(sub, LatentAttention):
                by_head = [m.weight for m in (sub.query_nope, sub.query_rope, sub.key_up, sub.value_up, sub.output)]
                by_group = []
            else:
                continue
            if isinstance(sub, Attention) and a.qk_norm_across:
                by_head += [norm.gain for norm in (sub.query_norm,) if norm is not None]
                by_group += [norm.gain for norm in (sub.key_norm,) if norm is not None]
            roles |= _taken(roles, by_head, element[f"{index}.heads"])
            roles |= _taken(roles, by_group, element[f"{index}.groups"])
        return roles


class NeuronPermutation(DiscreteSymmetry):
    name = "neuron-permutation"
    title = "Hidden neurons of a feed-forward layer are renumbered."
    source = "gauge paper, Section 8 (fully connected networks)"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return any(width > 1 for _, width in _widths(a, wire(a)))

    def order(self, a: Architecture) -> Expr:
        return _power(a, factorial)

    def sample(self, a: Architecture, w: Wiring, generator: torch.Generator) -> dict[str, Tensor]:
        return {f.up.weight: permutation(width, generator) for f, width in _widths(a, w)}

    def act(self, a: Architecture, w: Wiring, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for f in feed_forwards(w):
            index = element[f.up.weight]
            for m in (f.up, f.gate) if f.gate is not None else (f.up,):
                roles |= _taken(roles, [m.weight, m.bias], index, axis=-1)
            roles |= _taken(roles, [f.down.weight], index)
        return roles


class NeuronSigns(DiscreteSymmetry):
    name = "neuron-signs"
    title = "With tanh, an odd function, what goes into a hidden neuron and what comes out of it change sign together."
    source = "survey of symmetries (tanh networks: signed permutations); gated layers derived here"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.activation == "tanh" and bool(_widths(a, wire(a)))

    def order(self, a: Architecture) -> Expr:
        return _power(a, lambda width: Integer(2) ** width)

    def sample(self, a: Architecture, w: Wiring, generator: torch.Generator) -> dict[str, Tensor]:
        return {f.up.weight: signs(width, generator) for f, width in _widths(a, w)}

    def act(self, a: Architecture, w: Wiring, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for f in feed_forwards(w):
            sign = element[f.up.weight].to(roles[f.up.weight])
            roles |= columns_times(roles, f.up if f.gate is None else f.gate, sign)
            roles[f.down.weight] = roles[f.down.weight] * sign.unsqueeze(-1)
        return roles


class ExpertPermutation(DiscreteSymmetry):
    name = "expert-permutation"
    title = (
        "Routed experts are renumbered together with the router's columns, inside each group that the router chooses "
        "between, and whole groups; shared experts among themselves."
    )
    source = "survey of symmetries (gating: permutations); groups (S_{e/g} wr S_g) and shared experts derived here"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.experts is not None and a.experts.count > 1 and a.experts.first < a.layers

    def order(self, a: Architecture) -> Expr:
        each = _wreath_order(s.experts, s.g_e) * factorial(s.shared)
        return each ** (s.L - s.dense)

    def sample(self, a: Architecture, w: Wiring, generator: torch.Generator) -> dict[str, Tensor]:
        element = {}
        for sub in w.sublayers():
            if isinstance(sub, Mixture) and a.experts is not None:
                _, element[sub.router.weight] = _wreath(a.experts.count, a.experts.groups, generator)
                if sub.shared:
                    element[sub.shared[0].up.weight] = permutation(len(sub.shared), generator)
        return element

    def act(self, a: Architecture, w: Wiring, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        roles = dict(parameters)
        for sub in w.sublayers():
            if isinstance(sub, Mixture):
                index = element[sub.router.weight]
                roles |= _taken(roles, [sub.router.weight], index, axis=-1)
                roles |= _renamed(parameters, sub.experts, index)
                if sub.shared:
                    roles |= _renamed(parameters, sub.shared, element[sub.shared[0].up.weight])
        return roles


class StreamPermutation(DiscreteSymmetry):
    name = "stream-permutation"
    title = (
        "The coordinates of the residual stream are renumbered in every role that has them; without LayerNorm each may "
        "also change sign, with it all may together. Tied embeddings and gains of any kind allow this."
    )
    source = "claims, Theorem 4.3 (a residual permutation as counterexample); signs derived here"

    def applies(self, a: Architecture, output: Output = "logits") -> bool:
        return a.is_model and a.residual

    def order(self, a: Architecture) -> Expr:
        if self._through_activation(a):
            return factorial(s.d)
        return factorial(s.d) * (Integer(2) if a.norm == "layer" else Integer(2) ** s.d)

    def sample(self, a: Architecture, w: Wiring, generator: torch.Generator) -> dict[str, Tensor]:
        flips = signs(a.d_model, generator)
        if a.norm == "layer":
            flips = -torch.ones_like(flips)
        return {
            "order": permutation(a.d_model, generator),
            "signs": torch.ones_like(flips) if self._through_activation(a) else flips,
        }

    def act(self, a: Architecture, w: Wiring, parameters: Roles, element: Roles) -> dict[str, Tensor]:
        table, roles = parameters["token_table"], dict(parameters)
        # Multiplied by this signed permutation matrix, stream axes move; norms' gains follow without the signs.
        matrix = (identity(a.d_model, table) * element["signs"].to(table).unsqueeze(-1))[:, element["order"]]
        reads, writes, norms = _stream_roles(w)
        roles |= {role: matrix.mT @ roles[role] for role in reads}
        for role in (*writes, *(norm.offset for norm in norms if norm.offset is not None)):
            roles[role] = roles[role] @ matrix if roles[role].dim() > 1 else (roles[role].unsqueeze(0) @ matrix)[0]
        return roles | {norm.gain: roles[norm.gain][element["order"]] for norm in norms}

    @staticmethod
    def _through_activation(a: Architecture) -> bool:
        """Whether the tied table also reads the result of an activation, which signs would not pass."""
        return a.tied and a.head_transform


def _stream_roles(w: Wiring) -> tuple[list[str], list[str], list[Norm]]:
    """Roles that read stream coordinates, roles that write them, and norms over them."""
    reads = [m.weight for branch in w.branches() for m in branch.readers]
    writers = [m for branch in w.branches() for m in branch.writers]
    norms = [w.embedding_norm, w.final_norm, *(step.stream_norm for step in w.steps)]
    norms += [norm for branch in w.branches() for norm in (branch.input_norm, branch.output_norm)]
    if w.head is not None and w.head.transform is not None:
        reads.append(w.head.transform.weight)
        if w.tied:
            writers.append(w.head.transform)
            norms.append(w.head.transform_norm)
    elif w.head is not None and not w.tied:
        reads.append(w.head.unembedding.weight)
    # A parallel block with one norm hands it to several sublayers; each role moves once.
    writes = [m.weight for m in writers] + [m.bias for m in writers if m.bias is not None]
    return list(dict.fromkeys(reads)), [*w.tables, *dict.fromkeys(writes)], [n for n in norms if n is not None]


def _renamed(roles: Roles, group: Sequence[FeedForward], index: Tensor) -> dict[str, Tensor]:
    changed = {}
    for target, source in zip(group, index.tolist(), strict=True):
        for new, old in zip(_maps(target), _maps(group[source]), strict=True):
            changed[new.weight] = roles[old.weight]
            if new.bias is not None and old.bias is not None:
                changed[new.bias] = roles[old.bias]
    return changed


def _maps(f: FeedForward) -> list[Map]:
    return [f.up, f.down] + ([f.gate] if f.gate is not None else [])


def _widths(a: Architecture, w: Wiring) -> list[tuple[FeedForward, int]]:
    return [(f, w.shapes[f.up.weight][-1]) for f in feed_forwards(w)]


def _power(a: Architecture, one: Callable[[Expr], Expr]) -> Expr:
    """The order of a group with one factor for each feed-forward layer, by the layer's width."""
    dense = s.L if a.experts is None else s.dense
    order: Expr = one(s.d_ff) ** dense if a.d_ff else Integer(1)
    if a.experts is not None:
        order *= one(s.d_e) ** ((s.L - s.dense) * (s.experts + s.shared))
    return order


DISCRETE: tuple[type[DiscreteSymmetry], ...] = (
    HeadPermutation,
    NeuronPermutation,
    NeuronSigns,
    ExpertPermutation,
    StreamPermutation,
)
"""Every finite family."""


def discrete_families(a: Architecture, output: Output = "logits") -> list[DiscreteSymmetry]:
    """The finite families that act on an architecture."""
    return [family for family in (kind() for kind in DISCRETE) if family.applies(a, output)]
