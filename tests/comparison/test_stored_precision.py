"""Which rounding the values of a tensor have been through, whatever type keeps them now."""

import pytest
import torch

from symgauge.comparison.rounding import SAFETY
from symgauge.comparison.stored_precision import precision_of

NF4 = torch.tensor([
    -1.0, -0.6961928, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0, 0.0795803, 0.1609302,
    0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0,
])  # fmt: skip


def by_levels(x, block, levels):
    runs = x.reshape(-1, block)
    step = runs.abs().amax(1, keepdim=True) / levels
    return ((runs / step).round() * step).reshape(x.shape)


def from_zero_point(x, block, levels=15):
    runs = x.reshape(-1, block)
    low = runs.amin(1, keepdim=True)
    step = (runs.amax(1, keepdim=True) - low) / levels
    zero = (-low / step).round()
    return (((runs / step).round() + zero).clamp(0, levels) - zero).mul(step).reshape(x.shape)


def by_code(x, block=64):
    runs = x.reshape(-1, block)
    largest = runs.abs().amax(1, keepdim=True)
    return (NF4[((runs / largest).unsqueeze(-1) - NF4).abs().argmin(-1)] * largest).reshape(x.shape)


def eight_bits(x, dtype, largest=None):
    scale = 1.0 if largest is None else largest / torch.finfo(dtype).max
    return (x / scale).to(dtype).float() * scale


def in_squares(x, side=64):
    largest = x.abs().unflatten(0, (-1, side)).unflatten(2, (-1, side)).amax((1, 3))
    return eight_bits(x, torch.float8_e4m3fn, largest.repeat_interleave(side, 0).repeat_interleave(side, 1))


GRIDS = {
    "int8 per row": (lambda x: by_levels(x, x.shape[1], 127), (torch.float32, torch.float16)),
    "int4 per block of 32": (lambda x: by_levels(x, 32, 7), None),
    "int4 per block of 128": (lambda x: from_zero_point(x, 128), None),
    "int4 per block of 64": (by_code, None),
    "few levels per row": (lambda x: (x / x.abs().mean()).round().clamp(-1, 1) * x.abs().mean(), None),
    "float8_e4m3fn": (lambda x: eight_bits(x, torch.float8_e4m3fn), None),
    "float8_e4m3fn per row": (lambda x: eight_bits(x, torch.float8_e4m3fn, x.abs().amax(1, keepdim=True)), None),
    "float8_e4m3fn per tensor": (lambda x: eight_bits(x, torch.float8_e4m3fn, x.abs().max()), None),
    "float8_e5m2": (lambda x: eight_bits(x, torch.float8_e5m2), None),
    "float8_e4m3fn per block of 64 × 64": (in_squares, None),
}


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_seen_through_the_type_that_keeps_them(name):
    quantise, kept = GRIDS[name]
    x = 0.3 * torch.randn(320, 512, generator=torch.Generator().manual_seed(0))
    y = quantise(x)
    error = float((y - x).norm() / x.norm())
    for dtype in kept or (torch.float32, torch.float16, torch.bfloat16):
        found = precision_of(y.to(dtype).double(), str(dtype).removeprefix("torch."))
        assert found.name == name
        assert error / SAFETY < found.noise < SAFETY * error


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("of", ["normal", "heavy tails", "half of them zero", "equal rows"])
def test_numbers_on_no_grid_are_as_fine_as_their_type(dtype, of):
    x = torch.randn(320, 512, generator=torch.Generator().manual_seed(0))
    x = {"normal": x, "heavy tails": x**5, "half of them zero": x.relu(), "equal rows": x[:1].expand(320, -1)}[of]
    name = str(dtype).removeprefix("torch.")
    assert precision_of(x.to(dtype).double(), name).name == name
