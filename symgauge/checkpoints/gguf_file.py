"""GGUF files: quantised tensors under llama.cpp's names and in its order, read as ``transformers`` has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from symgauge.checkpoints.checkpoint import Checkpoint, StoredTensor
from symgauge.errors import InvalidFile, UnsupportedModel
from symgauge.models.huggingface.config_file import one_line
from symgauge.models.huggingface.gguf import read_gguf
from symgauge.models.huggingface.model_class import choose_class, make_config


def open_gguf(path: Path) -> Checkpoint:
    """The tensors of a GGUF file, each dequantised when it is read, under the names of the file.

    What llama.cpp's converter changes is changed back: rotary channels that it interleaves, gains that it shifts by
    one, matrices that it transposes. Raises :class:`UnsupportedModel` where ``transformers`` does not know how.
    """
    config = read_gguf(path)
    import gguf
    from transformers.modeling_gguf_pytorch_utils import TENSOR_PROCESSORS, TensorProcessor

    try:
        reader = gguf.GGUFReader(path)
    except (ValueError, OSError, KeyError) as error:
        raise InvalidFile(f"{path}: is no whole GGUF file: {one_line(error, 100)}") from error
    made, configuration, _ = choose_class(make_config(config), None)
    with torch.device("meta"):
        model = made(configuration)
    architecture = str(bytes(reader.fields["general.architecture"].parts[-1]), "utf-8")
    processor = TENSOR_PROCESSORS.get(architecture, TensorProcessor)(config=config)
    names = _names(path, architecture, list(model.state_dict()), configuration.num_hidden_layers)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}

    def one(tensor: Any) -> StoredTensor:
        in_file = tuple(int(n) for n in reversed(tensor.shape))

        def load() -> Tensor:
            numbers = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            numbers = processor.process(weights=numbers.reshape(in_file), name=tensor.name).weights
            return torch.from_numpy(numbers.copy())

        converted = shapes.get(names.get(tensor.name, ""), in_file)
        shape = converted if sorted(converted) == sorted(in_file) else in_file
        return StoredTensor(shape, _TYPES.get(tensor.tensor_type.name, tensor.tensor_type.name), load)

    tensors = {tensor.name: one(tensor) for tensor in reader.tensors}
    return Checkpoint(str(path), tensors, config, {mine: its for its, mine in names.items() if its in tensors})


def _names(path: Path, architecture: str, names: list[str], layers: int) -> dict[str, str]:
    """Name in the file → name in a module of ``transformers``."""
    import gguf

    known = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in known:
        raise UnsupportedModel(f"{path}: the gguf package does not know the architecture {architecture!r}")
    table = gguf.get_tensor_name_map(known[architecture], layers)
    found = {table.get_name(name, try_suffixes=(".weight", ".bias")): name for name in names}
    return {its: mine for its, mine in found.items() if its is not None}


_TYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
