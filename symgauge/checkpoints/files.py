"""Files of weights: safetensors, opened lazily, and PyTorch files that hold tensors alone."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.checkpoints.checkpoint import StoredTensor
from symgauge.errors import InvalidFile
from symgauge.extras import require
from symgauge.models.huggingface.config_file import one_line, quoted, read_json
from symgauge.reading import check_file

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
_PICKLED = (".bin", ".pt", ".pth")
_UNDER = ("state_dict", "model_state_dict", "model")
"""Where training scripts put the state dict in what they save."""


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a folder's weights: safetensors where there are any, in one file or in parts.

    Raises :class:`InvalidFile` where there are none, or a part that the index names is missing.
    """
    for stem, kind in (("model", ".safetensors"), ("pytorch_model", ".bin")):
        if (single := folder / f"{stem}{kind}").exists():
            return [single]
        if (index := folder / f"{stem}{kind}.index.json").exists():
            return _parts(index)
    found = sorted(folder.glob("*.safetensors")) or sorted(p for p in folder.iterdir() if p.suffix in _PICKLED)
    if not found:
        raise InvalidFile(f"{folder} holds no weights (model.safetensors, its parts, or pytorch_model.bin)")
    return found


def _parts(index: Path) -> list[Path]:
    parts = read_json(index).get("weight_map")
    if not isinstance(parts, dict) or not parts or not all(isinstance(part, str) for part in parts.values()):
        raise InvalidFile(f"{index}: names no files of weights under 'weight_map'")
    for part in sorted(set(parts.values())):
        if Path(part).name != part:
            raise InvalidFile(f"{index}: {quoted(part)} does not lie in the folder")
        if not (index.parent / part).exists():
            raise InvalidFile(f"{index.parent / part}: this part of the weights is missing")
    return [index.parent / part for part in sorted(set(parts.values()))]


def read_files(paths: Sequence[Path]) -> dict[str, StoredTensor]:
    """The tensors of all files together, unread. Raises :class:`InvalidFile` for a file that is damaged or pickled."""
    found: dict[str, StoredTensor] = {}
    for path in paths:
        check_file(path)
        found |= _safetensors(path) if path.suffix == ".safetensors" else _torch_file(path)
    return found


def _safetensors(path: Path) -> dict[str, StoredTensor]:
    require("transformers", "reading safetensors")
    from safetensors import SafetensorError, safe_open

    try:
        file = safe_open(path, framework="pt")
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (it is no mapping)
    except (SafetensorError, OSError) as error:
        raise InvalidFile(f"{path}: is no whole safetensors file: {one_line(error, 100)}") from error

    def one(name: str) -> StoredTensor:
        dtype = slices[name].get_dtype()
        shape = tuple(slices[name].get_shape())
        part = (lambda start, stop: slices[name][start:stop]) if shape else None
        return StoredTensor(shape, _DTYPES.get(dtype, dtype), lambda: file.get_tensor(name), part)

    return {name: one(name) for name in slices}


def _torch_file(path: Path) -> dict[str, StoredTensor]:
    """A PyTorch file, mapped into memory; only tensors and plain containers are let in."""
    from symgauge.checkpoints.opening import stored

    content = _load(path)
    for key in _UNDER:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    tensors = {k: v for k, v in content.items() if isinstance(v, Tensor)} if isinstance(content, Mapping) else {}
    if not tensors:
        raise InvalidFile(f"{path}: holds no state dict (names that lead to tensors)")
    return {name: stored(tensor) for name, tensor in tensors.items()}


_SAVED = (b"PK\x03\x04", b"\x80")
"""How files begin that torch.save wrote: an archive, and before PyTorch 1.6 a pickle."""


def _load(path: Path) -> Any:
    expected = "expected a model folder, safetensors, GGUF, or a state dict that torch.save wrote"
    try:
        with path.open("rb") as file:
            if not file.read(4).startswith(_SAVED):
                raise InvalidFile(f"{path}: is no file of PyTorch weights; {expected}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is wrong with a file is said below
            try:
                return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError:  # the format before PyTorch 1.6 cannot be mapped
                return torch.load(path, map_location="cpu", weights_only=True)
    except InvalidFile:
        raise
    except pickle.UnpicklingError as error:
        raise InvalidFile(
            f"{path}: holds more than tensors, and unpickling that could run any code, so it is not opened; save the "
            "model as safetensors"
        ) from error
    except Exception as error:  # bytes that are no pickle raise whatever they happen to spell
        why = f": {one_line(error, 100)}" if isinstance(error, (RuntimeError, OSError)) else ""
        raise InvalidFile(f"{path}: is no file of PyTorch weights{why}; {expected}") from error
