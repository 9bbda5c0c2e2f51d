"""What two modules are fed with so that every number that differs may show."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput
from symgauge.exact.probes import Arrays, Inputs, Tokens
from symgauge.models.huggingface.feeding import (
    EncoderDecoder,
    positions_of,
    runs,
    shapes_of,
    vocabulary_of,
    wants_both,
)

_LENGTHS = (12, 7)
"""Tokens in a sequence: more than one length, for what depends on it."""
_SEQUENCES = 8
_COVERED = 2048
"""Vocabularies up to this size are seen whole."""
_CALM = 0.25
"""Times the probes of exact runs: where softmax is flat, or a neuron saturates, little is seen."""


def natural(module: nn.Module, config: Any) -> tuple[nn.Module, tuple[Inputs, ...], str]:
    """A ``transformers`` model as a module of one input, and inputs of several lengths; or none, and why."""
    main: Any = module.main_input_name
    name = str(main if isinstance(main, str) else main[0])
    errors: list[str] = []
    if name == "input_ids":
        both = wants_both(module, config)
        fed = EncoderDecoder(module) if both else module
        limit = positions_of(config) * (1 + both)
        lengths = sorted({min(n, limit) for n in _LENGTHS}, reverse=True)
        chosen: tuple[Inputs, ...] = tuple(
            Tokens(vocabulary_of(config), n, None if both else "input_ids") for n in lengths
        )
        if all(runs(fed, inputs, errors) for inputs in chosen):
            return fed, chosen, ""
    for shape in () if name == "input_ids" else shapes_of(name, config):
        inputs = Arrays(shape, keyword=name)
        if runs(module, inputs, errors):
            return module, (inputs,), ""
    return module, (), f"{type(module).__name__} does not run on {name} alone ({errors[0] if errors else 'unknown'})"


def batches(inputs: tuple[Inputs, ...], seed: int, given: Tensor | None) -> list[tuple[Tensor, str | None]]:
    """Random inputs, with every token of a small vocabulary among them, and the ids that were given; each with the
    name of the argument that takes it."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for one in inputs:
        if isinstance(one, Tokens) and one.vocabulary <= _COVERED:
            count = max(_SEQUENCES, -(-one.vocabulary // one.length)) * one.length
            ids = torch.arange(count) % one.vocabulary
            batch = ids[torch.randperm(count, generator=generator)].reshape(-1, one.length)
        else:
            batch = one.draw(_SEQUENCES, generator)
        batch = _CALM * batch if batch.is_floating_point() else batch
        found.append((batch.movedim(0, one.batch_axis), one.keyword))
    if given is not None:
        vocabulary = min((one.vocabulary for one in inputs if isinstance(one, Tokens)), default=None)
        if given.dim() != 2 or given.numel() == 0:
            raise InvalidInput(f"tokens have shape {tuple(given.shape)}; give ids (B, T), at least one")
        if bool((given < 0).any()) or (vocabulary is not None and bool((given >= vocabulary).any())):
            most = "" if vocabulary is None else f"; this model has 0 to {vocabulary - 1}"
            raise InvalidInput(f"token ids go from {int(given.min())} to {int(given.max())}{most}")
        found.append((given, next((one.keyword for one in inputs), None)))
    return found


def counted(inputs: list[tuple[Tensor, str | None]]) -> tuple[int, str]:
    """How many there are, and of what."""
    if all(not batch.is_floating_point() for batch, _ in inputs):
        return sum(batch.numel() for batch, _ in inputs), "tokens"
    return sum(len(batch) for batch, _ in inputs), "inputs"
