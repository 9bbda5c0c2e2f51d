"""Quotations are found at their line and only if they are there; what is missing is seen to be missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from symgauge.claims.source_text import FILE, SourceText, fingerprint, numbers, text_of, words
from symgauge.errors import InvalidInput

TEXT = """We prove that $G_{\\max}$ is all.

Table 1: errors of 2.4e-16 for
d_k = 64. The end of it, at last.
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def text(tmp_path: Path) -> SourceText:
    (tmp_path / FILE).write_text(fingerprint(TEXT))
    return SourceText.read(tmp_path / FILE)


def test_words_are_letters_and_digits():
    assert words(r"$G_{\max}$ is ALL, ﬁne: $d_k^2$") == ["g", "max", "is", "all", "fine", "d", "k", "2"]


@pytest.mark.parametrize(
    ("phrase", "line"),
    [("we prove that", 1), (r"$G_{\max}$ is all", 1), ("for $d_k = 64$", 3), ("is all … the end", 1), ("d_k = 64", 4)],
)
def test_a_quotation_is_found_at_its_line(text, phrase, line):
    assert text.quote(phrase) == phrase
    assert text.line(phrase) == line


@pytest.mark.parametrize(
    "phrase",
    ["we prove this", "d_k = 65", "all is", "the end … is all", "prove that G max is alle", "errors of 2.4e-15"],
)
def test_what_is_not_said_is_no_quotation(text, phrase):
    with pytest.raises(InvalidInput, match="does not say"):
        text.quote(phrase)


def test_the_longest_beginning_that_is_there_is_named(text):
    with pytest.raises(InvalidInput, match="it does say 'the end of'"):
        text.quote("The end of the world")


def test_counting_and_parts(text):
    assert [text.count(word) for word in ("at", "the", "learning rate")] == [1, 1, 0]
    part = text.between("Table 1", "d_k = 64")
    assert part.count("the end") == part.count("we prove") == 0
    assert part.line("for d_k") == 3
    with pytest.raises(InvalidInput, match="does not say"):
        text.between("the end", "Table 1")


def test_nothing_to_look_for(text):
    with pytest.raises(InvalidInput, match="no words"):
        text.find("…, $")


@pytest.mark.parametrize("content", ["", "We prove that\n", "sha256 12\nabcd\n", "sha256 " + 64 * "0" + "\nabc\n", "é"])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / FILE).write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput):
        SourceText.read(tmp_path / FILE)


def test_a_source_without_a_text(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        text_of(tmp_path)


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in ROOT.glob(f"proofs_checks/*/{FILE}")), ids=lambda folder: folder.name
)
def test_the_texts_on_record_can_be_read(folder):
    assert len(text_of(folder).marks) > 100


def test_the_command(tmp_path):
    paper = tmp_path / "paper.txt"
    paper.write_text(TEXT)
    command = [sys.executable, "-m", "symgauge.claims.source_text"]
    done = subprocess.run([*command, str(paper)], capture_output=True, text=True, check=True)
    assert done.stdout == fingerprint(TEXT)
    failed = subprocess.run([*command, str(tmp_path / "none.txt")], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "cannot be read as a text" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_numbers_keep_the_digits_that_the_text_has() -> None:
    found = numbers(r"5.28×10^{-15}, 2.06 \times 10^{-15} and $10^5$; 65,\!536 or 245,760; 8/8, 1.10")
    assert found == ["5.28e-15", "2.06e-15", "1e5", "65536", "245760", "8", "8", "1.10"]
