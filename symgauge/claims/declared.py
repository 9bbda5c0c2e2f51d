"""claims.toml: what a source says, claim by claim, as data in the source's folder.

One ``[[claim]]`` per claim: id (within the source), place, statement and verdict, and where there is something to say
condition, correction and remark. A text may be broken over lines where it suits the file; it is read as one line.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from symgauge.claims.record import Claim
from symgauge.errors import InvalidInput

FILE = "claims.toml"
REQUIRED = ("id", "place", "statement", "verdict")
OPTIONAL = ("condition", "correction", "remark")


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
        claim = _claim(file, number, table)
        if claim.name in claims:
            raise InvalidInput(f"{file}: claim {claim.name!r} is there twice")
        claims[claim.name] = claim
    return claims


def _claim(file: Path, number: int, table: Any) -> Claim:
    if not isinstance(table, dict):
        raise InvalidInput(f"{file}: claim {number} must be a table, [[claim]], not {table!r}")
    where = f"{file}: claim {table.get('id', number)!r}"
    for key, value in table.items():
        if key not in REQUIRED + OPTIONAL:
            raise InvalidInput(f"{where} has the unknown field {key!r}; it may have {', '.join(REQUIRED + OPTIONAL)}")
        if not isinstance(value, str):
            raise InvalidInput(f"{where}: {key} must be text, not {value!r}")
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise InvalidInput(f"{where} has no {missing[0]}")
    source = source_name(file.parent)
    texts: dict[str, Any] = {key: " ".join(value.split("\n")) for key, value in table.items()}
    try:
        return Claim(**texts | {"id": f"{source}/{texts['id']}", "source": source})
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error
