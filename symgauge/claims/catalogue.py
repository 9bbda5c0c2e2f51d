"""Listing claims, each with the check that decides it: both are read, nothing is imported (checks import torch)."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from symgauge.claims.declared import FILE, read, source_folder
from symgauge.claims.ledger import reading_order
from symgauge.claims.record import Claim
from symgauge.errors import InvalidInput

PACKAGE = "proofs_checks"


@dataclass(frozen=True)
class Catalogue:
    """The claims of the sources in a folder by id, in reading order, and the file that checks each."""

    folder: Path
    claims: dict[str, Claim]
    files: dict[str, Path]


@dataclass(frozen=True)
class _Check:
    """A test that decides claims: where it is, its file and the names it gives."""

    place: str
    line: int
    file: Path
    names: tuple[str, ...]


def checks_folder() -> Path:
    """Where the package of theorem checks is installed. Raises InvalidInput where it is not."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise InvalidInput(f"the package {PACKAGE} is not installed; install symgauge from its wheel or its clone")
    return Path(places[0])


def catalogue(folder: Path) -> Catalogue:
    """All claims of the sources in ``folder`` (or of ``folder`` itself, if it is a source), with their checks.

    Raises InvalidInput for a malformed claims.toml, a claim without a check or with two, and a check of no claim.
    """
    declared = {file.parent: read(file) for file in sorted(folder.rglob(FILE))}
    claims: dict[str, Claim] = {}
    files: dict[str, Path] = {}
    for check in _checks(folder):
        home = source_folder(check.file)
        for name in check.names:
            claim = _named(name, declared.get(home) if home else None, home, check)
            if claim.id in claims:
                raise InvalidInput(f"claim {claim.id} is decided by {claims[claim.id].check} and by {check.place}")
            claims[claim.id], files[claim.id] = replace(claim, check=check.place), check.file
    for home, known in declared.items():
        for claim in known.values():
            if claim.id not in claims:
                raise InvalidInput(
                    f"no test in {home} decides claim {claim.id}: write @checks({claim.name!r}) above the one that does"
                )
    return Catalogue(folder, {claim.id: claim for claim in sorted(claims.values(), key=reading_order)}, files)


def _named(name: str, known: dict[str, Claim] | None, home: Path | None, check: _Check) -> Claim:
    if known is None or home is None:
        raise InvalidInput(f"{check.place} decides {name!r}, but there is no {FILE} in its folder or above it")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        said = "; claims are named without their source" if "/" in name else "".join(f"; {n!r} is" for n in near)
        raise InvalidInput(f"{check.place} (line {check.line}) decides {name!r}, which is not in {home / FILE}{said}")
    return known[name]


def _checks(folder: Path) -> Iterator[_Check]:
    """The tests below a folder that decide claims."""
    for path in sorted(folder.rglob("test_*.py")):
        name = path.relative_to(folder.parent).as_posix()
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{name} is not Python: {error}") from error
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for call in filter(_is_checks, node.decorator_list):
                    yield _Check(f"{name}::{node.name}", call.lineno, path, _names(call, name))


def _is_checks(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "checks"


def _names(call: ast.expr, name: str) -> tuple[str, ...]:
    """The names that a decorator gives; they have to be there to read."""
    given = call.args if isinstance(call, ast.Call) and not call.keywords else []
    values = [argument.value if isinstance(argument, ast.Constant) else None for argument in given]
    names = tuple(value for value in values if isinstance(value, str))
    if not names or len(names) != len(given):
        raise InvalidInput(f"{name}:{call.lineno}: @checks takes the names of claims, as literal strings")
    return names
