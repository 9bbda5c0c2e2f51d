"""From what a user names to a checkpoint: a folder, a file, a module, a state dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from symgauge.checkpoints.checkpoint import Checkpoint, StoredTensor
from symgauge.checkpoints.files import read_files, weight_files
from symgauge.checks import shown
from symgauge.errors import InvalidFile, InvalidInput
from symgauge.models.huggingface.config_file import read_json
from symgauge.reading import check_file


def open_checkpoint(source: str | Path | nn.Module | Mapping[str, Tensor] | Checkpoint) -> Checkpoint:
    """A checkpoint's tensors, unread, and its configuration.

    ``source``: a model folder (``config.json`` beside safetensors, in one file or in parts, or beside PyTorch weights,
    which are opened by ``weights_only`` alone); one such file, whose folder may have a ``config.json``; a GGUF file;
    an instantiated module, whose ``config`` is taken if it has one; a state dict.

    Raises :class:`InvalidInput` (:class:`InvalidFile` with the path) for anything else, and for files that are damaged.
    """
    if isinstance(source, Checkpoint):
        return source
    if isinstance(source, nn.Module):
        config: Any = getattr(source, "config", None)
        fields = config.to_dict() if hasattr(config, "to_dict") else None
        if fields is not None and not fields.get("architectures"):
            fields["architectures"] = [type(source).__name__]
        return Checkpoint(type(source).__name__, in_memory(source.state_dict()), fields)
    if isinstance(source, Mapping):
        return Checkpoint("the state dict", in_memory(source))
    if not isinstance(source, str | Path):
        raise InvalidInput(f"a checkpoint is a folder, a file, a module or a state dict, not {shown(source)}")
    path = Path(source)
    if _is_folder(path):
        config_file = path / "config.json"
        return Checkpoint(
            str(path), read_files(weight_files(path)), read_json(config_file) if config_file.exists() else None
        )
    check_file(path)
    if path.suffix == ".gguf":
        from symgauge.checkpoints.gguf_file import open_gguf

        return open_gguf(path)
    config_file = path.parent / "config.json"
    return Checkpoint(str(path), read_files([path]), read_json(config_file) if config_file.exists() else None)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{str(path)[:60]!r} is no path of a checkpoint ({error})"[:200]) from error


def in_memory(tensors: Mapping[str, Tensor]) -> dict[str, StoredTensor]:
    """Tensors that are there already."""
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise InvalidInput(f"a state dict leads from names to tensors, not from {shown(name)} to {shown(tensor)}")
    return {name: stored(tensor) for name, tensor in tensors.items()}


def stored(tensor: Tensor) -> StoredTensor:
    """A tensor in memory (or mapped from a file) as one of a checkpoint."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    part = (lambda start, stop: tensor.detach()[start:stop]) if tensor.dim() else None
    return StoredTensor(tuple(tensor.shape), dtype, lambda: tensor.detach(), part)
