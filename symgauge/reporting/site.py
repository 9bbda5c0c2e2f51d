"""All report pages of a ledger, and writing them."""

from __future__ import annotations

from pathlib import Path

from symgauge.atomic import write_bytes, write_text
from symgauge.claims import Ledger
from symgauge.experiments.suite import suites
from symgauge.reporting.experiments_page import recorded_figures, recorded_page
from symgauge.reporting.index_page import index_page
from symgauge.reporting.source_page import source_page
from symgauge.sources import source


def render(ledger: Ledger) -> dict[str, str]:
    """File name -> Markdown, for the index, a page per source, and the extra pages. The same ledger, the same text.

    A source with experiments has a page of what is recorded of them; one with a module ``page`` (TITLE, and
    ``page(ledger) -> str``) has that in place of the list of its claims.
    """
    texts = {f"{name}.md": source_page(ledger, name) for name in ledger.sources}
    titles = {}
    for name in ledger.sources:
        if own := source(name).module("page"):
            texts[f"{name}.md"], titles[f"{name}.md"] = own.page(ledger), own.TITLE
        if name in suites():
            file = f"{name}-experiments.md"
            texts[file], titles[file] = recorded_page(name), source(name).experiments[0]
    return {"index.md": index_page(ledger, titles), **texts}


def render_figures(ledger: Ledger) -> dict[str, bytes]:
    """Path below the reports' folder -> PNG, for the pages of experiments."""
    drawn = [recorded_figures(name) for name in ledger.sources if name in suites()]
    return {path: png for each in drawn for path, png in each.items()}


def write_reports(ledger: Ledger, folder: str | Path) -> list[Path]:
    """Write all pages and figures into `folder`, each all or nothing, and only after all could be made.

    Returns the paths of the pages.
    """
    texts, images = render(ledger), render_figures(ledger)
    for file, png in sorted(images.items()):
        write_bytes(Path(folder) / file, png)
    for file, text in sorted(texts.items()):
        write_text(Path(folder) / file, text)
    return [Path(folder) / file for file in sorted(texts)]
