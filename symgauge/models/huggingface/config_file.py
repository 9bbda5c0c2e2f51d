"""Reading a ``config.json``: nothing is run, nothing endless is read, and what makes no sense is one short sentence."""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from symgauge.errors import InvalidFile, InvalidInput

_LARGEST = 4 * 2**20
"""Bytes of a configuration file that are read at most; published ones have a few thousand."""
_DEEPEST = 12
_INTEGERS = 2**31

# Sizes without which there is no model, under the names that the families give them.
_POSITIVE = re.compile(
    r"(hidden_size|d_model|n_embd|embed_dim|(num_|encoder_|decoder_|num_encoder_|num_decoder_|n_)?(attention_)?heads?"
    r"|num_key_value_heads|(num_|n_)(hidden_)?layers?|vocab_size|max_position_embeddings|n_positions"
    r"|image_size|patch_size|num_channels)"
)
_LAYERS = re.compile(r"(num_|n_|encoder_|decoder_)?(hidden_|encoder_|decoder_)?layers?|\w+_layers|depth|num_blocks")
_DEEP = 2000
"""Layers that a model has at most; building many more would take forever."""
_SIZES = re.compile(r"(num|n)_\w+|\w+_(size|dim|heads|layers|embeddings)|d_\w+")
_NOT_SIZES = re.compile(r"\w*(token|index|_id|nan)\w*|n_group\w*|num_ln_\w+")
_EPSILON = re.compile(r"(\w*_)?eps(ilon)?(_\w+)?")


def quoted(value: object, limit: int = 60) -> str:
    """A value as it may stand in a message: its repr, cut off if long."""
    text = repr(value[: limit + 1] if isinstance(value, str | bytes | list) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(error: BaseException, limit: int = 200) -> str:
    """What an error says, on one line of bounded length."""
    text = " ".join(str(error)[: 8 * limit].split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def read_config(source: str | Path | dict[str, Any]) -> dict[str, Any]:
    """The fields of a ``config.json``, given as a file, a model directory, or a dict. Nothing else is read.

    Raises :class:`InvalidInput` for what is no configuration, or has sizes that make no sense.
    """
    if isinstance(source, dict):
        check_fields(source)
        return source
    path = Path(source)
    fields = read_json(path / "config.json" if _is_folder(path) else path)
    check_fields(fields)
    return fields


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
        return False


def read_json(path: Path) -> dict[str, Any]:
    """The object in a small JSON file; raises :class:`InvalidFile` for anything else, without waiting on pipes."""
    require_file(path, _LARGEST)
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidFile(f"{path}: not valid JSON: {one_line(error, 100)}") from error
    except RecursionError:
        raise InvalidFile(f"{path}: not valid JSON: nested too deeply") from None
    if not isinstance(fields, dict):
        raise InvalidFile(f"{path}: a model configuration is a JSON object, not a {type(fields).__name__}")
    return fields


def require_file(path: Path, largest: int | None = None) -> None:
    """Raise :class:`InvalidFile` unless ``path`` is an ordinary file of at most ``largest`` bytes."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such configuration file") from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or one_line(error, 100)
        raise InvalidFile(f"{quoted(str(path), 200)}: cannot be read: {reason}") from error
    if stat.S_ISDIR(found.st_mode):
        raise InvalidFile(f"{path}: is a folder where a file is expected")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path}: is no ordinary file (a pipe or device), so it is not opened")
    if largest is not None and found.st_size > largest:
        raise InvalidFile(
            f"{path}: has {found.st_size:,} bytes and is no model configuration, which has a few thousand"
        )


def walk(fields: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every field of a configuration and of the configurations inside it."""
    if depth > _DEEPEST:
        raise InvalidInput("the configuration is nested too deeply to be one")
    for name, value in fields.items():
        yield name, value
        if isinstance(value, dict) and not name.startswith(("id2label", "label2id", "task_specific")):
            yield from walk(value, depth + 1)


def check_fields(fields: dict[str, Any]) -> None:
    """Raise :class:`InvalidInput`, naming the field, for numbers that no model has."""
    for name, value in walk(fields):
        if len(name) > 100:
            raise InvalidInput(f"a configuration has no field with a name of {len(name):,} letters ({quoted(name)})")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if isinstance(value, float) and math.isnan(value):
            raise InvalidInput(f"configuration field {name!r} is NaN")
        if isinstance(value, int) and value > _DEEP and _LAYERS.fullmatch(name):
            raise InvalidInput(f"configuration field {name!r} is {quoted(value, 30)}; no model has so many layers")
        if isinstance(value, int) and abs(value) >= _INTEGERS:
            raise InvalidInput(f"configuration field {name!r} is {quoted(value, 30)}, more than any model has")
        if _EPSILON.fullmatch(name) and not 0 <= value < math.inf:
            raise InvalidInput(f"configuration field {name!r} is {value!r}; an epsilon is a number, not negative")
        if _POSITIVE.fullmatch(name) and value < 1:
            raise InvalidInput(f"configuration field {name!r} is {value!r}; it must be a positive integer")
        # −1 stands for "none" in several families.
        if value < -1 and _SIZES.fullmatch(name) and not _NOT_SIZES.fullmatch(name):
            raise InvalidInput(f"configuration field {name!r} is {value!r}; a size is not negative")
