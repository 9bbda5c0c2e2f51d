"""Writing files so that a reader sees the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from symgauge.errors import InvalidInput


def check_writable(folder: str | Path) -> None:
    """Make `folder` if needed and see that files can be made in it, before long work whose result will go there.

    Raises InvalidInput otherwise.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InvalidInput(f"cannot write into {folder}: {error.strerror or error}") from error


def check_target(path: str | Path) -> None:
    """See that a file can be written to `path`, before long work whose result will go there.

    What is there already must be an ordinary file, for it is replaced. Raises InvalidInput otherwise.
    """
    target = Path(path)
    _check_replaceable(target)
    check_writable(target.parent)


def _check_replaceable(target: Path) -> None:
    try:
        folder, other = target.is_dir(), target.exists() and not target.is_file()
    except (OSError, ValueError) as error:  # too long a name, a null character
        raise InvalidInput(f"cannot write {str(target)[:60]!r}: {error}"[:200]) from error
    if folder:
        raise InvalidInput(f"cannot write {target}: it is a folder")
    if other:
        raise InvalidInput(f"cannot write {target}: it is no ordinary file (a pipe or a device), which is not replaced")


@contextmanager
def locked(folder: str | Path) -> Iterator[None]:
    """Hold an existing folder for oneself; whoever else asks for it so waits until it is free."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # by itself, for a forked process may hold a copy of the descriptor
    finally:
        os.close(descriptor)


def write_text(path: str | Path, text: str) -> None:
    """Replace `path` by `text` (UTF-8, newlines as given); as write_bytes."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Replace `path` by `content` in one step, making its folder if needed.

    Raises InvalidInput where the place cannot be written; the old file is then untouched.
    """
    target = Path(path)
    temporary = None
    _check_replaceable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Same folder, because os.replace is atomic only within a file system.
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        # mkstemp makes private files; give the ordinary permissions of a new file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
