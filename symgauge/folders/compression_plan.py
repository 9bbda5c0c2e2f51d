"""What a compressed folder says of the whole one: its tensors, and which of their entries are known."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.algorithms.channels import Blocks, blocks
from symgauge.algorithms.minors import Minor
from symgauge.atomic import write_text
from symgauge.checkpoints import Checkpoint, StoredModel, StoredTensor, stored_model
from symgauge.comparison.acting import name_of
from symgauge.errors import InvalidFile
from symgauge.folders.rewriting import DTYPES, target_name
from symgauge.model_graph import Attention
from symgauge.models.huggingface.config_file import read_json

FORMAT = "symgauge compressed folder 1"
FREE = 2.0
"""Stands for a number that is stored; known ones are 0 and 1."""


@dataclass(frozen=True)
class Planned:
    """A tensor of the whole folder, and the file that it goes to."""

    dtype: str
    shape: tuple[int, ...]
    part: str

    @property
    def numbers(self) -> int:
        return torch.Size(self.shape).numel()

    @property
    def bytes(self) -> int:
        return self.numbers * int(getattr(torch, self.dtype).itemsize)


@dataclass(frozen=True)
class Plan:
    """The files of the whole folder, its tensors, roles with one value throughout, and layers with identity blocks."""

    parts: list[str]
    tensors: dict[str, Planned]
    constant: dict[str, float]
    minors: list[str]

    def write(self, file: Path) -> None:
        write_text(file, json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n")


@dataclass(frozen=True, eq=False)
class Known:
    """What a form fixes: roles with one value throughout, and the identity blocks of attention layers."""

    constant: dict[str, float] = field(default_factory=dict)
    minors: dict[str, tuple[Minor, ...]] = field(default_factory=dict)

    def roles(self, blank: StoredModel) -> dict[str, Tensor]:
        """Every role of which something is known, with ``FREE`` where it is not."""
        shapes = blank.graph.shapes
        found = {r: torch.full(shapes[r], value, dtype=torch.float64) for r, value in self.constant.items()}
        for name, minors in self.minors.items():
            for part, chosen in (("key", minors[:-1]), ("value", minors[-1:])):
                into = torch.full(shapes[f"{name}.{part}.weight"], float("nan"), dtype=torch.float64)
                for minor in chosen:
                    minor.mark(into)
                found[f"{name}.{part}.weight"] = into.nan_to_num(FREE)
        return found

    def templates(self, blank: StoredModel) -> dict[str, Tensor]:
        """Stored name → its known entries, ``FREE`` elsewhere; tensors of which nothing is known are left out."""
        found = {}
        for parameter, tensor in blank.put(self.roles(blank)).items():
            laid_out = tensor.mT if parameter in blank.transposed else tensor
            found[blank.stored[parameter]] = laid_out.contiguous()
        return found


def attention_of_model(model: StoredModel) -> dict[str, Attention]:
    return {name_of(s): s for s in model.graph.sublayers() if isinstance(s, Attention)}


def kinds_of_minors(model: StoredModel, s: Attention) -> list[Blocks | None]:
    """What the minors of a layer are of: blocks of keys, then values."""
    return [*blocks(s.rotary, model.graph.shapes[s.key.weight][-1], torch.device("cpu")), None]


def minors_of(blank: StoredModel, checkpoint: Checkpoint, layer: str) -> tuple[Minor, ...]:
    kinds = kinds_of_minors(blank, attention_of_model(blank)[layer])
    return tuple(Minor(checkpoint.stored(f"{layer}.rows.{j}").long(), kind) for j, kind in enumerate(kinds))


def by_tensor(blank: StoredModel, known: Known) -> dict[str, Known]:
    """The part of ``known`` that concerns each stored tensor."""
    found: dict[str, Known] = {}
    for role, value in known.constant.items():
        found.setdefault(blank.name_of(role), Known()).constant[role] = value
    for layer, minors in known.minors.items():
        for part in ("key", "value"):
            found.setdefault(blank.name_of(f"{layer}.{part}.weight"), Known()).minors[layer] = minors
    return found


def planned(model: StoredModel, place: dict[str, str], dtype: str) -> dict[str, Planned]:
    """Every tensor that the canonical folder has."""
    found = {}
    parameters = {target_name(model, parameter): parameter for parameter in model.stored}
    for name, part in place.items():
        stored = model.stored[parameters[name]] if name in parameters else name
        own = model.checkpoint.dtype(stored)
        chosen = dtype or (own if own in DTYPES else "float32")
        found[name] = Planned(chosen if name in parameters else own, model.checkpoint.shape(stored), part)
    return found


def read_plan(file: Path) -> Plan:
    """The plan in a compressed folder's file. Raises :class:`InvalidFile` for anything else."""
    about = read_json(file)
    if about.get("format") != FORMAT:
        raise InvalidFile(f"{file}: is of another format than {FORMAT!r}")
    try:
        tensors = {n: Planned(t["dtype"], tuple(t["shape"]), t["part"]) for n, t in about["tensors"].items()}
        plan = Plan([*about["parts"]], tensors, {**about["constant"]}, [*about["minors"]])
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f"{file}: is damaged") from error
    for part in (*plan.parts, *(t.part for t in tensors.values())):
        if part not in plan.parts or not isinstance(part, str) or Path(part).name != part:
            raise InvalidFile(f"{file}: {part!r} is no file of the folder")
    return plan


def blank_model(tensors: dict[str, Planned], config: dict[str, Any], source: str) -> StoredModel:
    """The model whose numbers are all yet to come."""

    def one(t: Planned) -> StoredTensor:
        return StoredTensor(t.shape, t.dtype, lambda: torch.full(t.shape, FREE, dtype=torch.float64))

    return stored_model(Checkpoint(source, {name: one(t) for name, t in tensors.items()}, config))
