"""Two modules run on the same inputs, in float64 and float32, and what their difference is held against."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from symgauge.blame import blaming
from symgauge.comparison.function import FunctionCheck
from symgauge.comparison.rounding import SAFETY
from symgauge.comparison.undescribed.feeding import counted
from symgauge.errors import ForeignError, InvalidInput, Undecided
from symgauge.module_invariance import ByKeyword
from symgauge.plain import float64, run

Batches = list[tuple[Tensor, str | None]]
_FLOOR = 2.0**-47
_UNSEEN = 1e-13
"""Derivatives this small beside the largest are zero up to rounding."""


def results(module: nn.Module, batches: Batches) -> list[Tensor]:
    """All that a module returns, its logits where it has some. Raises :class:`ForeignError` for what it raises."""
    found = []
    for batch, keyword in batches:
        with blaming(f"running {type(module).__name__} on an input of shape {tuple(batch.shape)}", module):
            found += run(ByKeyword(module, keyword) if keyword else module, batch)
    if not found or not any(x.numel() for x in found):
        raise InvalidInput(f"{type(module).__name__} returns no tensor of numbers")
    return found


def check_function(
    mine: nn.Module, theirs: nn.Module, batches: Batches, tensors: Mapping[str, Tensor], stored: Mapping[str, float],
    exact: Mapping[str, float],
) -> FunctionCheck:  # fmt: skip
    """Both run, and the second again with its ``tensors`` shaken by their rounding: relative sizes by name, at the
    precision stored and at that of arithmetic.

    Raises :class:`InvalidInput` for results of two shapes, and :class:`Undecided` for a function that is random or not
    finite.
    """
    with float64(), torch.no_grad():
        one, again, two = results(mine, batches), results(mine, batches), results(theirs, batches)
        shapes = [[tuple(x.shape) for x in outputs] for outputs in (one, two)]
        if shapes[0] != shapes[1]:
            raise InvalidInput(
                f"one module returns {shapes[0][0]} and the other {shapes[1][0]} for an input of shape "
                f"{tuple(batches[0][0].shape)}; compare two that return the same"
            )
        if not all(bool(torch.isfinite(x).all()) for x in (*one, *two)):
            raise Undecided("the functions are not finite on random inputs, so running them shows nothing")
        if _differ(one, again) > _FLOOR:
            raise Undecided("the function is random: two runs of A on the same input differ; give modules that are not")
        noise = []
        for sizes in (stored, exact):
            with _shaken(tensors, sizes):
                noise.append(SAFETY * max(_differ(results(theirs, batches), two), _FLOOR))
    count, of = counted(batches)
    in_float32 = None
    with contextlib.suppress(ForeignError):  # constants of its own may be in float64
        in_float32 = _in_float32(mine, theirs, batches)
    value = _differ(one, two)
    return FunctionCheck(count, (), value, max(noise), noise[1], in_float32, value, of)


def _in_float32(mine: nn.Module, theirs: nn.Module, batches: Batches) -> float:
    low = [(x.float() if x.is_floating_point() else x, keyword) for x, keyword in batches]
    with torch.no_grad():
        return _differ(*(results(copy.deepcopy(module).float(), low) for module in (mine, theirs)))


def _differ(one: list[Tensor], two: list[Tensor]) -> float:
    """The largest relative difference of a result."""
    norm = torch.linalg.vector_norm
    pairs = [(x.double(), y.double()) for x, y in zip(one, two, strict=True) if y.numel()]
    return max(float(norm(x - y) / (norm(y) if y.any() else norm(x)).clamp_min(1e-300)) for x, y in pairs)


@contextmanager
def _shaken(tensors: Mapping[str, Tensor], sizes: Mapping[str, float]) -> Iterator[None]:
    """Every tensor changed at random by about its rounding, and put back."""
    generator = torch.Generator().manual_seed(0)
    floating = {name: x for name, x in tensors.items() if x.is_floating_point()}
    before = {name: x.clone() for name, x in floating.items()}
    for name, x in floating.items():
        x.mul_(1 + sizes.get(name, _FLOOR) * torch.randn(x.shape, generator=generator, dtype=x.dtype))
    try:
        yield
    finally:
        for name, x in floating.items():
            x.copy_(before[name])


def unseen(
    module: nn.Module, batches: Batches, tensors: Mapping[str, Tensor], differing: Mapping[str, Tensor | None]
) -> str | None:
    """The first tensor that differs in numbers which have no influence on the results: what these inputs cannot show.

    ``differing`` has a mask for each tensor that differs, or None where it differs in all.
    """
    floating = {name: x for name, x in tensors.items() if name in differing and x.is_floating_point()}
    hidden = next((name for name in differing if name not in floating), None)
    if hidden is not None or not floating:
        return hidden
    for x in floating.values():
        x.requires_grad_(True)
    generator = torch.Generator().manual_seed(1)
    with float64():
        outputs = [y for y in results(module, batches) if y.requires_grad]
        if not outputs:
            return next(iter(floating))
        total = torch.stack([(y * torch.randn(y.shape, generator=generator, dtype=y.dtype)).sum() for y in outputs])
        found = torch.autograd.grad(total.sum(), [*floating.values()], allow_unused=True)
    for x in floating.values():
        x.requires_grad_(False)
    sizes = {name: torch.zeros(()) if g is None else g.abs() for name, g in zip(floating, found, strict=True)}
    least = _UNSEEN * max(float(g.max()) for g in sizes.values())
    for name, size in sizes.items():
        where = differing[name]
        if bool(((size <= least) if where is None else (size <= least) & where).any()):
            return name
    return None
