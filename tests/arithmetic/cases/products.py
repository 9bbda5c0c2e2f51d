"""Sums, products and linear systems."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.arithmetic.cases.inputs import CONSTANT, MASK, ROW, Case, against, seeded, square, symmetric


def experts(x: Tensor) -> Tensor:
    return torch._grouped_mm(x.reshape(6, 4), seeded((3, 4, 2)) * (1 + x.sum()), offs=torch.tensor([1, 4, 6]).int())


def experts_one_by_one(x: Tensor) -> Tensor:
    rows, weights = x.reshape(6, 4), seeded((3, 4, 2)) * (1 + x.sum())
    return torch.cat([rows[:1] @ weights[0], rows[1:4] @ weights[1], rows[4:] @ weights[2]])


CASES: dict[str, Case] = {
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
}
