"""Parts of the landscape experiments: layers, spectra, orbits, gradients."""

from __future__ import annotations

import pytest
import torch
from torch.func import jvp

from proofs_checks.gauge.critical_points import hessian, squared_loss
from proofs_checks.gauge.experiments import gradient_orthogonality, orbits
from proofs_checks.gauge.experiments.layer import (
    Sizes,
    attend,
    draw,
    draw_generator,
    exponential,
    normal,
    split,
    tangent,
)
from proofs_checks.gauge.experiments.spectrum import spectrum
from proofs_checks.gauge.experiments.table_7 import EXACT_SMALL, REPORTED, SPREADS, THRESHOLD, UNSAFE, hessian_bytes
from symgauge.errors import Undecided
from symgauge.experiments.suite import Setting
from symgauge.models.reference import Architecture, forward

SIZES = Sizes(3, 2, 4, 5)


def drawn(seed: int = 0) -> tuple[torch.Generator, object, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return generator, draw(SIZES, generator, 0.5), normal(generator, 2, 6, SIZES.d_model)


def test_the_layer_is_the_reference_layer() -> None:
    _, layer, x = drawn()
    h, k, v, d = SIZES
    a = Architecture(d, h, k, v, causal=False, residual=False)
    names = ("query", "key", "value", "output")
    roles = {f"layers.0.attention.{name}.weight": part for name, part in zip(names, layer, strict=True)}
    assert torch.allclose(attend(layer, x), forward(a, roles, x), rtol=1e-13, atol=1e-14)
    assert len(layer.flat()) == SIZES.parameters
    assert all(map(torch.equal, layer, split(layer.flat(), SIZES)))


def test_the_tangent_is_where_the_exponential_starts() -> None:
    generator, layer, x = drawn()
    direction = draw_generator(SIZES, generator)
    start = tangent(layer, direction).flat()
    step = 1e-5
    ahead, behind = (exponential(layer, direction, t).flat() for t in (step, -step))
    assert torch.allclose((ahead - behind) / (2 * step), start, rtol=1e-7, atol=1e-8)
    theta = layer.flat()
    along = jvp(lambda t: attend(split(t, SIZES), x), (theta,), (start,))[1]
    other = jvp(lambda t: attend(split(t, SIZES), x), (theta,), (normal(generator, len(theta)),))[1]
    assert along.norm() < 1e-13 * other.norm()


def test_the_spectrum_is_that_of_the_hessian() -> None:
    sizes = Sizes(2, 2, 1, 3)
    found = spectrum(sizes, 0.7, seed=3)
    generator = torch.Generator().manual_seed(3)
    layer = draw(sizes, generator, 0.7)
    x = normal(generator, found.outputs // (16 * sizes.d_model), 16, sizes.d_model)
    a = Architecture(3, 2, 2, 1, causal=False, residual=False)
    loss = squared_loss(a, x, attend(layer, x))
    values = torch.linalg.eigvalsh(2 * hessian(loss, layer.flat()) / 2).abs().sort(descending=True).values
    assert torch.allclose(found.values, values, rtol=1e-9, atol=1e-15)
    assert found.nullity == sizes.gauge == 10
    assert found.largest_zero < 1e-14 < 1e-9 < found.smallest_kept


def test_the_threshold_of_the_source_counts_wrongly_on_both_sides() -> None:
    small, usual, large = (spectrum(UNSAFE, spread, 0) for spread in (SPREADS[0], SPREADS[2], SPREADS[-1]))
    assert small.nullity == usual.nullity == large.nullity == UNSAFE.gauge == 64
    assert usual.below(THRESHOLD) == 64
    assert small.below(THRESHOLD) > 64 > large.below(THRESHOLD, summed=True)


def test_what_rounding_hides_counts_as_zero() -> None:
    sizes = Sizes(2, 2, 1, 3)
    assert spectrum(sizes, 1e-4, seed=0).nullity > sizes.gauge


def test_the_reported_sizes() -> None:
    assert [count for _, count in REPORTED] == [sizes.gauge for sizes, _ in REPORTED]
    assert [round(hessian_bytes(sizes) / 1e12, 2) for sizes, _ in REPORTED] == [0.55, 8.8, 400.77]
    assert all(sizes.d_model == sizes.heads * sizes.d_v for sizes in EXACT_SMALL)


def test_gradients_are_orthogonal_and_controls_are_not() -> None:
    found = gradient_orthogonality.products(SIZES, 0.5, Setting(), points=2, directions=30, tokens=6)
    assert found.product.shape == (2, 30)
    assert found.cosine.max() < 1e-15
    assert found.random.median() > 1e-3
    assert found.decay.median() > 1e-3
    assert found.outputs == 30


def test_the_loss_is_constant_along_orbits_and_not_along_lines() -> None:
    times = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    path = orbits.follow(SIZES, Setting(), 0, times, 2, 6)
    assert path.change["target N(0, 1)"].max() < 1e-13
    assert bool((path.distance.diff() > 0).all())
    assert bool((path.error < 100 * torch.finfo(torch.float64).eps * path.condition).all())
    assert orbits.at_distance(path, float(path.distance[1])) == 1
    with pytest.raises(Undecided, match="the path ends at distance"):
        orbits.at_distance(path, 1e9)
    assert orbits.reach(path, "target N(0, 1)", 1.0) == path.distance[-1]
    assert orbits.reach(path, "residual 1 %", -1.0) == 0
    orbit, line = orbits.straight(SIZES, Setting(), 0, 2.0, 5, 2, 6)["residual 10 %"]
    assert (orbit - 1).abs().max() < 1e-12
    assert line.max() > 2
    assert line[0] == pytest.approx(1, abs=1e-12)
    assert line[-1] == pytest.approx(1, abs=1e-9)
