"""The idealized model, its tasks, and training in batches."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import symgauge
from proofs_checks.idealized.model import (
    IdealizedModel,
    Protocol,
    Task,
    architecture,
    copy_last,
    function_classes,
    initial,
    jacobians,
    logits,
    parity,
    repeated_rows,
    train,
    xor_first_two,
    xor_last_two,
)
from proofs_checks.idealized.model.tasks import seen
from proofs_checks.idealized.model.training import accuracies
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.parameter_vector import ParameterVector

QUICK = Protocol(rate=3e-3, loss=1e-2, steps=60)


def by_hand(theta: Tensor, word: list[int], d: int, heads: int, residual: bool) -> Tensor:
    """Last logits of a one-layer model, head by head and token by token."""
    roles = ParameterVector.of(architecture(d, heads)).split(theta)
    x = roles["token_table"][word]
    written = torch.zeros(d, dtype=torch.float64)
    for q, k, v, o in zip(
        *(roles[f"layers.0.attention.{n}.weight"] for n in ("query", "key", "value", "output")), strict=True
    ):
        scores = torch.stack([(x[-1] @ q) @ (y @ k) for y in x]) / (d // heads) ** 0.5
        weights = scores.exp() / scores.exp().sum()
        written = written + sum(w * (y @ v) for w, y in zip(weights, x, strict=True)) @ o
    stream = x[-1] + written if residual else written
    hidden = (stream @ roles["layers.0.ff.up.weight"]).clamp_min(0) @ roles["layers.0.ff.down.weight"]
    return (stream + hidden if residual else hidden) @ roles["unembedding.weight"]


@pytest.mark.parametrize("residual", [True, False])
def test_the_module_computes_the_model(residual: bool) -> None:
    a = architecture(6, 3, residual=residual)
    model = IdealizedModel(a, seed=1)
    theta = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    for word in copy_last().inputs.tolist():
        ours = model(torch.tensor([word]))[0]
        assert torch.allclose(ours, by_hand(theta, word, 6, 3, residual), atol=1e-12)


def test_number_of_parameters() -> None:
    assert graph_of(architecture()).parameters == 3136
    assert graph_of(architecture(8, 1)).parameters == 800
    assert graph_of(architecture(vocabulary=3, positions=True)).parameters == 3168 + 3 * 16
    with pytest.raises(InvalidInput, match="3 heads do not divide the width 16"):
        architecture(16, 3)


def test_readout() -> None:
    a, inputs = architecture(4, 2), copy_last().inputs
    last, everywhere = IdealizedModel(a), IdealizedModel(a, readout="all")
    assert last(inputs).shape == (8, 2)
    assert torch.equal(everywhere(inputs)[:, -1], last(inputs))
    with pytest.raises(InvalidInput, match="'last' position or at 'all'"):
        IdealizedModel(a, readout="first")  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["torch", "xavier", "normal"])
def test_starts_are_drawn_from_their_seed(how) -> None:
    a = architecture(norm="layer")
    one, again, other = (initial(a, [seed], how=how) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    assert torch.equal(IdealizedModel(a, how=how).roles()["final_norm.gain"], torch.ones(16, dtype=torch.float64))


def test_torch_start_has_the_sizes_of_torch() -> None:
    roles = IdealizedModel(architecture(64, 4, vocabulary=64), seed=3).roles()
    for name, inputs in (("layers.0.attention.query.weight", 64), ("layers.0.ff.down.weight", 256)):
        bound = inputs**-0.5
        assert roles[name].abs().max() <= bound
        assert roles[name].std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert roles["token_table"].std().item() == pytest.approx(1, rel=0.05)


def test_the_exact_engine_and_the_account_take_it() -> None:
    found = symgauge.dimension(IdealizedModel(architecture(4, 2)), symgauge.Tokens(2, 3))
    assert (found.rank, found.nullity) == (12, 196)
    account = symgauge.account(IdealizedModel(architecture(4, 2, vocabulary=5, length=4)), symgauge.Tokens(5, 4))
    assert not any(family.violations for family in account.families)
    assert account.explained == 48


def test_tasks() -> None:
    assert [copy_last().rule(w) for w in ((0, 1, 1), (1, 1, 0))] == [1, 0]
    assert [parity().rule(w) for w in ((0, 1, 1), (1, 1, 1))] == [0, 1]
    assert [xor_last_two().rule(w) for w in ((0, 1, 1), (1, 1, 0))] == [0, 1]
    assert [xor_first_two().rule(w) for w in ((0, 1, 1), (1, 1, 0))] == [1, 0]
    assert [t.best_accuracy for t in (copy_last(), parity(), xor_first_two(), xor_last_two())] == [1, 1, 1, 0.75]
    own = Task("first token", 3, 2, lambda word: word[0])
    assert own.targets.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    with pytest.raises(InvalidInput, match=r"\(1, 1\) gives 2, no token below 2"):
        Task("sum", 2, 2, sum)


@pytest.mark.parametrize(("vocabulary", "length"), [(2, 3), (2, 5), (3, 3), (4, 2)])
def test_counting(vocabulary: int, length: int) -> None:
    words = copy_last(vocabulary, length).words()
    assert len({seen(word) for word in words}) == function_classes(vocabulary, length)
    assert repeated_rows(vocabulary, length) == vocabulary * (len(words) - len({seen(word) for word in words}))


def test_inputs_of_one_class_have_equal_logits_and_others_do_not() -> None:
    theta = initial(architecture(), [0])
    outputs = logits(architecture(), theta, copy_last().inputs)[0]
    words = copy_last().words()
    for i, one in enumerate(words):
        for j, two in enumerate(words):
            assert torch.allclose(outputs[i], outputs[j], atol=1e-12) == (seen(one) == seen(two))


def test_a_batch_is_its_models_one_by_one() -> None:
    a = architecture(8, 2)
    start = initial(a, range(3))
    together = train(a, [copy_last(), parity(), copy_last()], start, QUICK)
    for n, task in enumerate((copy_last(), parity(), copy_last())):
        alone = train(a, task, start[n : n + 1], QUICK)
        assert int(alone.steps[0]) == int(together.steps[n])
        assert torch.allclose(alone.theta[0], together.theta[n], atol=1e-9)


def test_training_agrees_with_torch_adam() -> None:
    a, task = architecture(8, 2), copy_last()
    start = initial(a, [0])
    ours = train(a, task, start, Protocol(rate=1e-3, loss=0.0, steps=20)).theta[0]
    model = IdealizedModel(a, 0)
    adam = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(20):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(task.inputs), task.targets).backward()
        adam.step()
    assert torch.allclose(ours, torch.nn.utils.parameters_to_vector(model.parameters()).detach(), atol=1e-12)


def test_models_stop_at_their_own_step_and_are_deterministic() -> None:
    a = architecture(8, 2)
    start = initial(a, range(4))
    protocol = Protocol(rate=3e-3, loss=0.05, steps=500)
    first, again = (train(a, copy_last(), start, protocol) for _ in range(2))
    assert torch.equal(first.theta, again.theta)
    assert (first.loss < 0.05).all()
    assert first.solved.all()
    assert len(set(first.steps.tolist())) > 1


def test_a_mask_is_enforced() -> None:
    a = architecture(8, 2)
    start = initial(a, [0])
    mask = (torch.arange(start.shape[1]) % 2 == 0).double().unsqueeze(0)
    result = train(a, copy_last(), start, QUICK, mask=mask)
    assert not result.theta[mask == 0].any()
    assert train(a, copy_last(), start * mask, QUICK).theta[mask == 0].any()


def test_a_tie_is_an_error() -> None:
    assert accuracies(torch.zeros(1, 2, 2), torch.zeros(1, 2, dtype=torch.long)).item() == 0


def test_jacobians_against_differences() -> None:
    a, inputs = architecture(4, 2), copy_last().inputs
    theta = initial(a, [0])
    direction = torch.randn(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    step = 1e-6
    change = (logits(a, theta + step * direction, inputs) - logits(a, theta - step * direction, inputs)) / (2 * step)
    assert torch.allclose(jacobians(a, theta, inputs)[0] @ direction[0], change.flatten(), rtol=1e-6, atol=1e-8)


def test_what_does_not_fit_is_refused() -> None:
    a = architecture()
    with pytest.raises(InvalidInput, match="theta must be"):
        train(a, copy_last(), torch.zeros(2, 10))
    with pytest.raises(InvalidInput, match="1 tasks for 2 models"):
        train(a, [copy_last()], initial(a, [0, 1]))
    with pytest.raises(InvalidInput, match="does not fit"):
        train(a, copy_last(3, 2), initial(a, [0]))
    with pytest.raises(InvalidInput, match="no start is called"):
        initial(a, [0], how="zeros")  # type: ignore[arg-type]
