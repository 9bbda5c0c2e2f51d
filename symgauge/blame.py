"""An error in someone else's code as one sentence: what was done, what it raised, and where."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch import nn

from symgauge.errors import ForeignError, SymgaugeError


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


@contextmanager
def blaming(doing: str, module: nn.Module | None = None) -> Iterator[None]:
    """Turn an error of someone else's code into a :class:`~symgauge.errors.ForeignError`.

    With ``module``, the place is named by the path of the submodule in whose method it happened.
    """
    try:
        yield
    except SymgaugeError:
        raise
    except (Exception, SystemExit) as error:
        raise ForeignError(f"{doing} raised {said(error)}{place(error, module)}") from error
