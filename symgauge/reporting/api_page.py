"""docs/api.md: what the public packages export, from their docstrings.

python -m symgauge.reporting.api_page > docs/api.md
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = (
    "symgauge", "symgauge.accounting", "symgauge.algorithms", "symgauge.architecture", "symgauge.claims",
    "symgauge.models.reference", "symgauge.numeric", "symgauge.strategies", "symgauge.subjects", "symgauge.symmetries",
)  # fmt: skip
"""What is exported is public; everything else may change."""
_INTRODUCTION = """# What can be imported

Everything public, from its docstrings: `python -m symgauge.reporting.api_page > docs/api.md` writes this page. A test
compares them and runs the examples. Words that have a meaning of their own here: [glossary](glossary.md).
"""
_SECTION = re.compile(r"(Args|Raises|Returns):")


@dataclass(frozen=True)
class Public:
    """A class or function as the first of ``PACKAGES`` that exports it has it."""

    package: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        return f"{self.package}.{self.name}"


def public() -> list[Public]:
    """Every exported class and function, once."""
    found: dict[int, Public] = {}
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found.setdefault(id(value), Public(package, name, value))
    return list(found.values())


def page() -> str:
    """The Markdown of docs/api.md."""
    entries = public()
    anchors = _anchors(entries)
    parts = [_INTRODUCTION]
    for package in PACKAGES:
        own = [entry for entry in entries if entry.package == package]
        elsewhere = sorted(set(import_module(package).__all__) - {entry.name for entry in own} - {"__version__"})
        if own:
            parts.append(f"## {package}\n")
            parts.append(", ".join(f"[{entry.name}](#{anchors[entry.path]})" for entry in own) + "\n")
        if own and elsewhere:
            parts.append(f"Also {', '.join(f'`{name}`' for name in elsewhere)}.\n")
        parts += [_entry(entry) for entry in own]
    return "\n".join(parts)


def _anchors(entries: list[Public]) -> dict[str, str]:
    """Path → what GitHub makes of it as a heading; the second of two that differ in case alone gets a number."""
    found: dict[str, str] = {}
    for entry in entries:
        plain = entry.path.lower().replace(".", "")
        found[entry.path] = f"{plain}-1" if plain in found.values() else plain
    return found


def _entry(entry: Public) -> str:
    node = _definition(entry.value)
    blocks = [f"### {entry.path}"]
    if isinstance(node, ast.FunctionDef):
        blocks.append(f"```text\n{_signature(node)}\n```")
    blocks.append(_markdown(ast.get_docstring(node) or ""))
    if isinstance(node, ast.ClassDef):
        blocks += ["\n".join(members)] if (members := [*_members(node)]) else []
    return "\n\n".join(blocks) + "\n"


def _definition(value: Any) -> ast.ClassDef | ast.FunctionDef:
    for node in _tree(Path(inspect.getsourcefile(value) or "")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == value.__name__:
            return node
    raise LookupError(f"{value} is not defined at the top of its module")


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _signature(node: ast.FunctionDef, *, bound: bool = False) -> str:
    arguments = ast.unparse(node.args)
    if bound:
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){returned}"


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Fields, properties and methods that say what they are."""
    for item, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            default = f" = {ast.unparse(item.value)}" if item.value is not None else ""
            said = _string(following)
            name = item.target.id
            if not name.startswith("_"):
                yield f"- `{name}: {ast.unparse(item.annotation)}{default}`" + (f": {_inline(said)}" if said else "")
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            said = (ast.get_docstring(item) or "").split("\n\n")[0]
            marks = {ast.unparse(mark) for mark in item.decorator_list}
            if not said or "overload" in marks:
                continue
            plain = bool(marks & {"property", "cached_property"})
            yield f"- `.{item.name if plain else _signature(item, bound=True)}`: {_inline(said)}"


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _inline(text: str) -> str:
    """reStructuredText's marks as Markdown's, on one line."""
    text = re.sub(r":\w+:`~?([\w.]+)`", lambda m: f"`{m.group(1).split('.')[-1]}`", " ".join(text.split()))
    return text.replace("``", "`")


def _markdown(text: str) -> str:
    """A docstring: sections become lists, the example a block of code, everything else stays as it is."""
    blocks = []
    for block in text.split("\n\n"):
        head, *rest = block.split("\n")
        body = textwrap.dedent("\n".join(rest))
        if head == "Example:":
            blocks.append(f"```pycon\n{body}\n```")
        elif _SECTION.fullmatch(head):
            blocks.append(f"{head}\n\n" + "\n".join(f"- {_inline(item)}" for item in re.split(r"\n(?=\S)", body)))
        elif head.startswith("- "):
            blocks.append("\n".join(f"- {_inline(item)}" for item in re.split(r"(?:^|\n)- ", block)[1:]))
        else:
            blocks.append(_inline(block))
    return "\n\n".join(blocks)


if __name__ == "__main__":
    print(page(), end="")
