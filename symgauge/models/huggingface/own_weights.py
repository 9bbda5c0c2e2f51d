"""A model folder's own weights: safetensors only, and nothing of the folder is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from symgauge.errors import InvalidFile
from symgauge.models.huggingface.config_file import one_line, quoted, read_json, require_file
from symgauge.models.huggingface.model_class import import_transformers
from symgauge.zoo.parts.family import Config


def check_weights(folder: Path) -> None:
    """Raise :class:`InvalidFile` unless the folder holds safetensors, in one file or in the parts of an index."""
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.exists():
        require_file(single)
    elif index.exists():
        parts = read_json(index).get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(part, str) for part in parts.values()):
            raise InvalidFile(f"{index}: names no files of weights under 'weight_map'")
        for part in sorted(set(parts.values())):
            if Path(part).name != part:
                raise InvalidFile(f"{index}: {quoted(part)} does not lie in the folder")
            if not (folder / part).exists():
                raise InvalidFile(f"{folder / part}: this part of the weights is missing")
            require_file(folder / part)
    elif any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        raise InvalidFile(
            f"{folder} holds pickled weights only, which are not opened because loading them can run any code; save "
            "the model as safetensors"
        )
    else:
        raise InvalidFile(
            f"{folder} holds no weights (model.safetensors), so there is no own point; leave --point out for a "
            "random one"
        )


def load_own(made: type[Any], config: Config, folder: Path) -> Any:
    """The model of the folder's configuration with the folder's weights: float64, evaluation mode, plain attention.

    Raises :class:`InvalidFile` if weights are missing, or do not fit the configuration.
    """
    check_weights(folder)
    bars = import_transformers().utils.logging
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        with torch.random.fork_rng(devices=[]):
            model, info = made.from_pretrained(
                folder, config=config, use_safetensors=True, local_files_only=True, trust_remote_code=False,
                dtype=torch.float64, output_loading_info=True,
            )  # fmt: skip
    except Exception as error:  # many kinds, depending on what is wrong with the files
        raise InvalidFile(f"{folder}: its weights cannot be loaded into {made.__name__}: {one_line(error)}") from error
    finally:
        if shown:
            bars.enable_progress_bar()
    missing = sorted(info["missing_keys"])
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise InvalidFile(
            f"{folder}: the weights lack {', '.join(missing[:3])}{more}, so {made.__name__} has no own point there; "
            "name the class they were saved from in 'architectures'"
        )
    return model.double().eval()
