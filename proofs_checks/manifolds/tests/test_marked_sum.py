"""Sums of marked values: what the model computes, and that a batch of trainings is the trainings one by one."""

from __future__ import annotations

import math

import pytest
import torch
from torch.func import grad, vmap

from proofs_checks.manifolds.marked_sum import (
    AttentionOnly,
    MarkedSum,
    ModularAddition,
    Protocol,
    Sizes,
    function_of,
    joined,
    parted,
    train,
)
from proofs_checks.manifolds.marked_sum.training import initial, loss_of
from symgauge.errors import InvalidInput

TASK = MarkedSum(8, 3, (1, 2), 12)
SIZES = Sizes(d=8, heads=2, layers=2, vocabulary=12, length=8, classes=3)
SHORT = Protocol(rate=3e-3, steps=12, batch=16, snapshots=4)


def explicit(model: AttentionOnly, ids: torch.Tensor) -> torch.Tensor:
    """Logits of one sequence, with loops over heads and positions in place of tensor operations."""
    s, k = model.sizes, model.sizes.d // model.sizes.heads
    x = [model.role("token")[t] + model.role("position")[i] for i, t in enumerate(ids.tolist())]

    def norm(v: torch.Tensor, prefix: str) -> torch.Tensor:
        w = v - v.mean()
        return w / torch.sqrt((w * w).mean() + 1e-5) * model.role(f"{prefix}gain") + model.role(f"{prefix}offset")

    for layer in range(s.layers):
        y = [norm(v, f"{layer}_") for v in x]
        q, key, val = (
            [v @ model.role(f"{layer}_w_{n}") + model.role(f"{layer}_b_{n}") for v in y] for n in ("q", "k", "v")
        )
        out = []
        for i in range(len(y)):
            heads = []
            for head in range(s.heads):
                part = slice(head * k, (head + 1) * k)
                scores = torch.stack([q[i][part] @ key[j][part] / math.sqrt(k) for j in range(i + 1)]).softmax(0)
                heads.append(sum(a * val[j][part] for j, a in enumerate(scores)))
            out.append(torch.cat(heads) @ model.role(f"{layer}_w_o") + model.role(f"{layer}_b_o"))
        x = [a + b for a, b in zip(x, out, strict=True)]
        if s.feed_forward:
            hidden = [norm(v, f"{layer}_") @ model.role(f"{layer}_up") + model.role(f"{layer}_up_bias") for v in x]
            down = [torch.nn.functional.gelu(h) @ model.role(f"{layer}_down") for h in hidden]
            x = [a + b + model.role(f"{layer}_down_bias") for a, b in zip(x, down, strict=True)]
    return norm(x[-1], "") @ model.role("head") + model.role("head_bias")


@pytest.mark.parametrize("feed_forward", [False, True])
def test_model_computes_its_formula(feed_forward: bool) -> None:
    sizes = Sizes(8, 2, 2, 12, 8, 3, feed_forward)
    model = AttentionOnly(sizes, seed=3).double()
    for name, parameter in model.named_parameters():
        if "gain" in name or "offset" in name:
            parameter.data += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    ids = TASK.batches(torch.Generator().manual_seed(0), 1, 5)[0][0]
    logits, attention, stream = model(ids)
    expected = torch.stack([explicit(model, row) for row in ids])
    torch.testing.assert_close(logits, expected, rtol=1e-12, atol=1e-12)
    assert attention.shape == (5, 2, 2, 8, 8)
    assert stream.shape == (5, 8, 8)
    torch.testing.assert_close(attention.sum(-1), torch.ones(5, 2, 2, 8, dtype=torch.float64))


@pytest.mark.parametrize("feed_forward", [False, True])
def test_the_loss_is_that_of_the_whole_model(feed_forward: bool) -> None:
    """Training evaluates the last layer at the last position only: value and gradient must not change."""
    sizes = Sizes(8, 2, 2, 12, 8, 3, feed_forward)
    ids, labels, _ = (part[0] for part in TASK.batches(torch.Generator().manual_seed(0), 1, 5))
    theta = initial(sizes, [3])[0].double()
    whole = lambda t: torch.nn.functional.cross_entropy(function_of(sizes)(t, ids)[0], labels)  # noqa: E731
    gradient, expected = (grad(f)(theta) for f in (lambda t: loss_of(sizes)(t, ids, labels), whole))
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(loss_of(sizes)(theta, ids, labels), whole(theta), rtol=1e-13, atol=0)
    assert gradient.norm() > 0.1


def test_counts_of_the_source() -> None:
    sizes = Sizes()
    assert (sizes.parameters + sizes.dead, sizes.dead, sizes.parameters) == (1_026_184, 658_560, 367_624)
    assert sum(p.numel() for p in AttentionOnly(SIZES).parameters()) == SIZES.parameters


def test_trained_together_or_alone() -> None:
    together = train(SIZES, [TASK] * 3, [0, 1, 2], SHORT)
    alone = train(SIZES, [TASK], [1], SHORT)
    # No key bias changes the function, so its gradient is rounding, which Adam turns into steps of full size.
    for name in SIZES.shapes:
        if not name.endswith("b_k"):
            torch.testing.assert_close(together.part(name)[:, 1:2], alone.part(name), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(joined(parted(together)).theta, together.theta, rtol=0, atol=0)
    assert not torch.allclose(together.theta[:, 0], together.theta[:, 1])
    again = train(SIZES, [TASK] * 3, [0, 1, 2], SHORT)
    assert torch.equal(together.theta, again.theta)
    assert together.part("0_w_q").shape == (4, 3, 8, 8)


def test_training_is_adamw() -> None:
    """Against torch.optim.AdamW on the same batches."""
    run = train(SIZES, [TASK], [5], Protocol(rate=3e-3, steps=CHUNKS, batch=16, snapshots=2))
    model = AttentionOnly(SIZES, 5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(5 + 1_000_003)
    ids, labels, _ = TASK.batches(generator, CHUNKS, 16)
    for step in range(CHUNKS // 2 + 1):
        loss = torch.nn.functional.cross_entropy(model(ids[step])[0], labels[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    theta = torch.cat([p.detach().flatten() for p in model.parameters()])
    # One Adam step of a gradient that is zero up to rounding has an arbitrary sign, so the tolerance is of a few steps.
    assert (theta - run.theta[1, 0]).abs().median() < 1e-6
    values = vmap(function_of(SIZES), in_dims=(0, None))(torch.stack([theta, run.theta[1, 0]]), ids[0])[0]
    assert (values[0] - values[1]).abs().max() < 1e-2


CHUNKS = 6


def test_it_learns() -> None:
    task = MarkedSum(5, 2, (1,), 6)
    sizes = Sizes(16, 2, 1, 6, 5, 2)
    run = train(sizes, [task], [0], Protocol(rate=1e-2, steps=150, batch=64, snapshots=3))
    ids, labels, _ = task.batches(torch.Generator().manual_seed(9), 1, 200)
    answers = function_of(sizes)(run.theta[-1, 0], ids[0])[0].argmax(-1)
    assert (answers == labels[0]).double().mean() > 0.95


def test_modular_addition() -> None:
    ids, labels, number = ModularAddition(5).batches(torch.Generator().manual_seed(0), 2, 50)
    assert torch.equal(labels, (ids[..., 0] + ids[..., 1]) % 5)
    assert (ids[..., 2] == 5).all()
    assert (number == 2).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkedSum(8, 3, (4,), 12), "numbers of markers"),
        (lambda: MarkedSum(8, 10, (1, 2), 12), "leave no distractor"),
        (lambda: Sizes(d=9, heads=2), "do not divide"),
        (lambda: train(SIZES, [TASK], [0, 1], SHORT), "1 tasks for 2 seeds"),
        (lambda: train(SIZES, [MarkedSum(10, 3, (1,), 12)], [0], SHORT), "does not fit"),
        (lambda: train(SIZES, [TASK], [0], Protocol(steps=3, snapshots=5)), "no more than steps"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
