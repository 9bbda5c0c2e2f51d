"""claims.toml: what a source says, claim by claim, as data in the source's folder.

One ``[[claim]]`` per claim: id (within the source), place, statement and verdict, and where there is something to say
condition, correction and remark. A text may be broken over lines where it suits the file; it is read as one line.
``quote`` has the source's own words, one text or several, with "…" for what is left out; where the folder has the
source's ``text.words`` they have to stand there. ``unseen`` says where a statement is from that the text at hand does
not have; ``own = true`` that it is not the source's but ours. ``experiment`` has the key of the source's experiment
that decides the claim, or of several, ``quantities`` the beginnings of those of their comparisons that bear on it.
``no_control`` says why a claim that rests on transcriptions alone has no control.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from symgauge.claims import source_text
from symgauge.claims.record import Claim
from symgauge.errors import InvalidInput

FILE = "claims.toml"
REQUIRED = ("id", "place", "statement", "verdict")
OPTIONAL = ("condition", "correction", "remark", "quote", "unseen", "own", "experiment", "quantities", "no_control")


def source_name(folder: Path) -> str:
    """The source that a folder is of: folder ``a_b`` is source "a-b"."""
    return folder.name.replace("_", "-")


def source_folder(path: Path) -> Path | None:
    """The folder of the source that a file belongs to: the nearest one above it with a claims.toml."""
    return next((folder for folder in path.parents if (folder / FILE).is_file()), None)


def read(file: Path) -> dict[str, Claim]:
    """The claims of a claims.toml by their names within the source. Raises InvalidInput where it is malformed."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} is no TOML ({error})") from error
    tables = data.pop("claim", [])
    if data or not isinstance(tables, list):
        raise InvalidInput(f"{file} has {', '.join(data) or 'one claim'} where only [[claim]] tables belong")
    claims: dict[str, Claim] = {}
    for number, table in enumerate(tables, start=1):
        claim = replace(_claim(file, number, table), order=number - 1)
        if claim.name in claims:
            raise InvalidInput(f"{file}: claim {claim.name!r} is there twice")
        claims[claim.name] = claim
    return claims


def _claim(file: Path, number: int, table: Any) -> Claim:
    if not isinstance(table, dict):
        raise InvalidInput(f"{file}: claim {number} must be a table, [[claim]], not {table!r}")
    where = f"{file}: claim {table.get('id', number)!r}"
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if key not in REQUIRED + OPTIONAL:
            raise InvalidInput(f"{where} has the unknown field {key!r}; it may have {', '.join(REQUIRED + OPTIONAL)}")
        read_value, wanted = READERS.get(key, (_text, "text"))
        fields[key] = read_value(value)
        if fields[key] is None:
            raise InvalidInput(f"{where}: {key} must be {wanted}, not {value!r}")
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise InvalidInput(f"{where} has no {missing[0]}")
    source = source_name(file.parent)
    try:
        fields["lines"] = _lines(file.parent, fields.get("quote", ()))
        return Claim(**fields | {"id": f"{source}/{fields['id']}", "source": source})
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


def _text(value: Any) -> str | None:
    return " ".join(value.split("\n")) if isinstance(value, str) else None


def _texts(value: Any) -> tuple[str, ...] | None:
    texts = [_text(each) for each in (value if isinstance(value, list) else [value])]
    return tuple(text for text in texts if text) if texts and all(texts) else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "quote": (_texts, "a text or a list of texts"),
    "own": (_truth, "true or false"),
    "experiment": (_texts, "a text or a list of texts"),
    "quantities": (_texts, "a text or a list of texts"),
}
"""How a field is read that is not a text, and what it has to be."""


def _lines(folder: Path, quotes: tuple[str, ...]) -> tuple[int, ...]:
    """Where the source's text has the quotations; nowhere that can be said if there is no text."""
    if not quotes or not (folder / source_text.FILE).is_file():
        return ()
    text = source_text.text_of(folder)
    return tuple(text.line(quote) for quote in quotes)
