"""A model folder in canonical form, as another folder that loads where the first did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.atomic import write_text
from symgauge.checkpoints import Checkpoint, StoredModel, open_checkpoint, stored_model
from symgauge.checkpoints.files import weight_files
from symgauge.checkpoints.writing import TensorFile, copy_other_files, new_folder
from symgauge.errors import InvalidInput
from symgauge.folders.canonical_pieces import Fixed, canonical_pieces

DTYPES = ("float64", "float32", "bfloat16", "float16")
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Written:
    """What a folder was made into.

    ``rounding`` bounds the relative error of the heads' weights before they are rounded to the dtype stored (first
    order); ``notes`` say what is not determined, or stays as it was.
    """

    out: str
    rounding: float
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"out": self.out, "rounding": self.rounding, "notes": list(self.notes)}


def canonicalize_folder(
    source: str | Path, out: str | Path, *, form: str = "balanced", untie: bool = False, dtype: str = "",
    progress: Progress | None = None,
) -> Written:  # fmt: skip
    """Write the canonical form of a model folder (or GGUF file) to the new folder ``out``: one representative of all
    checkpoints that symmetries take into each other.

    Norm gains and offsets are folded into what reads them, the stream is in a fixed basis where nothing outside of the
    model reads it, heads are balanced and in order, neurons ordered and scaled (:func:`canonical_pieces`). The function
    is the same up to rounding to ``dtype``, by default each tensor's own; arithmetic is float64. Parts and names of the
    files stay, as do configuration and tokenizer. A tied head pins the final norm; ``untie`` stores the head as a tensor
    of its own, so that it can be folded and the stream turned, and says so in the configuration. ``form`` "minor"
    gives the heads the form that :func:`~symgauge.folders.compressing.compress_folder` stores.

    One layer is in memory at a time. Raises :class:`InvalidInput` for what cannot be read or written, and
    :class:`UnsupportedModel` for families without an adapter.
    """
    if form not in ("balanced", "minor"):
        raise InvalidInput(f"no canonical form {form!r} of a folder; choose 'balanced' or 'minor'")
    if dtype not in ("", *DTYPES):
        raise InvalidInput(f"dtype {dtype!r}: choose one of {', '.join(DTYPES)}, or none to keep each tensor's own")
    model = opened(source, untie)
    notes: list[str] = []
    rounding = 0.0
    with writing(model, Path(out)) as add, torch.no_grad():
        for fixed in shown(canonical_pieces(model, minor=form == "minor"), model, progress):
            notes += fixed.notes
            rounding = max(rounding, fixed.rounding)
            for name, tensor in as_stored(model, fixed.roles, dtype).items():
                add(name, tensor)
    return Written(str(out), rounding, tuple(notes))


def opened(source: str | Path, untie: bool) -> StoredModel:
    """The model that a folder or file holds; with ``untie`` its head a tensor of its own."""
    checkpoint = open_checkpoint(source)
    model = stored_model(checkpoint)
    if not untie or not model.graph.tied or model.graph.head is None:
        return model
    config = {**(checkpoint.config or {}), "tie_word_embeddings": False}
    with_head = {**checkpoint.tensors, "lm_head.weight": checkpoint[model.name_of("token_table")]}
    apart = stored_model(Checkpoint(checkpoint.source, with_head, config, {**checkpoint.aliases}))
    if "unembedding.weight" not in apart.parts or apart.name_of("unembedding.weight") != "lm_head.weight":
        raise InvalidInput(f"{checkpoint.source}: this family's head is not called lm_head, and cannot be untied here")
    return apart


def shown(pieces: Iterable[Fixed], model: StoredModel, progress: Progress | None) -> Iterator[Fixed]:
    """The pieces, with a word on each before the next is read."""
    steps = 2 * model.architecture.layers + 2
    for done, piece in enumerate(pieces):
        yield piece
        if progress is not None:
            progress(piece.name, min(1.0, (done + 1) / steps))


def as_stored(model: StoredModel, roles: dict[str, Tensor], dtype: str = "") -> dict[str, Tensor]:
    """The tensors that hold these roles, by the names, shapes and dtypes of the files that they go to."""
    found = {}
    for parameter, tensor in model.put(roles).items():
        own = model.checkpoint.dtype(model.stored[parameter])
        wanted = getattr(torch, dtype or (own if own in DTYPES else "float32"))
        found[target_name(model, parameter)] = _laid_out(model, parameter, tensor).to(wanted)
    return found


def keeps_names(model: StoredModel) -> bool:
    """Whether ``transformers`` reads the names and shapes stored, so that they can stay."""
    return not model.interleaved and not model.checkpoint.aliases


def target_name(model: StoredModel, parameter: str) -> str:
    return model.stored[parameter] if keeps_names(model) else parameter


def _laid_out(model: StoredModel, parameter: str, tensor: Tensor) -> Tensor:
    return tensor.mT if keeps_names(model) and parameter in model.transposed else tensor


@contextmanager
def writing(model: StoredModel, out: Path) -> Iterator[Callable[[str, Tensor], None]]:
    """Yields what adds a tensor to a new folder with the files of the old one; what is not added stays as it is."""
    source = Path(model.checkpoint.source)
    place, parts = _parts(model, source)
    with new_folder(out) as folder, ExitStack() as stack:
        if source.is_dir():
            copy_other_files(source, folder)
        write_text(folder / "config.json", json.dumps(_config(model), indent=2) + "\n")
        names: dict[str, list[str]] = {}
        for name, part in place.items():
            names.setdefault(part, []).append(name)
        files = {part: stack.enter_context(TensorFile(folder / part, names.get(part, []))) for part in parts}
        written: dict[str, int] = {}

        def add(name: str, tensor: Tensor) -> None:
            files[place.get(name, parts[-1])].add(name, tensor)
            written[name] = tensor.numel() * tensor.element_size()

        yield add
        used = set(model.stored.values())
        for name in place.keys() - written.keys():
            if keeps_names(model) or name not in used:
                add(name, model.checkpoint.stored(name))
        for file in files.values():
            file.close()
        if len(parts) > 1:
            index = {"metadata": {"total_size": sum(written.values())},
                     "weight_map": {name: place.get(name, parts[-1]) for name in sorted(written)}}  # fmt: skip
            write_text(folder / "model.safetensors.index.json", json.dumps(index, indent=2) + "\n")


def _parts(model: StoredModel, source: Path) -> tuple[dict[str, str], list[str]]:
    """Which file of the new folder each tensor goes to, and the files."""
    names = {target_name(model, parameter) for parameter in model.stored} | set(model.others)
    files = weight_files(source) if source.is_dir() else []
    if not files or files[0].suffix != ".safetensors" or not keeps_names(model):
        return dict.fromkeys(sorted(names), "model.safetensors"), ["model.safetensors"]
    from safetensors import safe_open

    place = {}
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            place |= dict.fromkeys(tensors.keys(), file.name)
    parts = [file.name for file in files]
    return place | {name: parts[-1] for name in names - place.keys()}, parts


def _config(model: StoredModel) -> dict[str, Any]:
    """The configuration as it was, with what every reader of a folder needs."""
    fields = dict(model.checkpoint.config or {})
    fields.setdefault("architectures", [model.family.class_name])
    return fields
