"""The subject of a ``transformers`` configuration: a file or its folder, a GGUF file, or a model type alone."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from symgauge.errors import InvalidFile, SymgaugeError, UnsupportedModel
from symgauge.models.huggingface.any_model import any_model
from symgauge.models.huggingface.config_file import check_fields, read_config
from symgauge.models.huggingface.gguf import read_gguf
from symgauge.models.huggingface.model_class import import_transformers
from symgauge.subjects.inputs import natural_inputs
from symgauge.subjects.modules import of_module
from symgauge.subjects.subject import Subject

_NO_WEIGHTS = "a configuration has no weights; the own point is that of a folder with model.safetensors"


def of_configuration(path: Path, seed: int, *, drawn: bool, own: bool, as_is: bool) -> Subject:
    """Of a ``config.json`` or its folder, for :func:`of_fields`; ``own``: with the weights of the folder."""
    with _located(path):
        folder = path if own and path.is_dir() else None
        return of_fields(str(path), read_config(path), seed, drawn=drawn, as_is=as_is, folder=folder)


def of_gguf(path: Path, seed: int, *, drawn: bool, as_is: bool) -> Subject:
    """Of the configuration that a GGUF file holds."""
    fields = read_gguf(path)
    with _located(path):
        check_fields(fields)
        return of_fields(str(path), fields, seed, drawn=drawn, as_is=as_is)


def of_fields(
    name: str, fields: dict[str, Any], seed: int, *, drawn: bool, as_is: bool, folder: Path | None = None
) -> Subject:
    """Of a configuration's fields, as :func:`~symgauge.models.huggingface.any_model.any_model` has them."""
    made = any_model(fields, seed=seed, drawn=drawn, as_is=as_is, folder=folder)
    kind, notes = type(made.model).__name__, made.notes
    if made.scaled:
        notes = (f"{name} is measured as a small {kind}: {_changes(made.scaled)}", *notes)
    if made.adapted is None:
        found = of_module(made.module, made.inputs)
    else:
        a = made.adapted.architecture
        found = Subject(made.module, natural_inputs(a), a, made.adapted.layout, recognized=True)
    no_own_point = "" if folder else _NO_WEIGHTS
    return dataclasses.replace(found, full_size=made.full_size, notes=notes, no_own_point=no_own_point, name=kind)


def model_types() -> list[str]:
    """The model types of ``transformers``; none where it is not installed."""
    with contextlib.suppress(UnsupportedModel):
        return list(import_transformers().CONFIG_MAPPING)
    return []


@contextmanager
def _located(path: Path) -> Iterator[None]:
    """Messages about the content of a file do not know where it came from."""
    try:
        yield
    except InvalidFile:
        raise
    except SymgaugeError as error:
        raise type(error)(f"{path}: {error}") from error


def _changes(scaled: dict[str, tuple[Any, Any]]) -> str:
    """What differs from the full size, sizes first."""
    sizes, others = [], []
    for name, (before, after) in scaled.items():
        if isinstance(before, int) and isinstance(after, int) and before != after:
            sizes.append(f"{name} {before:,} → {after:,}")
        elif before != after and not name.endswith(("_token_id", "_token_index")):
            others.append(name)
    return ", ".join([*sizes, *([f"{', '.join(others)} cut to match"] if others else [])])
