"""Sources stand alone, helpers lie in modules of their own, and checks are told from tests of the code they use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from symgauge.claims.catalogue import PACKAGE, catalogue, checks_folder
from symgauge.claims.declared import FILE
from symgauge.sources import sources

SUPPORT = "support"
MODULES = sorted(checks_folder().rglob("*.py"))
CHECKS = [path for path in MODULES if path.name.startswith("test_")]
LIBRARY = Path(__file__).parent.parent / "symgauge"
WORDS_OF_THE_FIELD = {"gauge", "production", "discovered"}
"""Names of sources that are also words; a claim's id, gauge/thm-1, is none."""


def imported(path: Path) -> Iterator[list[str]]:
    """The modules of the package that a file imports, by their parts after the package's name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by relative name"
            names = [f"{node.module}.{name.name}" for name in node.names]
        else:
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".")[1:] for name in names if name.split(".")[0] == PACKAGE)


def folder_of(path: Path) -> str:
    return path.relative_to(checks_folder()).parts[0]


def test_there_is_something_to_look_at() -> None:
    assert {folder_of(path) for path in CHECKS} >= {file.parent.name for file in checks_folder().glob(f"*/{FILE}")}
    assert any(parts[0] == SUPPORT for path in CHECKS for parts in imported(path))


def test_no_source_imports_another() -> None:
    for path in MODULES:
        for parts in imported(path):
            assert parts[0] in (folder_of(path), SUPPORT), f"{path} imports {parts}"


def test_nothing_imports_a_test_module() -> None:
    for path in MODULES:
        for parts in imported(path):
            assert not any(part.startswith("test_") for part in parts), f"{path} imports {parts}"


def test_checks_decide_claims_and_tests_of_helpers_do_not() -> None:
    for path in CHECKS:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        decide = [any("checks(" in ast.unparse(decorator) for decorator in test.decorator_list) for test in tests]
        assert tests, f"{path} has no test"
        assert not any(decide) if path.parent.name == "tests" else all(decide), f"{path} mixes checks and tests"


def test_the_library_names_no_source() -> None:
    names = {name for source in sources().values() for name in (source.name, source.folder.name)}
    proper = "|".join(sorted(names - WORDS_OF_THE_FIELD))
    ids = rf"({'|'.join(sorted(names))})/\w+"
    named = re.compile(rf"\b({proper}|{ids}|marked_sum|the paper|CT-\d)\b", re.I)
    assert named.search("as idealized/thm-1 has it")
    assert named.search("gauge/thm-3.6")
    for path in (*LIBRARY.rglob("*.py"), *LIBRARY.rglob("*.toml"), *LIBRARY.rglob("*.json")):
        found = named.search(path.read_text(encoding="utf-8"))
        assert not found, f"{path} names a source: {found and found.group()}"


def test_every_claim_says_where_it_is_from() -> None:
    claims = catalogue(checks_folder()).claims
    assert [name for name, claim in claims.items() if not (claim.quote or claim.unseen or claim.own)] == []
    assert [name for name, claim in claims.items() if len(claim.lines) != len(claim.quote)] == []
