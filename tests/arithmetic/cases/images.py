"""Convolutions, pooling, interpolation and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.arithmetic.cases.inputs import Case, planes, seeded, volume


def conv(which: Callable[..., Tensor], shape: Any, size: Any = None, **options: Any) -> Case:
    """A convolution that depends on x in input, weight and bias."""

    def run(x: Tensor) -> Tensor:
        image = x if size is None else x.reshape(size)
        weight = seeded(shape) * (1 + x[0, 0, 0])
        outputs = shape[1] * options.get("groups", 1) if "transpose" in which.__name__ else shape[0]
        return which(image, weight, x.reshape(-1)[:outputs], **options)

    return run


def grid_sample(x: Tensor) -> Tensor:
    grid = torch.tanh(x.reshape(2, 3, 2, 2)) * 0.9
    return F.grid_sample(planes(x), grid, align_corners=False)


CASES: dict[str, Case] = {
    "conv1d": conv(F.conv1d, (4, 3, 2), padding=1),
    "conv1d strided dilated": conv(F.conv1d, (3, 1, 2), stride=2, dilation=2, groups=3, padding=2),
    "conv1d same": conv(F.conv1d, (2, 3, 4), padding="same"),
    "conv2d": conv(F.conv2d, (4, 2, 2, 2), (2, 2, 3, 2), padding=(1, 0), stride=(2, 1)),
    "conv2d grouped": conv(F.conv2d, (4, 1, 3, 1), (2, 2, 3, 2), groups=2, padding=(1, 1)),
    "conv3d": conv(F.conv3d, (3, 2, 2, 2, 1), (1, 2, 2, 3, 2), padding=(0, 1, 0)),
    "conv without batch": lambda x: F.conv1d(x[0], seeded((2, 3, 2)) * x.sum()),
    "conv_transpose1d": conv(F.conv_transpose1d, (3, 2, 3), stride=2, padding=1, output_padding=1, dilation=2),
    "conv_transpose2d": conv(F.conv_transpose2d, (2, 2, 2, 3), (2, 2, 3, 2), groups=2, stride=(2, 2), padding=(2, 0)),
    "conv_transpose3d": conv(F.conv_transpose3d, (2, 1, 2, 1, 2), (1, 2, 2, 3, 2)),
    "avg_pool": lambda x: (
        F.avg_pool1d(x, 3, 2, 1)[..., :2] + F.avg_pool2d(planes(x), (2, 1), divisor_override=5)[:, :1, 0]
    ),
    "avg_pool ceil": lambda x: F.avg_pool2d(planes(x), 2, 2, 1, ceil_mode=True, count_include_pad=False),
    "avg_pool3d": lambda x: F.avg_pool3d(volume(x), (2, 2, 1), 1, (0, 1, 0)),
    "adaptive_avg_pool": lambda x: (
        F.adaptive_avg_pool1d(x, 3) * F.adaptive_avg_pool2d(planes(x), (2, 1))[..., 0].mean()
    ),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(volume(x), (1, 2, 2)),
    "max_pool": lambda x: F.max_pool1d(x, 2, 1) * F.max_pool2d(planes(x), 2, 1, 1).mean(),
    "max_pool3d": lambda x: F.max_pool3d(volume(x), (2, 2, 1)),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool1d(x, 2) * F.adaptive_max_pool2d(planes(x), 2).mean(),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(volume(x), (1, 2, 1)),
    "max_unpool": lambda x: (
        F.max_unpool2d(*F.max_pool2d(planes(x), 1, return_indices=True), 1)
        + F.max_unpool3d(*F.max_pool3d(volume(x), 1, return_indices=True), 1).reshape(2, 2, 3, 2)
    ),
    "lp_pool": lambda x: F.lp_pool1d(x, 2.0, 2),
    "nearest": lambda x: F.interpolate(x, 7) + F.interpolate(planes(x), scale_factor=2).mean(),
    "nearest exact": lambda x: F.interpolate(x, 7, mode="nearest-exact") * F.interpolate(volume(x), 3).sum(),
    "nearest exact planes": lambda x: F.interpolate(planes(x), (2, 5), mode="nearest-exact"),
    "nearest exact volumes": lambda x: F.interpolate(volume(x), (2, 5, 1), mode="nearest-exact"),
    "linear interpolation": lambda x: (
        F.interpolate(x, 7, mode="linear") + F.interpolate(x, 7, mode="linear", align_corners=True)
    ),
    "bilinear interpolation": lambda x: F.interpolate(planes(x), scale_factor=1.7, mode="bilinear"),
    "trilinear": lambda x: F.interpolate(volume(x), (3, 2, 5), mode="trilinear"),
    "bicubic": lambda x: (
        F.interpolate(planes(x), (5, 3), mode="bicubic")
        + F.interpolate(planes(x), (5, 3), mode="bicubic", align_corners=True)
    ),
    "area": lambda x: F.interpolate(planes(x), (2, 2), mode="area"),
    "grid_sample": grid_sample,
    "affine_grid": lambda x: F.affine_grid(x[..., :3].reshape(2, 3, 3)[:, :2], [2, 1, 2, 3], align_corners=False),
    "pads": lambda x: F.pad(x, (2, 1), "reflect") + F.pad(x, (1, 2), "replicate") * F.pad(x, (3, 0), "circular"),
    "pads of planes": lambda x: F.pad(planes(x), (1, 0, 2, 1), "reflect") + F.pad(planes(x), (1, 0, 1, 2), "replicate"),
    "pads of volumes": lambda x: (
        F.pad(volume(x), (1, 0, 2, 1, 1, 0), "reflect") + F.pad(volume(x), (1, 0, 2, 1, 0, 1), "replicate")
    ),
    "unfold fold": lambda x: F.fold(F.unfold(planes(x), (2, 1)) ** 2, (3, 2), (2, 1)),
    "pixel_shuffle": lambda x: F.pixel_unshuffle(F.pixel_shuffle(x.reshape(1, 4, 3, 2), 2) ** 2, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x.reshape(1, 4, 3, 2), 2) * 2,
}
