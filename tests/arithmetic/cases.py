"""What people compute with torch, as functions of one (2, 3, 4) float64 tensor: each is compared with torch itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

Case = Callable[[Tensor], Tensor]
ROW = torch.tensor([2, 0, 2])
MASK = torch.tensor([[True, False, True, True], [False, True, True, False], [True, True, True, False]])
CONSTANT = torch.linspace(0.2, 1.9, 24, dtype=torch.float64).cos().reshape(2, 3, 4)


def seeded(shape: Any, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 0.5


def written(*writes: Callable[[Tensor], object]) -> Case:
    """Writes in place, one after the other, each into a copy (torch's derivatives want that)."""

    def run(x: Tensor) -> Tensor:
        y = x
        for write in writes:
            y = y * 1
            write(y)
        return y * x

    return run


def against(ours: Case, reference: Case) -> Case:
    """An operation that torch has no derivative (or no float64 kernel) of, beside the same by other operations."""
    return lambda x: (reference if type(x) is Tensor else ours)(x)


def module(make: Callable[[], nn.Module], call: Callable[[nn.Module, Tensor], Tensor] = lambda m, x: m(x)) -> Case:
    """A module of torch's own in evaluation mode, with fixed weights."""

    def run(x: Tensor) -> Tensor:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            made = make().double().eval()
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            with sdpa_kernel(SDPBackend.MATH):
                return call(made, x)
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)

    return run


def heads(x: Tensor, count: int) -> Tensor:
    """(2, 3, 4) → (2, count, 3, 2)."""
    return (x @ seeded((4, 2 * count), count)).unflatten(-1, (count, 2)).transpose(1, 2)


def sdpa(**options: Any) -> Case:
    def run(x: Tensor) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(heads(x, 2), heads(x, 2), heads(x, 2) * 3, **options)

    return run


def grouped_queries(x: Tensor) -> Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(heads(x, 4), heads(x, 2), heads(x, 2), is_causal=True, enable_gqa=True)


def mha(**options: Any) -> Case:
    given = {k: options.pop(k) for k in ("attn_mask", "key_padding_mask", "need_weights", "is_causal") if k in options}
    kdim, vdim = options.get("kdim", 4), options.get("vdim", 4)

    def call(m: nn.Module, x: Tensor) -> Tensor:
        out, weights = m(x, x[..., :kdim] * 2, x[..., :vdim] + 1, **given)
        return out if weights is None else torch.cat([out, weights.sum(-1, keepdim=True)], -1) * weights[..., :1]

    return module(lambda: nn.MultiheadAttention(4, 2, batch_first=True, **options), call)


def encoder(x: Tensor, **options: Any) -> Tensor:
    return module(lambda: nn.TransformerEncoderLayer(4, 2, 6, 0.0, batch_first=True, **options))(x)


def decoder(m: nn.Module, x: Tensor) -> Tensor:
    return m(x, x * 2, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64))


def planes(x: Tensor) -> Tensor:
    """(2, 3, 4) as two images with two channels of 3 × 2."""
    return x.reshape(2, 2, 3, 2)


def volume(x: Tensor) -> Tensor:
    return x.reshape(1, 2, 2, 3, 2)


def conv(which: Callable[..., Tensor], shape: Any, size: Any = None, **options: Any) -> Case:
    """A convolution that depends on x in input, weight and bias."""

    def run(x: Tensor) -> Tensor:
        image = x if size is None else x.reshape(size)
        weight = seeded(shape) * (1 + x[0, 0, 0])
        outputs = shape[1] * options.get("groups", 1) if "transpose" in which.__name__ else shape[0]
        return which(image, weight, x.reshape(-1)[:outputs], **options)

    return run


def symmetric(x: Tensor) -> Tensor:
    return x @ x.mT + torch.eye(3, dtype=torch.float64)


def square(x: Tensor) -> Tensor:
    return x[..., :3] + 3 * torch.eye(3, dtype=torch.float64)


def rotary(x: Tensor) -> Tensor:
    turns = torch.polar(torch.ones(3, 2, dtype=torch.float64), torch.arange(6.0).double().reshape(3, 2))
    return torch.view_as_real(torch.view_as_complex(x.reshape(2, 3, 2, 2)) * turns).flatten(2)


def state_space(x: Tensor) -> Tensor:
    """A diagonal state space with complex poles: its kernel by powers of exp."""
    pole = torch.exp(torch.complex(-x.abs(), x) * 0.3)
    weights = torch.linspace(1, 3, 4).to(torch.complex128)
    kernel = torch.einsum("btn,n->bt", pole**2 / (pole + 1.5), weights).real
    return kernel + (pole.conj() * pole).real.sum(-1) + pole.abs().sum(-1) + pole.angle().mean(-1)


def complex_shapes(x: Tensor) -> Tensor:
    z = torch.cat([x * 1j, x + 0j], -1).cumsum(1).masked_fill(x.repeat(1, 1, 2) > 1, 3)
    return torch.view_as_real(torch.where(x.repeat(1, 1, 2) < 0, 2, F.pad(z[..., :7], (1, 0))))


def complex_in_place(x: Tensor) -> Tensor:
    z = torch.complex(x * 1, x * x)
    z.mul_(2j)
    z.add_(x)
    return torch.view_as_real(z)


def scattered(how: str, include_self: bool = True) -> Case:
    index = ROW[None, :, None].expand(2, 3, 4)
    return lambda x: x.scatter_reduce(1, index, x * x + 0.3, how, include_self=include_self)


def bags(mode: str) -> Case:
    return lambda x: F.embedding_bag(torch.tensor([0, 2, 1, 2, 2]), x[0], torch.tensor([0, 3]), mode=mode)


def weighted_bags(x: Tensor) -> Tensor:
    rows, starts = torch.tensor([0, 2, 1]), torch.tensor([0, 1])
    return F.embedding_bag(rows, x[0], starts, mode="sum", per_sample_weights=x[1, 0, :3])


def experts(x: Tensor) -> Tensor:
    return torch._grouped_mm(x.reshape(6, 4), seeded((3, 4, 2)) * (1 + x.sum()), offs=torch.tensor([1, 4, 6]).int())


def experts_one_by_one(x: Tensor) -> Tensor:
    rows, weights = x.reshape(6, 4), seeded((3, 4, 2)) * (1 + x.sum())
    return torch.cat([rows[:1] @ weights[0], rows[1:4] @ weights[1], rows[4:] @ weights[2]])


def quantized(x: Tensor) -> Tensor:
    return x * (
        x.floor() + x.ceil() + x.round() + x.trunc() + torch.div(x, 0.4, rounding_mode="floor") + x.detach() // 0.3
    )


def grid_sample(x: Tensor) -> Tensor:
    grid = torch.tanh(x.reshape(2, 3, 2, 2)) * 0.9
    return F.grid_sample(planes(x), grid, align_corners=False)


CASES: dict[str, Case] = {
    # attention as torch has it
    "sdpa": sdpa(),
    "sdpa causal": sdpa(is_causal=True),
    "sdpa bool mask": sdpa(attn_mask=MASK[:, :3]),
    "sdpa float mask": sdpa(attn_mask=CONSTANT[0, :, :3]),
    "sdpa scale": sdpa(scale=0.3),
    "sdpa grouped queries": grouped_queries,
    "sdpa without choosing a kernel": lambda x: F.scaled_dot_product_attention(
        x[None], x[None], x[None], is_causal=True
    ),
    "mha": mha(),
    "mha no weights": mha(need_weights=False),
    "mha masks": mha(attn_mask=~torch.ones(3, 3, dtype=torch.bool).tril(), key_padding_mask=MASK[:2, 1:] & False),
    "mha padding": mha(key_padding_mask=torch.tensor([[False, False, True], [False, True, False]])),
    "mha float mask": mha(attn_mask=CONSTANT[0, :, :3]),
    "mha causal": mha(
        attn_mask=nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64),
        is_causal=True,
        need_weights=False,
    ),
    "mha bias_kv": mha(add_bias_kv=True),
    "mha zero_attn": mha(add_zero_attn=True, bias=False),
    "mha kdim vdim": mha(kdim=3, vdim=2),
    "encoder": encoder,
    "encoder norm first": lambda x: encoder(x, norm_first=True, activation="gelu", bias=False),
    "decoder": module(lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True), decoder),
    # in place, from the plain rules
    "relu_ exp_": written(Tensor.relu_, Tensor.exp_),
    "clamp_ tanh_": written(lambda y: y.clamp_(-0.5, 0.9), Tensor.tanh_, Tensor.sigmoid_),
    "abs_ sqrt_ pow_": written(Tensor.abs_, lambda y: y.add_(1), Tensor.sqrt_, lambda y: y.pow_(3)),
    "addcmul_ lerp_": written(lambda y: y.addcmul_(CONSTANT, CONSTANT, value=0.5), lambda y: y.lerp_(CONSTANT, 0.3)),
    "slices in place": written(lambda y: y[:, 1:].neg_(), lambda y: y[..., 0].mul_(3), lambda y: y.clamp_max_(1.1)),
    "index_fill_": written(lambda y: y.index_fill_(1, torch.tensor([1]), 0.5)),
    "scatter_add_": written(lambda y: y.scatter_add_(1, ROW[None, :, None].expand(2, 3, 4), CONSTANT)),
    "masked in place": written(lambda y: y.masked_scatter_(MASK, CONSTANT), Tensor.tril_),
    "floor_ fmod_": written(lambda y: y.fmod_(0.4), lambda y: y[0].floor_()),
    "squeeze_ unsqueeze_": lambda x: (x * x).unsqueeze_(0).squeeze_(0) * 2,
    "dropout_": written(lambda y: F.dropout(y, 0.5, training=False, inplace=True)),
    "activations in place": written(lambda y: F.leaky_relu_(y, 0.1), lambda y: F.hardtanh_(y, -1.0, 1.0), F.elu_),
    # activations
    "elu selu celu": lambda x: F.elu(x, 1.3) + F.selu(x) * F.celu(x, 0.7),
    "glu": lambda x: F.glu(x, -1),
    "prelu rrelu": lambda x: F.prelu(x, x[0, :, 0]) + F.rrelu(x, training=False),
    "mish": F.mish,
    "hard": lambda x: F.hardswish(x * 3) + F.hardsigmoid(x * 2) * F.hardtanh(x) + F.relu6(x * 5),
    "softsign shrink": lambda x: F.softsign(x) + F.softshrink(x, 0.3) * F.hardshrink(x, 0.4) + F.tanhshrink(x),
    "threshold": lambda x: F.threshold(x, 0.2, 1.5),
    "softmin": lambda x: F.softmin(x, -1) * F.logsigmoid(x),
    "softplus above its threshold": lambda x: F.softplus(x * 10, threshold=5.0),
    "clamp by tensors": lambda x: (
        torch.clamp(x, x * 0.5 - 0.2, CONSTANT) + torch.clamp(CONSTANT, max=x) * x.clamp_min(x[0])
    ),
    "nan_to_num": lambda x: torch.nan_to_num(torch.where(MASK, x, float("nan")), 0.5) * x,
    # exponentials, logarithms, circular and hyperbolic functions
    "expm1 exp2": lambda x: torch.expm1(x) * torch.exp2(x),
    "logarithms": lambda x: torch.log1p(x.abs()) + torch.log2(x * x + 1) * torch.log10(x * x + 2),
    "logsumexp": lambda x: torch.logsumexp(x, (0, 2)) + torch.logsumexp(x.masked_fill(MASK, -torch.inf), (0, 2)),
    "logsumexp of large scores": lambda x: torch.logsumexp(x * 900, -1),
    "logaddexp": lambda x: torch.logaddexp(x, x * x) + torch.logaddexp2(x, x[:, :1]),
    "logcumsumexp": lambda x: torch.logcumsumexp(x, 1),
    "xlogy logit entropy": lambda x: (
        torch.xlogy(x, x * x + 1) + torch.logit(torch.sigmoid(x)) + torch.special.entr(x.abs())
    ),
    "xlog1py": lambda x: torch.special.xlog1py(x, x * x),
    "erfc": torch.erfc,
    "tan sinc": lambda x: torch.tan(x) + torch.sinc(x) + torch.sinc(x * 0),
    "hyperbolic": lambda x: torch.sinh(x) * torch.cosh(x) + torch.asinh(x),
    "acosh atanh": lambda x: torch.acosh(x * x + 1.5) + torch.atanh(x * 0.4),
    "arcs": lambda x: torch.atan(x) + torch.asin(x * 0.4) * torch.acos(x * 0.4),
    "atan2": lambda x: torch.atan2(x, CONSTANT) + torch.atan2(CONSTANT, x) + torch.angle(x),
    "degrees": lambda x: torch.deg2rad(x) * torch.rad2deg(x),
    # powers and lengths
    "powers": lambda x: (x * x + 1) ** 1.5 + (x * x + 1) ** -2.5 + (x * x + 1) ** 0.25 + (x * x + 1) ** -0.75 + x**0,
    "other powers": lambda x: (x * x + 1) ** 0.3 + (x * x + 1) ** (1 / 3),
    "tensor powers": lambda x: (x * x + 1) ** x + x ** torch.arange(4) + x ** torch.tensor([0, -1, 2, -3]),
    "fractional tensor powers": lambda x: (x * x + 1) ** CONSTANT,
    "scalar base": lambda x: 2**x + 0.7**x + (CONSTANT.abs() + 0.1) ** x,
    "root of abs": lambda x: x.abs().sqrt() + torch.float_power(x.abs(), 1.5),
    "normalize": lambda x: F.normalize(x, dim=-1) * F.normalize(x, p=1, dim=1),
    "norms": lambda x: x.norm(dim=1) * torch.linalg.vector_norm(x, 3, 1) + torch.linalg.vector_norm(x, 1.7, 1),
    "norms of sizes": lambda x: (
        x.norm(1, 1) * x.norm(torch.inf, 1) + torch.linalg.vector_norm(x, -torch.inf, 1) + x.norm(4, 1)
    ),
    "count of non-zero": lambda x: x * torch.linalg.vector_norm(x, 0) * torch.count_nonzero(x),
    "frobenius": lambda x: torch.linalg.matrix_norm(x) * torch.linalg.matrix_norm(x, 1) + torch.norm(x),
    "cdist": lambda x: (
        torch.cdist(x, x * 2, 1)
        + torch.cdist(x, CONSTANT)
        + torch.cdist(x, CONSTANT, compute_mode="use_mm_for_euclid_dist")
    ),
    "cdist with itself": lambda x: torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").triu(1),
    "distances": lambda x: F.pairwise_distance(x, x * x) + F.cosine_similarity(x, x * x + 1, -1) + torch.dist(x, x * 3),
    "hypot renorm": lambda x: torch.hypot(x, x + 1) + torch.renorm(x, 2, 1, 1.0),
    # sums and products
    "einsum": lambda x: torch.einsum("bij,bkj,bkl->bil", x, x, x) + torch.einsum("bii->b", x[..., :3])[:, None, None],
    "bilinear": lambda x: F.bilinear(x, x * 2, seeded((5, 4, 4)) * x.sum(), x[0, 0, :1].expand(5)),
    "products": lambda x: (
        torch.outer(x[0, 0], x[0, 1])[:3] + torch.inner(x[0], x[1])[:, :1] + torch.kron(x[0, :, :1], x[1, :1])
    ),
    "tensordot cross": lambda x: (
        torch.tensordot(x, x, ([0, 2], [0, 2])) + torch.linalg.cross(x[..., :3], x[..., 1:])[0]
    ),
    "vdot addr": lambda x: torch.vdot(x[0, 0], x[1, 1]) * torch.addr(x[0], x[1, :, 0], x[0, 0], beta=0.5, alpha=2),
    "addmv addbmm addcdiv": lambda x: (
        torch.addmv(x[0, :, 0], x[0], x[1, 0], alpha=2)
        + torch.addbmm(x[0, :, :3], x, x.mT, beta=0.5)[0]
        + torch.addcdiv(x, x, x * x + 1, value=0.3)[0, :, 0]
    ),
    "prod": lambda x: x.prod(1, keepdim=True) * x.prod() + x[:, :1].prod(-1, keepdim=True),
    "cumprod": lambda x: x.cumprod(1) * x.cumprod(-1),
    "var_mean std": lambda x: sum(torch.var_mean(x, 1)) + x.std(1) * x.std() + sum(torch.std_mean(x, 1, correction=0)),  # type: ignore[operator]
    "var correction": lambda x: x.var(1, correction=1.3) + torch.nanmean(x, 1) + torch.nansum(x, 1),
    "trace logdet free": lambda x: torch.trace(x[0, :, :3]) * x[1],
    "sums of scalars": lambda x: torch.stack([x[0, 0, 0], x[1, 1, 1].sum(()), x[0, 1, 2].mean()]) ** 2,
    "grouped_mm": against(experts, experts_one_by_one),
    "losses": lambda x: (
        F.mse_loss(x, x * x)
        + F.smooth_l1_loss(x, x * x)
        + F.huber_loss(x, x * 2)
        + F.soft_margin_loss(x, MASK * 2.0 - 1)
    ),
    "entropies": lambda x: (
        F.cross_entropy(x[0], ROW)
        + F.cross_entropy(x.mT.reshape(2, 4, 3, 1), ROW.expand(2, 3)[..., None])
        + F.binary_cross_entropy(x.sigmoid(), CONSTANT.abs())
        + F.binary_cross_entropy_with_logits(x, CONSTANT.abs())
    ),
    # convolutions, pooling, interpolation
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
    # normalisations
    "group_norm": lambda x: F.group_norm(x.reshape(2, 4, 3), 2, x[0, 0], x[1, 1], 0.1),
    "batch_norm": lambda x: F.batch_norm(
        x, CONSTANT[0, 0, :3], CONSTANT[0, 1, :3].abs(), x[0, :, 0], x[1, :, 1], eps=0.1
    ),
    "batch statistics": lambda x: F.batch_norm(x, None, None, training=True),
    "batch norm by its newer names": lambda x: (
        torch.ops.aten._native_batch_norm_legit(x, None, None, True, 0.1, 0.1)[0]
        + torch.ops.aten._native_batch_norm_legit(x, None, None, CONSTANT[0, :, 0], CONSTANT[0, :, 1], False, 0.1, 0.9)[
            0
        ]
        + torch.ops.aten._native_batch_norm_legit_no_training(
            x, None, None, CONSTANT[0, :, 0], CONSTANT[0, :, 1], 0.1, 0.9
        )[0]
    ),
    "instance_norm": lambda x: F.instance_norm(x, weight=x[0, :, 0], bias=x[0, :, 1]),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "weight_norm": module(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
    "weight_norm of x": lambda x: torch._weight_norm(x, x[:, :1, :1], 0) + torch._weight_norm(x, x[:1, :1], 2),
    "weight_norm as it was": module(lambda: nn.utils.weight_norm(nn.Linear(4, 3))),
    "spectral_norm": module(lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))),
    "spectral_norm as it was": module(lambda: nn.utils.spectral_norm(nn.Linear(4, 3))),
    # recurrent nets
    "rnn": module(
        lambda: nn.RNN(4, 3, 2, batch_first=True, bidirectional=True),
        lambda m, x: m(x, (x[:1, :1, :3] * 0).expand(4, 2, 3))[0],
    ),
    "lstm": module(
        lambda: nn.LSTM(4, 3, 2, batch_first=True, proj_size=2),
        lambda m, x: m(x, (x[:1, :1, :2].expand(2, 2, 2), x[:1, :1, :3].expand(2, 2, 3)))[0],
    ),
    "gru": module(
        lambda: nn.GRU(4, 3, batch_first=True), lambda m, x: m(x, x[:1, :2, :3])[0] * m(x, x[:1, :2, :3])[1].sum()
    ),
    "cells": module(lambda: nn.LSTMCell(4, 4), lambda m, x: m(x[0], m(x[1], (x[0], x[1])))[0]),
    "gru cell": module(lambda: nn.GRUCell(4, 4), lambda m, x: m(x[0], x[1])),
    "rnn cell": module(lambda: nn.RNNCell(4, 4, nonlinearity="relu"), lambda m, x: m(x[0], x[1])),
    # moves
    "tile roll": lambda x: (
        x.tile(2, 1, 2) * x.roll((1, 2), (1, 2)).repeat_interleave(torch.tensor([1, 2, 1]), 1).tile(2, 1, 2)[:, :3]
    ),
    "as_strided": lambda x: (x * x).as_strided((3, 5), (2, 3), 1),
    "diagonals": lambda x: (
        (torch.diag_embed(x, 1) @ torch.diag_embed(x, -1))[..., :4, :4] + torch.diag(x[0, 0]) + torch.diagflat(x[0, 1])
    ),
    "scatter into parts": lambda x: (
        torch.diagonal_scatter(x, x[:, :, 0] ** 2, 0, 1, 2)
        + torch.select_scatter(x, x[:, 0] * 2, 1, 2)
        + torch.slice_scatter(x, x[:, :1] * 3, 1, 2)
    ),
    "scatter_add": lambda x: x.scatter_add(1, ROW[None, :2, None].expand(2, 2, 4), x[:, :2] * x[:, :2]),
    "scatter_reduce sum": scattered("sum"),
    "scatter_reduce prod": scattered("prod", False),
    "scatter_reduce mean": scattered("mean"),
    "scatter_reduce amax": scattered("amax", False),
    "scatter_reduce amin": scattered("amin"),
    "scatter by reduce": against(
        lambda x: torch.scatter(x, 1, ROW[None, :, None].expand(2, 3, 4), x * x, reduce="add"),
        lambda x: x.scatter_add(1, ROW[None, :, None].expand(2, 3, 4), x * x),
    ),
    "index_reduce": lambda x: (
        x.index_reduce(1, ROW, x * 2, "prod") + x.index_reduce(1, ROW, x, "mean", include_self=False)
    ),
    "index_copy index_fill": lambda x: (
        x.index_copy(1, torch.tensor([2, 0]), x[:, :2] ** 2) + x.index_fill(1, torch.tensor([1]), 2.0)
    ),
    "take put": lambda x: (
        torch.take_along_dim(x, x.argsort(-1), -1)
        + x.take(ROW).sum()
        + x.put(ROW, x[0, 0, :3] ** 2, True)
        + x.put(torch.tensor([3, 1]), x[0, 0, :2] * 2)
    ),
    "masked_select": lambda x: x.masked_select(MASK) ** 2,
    "masked_scatter": lambda x: x.masked_scatter(MASK, x * x),
    "bags": lambda x: bags("sum")(x) + bags("mean")(x) * bags("max")(x) + weighted_bags(x),
    "block_diag": lambda x: torch.block_diag(x[0], x[1]) ** 2,
    "rot90 unsafe": lambda x: (
        torch.rot90(x, 1, (1, 2)) * x.unsafe_split(2, 2)[0].sum() + x.unsafe_split_with_sizes([1, 3], 2)[0].sum()
    ),
    "copies": lambda x: (
        torch.permute_copy(x, (0, 2, 1)).mT
        * torch.transpose_copy(x, 0, 1).transpose(0, 1)
        * torch.view_copy(x, (2, 3, 4))
        * torch.squeeze_copy(torch.unsqueeze_copy(torch.expand_copy(x, (2, 3, 4)), 0), 0)
    ),
    "copies of parts": lambda x: (
        torch.split_with_sizes_copy(x, [4, 0], 2)[0] * torch.unbind_copy(x)[0]
        + torch.narrow_copy(x, 1, 0, 3) * torch.t_copy(x[0]).mT
        + torch.diagonal_copy(x, 0, 1, 2).sum() * torch.unfold_copy(x, 2, 4, 1)[:, :, 0]
    ),
    "fill": lambda x: torch.fill(x, 2.0) * x + torch.ops.aten._reshape_alias(x, [2, 3, 4], [12, 4, 1]),
    "unsafe_index": lambda x: (
        torch.ops.aten._unsafe_index(x, [None, ROW])
        + torch.ops.aten._unsafe_index_put(x, [None, torch.tensor([1])], x[:, :1] * 2)
    ),
    # decisions
    "steps": quantized,
    "straight through": lambda x: (x.round() - x) + x,
    "remainders": lambda x: torch.fmod(x, 0.4) + torch.remainder(x, 0.3) + torch.frac(x) + torch.fmod(x, CONSTANT + 3),
    "signs and sides": lambda x: (
        x * x.sgn() * torch.heaviside(x.detach(), x.detach()) * ~torch.signbit(x) + torch.copysign(x, CONSTANT)
    ),
    "fmax fmin ldexp": lambda x: torch.fmax(x, x * x) * torch.fmin(x, CONSTANT) + torch.ldexp(x, ROW[:, None]),
    "infinities": lambda x: (
        x
        * ~torch.isposinf(x)
        * ~torch.isneginf(x)
        * torch.isclose(x, x)
        * torch.logical_xor(x, x > 9)
        * ~torch.logical_not(x)
        * len(torch.nonzero(x))
    ),
    "buckets": lambda x: x * torch.bucketize(x, CONSTANT[0, 0].sort().values) * torch.isin(x, x) * torch.allclose(x, x),
    "sorted search": lambda x: x * torch.searchsorted(CONSTANT.sort(-1).values, x),
    "extremes": lambda x: (
        x.amin((0, 2), keepdim=True) * sum(torch.aminmax(x, dim=1, keepdim=True)) + x.cummax(1).values
    ),  # type: ignore[arg-type]
    "order statistics": lambda x: x.median(1).values + x.kthvalue(2, 1).values * x.median() + x.cummin(1).values[:, 0],
    "modes quantiles": lambda x: x.mode(1).values + torch.quantile(x, 0.3, 1) + x.nanmedian(1).values * x.nanmedian(),
    # linear systems
    "solve": lambda x: torch.linalg.solve(square(x), x) + torch.linalg.solve(square(x), x[..., 0]).unsqueeze(-1),
    "solve from the right": lambda x: torch.linalg.solve(square(x), x.mT, left=False),
    "inv det": lambda x: (
        torch.linalg.inv(square(x)) * torch.linalg.det(square(x))[:, None, None] + torch.inverse(square(x))
    ),
    "slogdet": lambda x: torch.linalg.slogdet(-square(x)).logabsdet * torch.linalg.slogdet(-square(x)).sign,
    "inverse needs exchanges": lambda x: torch.linalg.inv(square(x).flip(-1)),
    "solve_triangular": lambda x: (
        torch.linalg.solve_triangular(square(x), x, upper=True)
        + torch.linalg.solve_triangular(square(x), x.mT, upper=False, left=False, unitriangular=True).mT
    ),
    "triangular_solve": lambda x: torch.triangular_solve(x, square(x), transpose=True).solution,
    "cholesky": lambda x: torch.linalg.cholesky(symmetric(x)) + torch.cholesky(symmetric(x), upper=True),
    "cholesky_solve": lambda x: (
        torch.cholesky_solve(x, square(x).tril()) + torch.cholesky_inverse(square(x).tril())[..., :1]
    ),
    "matrix_power": lambda x: torch.linalg.matrix_power(square(x), -2) + torch.linalg.matrix_power(square(x), 3),
    # complex numbers
    "rotary": rotary,
    "state space": state_space,
    "polar": lambda x: torch.view_as_real(torch.polar(x.abs(), x) * (2 - 1j) - 1j / (1 + torch.polar(x.abs(), x))),
    "complex products": lambda x: torch.view_as_real(torch.complex(x, x * x) @ torch.complex(x, -x).mT),
    "complex linear": lambda x: torch.view_as_real(
        F.linear(torch.complex(x, x), CONSTANT[0] + 1j, torch.complex(x[0, 0, :3], x[1, 1, :3]))
    ),
    "complex shapes": complex_shapes,
    "complex in place": complex_in_place,
    "complex quotients": lambda x: torch.view_as_real(
        (1 - 2j) / torch.complex(x, x * x + 1) + torch.complex(x, x) / (CONSTANT - 1j)
    ),
    "complex log": lambda x: torch.view_as_real(torch.log(torch.complex(x, x * x + 1)) ** -3),
    "complex powers": lambda x: torch.view_as_real(
        torch.complex(x, x * x + 1) ** 0.5
        + torch.reciprocal(torch.complex(x, x * x + 1))
        + torch.complex(x, x * x + 1) ** 0
    ),
    "complex likes": lambda x: (
        (torch.ones_like(x + 0j) - (x + 1j) - torch.zeros_like(x + 0j)).abs() * (1 - x * 1j).real
    ),
    "real parts": lambda x: torch.complex(x, x * x).pow(3).real * torch.complex(x, x * x).imag,
    "complex casts": lambda x: (
        torch.view_as_real(torch.conj_physical(x.to(torch.complex128) * (1 + 2j)).to(torch.complex128, copy=True))
        + x.to(torch.complex128).to(torch.complex128, copy=True).real[..., None]
    ),
    "complex baddbmm": lambda x: torch.view_as_real(torch.baddbmm(x @ x.mT + 0j, x + 1j, x.mT * 1j, beta=2, alpha=0.5)),
    "complex vectors": lambda x: (
        torch.view_as_real((x[0] + 1j) @ (x[1, 0] * 1j)) * torch.dot(x[0, 0] + 1j, x[1, 1] * 2j).imag
    ),
}
