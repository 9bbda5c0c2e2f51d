"""Fields of a dataclass checked against their annotations: words, flags, counts, numbers and records inside records."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from symgauge.checks import did_you_mean, is_integer, listed, shown
from symgauge.errors import InvalidInput


def check_fields(record: Any, what: str) -> None:
    """See that every field of a dataclass instance holds what its annotation says.

    Understood are Literal, bool, int, float (finite; integers are numbers, flags are not), str, Fraction, None, unions,
    tuples of any length, dicts, and classes. Raises InvalidInput, with the allowed words and the nearest one.
    """
    for name, hint in _hints(record.__class__).items():
        value = getattr(record, name)
        if not _fits(value, hint):
            words = [word for word in _words(hint) if isinstance(word, str)]
            near = did_you_mean(value, words)
            raise InvalidInput(f"{what} {name!r} must be {_expected(hint)}, not {shown(value)}{near}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union; the hint itself if it is none."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _words(hint: Any) -> list[object]:
    return [word for option in _options(hint) if get_origin(option) is Literal for word in get_args(option)]


def _fits(value: Any, hint: Any) -> bool:
    return any(_fits_one(value, option) for option in _options(hint))


def _fits_one(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and (
            all(_fits(x, arguments[0]) for x in value)
            if arguments[1:] == (...,)
            else len(value) == len(arguments) and all(map(_fits, value, arguments))
        )
    if origin in (dict, Mapping):
        return isinstance(value, origin) and all(
            _fits(key, arguments[0]) and _fits(x, arguments[1]) for key, x in value.items()
        )
    if hint is int:
        return is_integer(value)
    if hint is float:
        return (is_integer(value) or isinstance(value, float)) and math.isfinite(value)
    return isinstance(value, type(None) if hint is None else origin or hint)


def _expected(hint: Any) -> str:
    """An annotation in words."""
    options = [option for option in _options(hint) if option is not type(None)]
    words = _words(hint)
    parts = [listed(words)] if words else []
    parts += [_kind(option) for option in options if get_origin(option) is not Literal]
    return " or ".join([*dict.fromkeys(parts), *(["None"] if len(options) < len(_options(hint)) else [])])


def _kind(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return f"a tuple, each entry {_expected(arguments[0])}"
    if origin in (dict, Mapping):
        return f"a dict from {_plural(arguments[0])} to {_plural(arguments[1])}"
    known = {bool: "True or False", int: "an integer", float: "a finite number", str: "a string"}
    name = getattr(origin or hint, "__name__", str(hint))
    return known.get(hint) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _plural(hint: Any) -> str:
    return {str: "names", float: "finite numbers", int: "integers"}.get(hint) or _expected(hint)
