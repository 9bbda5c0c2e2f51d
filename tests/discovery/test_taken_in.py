"""Symmetries by which a tensor takes in what is inverse in another."""

from __future__ import annotations

import pytest
import torch

import symgauge
from symgauge.discovery.ansatz import blocks_of
from symgauge.discovery.derived import inverses, reciprocals
from symgauge.discovery.sizes import subject_at

from .test_emit import emitted, loaded


@pytest.mark.parametrize(
    ("target", "nullity", "action"),
    [
        ("gained", 2, "reader.weight ↦ reader.weight + c·(1/gain)ᵀ"),
        ("behind", 1, "bias takes in a multiple of (writer)⁻¹"),
        ("heads", 1, "bias takes in a multiple of (writer:4×3)⁻¹"),
    ],
)
def test_it_is_found_and_emitted(command, tmp_path, target, nullity, action) -> None:
    made = loaded(emitted(command, tmp_path, target))
    found = symgauge.discover(f"mine.py:{target}")
    assert (found.nullity, found.algebra, found.beyond_affine, found.unexplained) == (nullity, 0, nullity, 0)
    assert [(ideal.algebra, ideal.action) for ideal in found.ideals] == [("ℝ²" if nullity == 2 else "ℝ", action)]
    assert all(flow.holds for flow in found.flows)
    assert found.as_dict()["beyond_affine"] == nullity
    made.test_every_family_is_a_symmetry_and_nothing_is_left()


def test_one_that_takes_in_something_else_is_caught(command, tmp_path) -> None:
    path = emitted(command, tmp_path, "gained")
    text = path.read_text()
    assert "+= 1/gain" in text
    path.write_text(text.replace("= 1/gain", "= gain"))
    with pytest.raises(AssertionError, match="outside the kernel"):
        loaded(path).test_every_family_is_a_symmetry_and_nothing_is_left()


@pytest.mark.parametrize("outer", [1, 3])
def test_as_many_as_the_map_does_not_see(command, outer) -> None:
    found = symgauge.discover(subject_at("mine.py:behind", {"inner": 4, "outer": outer}))
    assert (found.nullity, found.beyond_affine, found.unexplained) == (4 - outer, 4 - outer, 0)


def test_derived_tensors_are_inverse_modulo_a_prime_and_in_float64() -> None:
    """Against products with what they are inverse of, which share no code with them."""
    p, blocks = 10007, blocks_of([("gain", (3,)), ("tall", (2, 2, 3)), ("wide", (2, 3)), ("b.bias", (3,))])
    theta = torch.randint(1, p, (blocks[-1].start + 3,), generator=torch.Generator().manual_seed(0))
    (gain,) = reciprocals(blocks, len(theta))
    assert (theta[:3] * gain.of(theta, p) % p == 1).all()
    assert torch.allclose(theta[:3] * gain.of(theta.double()), torch.ones(3, dtype=torch.float64))
    by_name = {each.name: each for each in inverses(blocks, len(theta))}
    assert list(by_name) == ["(tall:2×6)⁻¹", "(tall:4×3)⁻¹", "(wide)⁻¹"]
    for name, of in (("(tall:4×3)⁻¹", theta[3:15].reshape(4, 3)), ("(wide)⁻¹", theta[15:21].reshape(2, 3))):
        each = by_name[name]
        exact = each.of(theta, p).reshape(-1, each.shape[-1]) if name == "(wide)⁻¹" else each.of(theta, p).reshape(4, 4)
        tall = len(of) > 3
        product = (exact @ of if tall else of @ exact) % p
        unit = torch.eye(4, dtype=torch.int64)[:, :3] if tall else torch.eye(3, dtype=torch.int64)[:2]
        assert (product == unit).all()
