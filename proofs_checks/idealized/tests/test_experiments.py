"""Parts of the idealized experiments, each against a case whose answer is known."""

from __future__ import annotations

import pytest
import torch

from proofs_checks.idealized import reported
from proofs_checks.idealized.experiments.alignment import aligned
from proofs_checks.idealized.experiments.figure_1 import slope
from proofs_checks.idealized.experiments.gauges import Mixture, gauge_copies
from proofs_checks.idealized.experiments.geometry import geometry
from proofs_checks.idealized.experiments.mechanisms import attention, attention_distances, canonical_distances, without
from proofs_checks.idealized.experiments.paths import along, bend
from proofs_checks.idealized.experiments.pruning import copy_last_by_hand, largest, parity_by_hand, prune, weights_kept
from proofs_checks.idealized.experiments.spaces import mean_and_spread, predicted_left, spaces
from proofs_checks.idealized.experiments.table_1 import implied_vocabulary
from proofs_checks.idealized.model import Protocol, architecture, copy_last, initial, logits, parity, train
from proofs_checks.idealized.model.training import accuracies
from symgauge.errors import InvalidInput
from symgauge.experiments.record import recorded
from symgauge.experiments.result import Outcome
from symgauge.experiments.suite import Setting, experiments_of

A, TASK = architecture(8, 2), copy_last()


@pytest.fixture(scope="module")
def trained() -> torch.Tensor:
    return train(A, TASK, initial(A, range(3)), Protocol(rate=3e-3, loss=1e-2, steps=500)).theta


def test_all_of_the_source_is_there() -> None:
    keys = ["table-1", "table-2", "table-3", "figure-1", "figure-2", "figure-3", "figure-4", "figure-5"]
    keys += ["figure-5-starts"]
    assert list(experiments_of("idealized")) == keys


@pytest.mark.parametrize("key", ["table-1", "figure-1"])
def test_formula_experiments_run(key: str) -> None:
    result = experiments_of("idealized")[key].run(Setting())
    assert result.outcome is (Outcome.REPRODUCED if key == "table-1" else Outcome.DIFFERS)


def test_what_cannot_be_run_is_refused() -> None:
    with pytest.raises(InvalidInput, match="run on the processor, not on 'cuda'"):
        experiments_of("idealized")["table-1"].run(Setting(device="cuda"))
    with pytest.raises(InvalidInput, match="at least 3"):
        experiments_of("idealized")["figure-5"].run(Setting(seeds=2))


def test_figure_2_with_few_seeds() -> None:
    result = experiments_of("idealized")["figure-2"].run(Setting(seeds=1))
    assert len(result.tables[0].rows) == 5


def test_what_is_swept_apart_measures_the_same_quantities() -> None:
    ours = {each.quantity for each in experiments_of("idealized")["figure-5-starts"].run(Setting(seeds=3)).comparisons}
    theirs = {each.quantity for each in recorded("idealized")["paper"].runs["figure-5"].result.comparisons}
    assert ours <= theirs


def test_table_1_implies_whole_vocabularies() -> None:
    assert [implied_vocabulary(row) for row in reported.TABLE_1] == [2, 2, 4, 4, 8, 16, 32, 128]


def test_slope() -> None:
    assert slope([1, 2, 4], [3, 6, 12]) == pytest.approx(1)


def test_spread_is_the_population_s() -> None:
    mean, deviation = mean_and_spread(torch.tensor([16] * 7 + [17]))
    assert (mean, round(deviation, 2)) == (16.125, 0.33)


def test_both_null_spaces(trained) -> None:
    found = spaces(A, trained, TASK.inputs)
    assert found.left.tolist() == [4, 4, 4]
    assert found.right.tolist() == [800 - 12] * 3
    assert predicted_left(A, trained[0], TASK.inputs) == 4


@pytest.mark.parametrize(
    "mixture", [Mixture(), Mixture(stream=False), Mixture(heads=False), Mixture(spread=0.5), Mixture(neurons=False)]
)
def test_gauge_copies_keep_the_function(trained, mixture: Mixture) -> None:
    copies = gauge_copies(A, trained[0], 3, 0, mixture)
    before = logits(A, trained[:1], TASK.inputs)
    assert torch.allclose(logits(A, copies, TASK.inputs), before.expand(3, -1, -1), atol=1e-10)
    assert (copies - trained[0]).norm(dim=1).min() > 1


def test_alignment_undoes_a_gauge_copy_and_nothing_else(trained) -> None:
    copy = gauge_copies(A, trained[0], 1, 1)[0]
    assert (aligned(A, trained[0], copy) - trained[0]).norm() < 1e-9
    other = aligned(A, trained[0], trained[1])
    assert (other - trained[0]).norm() > 1
    assert torch.allclose(logits(A, other[None], TASK.inputs), logits(A, trained[1:2], TASK.inputs), atol=1e-10)


def test_invariant_measures(trained) -> None:
    copies = gauge_copies(A, trained[0], 3, 2)
    assert canonical_distances(A, copies).max() < 1e-9
    assert canonical_distances(A, trained).min() > 0.1
    assert attention_distances(attention(A, copies, TASK.inputs)).max() < 1e-12
    assert attention_distances(attention(A, trained, TASK.inputs)).min() > 1e-3
    assert torch.allclose(attention(A, trained, TASK.inputs).sum(-1), torch.ones((), dtype=torch.float64))


def test_geometry_of_known_vectors() -> None:
    g = geometry(torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]]))
    assert torch.allclose(g.norms, torch.ones(3, dtype=torch.float64))
    assert torch.allclose(g.distances, torch.full((3,), 2**0.5, dtype=torch.float64))
    assert g.cosines.tolist() == [0, 0, 0]
    assert g.shares.tolist() == pytest.approx([0.5, 0.5])


def test_ways(trained) -> None:
    one, two = trained[:1], trained[1:2]
    middle = (one + two) / 2
    assert torch.allclose(bend(one, middle, two, 0.3), 0.7 * one + 0.3 * two)
    here = along(A, one, one, one, TASK, 5)
    assert here.solving == 1
    assert along(A, one, -one, one, TASK, 21).solving == 0  # through zero, where all logits tie


def test_models_by_hand() -> None:
    a = architecture()
    for theta, task, count in ((copy_last_by_hand(a), copy_last(), 3), (parity_by_hand(a), parity(), 13)):
        assert int(torch.count_nonzero(theta)) == count
        assert accuracies(logits(a, theta[None], task.inputs), task.targets[None]).item() == 1
    assert without(a, copy_last_by_hand(a)[None], copy_last(), ("attention", "ff")).item() == 1
    assert without(a, parity_by_hand(a)[None], parity(), ("attention",)).item() == 0.5


def test_pruning(trained) -> None:
    assert weights_kept(3136, 95) == 157
    mask = largest(trained, 10)
    assert mask.sum(1).tolist() == [10, 10, 10]
    assert (trained.abs()[mask == 1].reshape(3, -1).amin(1) >= (trained.abs() * (1 - mask)).amax(1)).all()
    protocol = Protocol(rate=3e-3, loss=1e-2, steps=50)
    for enforced in (True, False):
        levels = prune(A, [TASK] * 3, trained, [400, 200], protocol, enforced=enforced)
        assert [x.kept for x in levels] == [400, 200]
        assert bool((levels[-1].nonzero <= 200).all()) == enforced


def test_a_model_that_failed_is_not_retrained() -> None:
    theta = torch.zeros(2, 800, dtype=torch.float64)
    theta[1] = train(A, TASK, initial(A, [0]), Protocol(rate=3e-3, loss=1e-2, steps=500)).theta[0]
    first, second = prune(A, [TASK] * 2, theta, [700, 600], Protocol(loss=1e-2, steps=50), enforced=False)
    assert first.retrained.tolist() == [0, 1]
    assert second.nonzero[0] == 0
    assert second.nonzero[1] > 600
