"""The sources whose claims are checked, found by their folders: each has a source.toml in the package of checks.

A folder ``a_b`` is the source "a-b", the name that starts its claims' ids. Beside source.toml (title, findings, words
for the page of experiments) and claims.toml (see :mod:`symgauge.claims.declared`) it may have ``experiments/`` (see
:mod:`symgauge.experiments.suite`), ``records/`` with what they gave, ``commands/`` with commands of the command line,
one file each with a function ``command``, ``counts.py`` (see :mod:`symgauge.claimed`), and ``page.py``, whose page
takes the place of the source's own. Nothing else names a source.
"""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from symgauge.claims.catalogue import PACKAGE, checks_folder
from symgauge.claims.declared import source_name
from symgauge.errors import InvalidInput

FILE = "source.toml"


@dataclass(frozen=True)
class Finding:
    """text: one or two sentences of Markdown. claims: ids; with one of them undecided or off the record it is none."""

    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A source as its folder describes it; ``experiments``: the title and the note of their page."""

    name: str
    folder: Path
    title: str
    findings: tuple[Finding, ...] = ()
    experiments: tuple[str, str] = ("", "")

    def module(self, *names: str) -> ModuleType | None:
        """A module or package of its folder; None if there is none."""
        path = self.folder.joinpath(*names)
        if self.folder.parent != checks_folder() or not (path.is_dir() or path.with_suffix(".py").is_file()):
            return None
        return import_module(".".join([PACKAGE, self.folder.name, *names]))


@cache
def sources() -> dict[str, Source]:
    """Name -> source, in alphabetical order. Raises InvalidInput for a source.toml that is none."""
    files = sorted(checks_folder().glob(f"*/{FILE}"))
    return {source.name: source for source in map(read, files)}


def modules(name: str) -> Iterator[tuple[Source, ModuleType]]:
    """The module of that name of every source that has one; none where the package of checks is not installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        return
    for each in sources().values():
        if (module := each.module(name)) is not None:
            yield each, module


def register(folder: Path) -> None:
    """Let the sources in a folder of one's own, or that folder itself, be known by name too, for their pages.

    Raises InvalidInput for a source.toml that is none.
    """
    for file in sorted([*folder.glob(FILE), *folder.glob(f"*/{FILE}")]):
        found = read(file)
        sources().setdefault(found.name, found)


def source(name: str) -> Source:
    """The source of that name; one without a folder has its name for a title."""
    return sources().get(name) or Source(name, Path(), name)


def source_commands() -> dict[str, str]:
    """Names of the commands that sources bring, and the module of each. Reads no source.toml and imports no source."""
    files = checks_folder().glob("*/commands/[!_]*.py")
    return {f.stem.replace("_", "-"): f"{PACKAGE}.{f.parent.parent.name}.commands.{f.stem}" for f in files}


def read(file: Path) -> Source:
    """A source from its source.toml. Raises InvalidInput where that is malformed."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} is no TOML ({error})") from error
    _check(file, data, {"title": str, "findings": list, "experiments": dict})
    if "title" not in data:
        raise InvalidInput(f'{file} has no title; write title = "..."')
    findings = []
    for entry in data.get("findings", ()):
        _check(file, entry, {"text": str, "claims": list})
        findings.append(Finding(_joined(entry.get("text", "")), tuple(entry.get("claims", ()))))
    words = data.get("experiments", {})
    _check(file, words, {"title": str, "note": str})
    pair = (words.get("title", ""), _joined(words.get("note", "")))
    return Source(source_name(file.parent), file.parent, data["title"], tuple(findings), pair)


def _joined(text: str) -> str:
    """One line: in the file it is broken where it suits the file."""
    return " ".join(text.split("\n"))


def _check(file: Path, table: Any, kinds: dict[str, type]) -> None:
    if not isinstance(table, dict):
        raise InvalidInput(f"{file}: findings must be tables, [[findings]], not {table!r}")
    for key, value in table.items():
        if key not in kinds:
            raise InvalidInput(f"{file}: unknown key {key!r}; it may have {_words(tuple(kinds))}")
        if not isinstance(value, kinds[key]):
            raise InvalidInput(f"{file}: {key} must be a {kinds[key].__name__}, not {value!r}")


def _words(keys: Sequence[str]) -> str:
    return ", ".join(keys)
