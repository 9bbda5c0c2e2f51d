"""The head gauge of a trajectory: what it leaves unchanged, its action, its directions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from proofs_checks.manifolds.marked_sum import Sizes, Trajectory

RAW = ("W_Q", "W_K", "W_V", "W_O")
INVARIANT = ("W_Q W_Kᵀ", "W_V W_O")
BALANCE = ("W_QᵀW_Q − W_KᵀW_K", "W_VᵀW_V − W_O W_Oᵀ")


def quantities(run: Trajectory, layer: int) -> dict[str, Tensor]:
    """Name → (n, S, …): the four matrices, the two products per head, and the two balances per head."""
    q, k, v, o = (run.part(f"{layer}_{name}") for name in ("w_q", "w_k", "w_v", "w_o"))
    q_, k_, v_, o_ = by_head(run.sizes, q, k, v, o)
    return {
        "W_Q": q,
        "W_K": k,
        "W_V": v,
        "W_O": o,
        "W_Q W_Kᵀ": q_ @ k_.mT,
        "W_V W_O": v_ @ o_,
        "W_QᵀW_Q − W_KᵀW_K": q_.mT @ q_ - k_.mT @ k_,
        "W_VᵀW_V − W_O W_Oᵀ": v_.mT @ v_ - o_ @ o_.mT,
    }


def by_head(sizes: Sizes, q: Tensor, k: Tensor, v: Tensor, o: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(…, d, d) → (…, h, d, d_k) for readers and (…, h, d_v, d) for what is written."""
    readers = [w.unflatten(-1, (sizes.heads, -1)).transpose(-3, -2) for w in (q, k, v)]
    return readers[0], readers[1], readers[2], o.unflatten(-2, (sizes.heads, -1))


def act(sizes: Sizes, theta: Tensor, qk: Tensor, vo: Tensor) -> Tensor:
    """θ (…, P) moved by qk, vo (…, layers, h, d_k, d_k): W_Q A, W_K A⁻ᵀ, W_V C, C⁻¹ W_O, biases alike.

    In exact arithmetic the function does not change; the layers' other parameters stay as they are.
    """
    moved = theta.clone()
    slices, d, h = sizes.slices(), sizes.d, sizes.heads
    for layer in range(sizes.layers):
        a, c = qk[..., layer, :, :, :], vo[..., layer, :, :, :]
        for name, matrix in (("q", a), ("k", torch.linalg.inv(a).mT), ("v", c)):
            for part, shape in ((f"{layer}_w_{name}", (d, h, d // h)), (f"{layer}_b_{name}", (1, h, d // h))):
                value = theta[..., slices[part]].unflatten(-1, shape).transpose(-3, -2)
                moved[..., slices[part]] = (value @ matrix).transpose(-3, -2).flatten(-3)
        value = theta[..., slices[f"{layer}_w_o"]].unflatten(-1, (h, d // h, d))
        moved[..., slices[f"{layer}_w_o"]] = (torch.linalg.inv(c) @ value).flatten(-3)
    return moved


def elements(sizes: Sizes, generator: torch.Generator, *batch: int, spread: float = 1.0) -> Tensor:
    """(*batch, layers, h, d_k, d_k) general elements, float64: orthogonal factors around singular values e^±spread.

    Signs of the singular values are drawn too, as the factors that LAPACK gives all have one orientation.
    """
    k = sizes.d // sizes.heads
    shape = (*batch, sizes.layers, sizes.heads, k, k)
    left, right = (torch.linalg.qr(torch.randn(shape, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    values = torch.exp(spread * (2 * torch.rand(shape[:-1], generator=generator, dtype=torch.float64) - 1))
    signs = 2 * torch.randint(2, shape[:-1], generator=generator) - 1
    return left * (signs * values).unsqueeze(-2) @ right


def shares_along(sizes: Sizes, theta: Tensor, vector: Tensor) -> dict[str, Tensor]:
    """Shares (…) of vectors (…, P), by norm, along the gauge directions at θ (…, P) of all query-key pairs.

    The direction of X is (W_Q X, b_Q X, −W_K Xᵀ, −b_K Xᵀ) in one head; "scaling": symmetric X, "rotation": skew X.

    With Q, K the matrices over their biases and S = QᵀQ + KᵀK, the direction of such an X has squared length
    tr XᵀSX and inner product tr XᵀC with (q, k), C = Qᵀq − kᵀK. The projection is the direction of Y with
    (SY + YS)/2 = the symmetric or skew part of C, which eigenvectors of S make diagonal.
    """
    squared: dict[str, Tensor | float] = {"scaling": 0.0, "rotation": 0.0}
    for layer in range(sizes.layers):
        query, key = (_readers(sizes, theta, layer, name) for name in "qk")
        q, k = (_readers(sizes, vector, layer, name) for name in "qk")
        values, vectors = torch.linalg.eigh(query.mT @ query + key.mT @ key)
        c = vectors.mT @ (query.mT @ q - k.mT @ key) @ vectors
        mean = (values.unsqueeze(-1) + values.unsqueeze(-2)) / 2
        for kind, part in (("scaling", (c + c.mT) / 2), ("rotation", (c - c.mT) / 2)):
            squared[kind] = squared[kind] + (part.square() / mean).sum((-3, -2, -1))
    size = vector.norm(dim=-1)
    return {kind: torch.as_tensor(value).sqrt() / size for kind, value in squared.items()}


def _readers(sizes: Sizes, theta: Tensor, layer: int, name: str) -> Tensor:
    """(…, h, d + 1, d_k): the heads' columns of W_Q or W_K with the bias below."""
    slices, d, h = sizes.slices(), sizes.d, sizes.heads
    rows = [
        theta[..., slices[f"{layer}_{kind}_{name}"]].unflatten(-1, (inputs, h, d // h)).transpose(-3, -2)
        for kind, inputs in (("w", d), ("b", 1))
    ]
    return torch.cat(rows, -2)


def growing(n: int, factor: float) -> Tensor:
    """(n,) scales from 1 to `factor` in equal ratios: a path of scalar gauge elements."""
    return torch.exp(torch.linspace(0, math.log(factor), n, dtype=torch.float64))
