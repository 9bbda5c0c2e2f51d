"""What the test in an emitted file asserts: the families are symmetries of the module, and leave what was left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from symgauge.accounting.explaining import account
from symgauge.discovery.extended import extension
from symgauge.discovery.family import DiscoveredFamily
from symgauge.discovery.flows import run
from symgauge.discovery.sizes import subject_at
from symgauge.discovery.slices import held as hold
from symgauge.exact.probes import Inputs
from symgauge.exact.result import Output
from symgauge.layout import flatten
from symgauge.measurement import dimension
from symgauge.plain import prepare
from symgauge.subjects import Subject, subject_of

_SEED = 1
"""Another point than that of a discovery by default."""


def recheck(
    file: str, target: str, inputs: Inputs, families: Sequence[DiscoveredFamily], *, sizes: Mapping[str, int],
    held: Sequence[str], nullity: int, unexplained: int, output: Output, seed: int = _SEED,
) -> None:  # fmt: skip
    """Measure the module, hold what is held, and account for it with these families alone.

    Args:
        file: the emitted file; ``target`` is seen from its folder, and made with ``sizes`` where it is a factory.
        held: parameters at plain values; as many directions of the fibre as they have entries are theirs.
        nullity, unexplained: what was found.

    Raises:
        AssertionError: a generator lies outside of the kernel, a motion changes the function in float64 or could not be
            seen to change it, or the numbers differ.
    """
    subject = _subject(Path(file).parent, target, inputs, sizes)
    module = subject.module
    counted = [name for name, p in module.named_parameters() if p.requires_grad]
    whole = dimension(Subject(module, subject.inputs), seed=seed, output=output, witness=False)
    assert whole.nullity == nullity, f"the fibre has dimension {whole.nullity}, not {nullity}"
    slice_ = Subject(hold(module, held, counted), subject.inputs)
    found = account(slice_, extra=families, output=output, seed=seed, discover=False)
    assert found.decided, found.doubt
    free = sum(p.numel() for name, p in module.named_parameters() if name in held)
    assert found.fibre.nullity + free == nullity, f"{free} entries are held, but not all of them are pure gauge"
    left = found.fibre.nullity - sum(share.new_directions for share in found.families)
    assert left == unexplained, f"{left} directions are unexplained, not {unexplained}"
    _run(slice_, families, found.fibre.theta, output, seed)


def _run(subject: Subject, families: Sequence[DiscoveredFamily], point: Tensor, output: Output, seed: int) -> None:
    """Every generator as a motion of the module in float64; ``point``: the parameters that are not held."""
    theta, named = flatten(subject.module)
    shapes = {name: tuple(p.shape) for name, p in subject.module.named_parameters()}
    free = torch.cat([torch.full((p.numel(),), p.requires_grad) for _, p in subject.module.named_parameters()])
    theta[free] = point
    prepare(subject.module, [name for name, _ in named], theta)
    for family in families:
        derived = partial(extension, family.derived(shapes))
        motions = run(
            subject.module, subject.inputs, family.fields(shapes), output=output, seed=seed, derived=derived,
            moving=family.moving(shapes),
        )  # fmt: skip
        for flow in motions:
            changes = f"{flow.change:.1e}, and by {flow.control:.1e} where it is spoiled"
            assert flow.holds, f"{family.name}: a motion changes the function by {changes}"


def _subject(folder: Path, target: str, inputs: Inputs, sizes: Mapping[str, int]) -> Subject:
    there = os.path.normpath(folder / target)
    name = there if Path(there.rpartition(":")[0] if ".py:" in there else there).exists() else target
    return subject_at(name, sizes, inputs) if sizes else subject_of(name, inputs, parameters="unset")
