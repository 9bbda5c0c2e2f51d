"""All that ends up in a report is rendered by GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from symgauge.claims import Claim
from symgauge.claims.catalogue import catalogue, checks_folder
from symgauge.reporting import markdown as md
from symgauge.reporting.words import BEARINGS, KINDS, VERDICTS
from symgauge.sources import sources
from tests.reporting.github_math import BANNED, MACRO, UNAVAILABLE, refused

ROOT = Path(__file__).parents[2]


def texts(claim: Claim) -> Iterator[str]:
    yield from filter(None, (claim.place, claim.statement, claim.condition, claim.correction, claim.remark))


@pytest.mark.parametrize("source", [source.name for source in sources().values()])
def test_texts_of_claims(source: str) -> None:
    claims = [claim for claim in catalogue(checks_folder()).claims.values() if claim.source == source]
    wrong = {
        f"{claim.id}: {complaint}"
        for claim in claims
        for text in texts(claim)
        for written in (md.text(text), md.table(["text"], [[text]]))
        for complaint in refused(written)
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_findings_titles_and_words() -> None:
    told = [finding.text for source in sources().values() for finding in source.findings]
    told += [word for source in sources().values() for word in (source.title, *source.experiments)]
    told += [*VERDICTS.values(), *KINDS.values(), *BEARINGS.values()]
    assert [complaint for text in told for complaint in refused(md.text(text))] == []


@pytest.mark.parametrize("folder", [".", "docs", "reports"])
def test_pages(folder: str) -> None:
    pages = (ROOT / folder).glob("*.md") if folder == "." else (ROOT / folder).rglob("*.md")
    wrong = [
        f"{page.relative_to(ROOT)}: {complaint}"
        for page in sorted(pages)
        for complaint in refused(page.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_check_or_experiment_writes_what_is_refused() -> None:
    """Evidence is written by code; its text is on the pages only when they are written next."""
    found = {
        f"{path.relative_to(ROOT)}: \\{name}"
        for folder in ("symgauge", "proofs_checks")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".toml", ".json"} and "claims" not in path.parts
        for name in set(MACRO.findall(path.read_text(encoding="utf-8"))) & (BANNED | (UNAVAILABLE - {"def", "class"}))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (r"$\operatorname{rank}W$", r"\operatorname is not allowed"),
        (r"$\phantom{x}$", r"\phantom is not allowed"),
        (r"$\newcommand{\x}{y}$", r"\newcommand is not available"),
        (r"$\def\x{y}$", r"\def is not available"),
        ("a $x$ and $y", "without its partner"),
        ("$ x$", "next to a space"),
        (r"$\{x\}$", "reads markup"),
        (r"$\begin{pmatrix}1\\2\end{pmatrix}$", "reads markup"),
        (r"$a\,b$", "reads markup"),
        ("$x^*$", "reads markup"),
        ("$a < b$", "reads markup"),
        (r"$\hat{x}_i$", "reads markup"),
        ("$x_{$", "braces"),
        ("$x}{$", "braces"),
        (r"$\left( x)$", r"\left and \right"),
        (r"$`\begin{matrix}1`$", r"\begin and \end"),
        (r"$x_$", "index"),
        ("$`50 % of #`$", "comment"),
        ("a$x$", "behind 'a'"),
        ("query-$x$", "behind '-'"),
        ("$x$th", "before 't'"),
        ("| $|x|$ |", "pipe ends"),
        ("| $`|x|`$ |", "pipe ends"),
        ("**all of $x$**", "emphasised"),
        ("[the $x$ page](x.md)", "link"),
        ("$x_{i}$ " * 1001, "cost 2002"),
        (f"$`{'{}' * 1000}`$", "costs 1001"),
    ],
)
def test_what_is_refused(page: str, said: str) -> None:
    assert any(said in complaint for complaint in refused(page)), refused(page)


@pytest.mark.parametrize(
    "page",
    [
        r"$d_k$ and $h(d_k^2 + d_v^2)$, ($x$), **why:** $x$ is",
        r"$`\{x^*\} \\ y < 3`$",
        "a price of \\$5, code `$HOME` and `a|b`",
        "```sh\necho $HOME $\n```",
        r"| $\vert x\vert$ | `$` |",
        r"$\mathrm{rank}W_{O,i}$",
        r"$\leftarrow$",
        "[a link](x.md) and $x$ [another](y.md)",
        "$x_i$-dimensional",
    ],
)
def test_what_is_taken(page: str) -> None:
    assert refused(page) == []
