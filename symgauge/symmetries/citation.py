"""Where a symmetry family is known from: entries of ``bibliography.toml``, each with a place in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Cites:
    """A work by its key in ``bibliography.toml``, the place in it, and which part of the family it has (empty: all)."""

    key: str
    place: str = ""
    part: str = ""

    def __str__(self) -> str:
        """'Ashkboos et al. 2024, SliceGPT, Theorem 1 (arXiv:2401.15024): orthogonal maps'; KeyError if unknown."""
        work = bibliography()[self.key]
        who = work["authors"][0] if len(work["authors"]) == 1 else f"{work['authors'][0]} et al."
        said = ", ".join(word for word in (f"{who} {work['year']}", work["title"], self.place) if word)
        where = f"arXiv:{work['arxiv']}" if "arxiv" in work else f"doi:{work['doi']}"
        return f"{said} ({where})" + (f": {self.part}" if self.part else "")


@cache
def bibliography() -> Mapping[str, Mapping[str, Any]]:
    """Key → authors (family names), title, year, and arxiv or doi."""
    return tomllib.loads(files(__package__).joinpath("bibliography.toml").read_text(encoding="utf-8"))
