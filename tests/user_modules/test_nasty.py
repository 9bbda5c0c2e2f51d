"""The nastiest modules that were thought of: identities, jumps and state. No settled number may be wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import symgauge
from symgauge.errors import SymgaugeError
from tests.user_modules.modules import Dense, zero

V = symgauge.Vectors
KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "cube": lambda w: (3 * w).exp() - w.exp() ** 3,
    "half": lambda w: (w / 2).exp() ** 2 - w.exp(),
    "logaddexp": lambda w: torch.logaddexp(w, 2 * w).exp() - w.exp() - (2 * w).exp(),
    "hyperbolic": lambda w: w.cosh() ** 2 - w.sinh() ** 2 - 1,
    "tanh of the double": lambda w: torch.tanh(2 * w) - 2 * torch.tanh(w) / (1 + torch.tanh(w) ** 2),
    "a root twice": lambda w: (w * w + 1).sqrt() * (w * w + 1).sqrt() - (w * w + 1),
    "three thirds": lambda w: w * (1 / 3) + w * (1 / 3) + w * (1 / 3) - w,
    "tenths": lambda w: w * 0.1 * 3 - w * 0.3,
    "logsumexp": lambda w: torch.logsumexp(torch.stack([w, -w, 3 * w]), 0).exp() - w.exp() - (-w).exp() - (3 * w).exp(),
}
HIDDEN: dict[str, Callable[[Tensor], Tensor]] = {
    "log of a product": lambda w: ((w * w + 1) * (w * w + 2)).log() - (w * w + 1).log() - (w * w + 2).log(),
    "log-sigmoid": lambda w: F.logsigmoid(w) - F.logsigmoid(-w) - w,
    "rounded constants": lambda w: F.gelu(w) - w * 0.5 * (1 + torch.erf(w / math.sqrt(2))),
    "arc tangent": lambda w: torch.tan(torch.atan(w)) - w,
    "powers": lambda w: (w * w + 1) ** 0.3 * (w * w + 1) ** 0.7 - (w * w + 1),
    "half turn": lambda w: torch.sin(w + math.pi) + torch.sin(w),
}


@pytest.mark.parametrize("name", KEPT)
def test_relations_that_exact_arithmetic_keeps(name: str) -> None:
    assert symgauge.dimension(zero(KEPT[name]), V(1, 2)).require_decided().nullity == 3


@pytest.mark.parametrize("name", HIDDEN)
def test_relations_that_it_does_not_keep_are_never_silent(name: str) -> None:
    fibre = symgauge.dimension(zero(HIDDEN[name]), V(1, 2))
    assert "second witness contradicts" in fibre.doubt
    assert (fibre.rank, fibre.float_rank) == (4, 2)


class Online(nn.Module):
    """Softmax attention in blocks with a running maximum, as fused kernels do: 2 · 16 free."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(4, 4, bias=False) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.q(x), self.k(x), self.v(x)
        top = torch.full((*x.shape[:2], 1), -math.inf, dtype=x.dtype)
        total, sums = torch.zeros_like(q[..., :1]), torch.zeros_like(q)
        for block in (slice(0, 2), slice(2, None)):
            scores = q @ k[:, block].mT / 2
            new = torch.maximum(top, scores.amax(-1, keepdim=True))
            decay, weights = (top - new).exp(), (scores - new).exp()
            total = total * decay + weights.sum(-1, keepdim=True)
            sums, top = sums * decay + weights @ v[:, block], new
        return self.o(sums / total)


def test_softmax_in_blocks() -> None:
    assert symgauge.dimension(Online(), V(5, 4)).require_decided().nullity == 32


class Mixture(nn.Module):
    """Three experts; the router is read by its weights, or by its choice alone."""

    def __init__(self, hard: bool) -> None:
        super().__init__()
        self.router, self.experts, self.hard = nn.Linear(3, 3, bias=False), nn.Linear(3, 6), hard

    def forward(self, x: Tensor) -> Tensor:
        shares, outputs = torch.softmax(self.router(x), -1), self.experts(x).unflatten(-1, (3, 2))
        weights, chosen = shares.topk(2, -1)
        taken = outputs.gather(-2, chosen[..., None].expand(*chosen.shape, 2))
        return taken[..., 0, :] if self.hard else (taken * weights[..., None]).sum(-2)


def test_a_router_that_only_jumps_is_not_free() -> None:
    assert symgauge.dimension(Mixture(hard=False), V(2, 3)).require_decided().nullity == 3  # a shift of the logits
    hard = symgauge.dimension(Mixture(hard=True), V(2, 3))
    # Of the router's nine numbers the shift of three is free. A common size is too, but it changes the distance between
    # two shares by no constant multiple, so it cannot be told from a jump that moves.
    assert (hard.nullity, hard.jumping) == (9, 9 - 3)
    assert "between 3 and 9" in hard.doubt
    assert "move where the function jumps (topk" in hard.doubt


LENGTHS: dict[str, tuple[Callable[[Tensor], Tensor], int]] = {
    "cosine of torch": (lambda h: nn.functional.cosine_similarity(h[..., :2], h[..., 2:], dim=-1)[..., None], 2 + 1),
    "a tensor as guard": (lambda h: h / torch.maximum(h.norm(dim=-1, keepdim=True), torch.tensor(1e-6).to(h)), 1),
    "a guard by where": (lambda h: torch.where((n := h.norm(dim=-1, keepdim=True)) > 1e-8, h / n, h), 1),
    "a small bound that is met": (lambda h: h.clamp(min=1e-6), 0),
    "one that only far inputs pass": (lambda h: (h - 100).clamp(min=1e-6), 0),
    "a floor under a softmax": (lambda h: torch.softmax(h, -1).clamp(min=1e-9).log(), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_a_guard_is_one_until_it_is_met(name: str) -> None:
    f, nullity = LENGTHS[name]
    module = Dense({"w": (3, 4)}, lambda m, x: f(x @ m.w))
    assert symgauge.dimension(module, V(1, 3)).require_decided().nullity == nullity


CUT: dict[str, tuple[Callable[[Any, Tensor], Tensor], int]] = {
    "detach": (lambda m, x: torch.tanh(x @ m.w.detach()) @ m.o, 0),
    "data": (lambda m, x: torch.tanh(x @ m.w.data) @ m.o, 0),
    "straight-through weights": (lambda m, x: torch.tanh(x @ (m.w + (m.w.round() - m.w).detach())) @ m.o, 9),
}


@pytest.mark.parametrize("name", CUT)
def test_derivatives_that_are_cut_off_are_no_witness(name: str) -> None:
    f, nullity = CUT[name]
    found = symgauge.dimension(Dense({"w": (3, 3), "o": (3, 2)}, f), V(1, 3))
    assert (found.require_decided().nullity, found.float_rank) == (nullity, None)
    assert "not those of its function" in found.witness
    assert any("rounded" in note for note in found.notes) == (nullity > 0)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.n = nn.Linear(3, 4), 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        return self.a(x) * (1 + self.n % 2)


REFUSED: dict[str, Callable[[], Any]] = {
    "counts its calls": Counter,
    "a rare coin": lambda: Dense({"w": (3, 3)}, lambda m, x: x @ m.w * (1 + (random.random() < 0.2))),
    "python's random": lambda: Dense({"w": (3, 3)}, lambda m, x: x @ m.w * (1 + (random.random() < 0.5))),
    "branches on inputs": lambda: Dense({"w": (3, 3)}, lambda m, x: x @ m.w if x.sum() > 0 else x @ m.w.T),
    "rounds": lambda: Dense({"w": (3, 3)}, lambda m, x: torch.round(x @ m.w)),
    "straight-through": lambda: Dense({"w": (3, 3)}, lambda m, x: x @ m.w + (torch.round(x @ m.w) - x @ m.w).detach()),
    "singular values": lambda: Dense({"w": (3, 3)}, lambda m, x: x @ m.w * torch.linalg.svdvals(m.w)[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_settled_number(name: str) -> None:
    with pytest.raises(SymgaugeError) as caught:
        symgauge.dimension(REFUSED[name](), V(2, 3)).require_decided()
    assert "\n" not in str(caught.value)
