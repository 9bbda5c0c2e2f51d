"""A canonical form stored without the numbers that it makes known, and made whole again bit for bit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from symgauge.atomic import write_text
from symgauge.checkpoints import open_checkpoint
from symgauge.checkpoints.rows import Rows
from symgauge.checkpoints.writing import TensorFile, copy_other_files, new_folder
from symgauge.errors import InvalidFile
from symgauge.folders.canonical_pieces import canonical_pieces
from symgauge.folders.compression_plan import (
    FREE,
    Known,
    Plan,
    attention_of_model,
    blank_model,
    by_tensor,
    kinds_of_minors,
    minors_of,
    planned,
    read_plan,
)  # fmt: skip
from symgauge.folders.rewriting import Progress, as_stored, config_of, opened, places, shown, written_parts
from symgauge.models.huggingface.config_file import read_json

WEIGHTS, PLAN = "compressed.safetensors", "compressed.json"


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
    tensors = planned(model, place, dtype)
    blank = blank_model(tensors, config_of(model), str(source))
    plan = Plan(parts, tensors, {}, [])
    notes: list[str] = []
    rounding, kept_numbers, kept_bytes = 0.0, 0, 0
    folder_of = Path(model.checkpoint.source)
    rows = [
        f"{layer}.rows.{j}"
        for layer, s in attention_of_model(model).items()
        for j in range(len(kinds_of_minors(model, s)))
    ]
    with new_folder(Path(out)) as folder, TensorFile(folder / WEIGHTS, [*tensors, *rows]) as file, torch.no_grad():

        def keep(name: str, tensor: Tensor | Rows) -> None:
            nonlocal kept_numbers, kept_bytes
            kept_bytes += file.add(name, tensor)
            kept_numbers += tensor.numel()

        done: set[str] = set()
        for fixed in shown(canonical_pieces(model, minor=True), model, progress):
            notes += fixed.notes
            rounding = max(rounding, fixed.rounding)
            plan.constant.update(fixed.constant)
            for layer, found in fixed.minors.items():
                plan.minors.append(layer)
                for j, minor in enumerate(found):
                    keep(f"{layer}.rows.{j}", minor.rows.to(torch.int32))
            templates = Known(fixed.constant, fixed.minors).templates(blank)
            for name, tensor in as_stored(model, fixed.roles, dtype).items():
                known = isinstance(tensor, Tensor) and name in templates
                keep(name, tensor[templates[name] == FREE] if known else tensor)  # type: ignore[index]
                done.add(name)
        for name in tensors.keys() - done:
            keep(name, model.checkpoint.stored(name))
        file.close()
        if folder_of.is_dir():
            copy_other_files(folder_of, folder)
        write_text(folder / "config.json", json.dumps(config_of(model), indent=2) + "\n")
        plan.write(folder / PLAN)
    before = (sum(t.numbers for t in tensors.values()), sum(t.bytes for t in tensors.values()))
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
    plan = read_plan(folder / PLAN)
    checkpoint = open_checkpoint(folder / WEIGHTS)
    blank = blank_model(plan.tensors, read_json(folder / "config.json"), str(folder))
    if not plan.constant.keys() <= blank.parts.keys() or not {*plan.minors} <= attention_of_model(blank).keys():
        raise InvalidFile(f"{folder / PLAN}: does not belong to the model of the config.json beside it")
    known = Known(plan.constant, {layer: minors_of(blank, checkpoint, layer) for layer in plan.minors})
    partly = by_tensor(blank, known)
    with (
        new_folder(Path(out)) as made,
        written_parts(made, plan.parts, {n: t.part for n, t in plan.tensors.items()}) as add,
    ):
        copy_other_files(folder, made)
        (made / PLAN).unlink()
        for count, (name, entry) in enumerate(plan.tensors.items()):
            stored = checkpoint.stored(name)
            if name in partly:
                template = partly[name].templates(blank)[name]
                whole = template.to(stored.dtype)
                free = template == FREE
                _check(name, int(free.sum()), stored.numel(), folder)
                whole[free] = stored
            else:
                _check(name, entry.numbers, stored.numel(), folder)
                whole = stored.reshape(entry.shape)
            add(name, whole)
            if progress is not None:
                progress(name, (count + 1) / len(plan.tensors))
    return Path(out)


def _check(name: str, expected: int, found: int, folder: Path) -> None:
    if expected != found:
        raise InvalidFile(f"{folder / WEIGHTS}: {name!r} has {found:,} numbers, and {PLAN} asks for {expected:,}")
