"""The configuration in a GGUF file: its metadata, as far as ``transformers`` can read it. No weights are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.models.huggingface.config_file import one_line, require_file
from symgauge.models.huggingface.model_class import import_transformers


def read_gguf(path: Path) -> dict[str, Any]:
    """The fields of the configuration that a GGUF file describes, as a ``config.json`` would have them.

    Raises :class:`InvalidInput` for files that are no GGUF, :class:`UnsupportedModel` where its architecture has no
    counterpart in ``transformers`` or the ``gguf`` package is missing.
    """
    require_file(path)
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise InvalidInput(f"{path}: not a GGUF file (its first bytes are others)")
    import_transformers()
    try:
        import gguf  # noqa: F401
    except ImportError as error:
        raise UnsupportedModel(f"{path}: GGUF files need the gguf package: pip install 'symgauge[gguf]'") from error
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    try:
        fields = dict(load_gguf_checkpoint(str(path), return_tensors=False)["config"])
    except Exception as error:  # many kinds, depending on what is wrong with the file
        raise UnsupportedModel(
            f"{path}: transformers cannot read a configuration from it ({one_line(error, 120)}); give the config.json "
            "of the model that it was made from"
        ) from error
    return {name: value.item() if hasattr(value, "item") else value for name, value in fields.items()}
