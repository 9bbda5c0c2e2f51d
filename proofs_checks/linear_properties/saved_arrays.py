"""Reading a matrix from .npy, .npz or .safetensors; nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symgauge.errors import InvalidInput
from symgauge.reading import check_file

SUFFIXES = (".npy", ".npz", ".safetensors")
HIDDEN = ("hidden", "hidden_states", "embeddings", "f")
UNEMBEDDING = ("unembedding", "lm_head.weight", "unembeddings", "g")


def is_array_file(text: str) -> bool:
    """Whether a command-line word names a file of arrays by its suffix."""
    return Path(text).suffix in SUFFIXES


def load_array(spec: str, inside: str = "", usual: tuple[str, ...] = ()) -> Tensor:
    """The array that ``spec`` names: ``FILE``, ``FILE:NAME``, or ``NAME`` in the file ``inside``.

    usual: names to look for when a file of several arrays is given without one. Raises InvalidInput.
    """
    file, colon, name = spec.rpartition(":")
    if not (colon and is_array_file(file)):
        file, name = (spec, "") if is_array_file(spec) else (inside, spec)
    if not file:
        raise InvalidInput(f"{spec!r} is no .npy, .npz or .safetensors file; write FILE or FILE:NAME")
    path = check_file(file)
    try:
        if path.suffix == ".npy":
            if name:
                raise InvalidInput(f"{path} holds one array without a name, so {name!r} cannot be looked up in it")
            return _tensor(np.load(path, allow_pickle=False), path)
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return _tensor(arrays[_choose(name, usual, list(arrays), path)], path)
        from safetensors import safe_open

        with safe_open(path, framework="pt") as tensors:
            return tensors.get_tensor(_choose(name, usual, list(tensors.keys()), path))
    except InvalidInput:
        raise
    except ImportError:
        raise InvalidInput("safetensors files need safetensors: pip install 'symgauge[transformers]'") from None
    except Exception as error:  # the readers raise many kinds of errors on bad files
        # Their texts recommend unpickling, which is what must not be done with a file from elsewhere.
        raise InvalidInput(
            f"{path}: this is no {path.suffix[1:]} file of plain numbers (broken, or with pickled objects, which are "
            "never opened); save the arrays as float32 or float64"
        ) from error


def _choose(name: str, usual: tuple[str, ...], known: list[str], path: Path) -> str:
    """The array asked for, or the one with a usual name."""
    shown = ", ".join(sorted(known)[:12]) + (", …" if len(known) > 12 else "")
    if name:
        if name not in known:
            raise InvalidInput(f"{path} has no array {name!r}; it has {shown or 'none'}")
        return name
    found = [candidate for candidate in usual if candidate in known]
    if len(found) == 1:
        return found[0]
    if len(known) == 1:
        return known[0]
    raise InvalidInput(f"{path} has the arrays {shown or '(none)'}; say which one, as FILE:NAME")


def _tensor(array: np.ndarray, path: Path) -> Tensor:
    if array.dtype.kind not in "fiu":
        raise InvalidInput(f"{path} holds {array.dtype}, not real numbers")
    return torch.from_numpy(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))))
