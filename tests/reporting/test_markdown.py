"""Markdown that GitHub renders as meant."""

from __future__ import annotations

import pytest

from symgauge.reporting import markdown as md


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain | text", "plain | text"),
        ("$d_k$ and $h(d_k^2 + d_v^2)$", "$d_k$ and $h(d_k^2 + d_v^2)$"),
        ("$ d_k $", "$d_k$"),
        (r"$\{a\}$", r"$`\{a\}`$"),
        (r"$a\,b$", r"$`a\,b`$"),
        (r"$x^*$", r"$`x^*`$"),
        (r"$\hat{x}_i$ or $\hat{y}_i$", r"$`\hat{x}_i`$ or $`\hat{y}_i`$"),
        (r"$a < b$", r"$`a < b`$"),
        (r"$a & b$", r"$`a & b`$"),
        (r"$\|x\|_F$ and $ _y$", r"$`\|x\|_F`$ and $`_y`$"),
        (r"`$HOME` costs \$5 or \$6", r"`$HOME` costs \$5 or \$6"),
        ("one $ sign", "one $ sign"),
    ],
)
def test_text(source, expected) -> None:
    assert md.text(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a | b", r"a \| b"),
        (r"a \| b", r"a \| b"),
        ("`a|b`", r"`a\|b`"),
        ("$|x|$", r"$\vert x\vert$"),
        (r"$\|x\|_F$", r"$`\Vert x\Vert _F`$"),
        ("two\nlines", "two lines"),
        (3, "3"),
    ],
)
def test_cells(source, expected) -> None:
    assert md.cell(source) == expected


@pytest.mark.parametrize("source", ["a|b", "$|x|$", r"$\|x\|$ | `|`", "||", r"\|"])
def test_no_cell_splits_its_row(source) -> None:
    row = md.table(["x"], [[source]]).splitlines()[2]
    bare = [n for n, character in enumerate(row) if character == "|" and row[n - 1 : n] != "\\"]
    assert bare == [0, len(row) - 1]


def test_tables() -> None:
    assert md.table(["a", "n"], [["x", 1], ["y", 2]], right=[1]) == "| a | n |\n| --- | --: |\n| x | 1 |\n| y | 2 |"
    with pytest.raises(ValueError, match="a row of 1 cells under a header of 2"):
        md.table(["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("source", "expected"), [("x", "`x`"), ("a`b", "``a`b``"), ("`x`", "`` `x` ``"), ("a``b", "```a``b```")]
)
def test_code(source, expected) -> None:
    assert md.code(source) == expected


def test_folds_have_the_empty_lines_that_their_contents_need() -> None:
    assert md.fold("s", "a", "b") == "<details><summary>s</summary>\n\na\n\nb\n\n</details>\n"


def test_documents_end_with_one_newline_and_skip_empty_blocks() -> None:
    assert md.document("# a\n", "", "b\n\n") == "# a\n\nb\n"
    assert md.quote("a\nb") == "> a\n> b"
