"""Markdown as GitHub renders it: tables, and LaTeX that Markdown's own rules leave alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Code spans come first so that a dollar inside one stays text; \$ is a dollar sign.
SPAN = re.compile(r"(?P<code>(`+)(?!`).+?(?<!`)\2(?!`))|(?P<escaped>\\\$)|\$(?P<math>[^$]+)\$", re.DOTALL)
# A backslash before punctuation is an escape to Markdown; *, <, & and an underscore that no letter or digit precedes
# can start markup.
RISKY = re.compile(r"\\[^A-Za-z0-9\s]|[*<>~&]|(?:^|[^A-Za-z0-9])_")


def text(source: str) -> str:
    """`source`, its $...$ made safe: GitHub's $`...`$ form where Markdown would read markup into the formula."""
    return _spans(source, in_table=False)


def cell(source: object) -> str:
    """`source` on one line for a table cell; pipes are escaped, and inside formulas written \\vert."""
    return _spans(" ".join(str(source).split()), in_table=True)


def table(header: Sequence[object], rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A table; columns numbered in `right` are right-aligned. Every row must be as long as the header."""
    rules = ["--:" if column in right else "---" for column in range(len(header))]
    lines = [[cell(entry) for entry in header], rules]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row of {len(row)} cells under a header of {len(header)}: {row!r}")
        lines.append([cell(entry) for entry in row])
    return "\n".join(f"| {' | '.join(entries)} |" for entries in lines)


def code(source: str) -> str:
    """A code span, with as many backticks as it takes."""
    longest = max((len(run) for run in re.findall("`+", source)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if source.startswith("`") or source.endswith("`") else ""
    return f"{fence}{pad}{source}{pad}{fence}"


def verbatim(source: str) -> str:
    """Someone else's words, with nothing in them read as Markdown."""
    return re.sub(r"([\\`*_<>$#~|\[\]])", r"\\\1", source)


def quote(source: str) -> str:
    """A block quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text(source).splitlines())


def fold(summary: str, *blocks: str) -> str:
    """Blocks that are hidden until the reader opens them; ``summary`` is plain text."""
    return document(f"<details><summary>{summary}</summary>", *blocks, "</details>")


def document(*blocks: str) -> str:
    """Blocks with one empty line between them, and a newline at the end; empty blocks are left out."""
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def _spans(source: str, in_table: bool) -> str:
    pieces, end = [], 0
    for match in SPAN.finditer(source):
        pieces.append(_plain(source[end : match.start()], in_table))
        if match["math"] is not None:
            pieces.append(_formula(match["math"], in_table))
        else:
            pieces.append(_plain(match[0], in_table))
        end = match.end()
    return "".join([*pieces, _plain(source[end:], in_table)])


def _plain(source: str, in_table: bool) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", source) if in_table else source


def _formula(source: str, in_table: bool) -> str:
    formula = source
    if in_table:
        # Cells are cut at every pipe, and \| loses its backslash on the way.
        formula = formula.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    # A dollar next to a space is no delimiter.
    formula = formula.strip()
    return f"$`{formula}`$" if RISKY.search(formula) else f"${formula}$"
