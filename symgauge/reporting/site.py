"""All report pages of a ledger, and writing them."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

from symgauge.atomic import write_bytes, write_text
from symgauge.claims import Ledger
from symgauge.reporting import pages
from symgauge.reporting.index_page import index_page
from symgauge.reporting.source_page import source_page


def extra_pages(ledger: Ledger) -> dict[str, ModuleType]:
    """File name -> module, of the pages in symgauge/reporting/pages/ that go with this ledger."""
    found = {}
    for module_info in pkgutil.iter_modules(pages.__path__):
        module = importlib.import_module(f"{pages.__name__}.{module_info.name}")
        if getattr(module, "SOURCE", None) in (None, *ledger.sources):
            found[f"{module_info.name.replace('_', '-')}.md"] = module
    return found


def render(ledger: Ledger) -> dict[str, str]:
    """File name -> Markdown, for the index, a page per source, and the extra pages. The same ledger, the same text."""
    extra = extra_pages(ledger)
    texts = {"index.md": index_page(ledger, {file: module.TITLE for file, module in extra.items()})}
    texts |= {f"{source}.md": source_page(ledger, source) for source in ledger.sources}
    return texts | {file: module.page(ledger) for file, module in extra.items()}


def render_figures(ledger: Ledger) -> dict[str, bytes]:
    """Path below the reports' folder -> PNG, for the pages that have figures."""
    drawers = [module.figures for module in extra_pages(ledger).values() if hasattr(module, "figures")]
    return {path: png for draw in drawers for path, png in draw().items()}


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
