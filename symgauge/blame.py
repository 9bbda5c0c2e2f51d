"""Where an error in a user's code came from, as the end of a sentence."""

from __future__ import annotations

import traceback
from pathlib import Path

from torch import nn


def place(error: BaseException, module: nn.Module | None) -> str:
    """The innermost submodule, and the innermost line outside of installed packages."""
    names = {} if module is None else {id(m): name for name, m in module.named_modules()}
    inside = line = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self")
        if id(owner) in names:
            inside = f", in module {names[id(owner)]!r}" if names[id(owner)] else ", in its own forward"
            inside += f" ({type(owner).__name__})"
        file = frame.f_code.co_filename
        if not file.startswith("<") and "site-packages" not in file and "symgauge" not in Path(file).parts[-4:-1]:
            line = f", at {Path(file).name} line {number}"
    return inside + line


def said(error: BaseException) -> str:
    """The error's type and first line."""
    text = next(iter(str(error).strip().splitlines()), "")
    return type(error).__name__ + (f": {text[:200]}" if text else "")
