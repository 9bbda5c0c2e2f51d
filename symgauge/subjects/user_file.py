"""The subject of a factory in a user's file. What that code raises becomes one sentence: what was done, and where."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from symgauge.architecture import Architecture
from symgauge.blame import blaming
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.exact.probes import Arrays, Inputs, Tokens, Vectors
from symgauge.subjects.modules import of_architecture, of_module
from symgauge.subjects.subject import Subject


def of_user_file(path: Path, factory: str, inputs: Inputs | None, seed: int | None) -> Subject:
    """What ``factory`` of the file returns: (module, inputs), a module, or an architecture.

    Raises :class:`InvalidInput` for a file or factory that is not there, and for anything else that it returns.
    """
    return subject_made(_make(path, factory), f"{path}:{factory}", inputs, seed)


def subject_made(made: Any, where: str, inputs: Inputs | None, seed: int | None) -> Subject:
    """The subject of what a factory returned; ``where`` names the factory in what is said of it."""
    found = None
    if isinstance(made, tuple):
        if len(made) != 2:
            raise InvalidInput(f"{where} returned {len(made)} things; return (module, inputs)")
        made, found = made
        if not isinstance(found, (Tokens, Vectors, Arrays)):
            raise InvalidInput(
                f"{where} returned {type(found).__name__} for the inputs; return symgauge.Tokens(vocabulary=…, "
                "length=…) or symgauge.Vectors(length=…, width=…)"
            )
    if isinstance(made, Architecture):
        return of_architecture(made, inputs or found, seed)
    if isinstance(made, type) and issubclass(made, nn.Module):
        raise InvalidInput(f"{where} returned the class {made.__name__}; return an instance of it")
    if not isinstance(made, nn.Module):
        raise InvalidInput(f"{where} returned {type(made).__name__}; return (module, inputs), module a torch.nn.Module")
    try:
        return of_module(made, found or inputs).fed(inputs)
    except UnsupportedModel as error:
        raise InvalidInput(
            f"{where} returned only a module, so say what to probe it with: return (module, inputs), or pass "
            "--inputs tokens:VOCABULARY,LENGTH or --inputs vectors:LENGTH,WIDTH"
        ) from error


def _make(path: Path, factory: str) -> Any:
    """What the factory in a user's file makes; a module or architecture by that name is taken as it is."""
    with loaded(path, factory) as value:
        if isinstance(value, (nn.Module, Architecture)):
            return value
        if not callable(value):
            raise InvalidInput(
                f"{path}:{factory} is {type(value).__name__}, not a function that returns (module, inputs)"
            )
        if _needs_arguments(value):
            raise InvalidInput(f"{path}:{factory} takes arguments; it has to be callable without any")
        with blaming(f"calling {path}:{factory}"):
            return value()


@contextmanager
def loaded(path: Path, factory: str) -> Iterator[Any]:
    """What a user's file has by this name, for as long as imports find the file's neighbours.

    Raises InvalidInput for a file or name that is not there.
    """
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if not factory.isidentifier():
        raise InvalidInput(f"{path}:{factory}: after the colon goes the name of a function in that file")
    with _beside(path):
        with blaming(f"importing {path}"):
            file = _load(path)
        if not hasattr(file, factory):
            callables = [n for n, v in vars(file).items() if inspect.isfunction(v) and v.__module__ == file.__name__]
            near = difflib.get_close_matches(factory, callables, n=3) or callables[:5]
            raise InvalidInput(f"{path} has no {factory!r}; its functions are {', '.join(near) or 'none'}")
        yield getattr(file, factory)


def _load(path: Path) -> Any:
    name = f"symgauge_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while it is being made.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Imports find the file's neighbours, as they do when it is run as a script."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # no signature to look at
        return False
    return False
