"""What `symgauge dim` and `symgauge account` measure: a user's file, a transformers configuration, or a preset.

Whatever a user's file raises becomes one sentence that says what was being done and where it happened.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib.util
import inspect
import os
import re
import sys
import traceback as tracebacks
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from symgauge.accounting import natural_inputs
from symgauge.architecture import Architecture
from symgauge.blame import place, said
from symgauge.errors import InvalidInput, SymgaugeError, UnsupportedModel
from symgauge.exact.probes import Arrays, Inputs, Tokens, Vectors
from symgauge.models.huggingface.config_file import quoted

_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_FORMS = (
    "path/to/file.py:factory, a transformers config.json, model folder or GGUF file, a preset such as llama-3-8b, or a "
    "model type such as mamba"
)
_NO_WEIGHTS = "a configuration has no weights; the own point is that of a folder with model.safetensors"


@dataclass(frozen=True)
class Target:
    """A module and what to probe it with; ``full_size`` is the architecture that a scaled-down module stands for."""

    module: nn.Module
    inputs: Inputs
    notes: tuple[str, ...] = ()
    full_size: Architecture | None = None
    no_own_point: str = ""
    """Why the module's parameters are not those of what was named, where that is so."""
    name: str = ""
    """Of the module's class, or of that of a model inside a wrapper."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or type(self.module).__name__)


def parse_inputs(text: str) -> Inputs:
    """``tokens:V,T``, ``vectors:T,WIDTH`` or ``arrays:A,B,…``; raises :class:`InvalidInput` for anything else."""
    match = re.fullmatch(r"(tokens|vectors|arrays):(\d{1,9}(?:,\d{1,9})*)", text.replace(" ", ""))
    sizes = tuple(map(int, match[2].split(","))) if match else ()
    if match is None or (match[1] != "arrays" and len(sizes) != 2):
        raise InvalidInput(
            f"--inputs {quoted(text)} is not understood: write tokens:VOCABULARY,LENGTH or vectors:LENGTH,WIDTH, such "
            "as tokens:11,4, or arrays:CHANNELS,HEIGHT,WIDTH"
        )
    if match[1] == "arrays":
        return Arrays(sizes)
    return Tokens(sizes[0], sizes[1]) if match[1] == "tokens" else Vectors(sizes[0], sizes[1])


def resolve(
    text: str, *, inputs: str = "", seed: int = 0, traceback: bool = False, point: str = "random", as_is: bool = False
) -> Target:
    """The target that a command line names.

    Args:
        text: ``path/to/file.py:factory``, a ``config.json`` or its folder, or the name of a preset (which wins over a
            folder of that name; write ``./gpt2`` for the folder).
        inputs: as for :func:`parse_inputs`; takes the place of the target's own.
        seed: of the random parameters of modules that are built here.
        traceback: print the traceback of an error in the user's file on stderr.
        point: ``"own"`` loads the weights that lie in a model folder.
        as_is: a configuration is not scaled down, whatever its size.

    Raises:
        InvalidInput: no such file, factory, preset, or not what it has to be; no own weights where they are asked for.
        UnsupportedModel: a model that cannot be built or fed.
    """
    from symgauge.presets import presets

    wanted = parse_inputs(inputs) if inputs else None
    path = Path(text)
    file, colon, factory = text.rpartition(":")
    if colon and file.endswith(".py"):
        target = _from_file(Path(file), factory, wanted, seed, traceback)
    elif path.suffix == ".py":
        raise InvalidInput(f"{text}: name the function that makes the module too, as in {text}:factory")
    elif path.suffix in _PICKLES:
        raise InvalidInput(
            f"{text}: pickled checkpoints are not opened, because loading one can run any code; give the model's "
            "config.json or folder (symmetries depend on the architecture, not on trained weights)"
        )
    elif path.suffix == ".safetensors":
        raise InvalidInput(f"{text}: this file holds weights and no architecture; give its config.json or folder")
    elif path.suffix == ".gguf":
        target = _from_gguf(path, seed, as_is)
    elif text.lower() in presets():
        target = _from_preset(text, seed)
    elif _is_there(path) or path.suffix == ".json":
        target = _from_config(path, seed, point, as_is)
    else:
        target = _from_model_type(text, seed, as_is)
    if point == "own" and target.no_own_point:
        raise InvalidInput(f"{quoted(text, 200)}: {target.no_own_point}; leave --point out for a random one")
    if wanted is None:
        return target
    # A model's own name for its input stays.
    return dataclasses.replace(target, inputs=dataclasses.replace(wanted, keyword=target.inputs.keyword))


def _from_preset(name: str, seed: int) -> Target:
    from symgauge.models.reference import ReferenceModel
    from symgauge.presets import preset, scaled_down

    full = preset(name)
    small = scaled_down(full)
    notes = (f"{full.name} is measured scaled down: {_differences(full, small)}",)
    return Target(ReferenceModel(small, seed), natural_inputs(small), notes, full, "a preset has no weights")


def _differences(full: Architecture, small: Architecture) -> str:
    """The sizes that differ, as "field big → small"."""
    pairs = [(f.name, getattr(full, f.name), getattr(small, f.name)) for f in dataclasses.fields(full)]
    sizes = [f"{name} {a:,} → {b:,}" for name, a, b in pairs if a != b and isinstance(a, int)]
    # Constants (epsilons, factors) are no sizes.
    parts = [name for name, a, b in pairs if a != b and not isinstance(a, int | float) and name != "name"]
    return ", ".join([*sizes, *(f"{name} cut to match" for name in parts)])


def _is_there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a name that no file can have
        return False


def _from_config(path: Path, seed: int, point: str, as_is: bool) -> Target:
    from symgauge.models.huggingface.config_file import read_config

    own = point == "own" and path.is_dir()
    with _located(path):
        return _from_fields(str(path), read_config(path), seed, as_is, path if own else None)


def _from_gguf(path: Path, seed: int, as_is: bool) -> Target:
    from symgauge.models.huggingface.gguf import read_gguf

    with _located(path):
        return _from_fields(str(path), read_gguf(path), seed, as_is)


def _from_model_type(text: str, seed: int, as_is: bool) -> Target:
    """A model type of ``transformers`` with its default sizes."""
    from symgauge.models.huggingface.model_class import import_transformers, near
    from symgauge.presets import presets

    known: list[str] = []
    with contextlib.suppress(UnsupportedModel):
        known = list(import_transformers().CONFIG_MAPPING)
    if text in known:
        return _from_fields(text, {"model_type": text}, seed, as_is)
    raise InvalidInput(
        f"there is no file, folder, preset or model type {quoted(text)} (expected {_FORMS})"
        f"{near(text, [*presets(), *known])}"
    )


@contextmanager
def _located(path: Path) -> Iterator[None]:
    """Messages about the content of a file do not know where it came from."""
    try:
        yield
    except SymgaugeError as error:
        if str(error).startswith(str(path)):
            raise
        raise type(error)(f"{path}: {error}") from error


def _from_fields(name: str, fields: dict[str, Any], seed: int, as_is: bool, folder: Path | None = None) -> Target:
    from symgauge.models.huggingface.any_model import any_model

    made = any_model(fields, seed=seed, as_is=as_is, folder=folder)
    notes = made.notes
    if made.scaled:
        notes = (f"{name} is measured as a small {type(made.model).__name__}: {_changes(made.scaled)}", *notes)
    missing = "" if folder else _NO_WEIGHTS
    return Target(made.module, made.inputs, notes, made.full_size, missing, type(made.model).__name__)


def _changes(scaled: dict[str, tuple[Any, Any]]) -> str:
    """What differs from the full size, sizes first."""
    sizes, others = [], []
    for name, (before, after) in scaled.items():
        if isinstance(before, int) and isinstance(after, int) and before != after:
            sizes.append(f"{name} {before:,} → {after:,}")
        elif before != after and not name.endswith(("_token_id", "_token_index")):
            others.append(name)
    return ", ".join([*sizes, *([f"{', '.join(others)} cut to match"] if others else [])])


def _from_file(path: Path, factory: str, wanted: Inputs | None, seed: int, traceback: bool) -> Target:
    where = f"{path}:{factory}"
    made = _make(path, factory, traceback)
    found: Any = None
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
        from symgauge.models.reference import ReferenceModel

        return Target(ReferenceModel(made, seed), wanted or found or natural_inputs(made))
    if isinstance(made, type) and issubclass(made, nn.Module):
        raise InvalidInput(f"{where} returned the class {made.__name__}; return an instance of it")
    if not isinstance(made, nn.Module):
        raise InvalidInput(f"{where} returned {type(made).__name__}; return (module, inputs), module a torch.nn.Module")
    chosen = wanted or found or _known_inputs(made)
    if chosen is None:
        raise InvalidInput(
            f"{where} returned only a module, so say what to probe it with: return (module, inputs), or pass "
            "--inputs tokens:VOCABULARY,LENGTH or --inputs vectors:LENGTH,WIDTH"
        )
    return Target(made, chosen)


def _known_inputs(module: nn.Module) -> Inputs | None:
    """Inputs of a module whose architecture is known."""
    from symgauge.accounting import describe

    try:
        return natural_inputs(describe(module)[1])
    except UnsupportedModel:
        return None


def _make(path: Path, factory: str, traceback: bool) -> Any:
    """What the factory in a user's file makes; a module or architecture by that name is taken as it is."""
    if not path.is_file():
        raise InvalidInput(f"{path}: no such file")
    if not factory.isidentifier():
        raise InvalidInput(f"{path}:{factory}: after the colon goes the name of a function in that file")
    with _beside(path):
        with blaming(f"importing {path}", show=traceback):
            loaded = _load(path)
        if not hasattr(loaded, factory):
            callables = [
                n for n, v in vars(loaded).items() if inspect.isfunction(v) and v.__module__ == loaded.__name__
            ]
            near = difflib.get_close_matches(factory, callables, n=3) or callables[:5]
            raise InvalidInput(f"{path} has no {factory!r}; its functions are {', '.join(near) or 'none'}")
        value: Callable[[], Any] = getattr(loaded, factory)
        if isinstance(value, (nn.Module, Architecture)):
            return value
        if not callable(value):
            raise InvalidInput(
                f"{path}:{factory} is {type(value).__name__}, not a function that returns (module, inputs)"
            )
        if _needs_arguments(value):
            raise InvalidInput(f"{path}:{factory} takes arguments; it has to be callable without any")
        with blaming(f"calling {path}:{factory}", show=traceback):
            return value()


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


@contextmanager
def blaming(doing: str, module: nn.Module | None = None, show: bool = False) -> Iterator[None]:
    """Turn an error of someone else's code into one sentence: what was done, the error, its place.

    With ``module``, the place is named by the path of the submodule in whose method it happened. ``show`` prints the
    traceback on stderr first.
    """
    try:
        yield
    except SymgaugeError as error:
        if show and error.__cause__ is not None:
            tracebacks.print_exception(error.__cause__, file=sys.stderr)
        raise
    except (Exception, SystemExit) as error:
        if show:
            tracebacks.print_exception(error, file=sys.stderr)
        hint = "" if show else " (--traceback shows all of it)"
        raise InvalidInput(f"{doing} raised {said(error)}{place(error, module)}{hint}") from error
