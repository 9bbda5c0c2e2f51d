"""A canonical form stored without the numbers that it makes known, and made whole again bit for bit."""

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
from symgauge.checkpoints import Checkpoint, StoredModel, StoredTensor, open_checkpoint, stored_model
from symgauge.checkpoints.writing import TensorFile, copy_other_files, new_folder
from symgauge.comparison.acting import name_of
from symgauge.errors import InvalidFile
from symgauge.folders.canonical_pieces import canonical_pieces
from symgauge.folders.rewriting import (
    DTYPES,
    Progress,
    as_stored,
    config_of,
    opened,
    places,
    shown,
    target_name,
    written_parts,
)
from symgauge.model_graph import Attention
from symgauge.models.huggingface.config_file import read_json

WEIGHTS, PLAN = "compressed.safetensors", "compressed.json"
_FORMAT = "symgauge compressed folder 1"
_FREE = 2.0
"""Stands for a number that is stored; known ones are 0 and 1."""


@dataclass(frozen=True)
class Compressed:
    """What was written: how many numbers and bytes there were, and are now; ``notes`` as for the canonical form."""

    out: str
    numbers: tuple[int, int]
    bytes: tuple[int, int]
    rounding: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"out": self.out, "numbers": list(self.numbers), "bytes": list(self.bytes), "rounding": self.rounding,
                "notes": list(self.notes)}  # fmt: skip


@dataclass(frozen=True)
class _Planned:
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


_Plan = dict[str, _Planned]


@dataclass(frozen=True, eq=False)
class _Known:
    """What a form fixes: roles with one value throughout, and the identity blocks of attention layers."""

    constant: dict[str, float] = field(default_factory=dict)
    minors: dict[str, tuple[Minor, ...]] = field(default_factory=dict)

    def roles(self, blank: StoredModel) -> dict[str, Tensor]:
        """Every role of which something is known, with ``_FREE`` where it is not."""
        shapes = blank.graph.shapes
        found = {r: torch.full(shapes[r], value, dtype=torch.float64) for r, value in self.constant.items()}
        for name, minors in self.minors.items():
            for part, chosen in (("key", minors[:-1]), ("value", minors[-1:])):
                into = torch.full(shapes[f"{name}.{part}.weight"], float("nan"), dtype=torch.float64)
                for minor in chosen:
                    minor.mark(into)
                found[f"{name}.{part}.weight"] = into.nan_to_num(_FREE)
        return found

    def templates(self, blank: StoredModel) -> dict[str, Tensor]:
        """Stored name → its known entries, ``_FREE`` elsewhere; tensors of which nothing is known are left out."""
        found = {}
        for parameter, tensor in blank.put(self.roles(blank)).items():
            laid_out = tensor.mT if parameter in blank.transposed else tensor
            found[blank.stored[parameter]] = laid_out.contiguous()
        return found


def compress_folder(
    source: str | Path, out: str | Path, *, untie: bool = False, dtype: str = "", progress: Progress | None = None
) -> Compressed:
    """Write a model folder in the canonical form "minor" without the numbers that the form makes known.

    These are folded norm gains and offsets, biases that moved elsewhere, and an identity block in the keys (with rotary
    encoding a row per plane) and values of every group: d_v² numbers and d_k² or d_k.
    :func:`expand_folder` gives the same folder as ``canonicalize_folder(…, form="minor")``, bit for bit. Options as
    there. One layer is in memory at a time.

    Example:
        >>> import tempfile, symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> place = tempfile.mkdtemp()
        >>> tiny("gpt2").save_pretrained(f"{place}/model")
        >>> before, after = symgauge.compress_folder(f"{place}/model", f"{place}/small").numbers
        >>> after < before
        True
    """
    model = opened(source, untie, dtype)
    place, parts = places(model)
    plan = _planned(model, place, dtype)
    blank = _blank(plan, config_of(model), str(source))
    notes: list[str] = []
    constant: dict[str, float] = {}
    minors: dict[str, int] = {}
    rounding, kept_numbers, kept_bytes = 0.0, 0, 0
    folder_of = Path(model.checkpoint.source)
    rows = [f"{layer}.rows.{j}" for layer, s in _attention(model).items() for j in range(len(_kinds(model, s)))]
    with new_folder(Path(out)) as folder, TensorFile(folder / WEIGHTS, [*plan, *rows]) as file, torch.no_grad():

        def keep(name: str, tensor: Tensor) -> None:
            nonlocal kept_numbers, kept_bytes
            file.add(name, tensor)
            kept_numbers += tensor.numel()
            kept_bytes += tensor.numel() * tensor.element_size()

        done: set[str] = set()
        for fixed in shown(canonical_pieces(model, minor=True), model, progress):
            notes += fixed.notes
            rounding = max(rounding, fixed.rounding)
            constant |= fixed.constant
            for layer, found in fixed.minors.items():
                minors[layer] = len(found)
                for j, minor in enumerate(found):
                    keep(f"{layer}.rows.{j}", minor.rows.to(torch.int32))
            templates = _Known(fixed.constant, fixed.minors).templates(blank)
            for name, tensor in as_stored(model, fixed.roles, dtype).items():
                keep(name, tensor if name not in templates else tensor[templates[name] == _FREE])
                done.add(name)
        for name in plan.keys() - done:
            keep(name, model.checkpoint.stored(name))
        file.close()
        if folder_of.is_dir():
            copy_other_files(folder_of, folder)
        write_text(folder / "config.json", json.dumps(config_of(model), indent=2) + "\n")
        tensors = {name: asdict(t) for name, t in plan.items()}
        about = {"format": _FORMAT, "parts": parts, "tensors": tensors, "constant": constant, "minors": minors}
        write_text(folder / PLAN, json.dumps(about, indent=1) + "\n")
    before = (sum(t.numbers for t in plan.values()), sum(t.bytes for t in plan.values()))
    return Compressed(str(out), (before[0], kept_numbers), (before[1], kept_bytes), rounding, tuple(notes))


def expand_folder(source: str | Path, out: str | Path, *, progress: Progress | None = None) -> Path:
    """Make a compressed folder whole: the canonical form "minor" that it was made of, bit for bit.

    Raises :class:`InvalidFile` for a folder that :func:`compress_folder` did not write, or that is damaged.

    Example:
        >>> import tempfile, symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> place = tempfile.mkdtemp()
        >>> tiny("gpt2").save_pretrained(f"{place}/model")
        >>> small = symgauge.compress_folder(f"{place}/model", f"{place}/small")
        >>> symgauge.expand_folder(small.out, f"{place}/whole").name
        'whole'
    """
    folder = Path(source)
    if not (folder / PLAN).exists():
        raise InvalidFile(f"{folder} is no compressed model: it has no {PLAN}; `symgauge compress` writes such folders")
    about = read_json(folder / PLAN)
    if about.get("format") != _FORMAT:
        raise InvalidFile(f"{folder / PLAN}: is of another format than {_FORMAT!r}")
    checkpoint = open_checkpoint(folder / WEIGHTS)
    plan = _read_plan(about, folder)
    blank = _blank(plan, read_json(folder / "config.json"), str(folder))
    known = _Known(about["constant"], {layer: _minors(blank, checkpoint, layer) for layer in about["minors"]})
    by_tensor = _by_tensor(blank, known)
    with (
        new_folder(Path(out)) as made,
        written_parts(made, about["parts"], {n: t.part for n, t in plan.items()}) as add,
    ):
        copy_other_files(folder, made)
        (made / PLAN).unlink()
        for count, (name, entry) in enumerate(plan.items()):
            stored = checkpoint.stored(name)
            if name in by_tensor:
                template = by_tensor[name].templates(blank)[name]
                whole = template.to(stored.dtype)
                free = template == _FREE
                _check(name, int(free.sum()), stored.numel(), folder)
                whole[free] = stored
            else:
                _check(name, entry.numbers, stored.numel(), folder)
                whole = stored.reshape(entry.shape)
            add(name, whole)
            if progress is not None:
                progress(name, (count + 1) / len(plan))
    return Path(out)


def _check(name: str, expected: int, found: int, folder: Path) -> None:
    if expected != found:
        raise InvalidFile(f"{folder / WEIGHTS}: {name!r} has {found:,} numbers, and {PLAN} asks for {expected:,}")


def _attention(model: StoredModel) -> dict[str, Attention]:
    return {name_of(s): s for s in model.graph.sublayers() if isinstance(s, Attention)}


def _kinds(model: StoredModel, s: Attention) -> list[Blocks | None]:
    """What the minors of a layer are of: blocks of keys, then values."""
    return [*blocks(s.rotary, model.graph.shapes[s.key.weight][-1], torch.device("cpu")), None]


def _minors(blank: StoredModel, checkpoint: Checkpoint, layer: str) -> tuple[Minor, ...]:
    kinds = _kinds(blank, _attention(blank)[layer])
    return tuple(Minor(checkpoint.stored(f"{layer}.rows.{j}").long(), kind) for j, kind in enumerate(kinds))


def _by_tensor(blank: StoredModel, known: _Known) -> dict[str, _Known]:
    """The part of ``known`` that concerns each stored tensor."""
    found: dict[str, _Known] = {}
    for role, value in known.constant.items():
        found.setdefault(blank.name_of(role), _Known()).constant[role] = value
    for layer, minors in known.minors.items():
        for part in ("key", "value"):
            found.setdefault(blank.name_of(f"{layer}.{part}.weight"), _Known()).minors[layer] = minors
    return found


def _planned(model: StoredModel, place: dict[str, str], dtype: str) -> _Plan:
    """Every tensor that the canonical folder has."""
    found = {}
    parameters = {target_name(model, parameter): parameter for parameter in model.stored}
    for name, part in place.items():
        stored = model.stored[parameters[name]] if name in parameters else name
        own = model.checkpoint.dtype(stored)
        chosen = dtype or (own if own in DTYPES else "float32")
        found[name] = _Planned(chosen if name in parameters else own, model.checkpoint.shape(stored), part)
    return found


def _read_plan(about: dict[str, Any], folder: Path) -> _Plan:
    try:
        return {n: _Planned(t["dtype"], tuple(t["shape"]), t["part"]) for n, t in about["tensors"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidFile(f"{folder / PLAN}: is damaged") from error


def _blank(plan: _Plan, config: dict[str, Any], source: str) -> StoredModel:
    """The model whose numbers are all yet to come."""

    def one(t: _Planned) -> StoredTensor:
        return StoredTensor(t.shape, t.dtype, lambda: torch.full(t.shape, _FREE, dtype=torch.float64))

    return stored_model(Checkpoint(source, {name: one(t) for name, t in plan.items()}, config))
