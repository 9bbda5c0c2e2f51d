"""Functions of one number: activations, exponentials, powers; and lengths."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.arithmetic.cases.inputs import CONSTANT, MASK, Case

CASES: dict[str, Case] = {
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
}
