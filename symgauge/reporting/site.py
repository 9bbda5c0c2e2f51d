"""All report pages of a ledger, and writing them beside what is there already."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from symgauge.atomic import check_writable, locked, write_bytes, write_text
from symgauge.claims import Ledger
from symgauge.errors import InvalidInput
from symgauge.experiments.suite import suites
from symgauge.reporting.claim_page import claim_page, path
from symgauge.reporting.experiments_page import recorded_figures, recorded_page
from symgauge.reporting.index_page import TITLE, index_page
from symgauge.reporting.source_page import source_page
from symgauge.sources import source

LEDGER = "ledger.json"
INDEX = "index.md"


def render(ledger: Ledger) -> dict[str, str]:
    """File -> Markdown: the index, a page per source and per claim, extra pages. The same ledger, the same text.

    A source with experiments has a page of what is recorded of them; one with a module ``page`` (TITLE, and
    ``page(ledger) -> str``) has that in place of the list of its claims.
    """
    texts = {path(entry): claim_page(entry) for entry in ledger.entries.values()}
    titles = {}
    for name in ledger.sources:
        file = f"{name}-experiments.md" if name in suites() else ""
        if file:
            texts[file], titles[file] = recorded_page(name), source(name).experiments[0]
        texts[f"{name}.md"] = source_page(ledger, name, file)
        if own := source(name).module("page"):
            texts[f"{name}.md"], titles[f"{name}.md"] = own.page(ledger), own.TITLE
    return {INDEX: index_page(ledger, titles), **texts}


def render_figures(ledger: Ledger) -> dict[str, bytes]:
    """Path below the reports' folder -> PNG, for the pages of experiments."""
    drawn = [recorded_figures(name) for name in ledger.sources if name in suites()]
    return {path: png for each in drawn for path, png in each.items()}


def check_reports(ledger: Ledger, folder: Path, known: Collection[str] = ()) -> None:
    """See that reports on such a ledger can be written into `folder`, before long work; `known` as in `write_reports`.

    What counts of the ledger's entries is which claims they are on. Raises InvalidInput for a folder that cannot be
    written, or that holds pages which this would shorten or which symgauge did not write.
    """
    check_writable(folder)
    _together(ledger, folder, known)


def write_reports(ledger: Ledger, folder: Path, known: Collection[str] = ()) -> Path:
    """Bring the reports in `folder` up to date with a ledger, and return the path of their index.

    The folder's own ledger.json keeps every entry that the pages rest on. It is updated and all pages are made from it
    again, so that no page loses a claim that this ledger has not. known: the ids of all claims that some sources have,
    to leave out what is no longer a claim of theirs. Two runs into one folder wait for each other. Each file is written
    all or nothing, and only after all could be made. Raises InvalidInput as `check_reports` does.
    """
    check_writable(folder)
    with locked(folder):
        before, whole = _together(ledger, folder, known)
        texts, images = render(whole), render_figures(whole)
        for file, png in sorted(images.items()):
            write_bytes(folder / file, png)
        for file, text in sorted(texts.items()):
            write_text(folder / file, text)
        whole.save(folder / LEDGER)
        for claim_id in before.entries.keys() - whole.entries.keys():
            (folder / f"{claim_id}.md").unlink(missing_ok=True)
    return folder / INDEX


def _together(ledger: Ledger, folder: Path, known: Collection[str]) -> tuple[Ledger, Ledger]:
    """What the folder holds, and that with `ledger` in its place or beside it."""
    if (folder / LEDGER).exists():
        before = Ledger.load(folder / LEDGER)
        try:
            return before, before.updated(ledger, known)
        except InvalidInput as error:
            raise InvalidInput(f"{folder}: {error}") from error
    if (folder / INDEX).exists():
        text = (folder / INDEX).read_text(encoding="utf-8", errors="replace")
        if not text.startswith(f"# {TITLE}\n"):
            raise InvalidInput(f"{folder} has an {INDEX} that symgauge did not write; give another folder")
        if not known or set(known) - ledger.entries.keys():
            raise InvalidInput(
                f"{folder} has reports and no {LEDGER} to add to, and they would become shorter; "
                "verify every claim into it, or give another folder"
            )
    return Ledger(), ledger
