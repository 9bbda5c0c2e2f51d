"""Fields of a dataclass checked against their annotations: words, flags, counts, numbers and records inside records."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from symgauge.checks import did_you_mean, is_integer, listed, shown
from symgauge.errors import InvalidInput

Test = Callable[[Any], bool]


def check_fields(record: Any, what: str) -> None:
    """See that every field of a dataclass instance holds what its annotation says.

    Understood are Literal, bool, int, float (finite; integers are numbers, flags are not), str, Fraction, None, unions,
    tuples of any length, dicts, and classes. Raises InvalidInput, with the allowed words and the nearest one.
    """
    for name, (hint, test) in _hints(record.__class__).items():
        value = getattr(record, name)
        if not test(value):
            words = [word for word in _words(hint) if isinstance(word, str)]
            near = did_you_mean(value, words)
            raise InvalidInput(f"{what} {name!r} must be {_expected(hint)}, not {shown(value)}{near}")


@cache
def _hints(kind: type) -> dict[str, tuple[Any, Test]]:
    """Annotations of the fields of a dataclass, and what tests them."""
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], _test(hints[f.name])) for f in dataclasses.fields(kind)}


def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union; the hint itself if it is none."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _words(hint: Any) -> list[object]:
    return [word for option in _options(hint) if get_origin(option) is Literal for word in get_args(option)]


@cache
def _test(hint: Any) -> Test:
    """What says whether a value is what an annotation asks for; built once, for records are made by the thousand."""
    tests = [_test_one(option) for option in _options(hint)]
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _test_one(hint: Any) -> Test:
    origin, arguments = get_origin(hint), get_args(hint)
    parts = [_test(argument) for argument in arguments if argument is not ...] if origin is not Literal else []
    if hint is Any:
        return lambda value: True
    if origin is Literal:
        return lambda value: any(type(value) is type(word) and value == word for word in arguments)
    if origin is tuple and arguments[1:] == (...,):
        return lambda value: isinstance(value, tuple) and all(map(parts[0], value))
    if origin is tuple:
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(parts)
            and all(test(x) for test, x in zip(parts, value, strict=True))
        )
    if origin in (dict, Mapping):
        return lambda value: isinstance(value, origin) and all(parts[0](k) and parts[1](x) for k, x in value.items())
    if hint is int:
        return is_integer
    if hint is float:
        return lambda value: (is_integer(value) or isinstance(value, float)) and math.isfinite(value)
    kind = type(None) if hint is None else origin or hint
    return lambda value: isinstance(value, kind)


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
