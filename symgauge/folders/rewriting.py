"""Reading a model folder to write another with the same files, a tensor at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.atomic import write_text
from symgauge.checkpoints import Checkpoint, StoredModel, open_checkpoint, stored_model
from symgauge.checkpoints.files import weight_files
from symgauge.checkpoints.names import is_parameter
from symgauge.checkpoints.rows import Rows
from symgauge.checkpoints.writing import TensorFile, copy_other_files, new_folder
from symgauge.errors import InvalidInput
from symgauge.folders.canonical_pieces import Fixed

DTYPES = ("float64", "float32", "bfloat16", "float16")
Progress = Callable[[str, float], None]


def opened(source: str | Path, untie: bool = False, dtype: str = "") -> StoredModel:
    """The model that a folder or file holds; with ``untie`` its head a tensor of its own.

    Raises :class:`InvalidInput` also for a dtype that nothing can be written in.
    """
    if dtype not in ("", *DTYPES):
        raise InvalidInput(f"dtype {dtype!r}: choose one of {', '.join(DTYPES)}, or none to keep each tensor's own")
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


def as_stored(model: StoredModel, roles: Mapping[str, Tensor | Rows], dtype: str = "") -> dict[str, Tensor | Rows]:
    """The tensors that hold these roles, by the names, shapes and dtypes of the files that they go to.

    Tables, and an unembedding as one (V, d_model), may be given by their rows, and are so again if they are stored so.
    """
    found: dict[str, Tensor | Rows] = {}
    whole: dict[str, Tensor] = {}
    for role, x in roles.items():
        if isinstance(x, Tensor):
            whole[role] = x
        elif model.rows(role) is None:
            whole[role] = x.whole().mT if role == "unembedding.weight" else x.whole()
        else:
            parameter = model.parameter_of(role)
            found[target_name(model, parameter)] = x.map(_cast(_dtype(model, parameter, dtype)))
    for parameter, tensor in model.put(whole).items():
        straight = keeps_names(model) and parameter in model.transposed
        wanted = _dtype(model, parameter, dtype)
        found[target_name(model, parameter)] = (tensor.mT if straight else tensor).to(wanted)
    return found


def _cast(dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    return lambda x: x.to(dtype)


def _dtype(model: StoredModel, parameter: str, chosen: str) -> torch.dtype:
    own = model.checkpoint.dtype(model.stored[parameter])
    return getattr(torch, chosen or (own if own in DTYPES else "float32"))


def keeps_names(model: StoredModel) -> bool:
    """Whether ``transformers`` reads the names and shapes stored, so that they can stay."""
    return not model.interleaved and not model.checkpoint.aliases


def target_name(model: StoredModel, parameter: str) -> str:
    return model.stored[parameter] if keeps_names(model) else parameter


@contextmanager
def writing(model: StoredModel, out: Path) -> Iterator[Callable[[str, Tensor | Rows], None]]:
    """Yields what adds a tensor to a new folder with the files of the old one; what is not added stays as it is."""
    source = Path(model.checkpoint.source)
    place, parts = places(model)
    written: set[str] = set()
    with new_folder(out) as folder, written_parts(folder, parts, place) as add:
        if source.is_dir():
            copy_other_files(source, folder)
        write_text(folder / "config.json", json.dumps(config_of(model), indent=2) + "\n")

        def note(name: str, tensor: Tensor | Rows) -> None:
            written.add(name)
            add(name, tensor)

        yield note
        for name in place.keys() - written:
            add(name, model.checkpoint.stored(name))


@contextmanager
def written_parts(
    folder: Path, parts: list[str], place: Mapping[str, str]
) -> Iterator[Callable[[str, Tensor | Rows], None]]:
    """Yields what adds a tensor to the file that ``place`` names for it; several files get an index."""
    sizes: dict[str, int] = {}
    with ExitStack() as stack:
        names = {part: [name for name in place if place[name] == part] for part in parts}
        files = {part: stack.enter_context(TensorFile(folder / part, names[part])) for part in parts}

        def add(name: str, tensor: Tensor | Rows) -> None:
            sizes[name] = files[place[name]].add(name, tensor)

        yield add
        for file in files.values():
            file.close()
    if len(parts) > 1:
        index = {"metadata": {"total_size": sum(sizes.values())}, "weight_map": {n: place[n] for n in sorted(sizes)}}
        write_text(folder / "model.safetensors.index.json", json.dumps(index, indent=2) + "\n")


def places(model: StoredModel) -> tuple[dict[str, str], list[str]]:
    """Which file of a new folder each tensor goes to, and the files: as they are, or one if they cannot stay."""
    names = {target_name(model, parameter) for parameter in model.stored} | set(model.others)
    source = Path(model.checkpoint.source)
    files = weight_files(source) if source.is_dir() else []
    if not files or files[0].suffix != ".safetensors" or not keeps_names(model):
        return dict.fromkeys(sorted(names), "model.safetensors"), ["model.safetensors"]
    from safetensors import safe_open

    place: dict[str, str] = {}
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            place |= dict.fromkeys(tensors.keys(), file.name)
    # A tied tensor that is stored twice is written once.
    place = {n: part for n, part in place.items() if n in names or not is_parameter(model.checkpoint, n)}
    parts = [file.name for file in files]
    return place | dict.fromkeys(sorted(names - place.keys()), parts[-1]), parts


def config_of(model: StoredModel) -> dict[str, Any]:
    """The configuration as it was, with what every reader of a folder needs."""
    fields = dict(model.checkpoint.config or {})
    if not fields.get("architectures"):
        fields["architectures"] = [model.family.class_name]
    return fields
