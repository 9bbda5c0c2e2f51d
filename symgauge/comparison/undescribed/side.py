"""One of two checkpoints that nothing describes: tensors by name, and the module that computes with them, if any."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.checkpoints import Checkpoint
from symgauge.checkpoints.names import finder, is_parameter
from symgauge.checkpoints.opening import in_memory
from symgauge.errors import InvalidFile, InvalidInput, UnsupportedModel
from symgauge.estimate import free_memory
from symgauge.models.huggingface.any_model import blamed, count_parameters, plainly_made
from symgauge.models.huggingface.model_class import choose_class, make_config
from symgauge.models.huggingface.own_weights import load_own
from symgauge.plain import prepare
from symgauge.private import private_copy
from symgauge.zoo.parts.bookkeeping import CHANGING, HARMLESS, WRITTEN_BY_TRANSFORMERS

_COPIES = 5
"""Copies of a model in float64 while two are run: both, the numbers before they were shaken, derivatives, results."""
_IGNORED = ((HARMLESS | WRITTEN_BY_TRANSFORMERS) - CHANGING
            - {"is_decoder", "max_window_layers", "n_ctx", "pad_token_id", "top_k"})  # fmt: skip
_TRAINING = re.compile(r"_.*|initializer_.*|.*dropout.*")
"""Fields of a configuration, with those ignored, that no forward pass in evaluation mode depends on."""
ALONE = "tensors alone"


@dataclass(frozen=True, eq=False)
class Side:
    """A checkpoint under the names that its module has for its tensors, or under those stored."""

    checkpoint: Checkpoint
    kind: str
    """What to call it: a model type, a class, or ALONE for tensors of which nobody knows what they belong to."""
    names: Mapping[str, str]
    """Name → stored name."""
    module: nn.Module | None = None
    """In float64, with these tensors, and no one else's; None where it cannot be had."""
    config: Any = None
    """Of ``transformers``."""
    why: str = ""
    """Why there is no module."""

    def tensors(self) -> dict[str, Tensor]:
        """What the module holds, under the names that are compared."""
        assert self.module is not None
        return {group[0]: self.module.state_dict(keep_vars=True)[group[0]] for group in _tied(self.module)}

    def read(self, name: str) -> Tensor:
        return self.checkpoint.read(self.names[name])

    def shape(self, name: str) -> tuple[int, ...]:
        return self.checkpoint.shape(self.names[name])

    def dtype(self, name: str) -> str:
        return self.checkpoint.dtype(self.names[name])


def two_sides(
    sources: tuple[Any, Any], opened: tuple[Checkpoint, Checkpoint], configs: tuple[Any, Any]
) -> tuple[Side, Side]:
    """Both; where only one of them says how it computes, the other is taken to compute likewise."""
    sides = [_side(*both) for both in zip(sources, opened, configs, strict=True)]
    for i in (0, 1):
        other = sides[1 - i]
        if sides[i].kind == ALONE and other.module is not None:
            sides[i] = _filled(opened[i], private_copy(other.module), other.kind, other.config)
    if any(side.module is None for side in sides):
        sides = [replace(side, names=_as_stored(side.checkpoint)) for side in sides]
    return sides[0], sides[1]


def _as_stored(checkpoint: Checkpoint) -> dict[str, str]:
    return {name: name for name in checkpoint}


def _side(source: Any, checkpoint: Checkpoint, fields: dict[str, Any] | None) -> Side:
    names = _as_stored(checkpoint)
    if isinstance(source, nn.Module):
        config = getattr(source, "config", None) if hasattr(source, "main_input_name") else None
        kind = getattr(config, "model_type", None) or type(source).__name__
        twin = private_copy(source)
        prepare(twin, [], torch.zeros(0))
        return Side(checkpoint, kind, {group[0]: group[0] for group in _tied(source)}, twin, config)
    if fields is None:
        why = "tensors alone do not say how a model computes; give its config.json (--config), or modules"
        return Side(checkpoint, ALONE, names, why=why)
    kind = str(fields.get("model_type"))
    try:
        made, config, _ = choose_class(make_config(fields), fields.get("architectures"))
        with blamed(made, config):
            count = count_parameters(made, config)
            if 8.0 * _COPIES * count > free_memory():
                return Side(checkpoint, kind, names, None, config, f"{count:,} parameters do not fit into memory")
            module = plainly_made(made, config)
    except UnsupportedModel as error:
        return Side(checkpoint, kind, names, why=str(error))
    side = _filled(checkpoint, module, kind, config)
    if side.module is None and isinstance(source, str | Path) and Path(source).is_dir():
        return _converted(Path(source), side, made) or side
    return side


def _tied(module: nn.Module) -> list[list[str]]:
    """Names of parameters and buffers that files hold, those of one tensor together."""
    found: dict[int, list[str]] = {}
    for name, x in module.state_dict(keep_vars=True).items():
        if isinstance(x, Tensor):
            found.setdefault(id(x), []).append(name)
    return [*found.values()]


def _filled(checkpoint: Checkpoint, module: nn.Module, kind: str, config: Any) -> Side:
    """A module with the tensors of a checkpoint, or none where these are not what it has."""
    find = finder(checkpoint, getattr(module, "base_model_prefix", ""))
    tensors = module.state_dict(keep_vars=True)
    found: dict[str, str] = {}
    used: set[str] = set()

    def none(name: str, what: str) -> Side:
        why = f"{checkpoint.source}: {name!r} of {type(module).__name__} {what}"
        return Side(checkpoint, kind, _as_stored(checkpoint), None, config, why)

    for group in _tied(module):
        x, its = tensors[group[0]], find(group)
        if its is None and not isinstance(x, nn.Parameter):
            continue  # a buffer that files leave out
        if its is None:
            return none(group[0], "is missing")
        if checkpoint.shape(its) != tuple(x.shape):
            return none(group[0], f"has shape {checkpoint.shape(its)}, not {tuple(x.shape)}")
        same = [other for name in group if (other := find([name])) is not None]
        if not all(torch.equal(checkpoint.stored(its), checkpoint.stored(other)) for other in same if other != its):
            return none(group[0], f"is one tensor with {group[1]!r}, which is stored as another")
        found[group[0]] = its
        used |= {its, *same}
        with torch.no_grad():
            x.copy_(checkpoint.read(its) if x.is_floating_point() else checkpoint.stored(its))
    rest = {name: name for name in checkpoint if name not in used}
    return Side(checkpoint, kind, found | rest, module.requires_grad_(False), config)


def _converted(folder: Path, side: Side, made: type[Any]) -> Side | None:
    """A folder whose tensors ``transformers`` renames or joins when it reads them, read by it; None unless it takes
    every number."""
    try:
        module = load_own(made, side.config, folder)
    except InvalidFile:
        return None
    groups = _tied(module)
    tensors = module.state_dict()
    here = Checkpoint(side.checkpoint.source, in_memory({group[0]: tensors[group[0]] for group in groups}))
    counts = [
        sum(math.prod(x.shape(name)) for name in x if is_parameter(x, name)) for x in (here, side.checkpoint)
    ]  # fmt: skip
    if counts[0] != counts[1]:
        return None
    return Side(here, side.kind, _as_stored(here), module.requires_grad_(False), side.config)


def computed_differently(a: Side, b: Side) -> list[str]:
    """Fields in which the configurations differ, but for those that no function depends on.

    Raises :class:`InvalidInput` for two model types.
    """
    one, two = (side.config.to_dict() if side.config is not None else side.checkpoint.config for side in (a, b))
    if one is None or two is None:
        return []
    if one.get("model_type") != two.get("model_type"):
        raise InvalidInput(
            f"{a.checkpoint.source} and {b.checkpoint.source} are two architectures, {a.kind} and {b.kind}, whose "
            "tensors do not correspond"
        )
    names = (name for name in {**one, **two} if name not in _IGNORED and not _TRAINING.fullmatch(name))
    return [name for name in names if one.get(name) != two.get(name)]
