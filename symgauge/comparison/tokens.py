"""Token ids from a file."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor

from symgauge.checks import is_integer
from symgauge.errors import InvalidFile
from symgauge.models.huggingface.config_file import one_line
from symgauge.reading import check_file


def read_tokens(path: str | Path) -> Tensor:
    """Ids (B, T) from a JSON file with a list of ids, or with lists of equal length. Raises :class:`InvalidFile`."""
    check_file(path)
    try:
        found = json.loads(Path(path).read_text())
    except (ValueError, OSError, RecursionError) as error:
        raise InvalidFile(f"{path}: not valid JSON: {one_line(error, 100)}") from error
    rows = found if isinstance(found, list) and found and all(isinstance(row, list) for row in found) else [found]
    lengths = {len(row) if isinstance(row, list) else 0 for row in rows}
    if len(lengths) != 1 or 0 in lengths or not all(is_integer(i) and 0 <= i < 2**63 for row in rows for i in row):
        raise InvalidFile(f"{path}: token ids are a JSON list of integers, or of such lists of one length")
    return torch.tensor(rows)
