"""The zoo: families of ``transformers`` models, one file each, found by being there.

``<model_type>.py`` has a :class:`~symgauge.zoo.parts.family.Family` named FAMILY: how its configurations become an
architecture, where its parameters hold each role, its published models. Importing one needs neither torch nor
``transformers``. docs/zoo.md says how to add one.
"""

from __future__ import annotations

import difflib
import pkgutil
from importlib import import_module

from symgauge.checks import shown
from symgauge.errors import UnsupportedModel
from symgauge.zoo.parts.family import Family


def model_types() -> tuple[str, ...]:
    """The families' names, in alphabetical order; none is imported."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg))


def families() -> dict[str, Family]:
    """model_type → family, all of them."""
    return {name: _load(name) for name in model_types()}


def family_of(model_type: str) -> Family:
    """The family of a ``config.model_type``; raises :class:`UnsupportedModel`, with near names for a typo."""
    known = model_types()
    if model_type in known:
        return _load(model_type)
    near = difflib.get_close_matches(str(model_type)[:60], known, n=3, cutoff=0.75)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    raise UnsupportedModel(f"model_type {shown(model_type)} has no adapter; {hint}")


def _load(model_type: str) -> Family:
    family: Family = import_module(f"{__name__}.{model_type}").FAMILY
    return family
