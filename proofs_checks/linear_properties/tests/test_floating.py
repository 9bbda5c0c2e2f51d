"""Floating point against exact models: ranks with gaps, the criterion, parallelism, and refusals."""

from __future__ import annotations

from random import Random

import pytest
import torch

from proofs_checks.linear_properties.drawing import Room, random_model
from proofs_checks.linear_properties.floating import Representation, usual_gap
from proofs_checks.linear_properties.report import ALL, NONE, OPEN, SOME, report
from symgauge.errors import InvalidInput, Undecided


def tables(complexity: int, room: Room, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A model of known complexity in float64, in a general basis (not an integer one)."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    f = torch.cat([draw(40, complexity + room.embedding), torch.zeros(40, room.unembedding + room.unused)], 1)
    g = torch.cat([draw(15, complexity), torch.zeros(15, room.embedding), draw(15, room.unembedding)], 1)
    g = torch.cat([g, torch.zeros(15, room.unused)], 1)
    change = draw(f.shape[1], f.shape[1])
    return f.double() @ change, g.double() @ torch.linalg.inv(change).T + draw(1, f.shape[1])


@pytest.mark.parametrize("room", [Room(), Room(2, 1, 1), Room(0, 3, 0), Room(1, 0, 2)])
def test_ranks_are_those_of_the_exact_model(room) -> None:
    r = Representation(*tables(3, room))
    assert r.effective_complexity.rank == 3
    assert r.effective_complexity.gap > 1e6
    assert r.embedding_rank.rank == 3 + room.embedding
    assert r.unembedding_rank.rank == 3 + room.unembedding


def test_exact_and_floating_models_agree() -> None:
    for seed in range(5):
        model = random_model(Random(seed), 2, Room(1, 1, 1), contexts=8, tokens=6)
        f, g = (torch.tensor([[float(x) for x in row] for row in m.table]).double() for m in (model.f, model.g))
        r = Representation(f, g)
        ranks = r.effective_complexity.rank, r.embedding_rank.rank, r.unembedding_rank.rank
        assert ranks == (2, model.F.shape[0], model.G.shape[0])


def test_single_precision_counts_its_own_rounding() -> None:
    f, g = (table.float() for table in tables(3, Room(1, 1, 1)))
    r = Representation(f, g)
    assert r.min_gap == usual_gap(torch.finfo(torch.float32).eps)
    assert r.effective_complexity.rank == 3
    assert r.noise > 1e6 * Representation(f.double(), g.double()).noise * 1e-1
    with pytest.raises(Undecided, match="more digits"):
        _ = Representation(f, g, min_gap=1e9).effective_complexity


def test_a_spectrum_without_gap_is_refused() -> None:
    f = torch.diag(10.0 ** -torch.arange(0, 18, 2).double())
    g = torch.cat([torch.zeros(1, 9), torch.eye(9)]).double()
    with pytest.raises(Undecided, match="gap"):
        _ = Representation(f, g, min_gap=1e3).effective_complexity


def test_equal_unembeddings_have_complexity_zero() -> None:
    r = Representation(torch.randn(5, 3).double(), torch.ones(4, 3).double())
    assert r.effective_complexity.rank == 0


def test_answers_are_judged_by_what_is_seen() -> None:
    f, g = tables(3, Room(2, 1, 1))
    ratios = f @ (g - g[0]).T
    unseen = f @ torch.linalg.svd(ratios.T @ f)[2][3:4].T
    seen = 2 * ratios[:, 1:3] + 5
    noise = torch.randn(40, 1, generator=torch.Generator().manual_seed(9)).double()
    found = report(Representation(f, g), [("seen", seen), ("unseen", unseen), ("random", noise)])
    assert [p.verdict for p in found.properties] == [ALL, SOME, NONE]
    small = report(Representation(f, g), [("small", seen + 1e-7 * noise), ("tiny", seen + 3e-11 * noise)])
    assert [p.verdict for p in small.properties] == [NONE, OPEN]
    assert small.undecided.startswith("tiny: a relative residual")
    one_bad = report(Representation(f, g), [("one of two", torch.cat([seen, noise], 1))])
    assert one_bad.properties[0].verdict == NONE


def test_too_few_contexts_or_constant_answers_say_nothing() -> None:
    f, g = tables(3, Room(0, 1, 1))
    few = report(Representation(f[:4], g), [("few", f[:4, :1])])
    assert few.properties[0].verdict == OPEN
    assert "more contexts" in few.undecided
    flat = report(Representation(f, g), [("flat", torch.ones(40, 1))])
    assert "same for every context" in flat.undecided


def test_a_constant_that_is_almost_seen_is_undecided() -> None:
    f, g = tables(3, Room())
    change = torch.linalg.lstsq(f, torch.ones(40, 1).double()).solution
    almost = f + (torch.ones(40, 1) - f @ change) @ change.T / (change.T @ change) * (1 - 1e-12)
    decided = Representation(almost, g).answers_from_probabilities(torch.randn(40, 1).double())
    assert decided.holds is None
    assert "neither zero nor clearly not" in decided.reason
    whole = f + (torch.ones(40, 1) - f @ change) @ change.T / (change.T @ change)
    assert Representation(whole, g).answers_from_probabilities(whole[:, :1]).holds


def test_parallelism_within_what_is_seen() -> None:
    f, g = tables(3, Room(1, 1, 1))
    hidden = torch.linalg.svd(f)[2][4:5]  # a direction no embedding has
    whole, bent = g.clone(), g.clone()
    whole[1] = whole[0] + 2 * (whole[3] - whole[2])
    bent[1] = whole[1] + hidden
    for table, in_space in ((whole, True), (bent, False), (g, False)):
        p = Representation(f, table).parallel((1, 0), (3, 2))
        assert (p.visible.holds, p.whole.holds) == (table is not g, in_space)
    assert Representation(f, bent).parallel((1, 0), (3, 2)).ratio == pytest.approx(2)
    unseen = g.clone()
    unseen[1] = unseen[0] + hidden
    assert Representation(f, unseen).parallel((1, 0), (3, 2)).visible.holds is None


@pytest.mark.parametrize(
    ("f", "g", "message"),
    [
        (torch.ones(3), torch.ones(3, 2), "must be a matrix"),
        (torch.ones(3, 2, dtype=torch.int64), torch.ones(3, 2), "floating-point"),
        (torch.full((3, 2), float("nan")), torch.ones(3, 2), "NaN"),
        (torch.ones(3, 2), torch.ones(2, 5), "one row per token"),
        (torch.ones(3, 2), torch.ones(1, 2), "two or more"),
        (torch.ones(0, 2), torch.ones(3, 2), "must be a matrix"),
    ],
)
def test_bad_tables_are_refused_in_a_sentence(f, g, message) -> None:
    with pytest.raises(InvalidInput, match=message):
        Representation(f, g)


def test_bad_questions_are_refused_in_a_sentence() -> None:
    r = Representation(*tables(2, Room()))
    with pytest.raises(InvalidInput, match="row for each of the 40 contexts"):
        r.answers_from_probabilities(torch.ones(3, 1))
    with pytest.raises(InvalidInput, match="numbered from 0"):
        r.parallel((1, 99), (2, 3))
    with pytest.raises(InvalidInput, match="two different pairs"):
        r.parallel((1, 2), (2, 1))
    with pytest.raises(InvalidInput, match="gap must exceed"):
        Representation(r.f, r.g, 0.5)
