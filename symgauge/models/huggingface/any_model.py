"""Any model that ``transformers`` can build from a configuration, ready to be measured: as it is or scaled down."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.estimate import require_memory
from symgauge.exact.probes import Inputs
from symgauge.models.huggingface.adapter import Adapted
from symgauge.models.huggingface.config_file import one_line
from symgauge.models.huggingface.feeding import Feed, feed, influence, unreached
from symgauge.models.huggingface.model_class import choose_class, make_config
from symgauge.models.huggingface.own_weights import check_weights, load_own
from symgauge.models.huggingface.shrink import PLANS, shrink
from symgauge.models.huggingface.small import small_instance
from symgauge.zoo.parts.family import Config

AS_IT_STANDS = 5000
"""Models with at most this many parameters run in minutes, and are measured as they are."""
_SMALL = 4000
"""Parameters that a scaled-down model may have."""

_NOT_SIZES = ("architectures", "dtype", "torch_dtype", "quantization_config", "_name_or_path", "transformers_version",
              "model_type", "auto_map")  # fmt: skip


@dataclass(frozen=True)
class AnyModel:
    """A module with one input, what to probe it with, and what has to be said about it."""

    model: Any
    """The model itself; ``module`` is it, or wraps it where it takes more than one input."""
    module: nn.Module
    inputs: Inputs | None
    """None for those natural to the architecture of ``adapted``."""
    notes: tuple[str, ...]
    scaled: dict[str, tuple[Any, Any]]
    """Configuration fields that differ: name → (full size, small instance)."""
    full_size: Architecture | None = None
    """The architecture that a scaled-down model stands for, where an adapter knows it."""
    adapted: Adapted | None = None
    """What the adapter knows of the scaled-down model."""


def count_parameters(made: type[Any], config: Config) -> int:
    """Parameters of the model of a configuration, none of which are allocated; tied ones count once."""
    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        return sum(p.numel() for p in made(config).parameters())


def plainly_made(made: type[Any], config: Config) -> Any:
    """A float64 model in evaluation mode with plain attention and no cache, its parameters as the class makes them."""
    _plain(config)
    # Initialisation draws from the global generator; leave no trace there.
    with torch.random.fork_rng(devices=[]):
        return _prepared(made(config).double().eval())


def build(made: type[Any], config: Config, seed: int = 0) -> Any:
    """The same with random parameters, every one of them."""
    model = plainly_made(made, config)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def _prepared(model: Any) -> Any:
    """Without what would make a function of padding: it is seen on sequences that have none."""
    for module in model.modules():
        # A padding row is a row like others: it has values, and what they do counts.
        if isinstance(module, nn.Embedding):
            module.padding_idx = None
    if type(model).__name__.endswith("SequenceClassification") and model.config.pad_token_id is None:
        # No token is padding, so every sequence is classified by its last position.
        model.config.pad_token_id = -1
    return model


def _plain(config: Config) -> None:
    """Attention and experts written out, no cache: the same function, in the simplest operations."""
    config._attn_implementation = "eager"
    with contextlib.suppress(AttributeError, ValueError):
        config._experts_implementation = "eager"
    for part in (config, config.get_text_config()):
        if hasattr(part, "use_cache"):
            part.use_cache = False
        low, *high = getattr(part, "time_step_limit", None) or (1.0,)
        if low <= 0:
            # Steps are softplus and so positive: a bound of 0 is none.
            part.time_step_limit = (-math.inf, *high)
        if hasattr(part, "reorder_and_upcast_attn"):
            part.reorder_and_upcast_attn = False  # single precision in between, and else no difference


def any_model(
    fields: dict[str, Any], *, seed: int = 0, drawn: bool = True, as_is: bool = False, folder: Path | None = None
) -> AnyModel:
    """The model of a ``config.json``'s fields: as it stands if it is small, else a small one with the same parts.

    Args:
        fields: of the configuration; checked by :func:`~symgauge.models.huggingface.config_file.read_config`.
        seed: of random parameters; not ``drawn``: where an adapter knows the model they are as its class makes them.
        as_is: as it stands, whatever its size.
        folder: as it stands, with the weights that lie in this folder.

    Raises:
        UnsupportedModel: a model type, class or input that cannot be measured. InvalidInput: fields that make no model,
            weights that do not fit, or more parameters than this machine has memory for.
    """
    whole = make_config(fields)
    made, config, note = choose_class(whole, fields.get("architectures"))
    notes = [note] if note else []
    if folder is not None:
        check_weights(folder)
    with blamed(made, config):
        _plain(config)
        count = count_parameters(made, config)
    if not count:
        raise InvalidInput(f"{made.__name__} has no parameters with this configuration")
    if count <= AS_IT_STANDS or as_is or folder is not None:
        require_memory(count)
        with blamed(made, config):
            model = build(made, config, seed) if folder is None else _prepared(load_own(made, config, folder))
        where = "at a random point" if folder is None else "at the folder's own weights"
        return _ready(model, config, [*notes, f"{made.__name__} is measured as it stands, {where}"], {})
    try:
        known = small_instance(whole, fields.get("architectures"), seed if drawn else None)
    except (UnsupportedModel, InvalidInput):  # no adapter, or not for this configuration
        small, model = _small(made, config, seed)
        return _ready(model, small, notes, _differences(config, small))
    return AnyModel(known.model, known.model, None, tuple(notes), known.scaled, known.architecture, known.adapted)


def _differences(config: Config, small: Config) -> dict[str, tuple[Any, Any]]:
    before, after = config.to_dict(), small.to_dict()
    return {k: (v, after.get(k)) for k, v in before.items() if after.get(k) != v and k not in _NOT_SIZES}


def _ready(model: Any, config: Config, notes: list[str], scaled: dict[str, tuple[Any, Any]]) -> AnyModel:
    with blamed(type(model), config, "run"):
        fed = feed(model, config)
        notes = [*notes, *fed.notes, *_unfed(model, fed), *_unreached(fed.module, fed.inputs)]
    return AnyModel(model, fed.module, fed.inputs, tuple(notes), scaled)


def _unfed(model: Any, fed: Feed) -> Iterator[str]:
    """Holds the parts of a model of several kinds of input fixed that the given kind does not reach, and says so."""
    if len(getattr(type(model.config), "sub_configs", ())) < 2:
        return
    masks = influence(fed.module, fed.inputs)
    reached = {id(p) for name, p in fed.module.named_parameters() if masks[name].any()}
    parts: list[str] = []
    for name, part in model.named_modules():
        inside = list(part.parameters())
        if inside and not name.startswith(tuple(f"{p}." for p in parts)) and not reached & {id(p) for p in inside}:
            part.requires_grad_(False)
            parts.append(name)
    if parts:
        held = sum(p.numel() for p in model.parameters() if not p.requires_grad)
        shown = ", ".join(parts[:4]) + (" and others" if len(parts) > 4 else "")
        yield f"what the input does not reach is held fixed: {shown} ({held:,} parameters)"


def _unreached(module: nn.Module, inputs: Inputs) -> Iterator[str]:
    """Says which parameters no such input reaches: they are counted as free."""
    free = {name for name, p in module.named_parameters() if p.requires_grad}
    found = {name: n for name, mask in influence(module, inputs).items() if name in free and (n := unreached(mask))}
    if found:
        shown = ", ".join(f"{n:,} of {name}" for name, n in list(found.items())[:3])
        more = f" and {len(found) - 3} more tensors" if len(found) > 3 else ""
        yield f"the output does not depend on {sum(found.values()):,} parameters ({shown}{more}): they count as free"


def _small(made: type[Any], config: Config, seed: int) -> tuple[Config, Any]:
    """The first plan that makes a small model which builds; raises :class:`UnsupportedModel` if none does."""
    fields, errors = config.to_dict(), []
    for plan in PLANS:
        small = {k: v for k, v in shrink(fields, plan).items() if k not in _NOT_SIZES}
        try:
            candidate = type(config)(**small)
            _plain(candidate)
            count = count_parameters(made, candidate)
            if count > _SMALL:
                errors.append(f"{count:,} parameters were left")
                continue
            model = build(made, candidate, seed)
            feed(model, candidate)
            return candidate, model
        except Exception as error:
            errors.append(one_line(error, 120))
    raise UnsupportedModel(
        f"{config.model_type}: too large to be measured as it stands, and scaling it down did not work ({errors[0]}); "
        "give a configuration with small sizes, which is measured as it is"
    )


@contextlib.contextmanager
def blamed(made: type[Any], config: Config, doing: str = "build") -> Iterator[None]:
    """Whatever a model class raises on a configuration, as one sentence."""
    try:
        yield
    except (InvalidInput, UnsupportedModel):
        raise
    except ImportError as error:
        raise UnsupportedModel(f"{made.__name__}: {one_line(error, 160)}") from error
    except Exception as error:
        raise InvalidInput(
            f"{config.model_type}: transformers cannot {doing} {made.__name__} from this configuration: "
            f"{type(error).__name__}: {one_line(error)}"
        ) from error
