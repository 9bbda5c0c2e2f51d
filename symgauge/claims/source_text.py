"""The words of a source, as fingerprints: quotations can be checked line by line, and absences too, without its text.

A source's folder may hold ``text.words``, made from its text by ``python -m symgauge.claims.source_text TEXT``. Each
line stands for a line of the text and has four characters for each of its words (24 bits of a hash), so a quotation is
found at its line, and what is nowhere in the text is seen to be missing. Words are runs of letters and digits, whatever
their case: of LaTeX the letters remain, ``$d_k$`` is "d k".
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from symgauge.errors import InvalidInput

_BYTES, _CHARACTERS = 3, 4
FILE = "text.words"


def words(text: str) -> list[str]:
    """The words of a text: runs of letters and digits, in lower case, compatibility characters taken apart."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_NUMBER = re.compile(rf"(?:({_DIGITS})\s*(?:×|\\times)\s*)?10\^\{{?(-?\d+)\}}?|({_DIGITS})")


def numbers(text: str) -> list[str]:
    """The numbers of a text in order, with the digits that it has: 5.28×10^{-15} is "5.28e-15", 245,760 is "245760"."""
    found = _NUMBER.finditer(text.replace(r"\!", ""))
    return [(each[3] or f"{each[1] or 1}e{each[2]}").replace(",", "") for each in found]


def fingerprint(text: str) -> str:
    """What ``text.words`` holds for a text: its SHA-256, and a line of fingerprints for each of its lines."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    lines = ["".join(map(_mark, words(line))) for line in text.splitlines()]
    return "\n".join([f"sha256 {digest}", *lines]) + "\n"


@cache
def _mark(word: str) -> str:
    digest = hashlib.sha256(word.encode()).digest()[:_BYTES]
    return base64.b64encode(digest).decode()


@dataclass(frozen=True)
class SourceText:
    """A source's words in order. ``lines[i]`` is the line (from 1) of word i, as ``marks[i]`` is its fingerprint."""

    name: str
    sha256: str
    marks: tuple[str, ...]
    lines: tuple[int, ...]

    @classmethod
    def read(cls, path: Path) -> SourceText:
        """Raises InvalidInput where the file is missing or no fingerprint of a text."""
        try:
            head, *rows = path.read_text(encoding="ascii").splitlines()
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{path} cannot be read as the words of a source: {error}") from error
        if not re.fullmatch(r"sha256 [0-9a-f]{64}", head) or any(len(row) % _CHARACTERS for row in rows):
            raise InvalidInput(f"{path} is not a file that `python -m symgauge.claims.source_text TEXT` wrote")
        cut = [(row[i : i + _CHARACTERS], n) for n, row in enumerate(rows, 1) for i in range(0, len(row), _CHARACTERS)]
        return cls(path.parent.name, head.split()[1], tuple(mark for mark, _ in cut), tuple(n for _, n in cut))

    def find(self, phrase: str, start: int = 0) -> int | None:
        """Where the words of ``phrase`` next stand one after the other from word ``start`` on; None if nowhere.

        Raises InvalidInput for a phrase without words.
        """
        wanted = tuple(map(_mark, words(phrase)))
        if not wanted:
            raise InvalidInput(f"{phrase!r} has no words to look for in the text of {self.name}")
        begins = (at for at in self._places.get(wanted[0], ()) if at >= start)
        return next((at for at in begins if self.marks[at : at + len(wanted)] == wanted), None)

    def quote(self, phrase: str) -> str:
        """``phrase``, which has to stand in the text; parts left out are written "…" and have to follow in order.

        Raises InvalidInput, with the longest beginning that does stand there.
        """
        at = 0
        for part in phrase.split("…"):
            found = self.find(part, at)
            if found is None:
                raise InvalidInput(f"the text of {self.name} does not say {part.strip()!r}{self._as_far_as(part)}")
            at = found + len(words(part))
        return phrase

    def line(self, phrase: str) -> int:
        """The line of the text (from 1) where a quotation begins. Raises InvalidInput as :meth:`quote`."""
        self.quote(phrase)
        at = self.find(phrase.split("…")[0])
        assert at is not None
        return self.lines[at]

    def between(self, first: str, last: str) -> SourceText:
        """The part of the text from one quotation to the next place of another, both left in."""
        self.quote(f"{first} … {last}")
        begin = self.find(first)
        assert begin is not None
        end = self.find(last, begin + len(words(first)))
        assert end is not None
        part = slice(begin, end + len(words(last)))
        return SourceText(self.name, self.sha256, self.marks[part], self.lines[part])

    def count(self, phrase: str) -> int:
        """How often the words of ``phrase`` stand one after the other."""
        found, at = 0, self.find(phrase)
        while at is not None:
            found, at = found + 1, self.find(phrase, at + 1)
        return found

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where each word stands."""
        found: dict[str, list[int]] = {}
        for at, mark in enumerate(self.marks):
            found.setdefault(mark, []).append(at)
        return found

    def _as_far_as(self, phrase: str) -> str:
        parts = words(phrase)
        known = next((n for n in range(len(parts) - 1, 0, -1) if self.find(" ".join(parts[:n])) is not None), 0)
        return f"; it does say {' '.join(parts[:known])!r}" if known else ""


@cache
def text_of(folder: Path) -> SourceText:
    """The text of the source in ``folder``. Raises InvalidInput where it has none on record."""
    return SourceText.read(folder / FILE)


def main(arguments: list[str]) -> None:
    """Print the fingerprint of a text file."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m symgauge.claims.source_text TEXT > proofs_checks/<source>/text.words")
    try:
        text = Path(arguments[0]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SystemExit(f"{arguments[0]} cannot be read as a text in UTF-8: {error}") from error
    sys.stdout.write(fingerprint(text))


if __name__ == "__main__":
    main(sys.argv[1:])
