"""The documentation's examples run, and say what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent
FILES = [DOCS / "README.md", *sorted(DOCS.glob("docs/*.md")), *sorted(DOCS.glob("proofs_checks/*/README.md"))]
PAGES = [p for p in FILES if "```python" in p.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_examples_print_what_they_say(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Blocks of a page run in one namespace; ``# value`` behind a print is what must come out."""
    names: dict[str, object] = {}
    expected: list[str] = []
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, str(page), "exec"), names)
        expected += re.findall(r"^print\(.*\)\s+# (.*)$", block, re.M)
    assert expected, "a page's example must print something that it also states"
    assert capsys.readouterr().out.split("\n")[: len(expected)] == expected


def test_the_tree_of_the_design_has_every_package() -> None:
    tree = (DOCS / "docs" / "design.md").read_text().split("```")[1]
    packages = [path.parent.name for path in (DOCS / "symgauge").glob("*/__init__.py")]
    assert len(packages) > 10
    assert [name for name in packages if f"{name}/" not in tree] == []
    named = re.findall(r"(?<![\w/<>])([a-z_]+\.py)\b", tree.split("proofs_checks")[0])
    inside = {path.name for path in (DOCS / "symgauge").rglob("*.py")}
    assert [name for name in named if name not in inside] == []


def test_links_lead_somewhere() -> None:
    pages = [*FILES, DOCS / "CONTRIBUTING.md", DOCS / "CHANGELOG.md"]
    found = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())]
    assert len(found) > 40
    for page, link in found:
        assert link.startswith("http") or (page.parent / link).exists(), f"{page.name} links to {link}"
