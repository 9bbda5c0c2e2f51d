"""Files looked at before they are opened, and places before they are written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from symgauge.atomic import check_target, write_text
from symgauge.claims import Ledger
from symgauge.errors import InvalidInput
from symgauge.experiments.record import Record
from symgauge.reading import check_file


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    os.symlink("/dev/zero", "zeros")
    os.symlink("nowhere", "broken")
    (tmp_path / "file").write_text("x")
    os.symlink("file", "link")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "none: no such file"),
        ("broken", "broken: no such file"),
        ("folder", "folder is a folder, not a file"),
        ("pipe", r"pipe is no ordinary file \(a pipe or a device\)"),
        ("zeros", "zeros is no ordinary file"),
        ("x" * 5000, "is no path of a file"),
        ("a\0b", "no path of a file|no such file"),
    ],
)
def test_what_cannot_be_read(place: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        check_file(name)
    assert len(str(refused.value)) < 250 or "no such file" in str(refused.value)
    for load in (Ledger.load, lambda name: Record.load(Path(name))):
        with pytest.raises(InvalidInput):
            load(name)


def test_files_and_links_to_them_are_read(place: Path) -> None:
    assert check_file("file") == Path("file")
    assert check_file(place / "link") == place / "link"


@pytest.mark.parametrize("unreadable", [True, False])
def test_files_without_permission(place: Path, monkeypatch: pytest.MonkeyPatch, unreadable: bool) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not unreadable)
    if unreadable:
        with pytest.raises(InvalidInput, match="file cannot be read: permission denied"):
            check_file("file")
    else:
        check_file("file")


@pytest.mark.parametrize("name", ["folder", "pipe", "zeros", "file/inside"])
def test_what_is_not_replaced(place: Path, name: str) -> None:
    before = sorted(os.listdir(place))
    with pytest.raises(InvalidInput, match="cannot write"):
        check_target(name)
    with pytest.raises(InvalidInput, match="cannot write"):
        write_text(name, "text")
    assert sorted(os.listdir(place)) == before
    assert (place / "pipe").is_fifo()


def test_new_and_old_files_are_targets(place: Path) -> None:
    for name in ("file", "new", "deep/er/new"):
        check_target(name)
        write_text(name, "text")
        assert Path(name).read_text() == "text"
