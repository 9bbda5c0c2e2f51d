"""Small samples of the maps outside the group that Table 4 tries."""

from __future__ import annotations

import torch

from proofs_checks.gauge.experiments import non_symmetries
from proofs_checks.gauge.experiments.distribution import Distribution, distribution
from proofs_checks.gauge.experiments.elements import Elements, act
from proofs_checks.gauge.experiments.layer import Sizes
from proofs_checks.gauge.experiments.subject import SIZES, Subject, rotary_form, subject
from symgauge.profiles import scale

SMALL, MEDIUM = SIZES["Small"], SIZES["Medium"]
ELEMENTS = 4


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(sizes: Sizes, spread: float | None = None) -> Subject:
    return subject(sizes, scale(4, 40), generator(), spread=spread)


def mixed(s: Subject, norm: str, compensate: bool = True) -> Distribution:
    matrices, inverses = non_symmetries.mixings(generator(1), s.sizes, ELEMENTS, norm=norm)
    pairs = zip(matrices, inverses, strict=True)
    return distribution(s.errors(non_symmetries.mix_heads(s.layer, p, i if compensate else None) for p, i in pairs))


def blocks(s: Subject, law: str) -> Distribution:
    pair = non_symmetries.plane_blocks(generator(1), s.sizes, ELEMENTS, law=law)
    turned = Subject(s.sizes, s.layer, s.inputs, rotary_form(s.sizes.d_k))
    return distribution(turned.errors(act(s.layer, e) for e in Elements(pair, None, None).each()))


def rotated(s: Subject, reading: str) -> Distribution:
    return distribution(
        s.errors(
            non_symmetries.rotate(s.layer, q, reading)
            for q in non_symmetries.rotations(generator(1), s.sizes, ELEMENTS)
        )
    )
