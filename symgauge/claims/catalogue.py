"""Listing the claims of a folder of checks by reading their source, without importing it (checks import torch)."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symgauge.claims.ledger import sort_key
from symgauge.claims.record import Claim
from symgauge.errors import InvalidInput

PACKAGE = "proofs_checks"
Constants = dict[Path, dict[str, Any]]
"""The constants of modules by their file."""


@dataclass(frozen=True)
class Catalogue:
    """The claims of a folder by id, in reading order, and the file that checks each."""

    folder: Path
    claims: dict[str, Claim]
    files: dict[str, Path]


def checks_folder() -> Path:
    """Where the package of theorem checks is installed. Raises InvalidInput where it is not."""
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise InvalidInput(f"the package {PACKAGE} is not installed; install symgauge from its wheel or its clone")
    return Path(places[0])


def catalogue(folder: Path) -> Catalogue:
    """All claims declared in test_*.py below `folder`.

    Raises InvalidInput for a claim declared twice, or with arguments that are neither literals nor module constants.
    """
    claims: dict[str, Claim] = {}
    files: dict[str, Path] = {}
    known: Constants = {}
    for path in sorted(folder.rglob("test_*.py")):
        for claim in _declared_in(path, folder, known):
            if claim.id in claims:
                raise InvalidInput(f"claim {claim.id} is declared in {claims[claim.id].check} and in {claim.check}")
            claims[claim.id], files[claim.id] = claim, path
    ids = sorted(claims, key=sort_key)
    return Catalogue(folder, {claim_id: claims[claim_id] for claim_id in ids}, files)


def _declared_in(path: Path, folder: Path, known: Constants) -> Iterator[Claim]:
    name = path.relative_to(folder.parent).as_posix()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise InvalidInput(f"{name} is not Python: {error}") from error
    constants = _constants(tree, folder, known)
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and _called(decorator) == "claim":
                arguments = {str(key.arg): _text(key.value, constants, name) for key in decorator.keywords}
                yield replace(_claim(arguments, name, decorator.lineno), check=f"{name}::{node.name}")


def _claim(arguments: dict[str, Any], name: str, lineno: int) -> Claim:
    try:
        return Claim(**arguments)
    except TypeError as error:
        raise InvalidInput(f"{name}:{lineno}: not a claim ({error})") from error


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _constants(tree: ast.Module, folder: Path, known: Constants) -> dict[str, Any]:
    """Module constants, those imported from other modules of the same package included; ``known``: read before."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == folder.name:
            source = folder.parent.joinpath(*str(node.module).split(".")).with_suffix(".py")
            if source.is_file():
                if source not in known:
                    known[source] = _constants(ast.parse(source.read_text(encoding="utf-8")), folder, known)
                theirs = known[source]
                found.update({n.asname or n.name: theirs[n.name] for n in node.names if n.name in theirs})
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp):
            with suppress(InvalidInput):  # other module constants are no business of claims
                value = _text(node.value, found, "")
                found.update({target.id: value for target in node.targets if isinstance(target, ast.Name)})
    return found


def _text(node: ast.expr, constants: dict[str, Any], name: str) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, constants, name) + _text(node.right, constants, name)
    raise InvalidInput(
        f"{name}:{node.lineno}: write the arguments of @claim as literal strings, module constants or sums of them"
    )
