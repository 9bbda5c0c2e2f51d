"""What commands share: options with one meaning everywhere, and JSON on stdout."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on stdout.")]
Selection = Annotated[
    list[str] | None, typer.Argument(metavar="[SELECT]...", help="Claims by id, prefix or glob; all without it.")
]


def print_json(data: Any) -> None:
    """`data` on stdout, keys sorted."""
    print(json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False))
