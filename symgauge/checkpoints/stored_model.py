"""A checkpoint as a model: its architecture, and its roles, each read from the tensors that hold it when asked for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.checkpoints.checkpoint import Checkpoint
from symgauge.checkpoints.deferred import Deferred, evaluate, leaves
from symgauge.checkpoints.names import expert_names, finder, is_from_meta, is_parameter
from symgauge.checkpoints.rows import Rows
from symgauge.errors import InvalidFile, InvalidInput
from symgauge.model_graph import ModelGraph, graph_of
from symgauge.models.huggingface.model_class import import_transformers, make_config
from symgauge.zoo import family_of
from symgauge.zoo.parts.entries import Entries
from symgauge.zoo.parts.family import Family

_TABLES = re.compile(r"embed|\.wte\.|\.wpe\.|lm_head|decoder")


class Roles(Mapping[str, Tensor]):
    """The roles of a stored model, in float64 and canonical shape, each read anew when it is asked for.

    The tensor read last is kept, for roles that lie side by side in one tensor. ``watch`` is told every parameter that
    is read, with its numbers.
    """

    def __init__(self, model: StoredModel) -> None:
        self._model = model
        self.watch: Callable[[str, Tensor], None] = lambda parameter, tensor: None
        self._last: tuple[str, Tensor] | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.parts)

    def __len__(self) -> int:
        return len(self._model.parts)

    def __getitem__(self, role: str) -> Tensor:
        model = self._model
        if role not in model.parts:
            raise InvalidInput(f"{model.checkpoint.source}: the model has no role {role!r}")
        part, shift = model.parts[role]
        found = evaluate(part, self._read)
        return (found + shift if shift else found).contiguous()

    def _read(self, name: str) -> Tensor:
        if self._last is None or self._last[0] != name:
            self._last = None  # the old tensor goes before the new one comes
            self._last = (name, self._model.read(name))
            self.watch(*self._last)
        return self._last[1]


@dataclass(frozen=True, eq=False)
class StoredModel:
    """Architecture and roles of a checkpoint; made by :func:`stored_model`.

    ``roles`` reads a role when it is asked for, ``name_of`` says which stored tensor holds it, ``put`` makes stored
    tensors of changed roles, and ``others`` are stored tensors that belong to no role (a pooler).
    """

    checkpoint: Checkpoint
    family: Family
    architecture: Architecture
    graph: ModelGraph
    """Without a head, for a bare model: its result is the stream."""
    parts: dict[str, tuple[Tensor, int]]
    """Role → how it is cut out of a parameter of the module and what is added (1 for gains stored as γ − 1)."""
    stored: dict[str, str]
    """Name of a module's parameter → name of the stored tensor."""
    transposed: frozenset[str]
    """Parameters that are stored transposed (Linear layers in place of Conv1D)."""
    interleaved: dict[str, int]
    """Parameters whose rotary channels are stored as neighbours → number of heads."""
    others: tuple[str, ...]
    roles: Roles = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "roles", Roles(self))

    def read(self, parameter: str) -> Tensor:
        """A parameter of the module in float64, in the module's shape and order of channels."""
        found = self.checkpoint.read(self.stored[parameter])
        if parameter in self.transposed:
            found = found.mT
        heads = self.interleaved.get(parameter)
        return found if heads is None else halved(found, heads)

    def rows(self, role: str) -> Rows | None:
        """The parameter that is a role or its transpose, a block of rows at a time; None for other roles."""
        part, shift = self.parts[role]
        name = self.parameter_of(role)
        if shift or name in self.transposed or name in self.interleaved or len([*leaves(part)]) > 1:
            return None
        found = self.checkpoint.rows(self.stored[name])
        if found is None or found.dim() != 2:
            return None
        place = evaluate(part, lambda _: torch.empty(found.shape, device="meta"))
        if place.dim() != 2:
            return None
        straight = place.shape == found.shape and place.is_contiguous()
        turned = place.mT.shape == found.shape and place.mT.is_contiguous()
        return found if straight or turned else None

    def parameter_of(self, role: str) -> str:
        """The module's name of the parameter that holds a role."""
        return next(leaves(self.parts[role][0]))

    def name_of(self, role: str) -> str:
        """The name of the stored tensor that holds a role."""
        return self.stored[self.parameter_of(role)]

    def dtype_of(self, role: str) -> str:
        """The dtype as stored, such as "bfloat16" or "Q4_1"."""
        return self.checkpoint.dtype(self.name_of(role))

    def put(self, roles: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Parameters of the module (float64) by its names for them, in which the roles given are replaced."""
        changed: dict[str, Tensor] = {}

        def tensor(name: str) -> Tensor:
            if name not in changed:
                changed[name] = self.read(name).clone(memory_format=torch.contiguous_format)
            return changed[name]

        for role, value in roles.items():
            part, shift = self.parts[role]
            place = evaluate(part, tensor)
            whole = changed[self.parameter_of(role)]
            if place.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr():
                place.copy_(value - shift if shift else value)
            else:  # no view of the tensor: by the positions of its entries
                numbers = torch.arange(whole.numel()).reshape(whole.shape)
                whole.view(-1)[evaluate(part, {self.parameter_of(role): numbers}.__getitem__).flatten()] = (
                    value - shift
                ).flatten()
        return changed


def stored_model(checkpoint: Checkpoint, config: dict[str, Any] | None = None) -> StoredModel:
    """The architecture of a checkpoint and where its tensors hold each role; no weights are read.

    ``config`` takes the place of the checkpoint's own. Raises :class:`UnsupportedModel` for families without an
    adapter, :class:`InvalidInput` without a configuration, :class:`InvalidFile` for tensors that are missing or have
    another shape than the configuration says.

    Example:
        >>> from symgauge.checkpoints import open_checkpoint, stored_model
        >>> from symgauge.models.huggingface import tiny
        >>> model = stored_model(open_checkpoint(tiny("llama")))
        >>> model.name_of("layers.0.attention.query.weight"), model.roles["final_norm.gain"].shape
        ('model.layers.0.self_attn.q_proj.weight', torch.Size([8]))
    """
    fields = config or checkpoint.config
    if fields is None:
        raise InvalidInput(
            f"{checkpoint.source}: tensors alone do not say how a model computes; give its config.json (--config)"
        )
    made = make_config({**fields})
    family = family_of(made.model_type)
    family.check(made)
    architecture = family.architecture(made)
    library = import_transformers()
    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        module = getattr(library, family.class_name)(made)
    names: dict[int, list[str]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
        shapes[names[id(parameter)][0]] = tuple(parameter.shape)
    find = finder(checkpoint, module.base_model_prefix)
    stored = {group[0]: found for group in names.values() if (found := find(group)) is not None}
    entries = _DeferredEntries(shapes, list(names.values()))
    for parameter in [name for name in shapes if name not in stored]:
        if (experts := expert_names(checkpoint, parameter, shapes[parameter][0])) is not None:
            stored |= entries.unstack(parameter, experts, shapes)
    parts = {role: (slot.index, slot.shift) for role, slot in family.slots(architecture, entries).items()}
    graph = graph_of(architecture)
    kept = {next(leaves(part)) for part, _ in parts.values()}
    if missing := sorted(kept - stored.keys()):
        parts, graph = _bare(checkpoint, family, fields, graph, parts, missing)
        kept -= set(missing)
    stored = {name: found for name, found in stored.items() if name in kept}
    transposed = _check_shapes(checkpoint, stored, shapes)
    halves = _interleaved(architecture, stored, checkpoint)
    used = set(stored.values()) | {found for group in names.values() if (found := find(group)) is not None}
    used |= {other for group in names.values() for other in group}
    others = tuple(name for name in checkpoint if name not in used and is_parameter(checkpoint, name))
    return StoredModel(checkpoint, family, architecture, graph, parts, stored, transposed, halves, others)


class _DeferredEntries(Entries):
    """A module's parameters by name, as tensors that are read later; tied ones are one."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], names: list[list[str]]) -> None:
        self.names, self.size = [], 0
        leaf = {group[0]: Deferred.named(group[0], shapes[group[0]]) for group in names}
        self._positions = {name: leaf[group[0]] for group in names for name in group}

    def unstack(
        self, parameter: str, experts: list[tuple[str, ...]], shapes: dict[str, tuple[int, ...]]
    ) -> dict[str, str]:
        """Make a stacked parameter of tensors that are stored one by one; their names, each its own parameter."""
        _, out, inner = shapes[parameter]
        alone = (out // len(experts[0]), inner)
        shapes |= {name: alone for group in experts for name in group}
        stack = _Stack(tuple(Deferred.named(name, alone) for name in group) for group in experts)
        self._positions[parameter] = stack  # type: ignore[assignment]
        return {name: name for group in experts for name in group}


class _Stack(list):
    """Experts one after the other, each in the parts that a stacked tensor is cut into."""

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found[0] if len(found) == 1 else _Parts(found)


class _Parts(tuple):
    def chunk(self, count: int) -> _Parts:
        return self


def _bare(
    checkpoint: Checkpoint, family: Family, fields: dict[str, Any], graph: ModelGraph,
    parts: dict[str, tuple[Tensor, int]], missing: list[str],
) -> tuple[dict[str, tuple[Tensor, int]], ModelGraph]:  # fmt: skip
    """Roles and graph of a model without its head. Raises where more than a head is missing, or a head was promised."""
    lacking = {role for role, (part, _) in parts.items() if next(leaves(part)) in missing}
    head = {role for role in parts if role.startswith(("head.", "unembedding."))}
    if family.class_name in (fields.get("architectures") or ()) or not lacking <= head:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidFile(f"{checkpoint.source}: lacks {missing[0]!r}{more}, which its configuration promises")
    kept = {role: part for role, part in parts.items() if role not in head}
    shapes = {role: shape for role, shape in graph.shapes.items() if role in kept}
    return kept, dataclasses.replace(graph, head=None, tied=False, shapes=shapes)


def _check_shapes(checkpoint: Checkpoint, stored: dict[str, str], shapes: dict[str, tuple[int, ...]]) -> frozenset[str]:
    """The parameters that are stored transposed: all matrices of layers, if one that is not square is."""
    turned = False
    for name, found in stored.items():
        have, want = checkpoint.shape(found), shapes[name]
        if have == want:
            continue
        if len(want) != 2 or have != want[::-1]:
            raise InvalidFile(
                f"{checkpoint.source}: tensor {found!r} has shape {have}, and its configuration asks for {want}"
            )
        turned = True
    if not turned:
        return frozenset()
    matrices = {name for name in stored if len(shapes[name]) == 2}
    straight = {n for n in matrices if checkpoint.shape(stored[n]) == shapes[n] != shapes[n][::-1]}
    # Tables lie one way everywhere; a square matrix goes with the matrices beside it.
    return frozenset(name for name in matrices - straight if not _TABLES.search(name))


def _interleaved(a: Architecture, stored: dict[str, str], checkpoint: Checkpoint) -> dict[str, int]:
    if not is_from_meta(checkpoint):
        return {}
    heads = {"q_proj": a.heads, "k_proj": a.groups}
    return {name: heads[key] for name in stored for key in heads if f".{key}." in name}


def halved(tensor: Tensor, heads: int) -> Tensor:
    """(heads · 2n, …) with the two channels of each plane side by side → first channels, then second ones."""
    return tensor.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)
