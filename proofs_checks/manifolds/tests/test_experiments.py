"""The manifold experiments: their parts against what is known, and all of them at once on tiny models."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.func import vmap

from proofs_checks.manifolds.commutators import share_in
from proofs_checks.manifolds.experiments import (
    figure_1,
    figure_2,
    figure_2_sgd,
    figure_5,
    figure_6,
    gauges,
    kept,
    measured,
    robustness,
    runs,
)
from proofs_checks.manifolds.experiments.sparse import correlations, explained, fit
from proofs_checks.manifolds.marked_sum import (
    MarkedSum,
    ModularAddition,
    Protocol,
    Sizes,
    Trajectory,
    function_of,
    train,
)
from symgauge.experiments.record import recorded
from symgauge.experiments.suite import Setting, experiments_of

TASK = MarkedSum(8, 3, (1, 2), 12)
SIZES = Sizes(d=8, heads=2, layers=2, vocabulary=12, length=8, classes=3)


@pytest.fixture(scope="module")
def short() -> Trajectory:
    return train(SIZES, [TASK] * 2, [0, 1], Protocol(rate=3e-3, steps=16, batch=16, snapshots=8))


def tiny_plan(name: str, paper: bool) -> runs.Plan:
    task, sizes = TASK, SIZES
    if name == "noise":
        task = replace(task, noise=True)
    if name == "addition":
        addition = ModularAddition(3)
        return runs.Plan(name, replace(sizes, vocabulary=4, length=3), addition, protocol(name))
    return runs.Plan(name, replace(sizes, feed_forward=name == "feed-forward"), task, protocol(name))


def protocol(name: str) -> Protocol:
    return Protocol(rate=3e-3, steps=12, batch=16, snapshots=12, rule="sgd" if name.startswith("sgd") else "adamw")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Setting:
    monkeypatch.setattr(runs, "plan", tiny_plan)
    monkeypatch.setattr(runs, "PROBE", 64)
    for module in (figure_1, figure_6):
        monkeypatch.setattr(
            module, "STEPS" if module is figure_6 else "KEPT", {"small": 3} if module is figure_6 else (1, 3)
        )
    runs._trained.cache_clear()
    yield Setting(seeds=2)
    runs._trained.cache_clear()


@pytest.mark.parametrize("key", ["figure-1", "figure-2", "figure-2-sgd", "figure-5", "figure-6", "robustness"])
def test_every_experiment_runs_and_repeats(tiny: Setting, key: str) -> None:
    experiment = experiments_of("manifolds")[key]
    first = experiment.run(tiny)
    assert first.comparisons
    assert first.figures
    assert first.findings
    runs._trained.cache_clear()
    assert experiment.run(tiny).as_dict() == first.as_dict()


def test_the_sweep_of_the_text_changes_one_thing_at_a_time() -> None:
    text, momentum, longer = (runs.plan(name, True) for name in figure_2_sgd.NAMES)
    assert (text.protocol.rule, text.protocol.rate, text.protocol.batch) == ("sgd", 1e-3, 64)
    assert replace(text, protocol=replace(text.protocol, momentum=0.9), what=momentum.what) == momentum
    assert (longer.sizes.length, longer.task.length, longer.protocol) == (32, 32, text.protocol)


def test_momentum_moves_further_from_the_second_step_on() -> None:
    plain = Protocol(rate=1e-2, steps=2, batch=8, snapshots=2, rule="sgd")
    one, other = (train(SIZES, [TASK], [0], p).theta for p in (plain, replace(plain, momentum=0.9)))
    assert torch.equal(one[0], other[0])
    assert not torch.equal(one[1], other[1])


def test_trainings_kept_on_disk_are_not_run_again(
    tiny: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = replace(tiny, scale="paper", folder=tmp_path)
    first = runs.trajectory("main", setting)
    file = tmp_path / kept.FOLDER / "main-1.npz"
    assert sorted(path.name for path in file.parent.iterdir()) == ["main-0.npz", "main-1.npz"]
    ran: list[list[int]] = []

    def counted(sizes, tasks, seeds, *rest):
        ran.append(list(seeds))
        return train(sizes, tasks, seeds, *rest)

    monkeypatch.setattr(runs, "train", counted)
    for damage, missing in (
        (lambda: None, []),
        (lambda: file.write_bytes(file.read_bytes()[:100]), [[1]]),  # cut off
        (lambda: file.unlink(), [[1]]),
        (lambda: shutil.copy(tmp_path / kept.FOLDER / "main-0.npz", file), [[1]]),  # another seed's
        (lambda: monkeypatch.setattr(kept, "environment", lambda device: {"torch": "another"}), [[0, 1]]),
    ):
        damage()
        ran.clear()
        runs._trained.cache_clear()
        again = runs.trajectory("main", setting)
        assert ran == missing
        # Not the key biases: see test_marked_sum.
        assert torch.allclose(again.part("0_w_v"), first.part("0_w_v"), atol=1e-4)
        assert torch.equal(again.steps, first.steps)
        assert (again.seeds, again.tasks) == (first.seeds, first.tasks)


def test_trainings_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes, a seed each, write what one process writes."""
    monkeypatch.setattr(runs, "plan", tiny_plan)
    monkeypatch.setattr(runs, "large", lambda sizes: True)
    found = []
    for workers in (1, 2):
        runs._trained.cache_clear()
        setting = Setting(scale="paper", seeds=2, folder=tmp_path / str(workers), workers=workers)
        found.append(runs.trajectory("main", setting))
    runs._trained.cache_clear()
    assert torch.equal(found[0].theta, found[1].theta)
    assert not torch.equal(found[0].theta[:, 0], found[0].theta[:, 1])


def test_gauge_action_keeps_the_function_and_the_products(short: Trajectory) -> None:
    generator = torch.Generator().manual_seed(0)
    qk, vo = (gauges.elements(SIZES, generator, 8, 2) for _ in range(2))
    assert bool((torch.linalg.det(qk) < 0).any())
    moved = figure_1.moved(short, qk, vo)
    assert figure_1.change(short, moved, "cpu") < 1e-12
    before, after = (gauges.quantities(replace(run, theta=run.theta.double()), 1) for run in (short, moved))
    for name in gauges.INVARIANT:
        torch.testing.assert_close(before[name], after[name], rtol=1e-9, atol=1e-11)
    for name in (*gauges.RAW, *gauges.BALANCE):
        assert not torch.allclose(before[name], after[name], rtol=1e-2)
    wrong = gauges.act(SIZES, short.theta.double(), qk, vo)
    wrong[..., SIZES.slices()["0_w_k"]] = short.theta.double()[..., SIZES.slices()["0_w_k"]]
    assert figure_1.change(short, replace(short, theta=wrong), "cpu") > 1e-6


def test_gauge_directions_do_not_move_the_logits(short: Trajectory) -> None:
    """A vector along the gauge directions has share 1 in them, and derivative 0; the gradient has share 0."""
    theta = short.theta[-1, 0].double()
    k = SIZES.d // SIZES.heads
    x = torch.randn(k, k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for kind, matrix in (("scaling", x + x.T), ("rotation", x - x.T)):
        eye, step = torch.eye(k, dtype=torch.float64), 1e-6
        element = (eye + step * matrix).expand(2, 2, k, k).clone()
        element[1] = eye
        other = gauges.act(SIZES, theta, element, eye.expand(2, 2, k, k))
        vector = (other - theta) / step
        shares = gauges.shares_along(SIZES, theta, vector)
        assert shares[kind] == pytest.approx(1, abs=1e-4)
    ids, labels, _ = runs.probe(TASK, "cpu")
    slope = measured.gradient(SIZES, ids[:64].unsqueeze(0), labels[:64].unsqueeze(0))(theta.unsqueeze(0))[0]
    assert max(gauges.shares_along(SIZES, theta, slope).values()) < 1e-12
    free = torch.randn(len(theta), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = gauges.shares_along(SIZES, theta, free)
    for kind, value in share_by_projection(theta, free).items():
        assert float(found[kind]) == pytest.approx(value, rel=1e-10)
        assert value > 0.01
    both = gauges.shares_along(SIZES, theta.expand(2, -1), torch.stack([vector, free]))
    torch.testing.assert_close(both["scaling"][1], found["scaling"])


def share_by_projection(theta: torch.Tensor, vector: torch.Tensor) -> dict[str, float]:
    """The same shares from an orthonormal basis of all directions, which automatic differentiation gives."""
    k = SIZES.d // SIZES.heads
    eye = torch.eye(k, dtype=theta.dtype).expand(2, 2, k, k)

    def act(x: torch.Tensor) -> torch.Tensor:
        return gauges.act(SIZES, theta, eye + x, eye)

    directions = torch.func.jacfwd(act)(torch.zeros(2, 2, k, k, dtype=theta.dtype))
    found = {}
    for kind, sign in (("scaling", 1), ("rotation", -1)):
        span = (directions + sign * directions.mT).flatten(1)
        left, values, _ = torch.linalg.svd(span, full_matrices=False)
        basis = left[:, values > 1e-9 * values[0]]
        found[kind] = float((basis.T @ vector).norm() / vector.norm())
    return found


def test_basis_is_orthonormal_and_lies_in_the_attention_matrices(short: Trajectory) -> None:
    basis = measured.basis(short, 7, 0)
    torch.testing.assert_close(basis.T @ basis, torch.eye(24, dtype=torch.float64))
    outside = torch.ones(SIZES.parameters, dtype=torch.bool)
    for layer in range(2):
        for name in measured.MATRICES:
            outside[SIZES.slices()[f"{layer}_{name}"]] = False
    assert float(basis[outside].abs().max()) == 0
    moved = (short.theta[7, 0] - short.theta[0, 0]).double()
    moved[outside] = 0
    assert float(share_in(moved, basis)) > 0.9


def test_all_components_give_the_final_model_back(short: Trajectory) -> None:
    found = figure_1.kept_accuracy(short, "cpu")
    ids, labels, _ = runs.probe(TASK, "cpu")
    torch.testing.assert_close(found[7], runs.accuracy(SIZES, short.theta[-1], ids, labels), atol=0.01, rtol=0)


def test_entropy() -> None:
    assert float(figure_2.entropy(torch.full((4,), 0.25))) == pytest.approx(torch.tensor(4.0).log().item())
    assert float(figure_2.entropy(torch.tensor([1.0, 0.0]))) == 0


def test_slope_of_entropy(short: Trajectory) -> None:
    assert figure_2.slope_error(short, "cpu") < 1e-6


def test_removing_what_is_not_read_changes_nothing(short: Trajectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_6, "STEPS", {"small": 5})
    found = figure_6.stage(short, 7, "top-k", Setting())
    for what in (figure_6.REMOVED_AT_VALUES, figure_6.ZEROED):
        assert torch.equal(found[what + figure_6.NOT_LAST], found["before" + figure_6.NOT_LAST])
    assert float(found["active"].max()) <= 1


def test_autoencoder_learns() -> None:
    generator = torch.Generator().manual_seed(0)
    atoms = torch.randn(6, 8, generator=generator)
    x = (torch.rand(2, 400, 6, generator=generator) * (torch.rand(2, 400, 6, generator=generator) < 0.3)) @ atoms
    for kind in figure_6.KINDS:
        rough, good = (explained(x, fit(x, kind, 0, steps)).mean() for steps in (1, 300))
        assert good > rough
    z = torch.stack([torch.arange(5.0), torch.ones(5)], -1).unsqueeze(0)
    torch.testing.assert_close(correlations(z, torch.arange(5)), torch.tensor([[1.0, 0.0]]))


def test_early_and_late() -> None:
    values = torch.arange(10.0).unsqueeze(1)
    assert (figure_5.early(values), figure_5.late(values)) == (0.0, 8.0)


def test_what_is_said_of_the_ratio_follows_it() -> None:
    assert "Most of the fall is rounding" in figure_5._turn((4.1, 1.4), (5.4, 4.5))
    assert "in either precision" in figure_5._turn((9.7, 2.1), (9.7, 2.1))
    assert "in float64 alone" in figure_5._turn((4.0, 3.0), (9.7, 2.1))
    assert "does not fall" in figure_5._turn((4.0, 3.0), (4.0, 5.0))


def test_seeds_are_independent_of_what_is_trained_beside_them(short: Trajectory) -> None:
    ids = TASK.batches(torch.Generator().manual_seed(3), 1, 4)[0][0]
    logits = vmap(function_of(SIZES), in_dims=(0, None))(short.theta[-1], ids)[0]
    assert not torch.allclose(logits[0], logits[1])
    assert robustness.overlap(short)[1] == pytest.approx((3 / 64) ** 0.5)


def test_record_has_five_seeds_everywhere() -> None:
    """But for SGD at the source's size, where one seed in which entropy does not fall is enough for what is said."""
    for scale, record in recorded("manifolds").items():
        assert set(record.runs) == set(experiments_of("manifolds"))
        fewer = {key for key, run in record.runs.items() if run.result.settings["seeds"] < 5}
        assert fewer == ({"figure-2-sgd"} if scale == "paper" else set())
    assert set(recorded("manifolds")) == {"small", "paper"}
