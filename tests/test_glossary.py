"""Every word of the glossary is used, in the documentation or in the code, and words that nobody else knows are not."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
LIBRARY = [path.read_text(encoding="utf-8") for path in (ROOT / "symgauge").rglob("*.py")]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]


def terms() -> list[str]:
    """What stands in bold, in lower case."""
    return [term.lower() for term in re.findall(r"\*\*(.+?)\*\*", GLOSSARY.read_text(encoding="utf-8"))]


def test_every_term_is_used() -> None:
    texts = [
        *LIBRARY,
        *(page.read_text(encoding="utf-8") for page in PAGES if page not in (GLOSSARY, ROOT / "docs/api.md")),
    ]
    used = " ".join(" ".join(texts).lower().replace("_", " ").split())
    found = terms()
    assert len(found) > 20
    assert len(set(found)) == len(found), "a term is defined twice"
    for term in found:
        assert re.search(rf"\b{term}s?\b", used), f"nothing speaks of {term!r}; take it out of docs/glossary.md"


PRIVATE = {
    "carrier": "wrapper tensor",
    "fresh element": "uninterpreted element",
    "jet": "traced value",
    "shadow": "float64 reference",
    "taint": "undefined entries",
    "wire": "graph_of",
    "wiring": "model graph",
    "reader-null-direction": "layernorm-output-mean",
    "writer-mean": "layernorm-input-mean",
    "bias-carry": "successive-bias-shift",
    "value-level": "value-mean-shift",
    "stream-shear": "stream-mean-shear",
}
"""Words that only this project had, and the field's."""


def test_private_words_are_gone() -> None:
    said = re.compile(rf"\b(?:{'|'.join(PRIVATE)})(?:s|ed)?\b", re.I)
    assert said.search("_wiring of Jets".replace("_", ""))
    for path in [*(ROOT / "symgauge").rglob("*.py"), *PAGES]:
        found = said.search(path.read_text(encoding="utf-8").replace("_", " "))
        assert not found, f"{path} says {found and found.group()!r}"
