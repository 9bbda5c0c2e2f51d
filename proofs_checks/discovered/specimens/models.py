"""Small models of ``transformers``, of which only a configuration is given: models.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from symgauge.subjects import Subject
from symgauge.subjects.configuration import of_fields


@cache
def configurations() -> dict[str, dict[str, Any]]:
    """The fields of a ``config.json`` for every specimen, by name."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    shapes = {**listed["shape"], "": {}}
    return {
        name: {**shapes[fields.get("shape", "")], **{k: v for k, v in fields.items() if k != "shape"}}
        for name, fields in listed["model"].items()
    }


def model(name: str) -> Subject:
    """The model of that name, every parameter random, as ``symgauge dim`` would feed it."""
    return of_fields(name, configurations()[name], seed=0, drawn=True, as_is=True)
