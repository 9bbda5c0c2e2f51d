"""The one way from a target to a subject."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from torch import nn

from symgauge.architecture import Architecture
from symgauge.checks import check_choice, check_seed, shown
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Inputs
from symgauge.models.huggingface.model_class import near
from symgauge.presets import presets
from symgauge.subjects import configuration
from symgauge.subjects.modules import of_architecture, of_module
from symgauge.subjects.preset import of_preset
from symgauge.subjects.subject import Subject
from symgauge.subjects.user_file import of_user_file

Target = Subject | nn.Module | Architecture | str | Path
Parameters = Literal["unset", "drawn", "own"]

_PICKLES = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_FORMS = (
    "path/to/file.py:factory, a transformers config.json, model folder or GGUF file, a preset such as llama-3-8b, or a "
    "model type such as mamba"
)


def subject_of(
    target: Target,
    inputs: Inputs | None = None,
    *,
    seed: int = 0,
    parameters: Parameters = "drawn",
    as_is: bool = False,
) -> Subject:
    """What a target names, ready to be measured.

    Args:
        target: a module; an architecture, whose reference module is made; a subject, which stays what it is; or a
            name: ``path/to/file.py:factory``, a ``config.json`` or its folder, a GGUF file, a preset (which wins over a
            folder of that name; write ``./gpt2`` for the folder), or a model type of ``transformers``.
        inputs: what to probe with, in place of the target's own.
        seed: of the random parameters of modules that are built here.
        parameters: of such modules. ``"drawn"``: in general position; ``"unset"``: for a measurement that draws its own
            point; ``"own"``: the weights that lie in a model folder, and none but these where a name has weights.
        as_is: a configuration is not scaled down, whatever its size.

    Raises:
        InvalidInput: no such file, factory, preset, or not what it has to be; no own weights where they are asked for.
        UnsupportedModel: a model that cannot be built or fed.

    Example:
        >>> import symgauge
        >>> subject = symgauge.subject_of("llama-3-8b")
        >>> subject.architecture.d_model, subject.full_size.d_model
        (7, 4096)
    """
    check_seed(seed)
    check_choice("parameters", parameters, ("unset", "drawn", "own"))
    if isinstance(target, Subject):
        return target.fed(inputs)
    if isinstance(target, Architecture):
        return of_architecture(target, inputs, None if parameters == "unset" else seed)
    if isinstance(target, nn.Module):
        return of_module(target, inputs)
    if not isinstance(target, str | Path):
        kinds = "a torch.nn.Module, a symgauge.Architecture or a target's name"
        raise InvalidInput(f"{kinds} is needed, not {shown(target)}")
    found = _named(str(target), inputs, seed, parameters, as_is)
    if parameters == "own" and found.no_own_point:
        raise InvalidInput(f"{shown(str(target))}: {found.no_own_point}; leave the point out for a random one")
    return found


def _named(text: str, inputs: Inputs | None, seed: int, parameters: Parameters, as_is: bool) -> Subject:
    path, drawn = Path(text), parameters != "unset"
    file, colon, factory = text.rpartition(":")
    if colon and file.endswith(".py"):
        return of_user_file(Path(file), factory, inputs, seed if drawn else None)
    if path.suffix == ".py":
        raise InvalidInput(f"{text}: name the function that makes the module too, as in {text}:factory")
    if path.suffix in _PICKLES:
        raise InvalidInput(
            f"{text}: pickled checkpoints are not opened, because loading one can run any code; give the model's "
            "config.json or folder (symmetries depend on the architecture, not on trained weights)"
        )
    if path.suffix == ".safetensors":
        raise InvalidInput(f"{text}: this file holds weights and no architecture; give its config.json or folder")
    if path.suffix == ".gguf":
        return configuration.of_gguf(path, seed, drawn=drawn, as_is=as_is).fed(inputs)
    if text.lower() in presets():
        return of_preset(text, inputs, seed if drawn else None)
    if _is_there(path) or path.suffix == ".json":
        return configuration.of_configuration(path, seed, drawn=drawn, own=parameters == "own", as_is=as_is).fed(inputs)
    types = configuration.model_types()
    if text in types:
        return configuration.of_fields(text, {"model_type": text}, seed, drawn=drawn, as_is=as_is).fed(inputs)
    unknown = "" if types else "; model types need transformers: pip install 'symgauge[transformers]'"
    raise InvalidInput(
        f"there is no file, folder, preset or model type {shown(text)} (expected {_FORMS})"
        f"{near(text, [*presets(), *types])}{unknown}"
    )


def _is_there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a name that no file can have
        return False
