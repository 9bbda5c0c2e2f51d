"""Writing safetensors and model folders a tensor at a time, so that a reader sees the whole folder or none."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.errors import InvalidInput

_CODES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx", ".ot")
"""Files that hold weights in one form or another, which a changed model must not keep beside its own."""


class TensorFile:
    """A safetensors file that grows tensor by tensor; ``names`` are those that it will hold at most.

    The format begins with a header, whose room is therefore reserved; what is left of it is filled with spaces, as the
    format allows.
    """

    def __init__(self, path: Path, names: Iterable[str]) -> None:
        self._room = 1024 + sum(len(json.dumps(name)) + 160 for name in names)
        self._entries: dict[str, Any] = {}
        self._end = 0
        self._stream = path.open("wb")
        self._stream.seek(8 + self._room)

    def add(self, name: str, tensor: Tensor | Rows) -> int:
        """Write a tensor behind those that are there, a block of rows after the other; returns its bytes."""
        start = self._end
        for block in (tensor,) if isinstance(tensor, Tensor) else tensor:
            numbers = block.detach().contiguous()
            self._stream.write(numbers.reshape(-1).view(torch.uint8).numpy().data)
            self._end += numbers.numel() * numbers.element_size()
        offsets = [start, self._end]
        self._entries[name] = {"dtype": _CODES[block.dtype], "shape": list(tensor.shape), "data_offsets": offsets}
        return self._end - start

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Write the header; ``metadata`` is as much as fits into the room, or the file gets another header."""
        header = json.dumps({"__metadata__": {"format": "pt", **(metadata or {})}, **self._entries}).encode()
        assert len(header) <= self._room, "the header outgrew its room"
        self._stream.seek(0)
        self._stream.write(self._room.to_bytes(8, "little") + header.ljust(self._room))
        self._stream.close()

    def __enter__(self) -> TensorFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stream.close()


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes ``target`` when all went well and vanishes otherwise.

    Raises :class:`InvalidInput` where ``target`` is there already, unless it is an empty folder, or cannot be made.
    """
    _check_free(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror or error}") from error
    try:
        yield made
        umask = os.umask(0)
        os.umask(umask)
        made.chmod(0o777 & ~umask)
        _check_free(target)
        os.replace(made, target)  # an empty folder is replaced
    except OSError as error:
        raise InvalidInput(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _check_free(target: Path) -> None:
    try:
        taken = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot write {str(target)[:60]!r}: {error}"[:200]) from error
    if taken:
        raise InvalidInput(f"cannot write {target}: it is there already; give a folder that is not")


def copy_other_files(source: Path, into: Path) -> None:
    """Everything of a model folder that holds no weights (configuration, tokenizer, licence), folders included."""

    def weights(_: str, names: list[str]) -> list[str]:
        return [n for n in names if n.endswith((*_WEIGHTS, ".index.json")) or n.startswith(".")]

    shutil.copytree(source, into, ignore=weights, dirs_exist_ok=True)
