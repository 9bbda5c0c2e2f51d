"""All report pages of a ledger, and writing them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

from symgauge.atomic import write_bytes, write_text
from symgauge.claims import Ledger
from symgauge.reporting import pages
from symgauge.reporting.index_page import index_page
from symgauge.reporting.source_page import source_page


def extra_pages() -> dict[str, tuple[str, Callable[[Ledger], str]]]:
    """File name -> (title, writer) of the pages in symgauge/reporting/pages/."""
    found = {}
    for module_info in pkgutil.iter_modules(pages.__path__):
        module = importlib.import_module(f"{pages.__name__}.{module_info.name}")
        found[f"{module_info.name.replace('_', '-')}.md"] = (module.TITLE, module.page)
    return found


def render(ledger: Ledger) -> dict[str, str]:
    """File name -> Markdown, for the index, a page per source, and the extra pages. The same ledger, the same text."""
    extra = extra_pages()
    texts = {"index.md": index_page(ledger, {file: title for file, (title, _) in extra.items()})}
    texts |= {f"{source}.md": source_page(ledger, source) for source in ledger.sources}
    return texts | {file: writer(ledger) for file, (_, writer) in extra.items()}


def render_figures() -> dict[str, bytes]:
    """Path below the reports' folder -> PNG, for the pages that have figures."""
    found: dict[str, bytes] = {}
    for module_info in pkgutil.iter_modules(pages.__path__):
        module = importlib.import_module(f"{pages.__name__}.{module_info.name}")
        found |= module.figures() if hasattr(module, "figures") else {}
    return found


def write_reports(ledger: Ledger, folder: str | Path) -> list[Path]:
    """Write all pages and figures into `folder`, each all or nothing, and only after all could be made.

    Returns the paths of the pages.
    """
    texts, images = render(ledger), render_figures()
    for file, png in sorted(images.items()):
        write_bytes(Path(folder) / file, png)
    for file, text in sorted(texts.items()):
        write_text(Path(folder) / file, text)
    return [Path(folder) / file for file in sorted(texts)]
