"""What a ``transformers`` model is fed with: the inputs that its class names, of shapes with which it runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from symgauge.errors import UnsupportedModel
from symgauge.exact.probes import Arrays, Inputs, Tokens
from symgauge.models.huggingface.config_file import one_line
from symgauge.zoo.parts.family import Config

_SEQUENCES = 50_000
"""Token sequences that there should be at least, so that probes do not run out."""
_LONGEST, _SHORT = 24, 8
"""Sequences are at most so long; where even these do not reach every position, as short as the second."""
_PATIENCE = 4
"""Lengths in a row that reach nothing new: distances share a bucket, and halves grow in turns."""
_ARRAYS = ("pixel_values", "input_features", "input_values")
_ROUNDING = 1e-13
"""Derivatives this small beside the largest one are zero up to rounding."""


@dataclass(frozen=True)
class Feed:
    """A module that takes one tensor, what to probe it with, and what has to be said about it."""

    module: nn.Module
    inputs: Inputs
    notes: tuple[str, ...] = ()


class EncoderDecoder(nn.Module):
    """An encoder-decoder model as a function of one sequence: its first half is encoded, what follows is decoded."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Any:
        half = ids.shape[1] // 2
        return self.model(input_ids=ids[:, :half], decoder_input_ids=ids[:, half:], use_cache=False)


class WithArrays(nn.Module):
    """A model of tokens beside an image or a sound, as a function of tokens alone: the first two choose the image among
    as many random ones as there are pairs of tokens."""

    def __init__(self, model: nn.Module, keyword: str, tokens: str, shape: tuple[int, ...], vocabulary: int) -> None:
        super().__init__()
        self.arrays: Tensor
        self.model, self.keyword, self.tokens, self.vocabulary = model, keyword, tokens, vocabulary
        generator = torch.Generator().manual_seed(vocabulary)
        arrays = torch.randn(vocabulary**2, *shape, generator=generator, dtype=torch.float64)
        self.register_buffer("arrays", arrays, persistent=False)

    def forward(self, ids: Tensor) -> Any:
        chosen = self.arrays[ids[:, 0] * self.vocabulary + ids[:, 1]]
        result = self.model(**{self.keyword: chosen, self.tokens: ids[:, 2:]})
        scores = getattr(result, "logits_per_image", None)
        # Contrastive models compare all images with all texts of a batch; one of each belongs together here.
        return result if scores is None else scores.diagonal()


def feed(model: Any, config: Config) -> Feed:
    """The inputs of a model (float64, evaluation mode), as its class names them, long enough to reach its parameters.

    Raises :class:`UnsupportedModel` if it does not run on them.
    """
    name = model.main_input_name if isinstance(model.main_input_name, str) else model.main_input_name[0]
    made, vocabulary = type(model).__name__, vocabulary_of(config)
    errors: list[str] = []
    if name == "input_ids":
        wrapped = EncoderDecoder(model) if wants_both(model, config) else model
        found = _tokens(wrapped, config, vocabulary, errors)
        if found is not None:
            note = f"{made} is measured as a function of one sequence: its first half is encoded, the rest decoded"
            return Feed(wrapped, found, () if wrapped is model else (note,))
    else:
        for shape in shapes_of(name, config):
            inputs = Arrays(shape, keyword=name)
            if runs(model, inputs, errors):
                return Feed(model, inputs)
    pair = _pair_of_inputs(model, config, name, vocabulary)
    if pair is not None:
        return pair
    raise UnsupportedModel(
        f"{made} does not run on {name} alone ({errors[0] if errors else 'no shape for them is known'}); write a "
        "factory that wraps it in a module with one input, and measure file.py:factory"
    )


def _pair_of_inputs(model: Any, config: Config, name: str, vocabulary: int) -> Feed | None:
    """Tokens beside an image or a sound, where the model takes both."""
    arguments = inspect.signature(model.forward).parameters
    tokens = "decoder_input_ids" if name != "input_ids" and "decoder_input_ids" in arguments else "input_ids"
    arrays = name if name != "input_ids" else next((n for n in _ARRAYS if n in arguments), "")
    if tokens not in arguments or not arrays:
        return None
    errors: list[str] = []
    for shape in shapes_of(arrays, config):
        wrapped = WithArrays(model, arrays, tokens, shape, vocabulary)
        if runs(wrapped, Tokens(vocabulary, 5), errors):
            found = _tokens(wrapped, config, vocabulary, errors)
            note = (
                f"{type(model).__name__} is measured as a function of {tokens} beside {arrays} of shape {shape}: the "
                f"first two tokens choose one of {vocabulary**2:,} random ones"
            )
            return None if found is None else Feed(wrapped, found, (note,))
    return None


def wants_both(model: Any, config: Config) -> bool:
    return bool(config.is_encoder_decoder) and "decoder_input_ids" in inspect.signature(model.forward).parameters


def vocabulary_of(config: Config) -> int:
    found = getattr(config, "vocab_size", None) or getattr(config.get_text_config(), "vocab_size", None)
    return found if isinstance(found, int) and found > 0 else 32


def runs(module: nn.Module, inputs: Inputs, errors: list[str]) -> bool:
    """Whether the module runs on two such inputs; what it says if not goes to ``errors``."""
    batch = inputs.draw(2, torch.Generator().manual_seed(0))
    try:
        with torch.no_grad():
            result = module(**{inputs.keyword: batch}) if inputs.keyword else module(batch)
    except Exception as error:  # whatever a class raises on inputs that it cannot take
        errors.append(f"{type(error).__name__}: {one_line(error, 120)}")
        return False
    if not all(bool(torch.isfinite(x).all()) for x in floats(result)):
        errors.append("its output is NaN or infinite")
        return False
    return True


def _tokens(module: nn.Module, config: Config, vocabulary: int, errors: list[str]) -> Tokens | None:
    """The shortest sequences that reach all parameters that longer ones do: every position, bucket and tap."""
    wrapped = isinstance(module, (EncoderDecoder, WithArrays))
    keyword = None if wrapped else "input_ids"
    best, seen, fruitless = None, None, 0
    both, more = isinstance(module, EncoderDecoder), 2 * isinstance(module, WithArrays)
    lengths = list(_lengths(config, vocabulary, 1 + both, more))
    for length in lengths:
        inputs = Tokens(vocabulary, length, keyword)
        if not runs(module, inputs, errors):
            break
        now = reached(module, inputs)
        if seen is not None and length >= _LONGEST and bool((now & ~seen).any()):
            return Tokens(vocabulary, min(length, max(_SHORT, lengths[0])), keyword)
        if seen is None or bool((now & ~seen).any()):
            best, seen, fruitless = inputs, now if seen is None else now | seen, 0
        elif (fruitless := fruitless + 1) == _PATIENCE:
            break
    return best


def _lengths(config: Config, vocabulary: int, parts: int, more: int) -> Iterator[int]:
    """Lengths to try, growing, up to what the configuration allows each of ``parts`` parts, and ``more``."""
    limit = positions_of(config) * parts + more
    length = min(limit, max(4, 3 * parts, 3 + more, math.ceil(math.log(_SEQUENCES) / math.log(max(2, vocabulary)))))
    while length < limit - 2 * parts:
        yield length
        length += 1 if length < 12 else 4
    # Some families keep a row or two of their table of positions back.
    yield from range(length, limit + 1)


def positions_of(config: Config) -> int:
    """Positions that the configuration allows, as far as they are tried."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "max_target_positions", "n_ctx", "block_size")
    parts = (config, config.get_text_config())
    sizes = [v for part in parts for v in (getattr(part, n, None) for n in names) if isinstance(v, int) and v > 0]
    return min([*sizes, _LONGEST])


def reached(module: nn.Module, inputs: Inputs) -> Tensor:
    """Which slices of parameter tensors, along any of their axes, have an influence on outputs for such inputs."""
    return torch.cat([slices for mask in influence(module, inputs).values() for slices in _slices(mask)])


def _slices(mask: Tensor) -> list[Tensor]:
    """For each axis, whether anything is set in each slice across it."""
    mask = mask.reshape(1) if mask.dim() == 0 else mask
    if not mask.numel():
        return []
    return [mask.transpose(0, axis).reshape(mask.shape[axis], -1).any(1) for axis in range(mask.dim())]


def unreached(mask: Tensor) -> int:
    """How many entries lie in slices in which nothing is set."""
    mask = mask.reshape(1) if mask.dim() == 0 else mask
    alive = torch.ones_like(mask)
    for axis, slices in enumerate(_slices(mask)):
        alive &= slices.reshape([-1 if i == axis else 1 for i in range(mask.dim())])
    return int((~alive).sum())


def influence(module: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    """By parameter, which entries have a derivative that is not zero, at random inputs that contain every token."""
    generator = torch.Generator().manual_seed(1)
    if isinstance(inputs, Tokens):
        rows = max(64, -(-64 * inputs.vocabulary // inputs.length))
        ids = torch.arange(rows * inputs.length) % inputs.vocabulary
        batch = ids[torch.randperm(len(ids), generator=generator)].reshape(rows, -1)
    else:
        batch = inputs.draw(64, generator)
    named = dict(module.named_parameters())
    parameters = {name: p for name, p in named.items() if p.requires_grad and p.numel()}
    masks = {name: torch.zeros(p.shape, dtype=torch.bool) for name, p in named.items()}
    with torch.enable_grad():
        result = module(**{inputs.keyword: batch}) if inputs.keyword else module(batch)
        outputs = [x for x in floats(result) if x.requires_grad]
        if not outputs:
            return masks
        total = torch.stack([(x * torch.randn(x.shape, generator=generator, dtype=x.dtype)).sum() for x in outputs])
        grads = torch.autograd.grad(total.sum(), list(parameters.values()), allow_unused=True)
    found = {name: g.abs() for name, g in zip(parameters, grads, strict=True) if g is not None}
    largest = max(float(g.max()) for g in found.values())
    return masks | {name: g > _ROUNDING * largest for name, g in found.items()}


def floats(result: Any) -> list[Tensor]:
    """The real tensors in what a module returned: its logits, where it has some, else all."""
    if isinstance(result, Tensor):
        return [result] if result.is_floating_point() else []
    if getattr(result, "logits", None) is not None:
        return floats(result.logits)
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ()
    return [x for value in values for x in floats(value)]


def shapes_of(name: str, config: Config) -> Iterator[tuple[int, ...]]:
    """Shapes that an input of this name may have, the likeliest first."""
    vision = getattr(config, "vision_config", config)
    if name.startswith("pixel_values"):
        channels = next((c for n in ("num_channels", "in_chans", "in_channels")
                         if isinstance(c := getattr(vision, n, None), int)), 3)  # fmt: skip
        size = getattr(vision, "image_size", None)
        given = _pair(size)
        for height, width in (*([given] if given else []), (8, 8), (16, 16), (32, 32), (64, 64)):
            frames = getattr(vision, "num_frames", None)
            if isinstance(frames, int):
                yield (frames, channels, height, width)
            yield (channels, height, width)
    elif name in ("input_values", "input_features"):
        bins = [b for n in ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "feature_size",
                            "input_dim", "mel_dim") if isinstance(b := getattr(config, n, None), int)]  # fmt: skip
        lengths = [n for n in (getattr(config, "max_length", None),) if isinstance(n, int) and bins]
        lengths += [2 * n for n in (getattr(config, "max_source_positions", None),) if isinstance(n, int)]
        for b in bins:
            for length in (*lengths, 4, 8, 16, 32):
                yield (length, b)
                yield (b, length)
                yield (1, length, b)
        for samples in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096):
            yield (samples,)
            yield (1, samples)


def _pair(size: Any) -> tuple[int, int] | None:
    if isinstance(size, dict):
        size = (size.get("height"), size.get("width"))
    if isinstance(size, int):
        return size, size
    return (size[0], size[1]) if isinstance(size, (list, tuple)) and len(size) == 2 else None
