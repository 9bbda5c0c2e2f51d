"""Files that a user names, looked at before they are opened: a pipe would wait for ever, a device never end."""

from __future__ import annotations

import os
from pathlib import Path

from symgauge.errors import InvalidInput


def check_file(path: str | Path) -> Path:
    """The path of an ordinary file that can be read. Raises InvalidInput, saying what there is in its place."""
    path = Path(path)
    try:
        there, folder, ordinary = path.exists(), path.is_dir(), path.is_file()
    except (OSError, ValueError) as error:  # too long a name, a null character
        raise InvalidInput(f"{str(path)[:60]!r} is no path of a file ({error})"[:200]) from error
    if not there:
        raise InvalidInput(f"{path}: no such file")
    if folder:
        raise InvalidInput(f"{path} is a folder, not a file")
    if not ordinary:
        raise InvalidInput(f"{path} is no ordinary file (a pipe or a device), which is not read")
    if not os.access(path, os.R_OK):
        raise InvalidInput(f"{path} cannot be read: permission denied")
    return path
