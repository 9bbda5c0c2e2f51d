"""Fibre dimensions against counts known from theory, float64 singular values, and themselves under another seed."""

from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor, nn

import symgauge
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.errors import InvalidInput, Undecided
from symgauge.exact.acceptance import Acceptance
from symgauge.exact.dimension import dimension
from symgauge.exact.jacobian import JacobianRows
from symgauge.exact.probes import Tokens, Vectors
from symgauge.plain import prepare


class Lightning(nn.Module):
    """Stacked unnormalised attention without residual, x ↦ x Q Kᵀ xᵀ x V per layer."""

    def __init__(self, layers: int, d: int, a: int) -> None:
        super().__init__()
        shapes = [(d, a), (d, a), (d, d)] * layers
        self.weights = nn.ParameterList([nn.Parameter(torch.zeros(s, dtype=torch.float64)) for s in shapes])

    def forward(self, x: Tensor) -> Tensor:
        for i in range(0, len(self.weights), 3):
            q, k, v = (self.weights[i + j] for j in range(3))
            x = (x @ q) @ (x @ k).mT @ x @ v
        return x


class Bigram(nn.Module):
    """Log-bilinear next-token model: logits f(x)ᵀ g(y)."""

    def __init__(self, v: int, d: int) -> None:
        super().__init__()
        self.f, self.g = nn.Embedding(v, d), nn.Linear(d, v, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.g(self.f(ids))


class RootedBigram(Bigram):
    """With a chain of norms: of the later ones' square roots half do not exist in the field."""

    def forward(self, ids: Tensor) -> Tensor:
        x = self.f(ids)
        for i in range(4):
            x = x * (x.pow(2).mean(-1, keepdim=True) + 1).rsqrt() + i
        return self.g(x)


def mlp(activation: nn.Module, bias: bool = True) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6, bias=bias), activation, nn.Linear(6, 3, bias=bias))


@pytest.mark.parametrize(("a", "rank"), [(1, 34), (2, 49), (3, 58), (4, 61)])
def test_lightning_attention_has_the_published_dimension(a: int, rank: int) -> None:
    """3 (a (2d − a) + d²) − 2 d² − 3 at d = 4 (Henry, Marchetti, Kohn 2025); float32 SVD gets 6 to 44 here."""
    assert dimension(Lightning(3, 4, a), Vectors(3, 4)).require_decided().rank == rank


@pytest.mark.parametrize(
    ("activation", "nullity"),
    [
        (nn.GELU(), 0),
        (nn.GELU(approximate="tanh"), 0),
        (nn.SiLU(), 0),
        (nn.Tanh(), 0),
        (nn.ReLU(), 6),
        (nn.Identity(), 36),
    ],
)
def test_feed_forward_layers(activation: nn.Module, nullity: int) -> None:
    """Six hidden units: none, six rescalings for ReLU; a linear one is a 4 × 3 matrix and a bias, 15 of 51."""
    result = dimension(mlp(activation), Vectors(1, 4)).require_decided()
    assert result.nullity == nullity


@pytest.mark.parametrize(("output", "extra"), [("logits", 0), ("probabilities", 3)])
def test_log_bilinear_model_has_gl_d_and_the_shift_of_its_unembedding(output: str, extra: int) -> None:
    result = dimension(Bigram(7, 3), Tokens(7, 1), output=output)  # type: ignore[arg-type]
    assert (result.rank, result.nullity) == (42 - 9 - extra, 9 + extra)


def test_a_vocabulary_that_is_all_used_is_decided() -> None:
    """Four tokens cannot pin a map of five dimensions, but they are all there are: every table of logits is reached."""
    result = dimension(Bigram(4, 5), Tokens(4, 1))
    assert (result.rank, result.nullity) == (16, 24)
    assert (result.saturated, result.exhausted, result.doubt) == (True, True, "")


def test_inputs_that_run_out_are_reported_and_not_silent() -> None:
    """Sequences without square roots for all of their norms are not usable, and no others were looked for."""
    result = dimension(RootedBigram(4, 5), Tokens(4, 1))
    assert (result.saturated, result.exhausted) == (False, True)
    with pytest.raises(Undecided, match="all 4 inputs of this vocabulary and length were tried"):
        result.require_decided()


def test_tied_parameters_count_once() -> None:
    model = Bigram(6, 2)
    model.g.weight = model.f.weight
    result = dimension(model, Tokens(6, 1))
    assert (result.parameters, result.nullity) == (12, 1)  # E Eᵀ is kept by O(2)


def test_kernel_is_annihilated_and_split_by_tensor() -> None:
    result = dimension(mlp(nn.ReLU()), Vectors(1, 4))
    field, echelon = result.echelon.field, result.echelon
    kernel = result.kernel()
    assert kernel.shape == (6, 51)
    assert bool(field.is_zero(field.matmul(kernel, echelon.basis.map(lambda b: b.mT))).all())
    assert result.by_tensor == {"0.weight": 6, "0.bias": 6, "2.weight": 6, "2.bias": 0}


def test_same_seed_same_result_and_other_seeds_same_verdict() -> None:
    def run(seed: int) -> dict[str, object]:
        return {
            k: v for k, v in dimension(mlp(nn.Tanh()), Vectors(1, 4), seed=seed).as_dict().items() if k != "seconds"
        }

    first = run(3)
    assert first == run(3)
    assert {run(seed)["nullity"] for seed in range(4, 9)} == {first["nullity"]} == {0}


@pytest.mark.parametrize("seed", [2**61 + 3, 2**64 + 5, -1])
def test_a_seed_may_be_any_integer(seed: int) -> None:
    found = dimension(mlp(nn.Tanh()), Vectors(1, 4), seed=seed)
    assert (found.nullity, found.seed) == (0, seed)


def test_progress_is_told_with_the_rank_so_far() -> None:
    told: list[tuple[str, int, int]] = []
    found = dimension(mlp(nn.ReLU()), Vectors(1, 4), progress=lambda *now: told.append(now))
    for prime in found.primes:
        ranks = [rank for stage, rank, _ in told if stage == f"prime {prime}"]
        assert ranks == sorted(ranks)
        assert ranks[-1] == found.rank
    assert {parameters for _, _, parameters in told} == {found.parameters}


def test_the_size_of_batches_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sequence at a time gives what all at once give, sides of thresholds included."""

    def run() -> dict[str, object]:
        found = dimension(mlp(nn.ReLU()), Vectors(2, 4)).as_dict()
        return {name: value for name, value in found.items() if name not in ("seconds", "points")}

    before = run()
    monkeypatch.setattr("symgauge.exact.jacobian._MEMORY", 1)
    assert run() == before


def test_own_parameters_may_be_special() -> None:
    """A hidden unit with zero output weight frees its input weights: 4 + 1 more than the rescaling-free count."""
    model = mlp(nn.Tanh()).double()
    with torch.no_grad():
        model[2].weight[:, 2] = 0  # type: ignore[index, union-attr]
    assert dimension(model, Vectors(1, 4), point="own").nullity == 5
    assert dimension(model, Vectors(1, 4)).nullity == 0


def test_result_agrees_with_float64_singular_values_where_those_have_a_gap() -> None:
    torch.manual_seed(0)
    model = mlp(nn.ReLU()).double()
    x = torch.randn(200, 4, dtype=torch.float64)
    names = [n for n, _ in model.named_parameters()]

    def outputs(*values: Tensor) -> Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x,))

    blocks = torch.autograd.functional.jacobian(outputs, tuple(p.detach() for p in model.parameters()))
    singular = torch.linalg.svdvals(torch.cat([b.reshape(600, -1) for b in blocks], 1))
    kept = int((singular > 1e-9 * singular[0]).sum())
    assert singular[kept - 1] / singular[kept] > 1e6
    assert dimension(model, Vectors(1, 4), point="own").rank == kept


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dimension(nn.ReLU(), Vectors(1, 4)), "no parameters"),
        (lambda: dimension("model", Vectors(1, 4)), "torch.nn.Module"),
        (lambda: dimension(mlp(nn.ReLU()), (1, 4)), "must be symgauge.Tokens, Vectors or Arrays"),
        (lambda: dimension(mlp(nn.ReLU()), Vectors(1, 4), primes=(15,)), "15 is not prime"),
        (lambda: dimension(mlp(nn.ReLU()), Vectors(1, 4), output="loss"), "'logits' or 'probabilities'"),
        (lambda: Tokens(0, 3), "vocabulary must be a positive integer"),
        (lambda: Vectors(3, True), "width must be a positive integer"),
        (lambda: Vectors(3, 4, batch_axis=2), r"batch_axis must be 0 \(batch first\)"),
    ],
)
def test_bad_input_gets_one_sentence(call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()  # type: ignore[operator]


def test_stages_take_no_longer_than_the_whole_and_the_first_search_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(self: Acceptance) -> None:
        time.sleep(0.1)
        prepare(self)

    prepare = Acceptance.prepare
    monkeypatch.setattr(Acceptance, "prepare", slowly)
    found = dimension(nn.Linear(2, 1), Vectors(1, 2), primes=DEFAULT_PRIMES[:1])
    assert found.points[0].seconds["probing"] >= 0.1
    assert sum(found.points[0].seconds.values()) <= found.seconds + 0.01


def test_non_finite_parameters_are_refused_by_name() -> None:
    model = mlp(nn.ReLU())
    with torch.no_grad():
        model[0].bias[1] = float("nan")  # type: ignore[index, union-attr]
    with pytest.raises(InvalidInput, match=r"0\.bias"):
        dimension(model, Vectors(1, 4), point="own")


def test_an_own_point_at_which_float64_overflows_is_refused() -> None:
    model = nn.Linear(4, 3).double()
    with torch.no_grad():
        model.weight.fill_(1e308)
    with pytest.raises(Undecided, match="is not finite in float64 at this point"):
        dimension(model, Vectors(1, 4), point="own")


class ReciprocalOfExponentials(nn.Module):
    """Keys by elu + 1, as in linear attention: a few wide inputs underflow, and 0/0 is no number."""

    def __init__(self, shift: float = 0.0) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Parameter(torch.randn(3, 2)) for _ in range(3))
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        q, k = (nn.functional.elu(x @ w - self.shift) + 1 for w in (self.query, self.key))
        return (q @ (k.mT @ (x @ self.value))) / (q @ k.sum(1)[..., None])  # type: ignore[no-any-return]


def test_inputs_without_a_finite_output_are_left_out_and_said() -> None:
    found = symgauge.dimension(ReciprocalOfExponentials(), Vectors(3, 3))
    assert (found.nullity, found.float_rank, found.doubt) == (0, 18, "")
    assert any("gives no finite number in float64" in note for note in found.notes)
    alone = symgauge.dimension(module := ReciprocalOfExponentials(shift=16), Vectors(1, 3))
    prepare(module, [name for name, _ in alone.names], alone.theta)
    assert bool(module(alone.inputs).isfinite().all())
    assert any("gives no finite number in float64" in note for note in alone.notes)
    with pytest.raises(Undecided, match="not finite"):
        symgauge.dimension(ReciprocalOfExponentials(shift=100), Vectors(3, 3))


class Wearing(nn.Module):
    """Another function from its fifth call on."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.calls = nn.Linear(3, 4), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.a(x) * (2 if self.calls > 4 else 1)


def test_a_module_that_changes_later_is_noticed() -> None:
    """It is run on a batch, on its three inputs, and on the batch again."""
    with pytest.raises(InvalidInput, match="gives another output when it is run again"):
        dimension(Wearing(), Vectors(2, 3))


def test_training_mode_is_restored() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    assert dimension(model, Vectors(1, 2)).nullity == 0
    assert model.training
    assert model[1].training


class Parrot(nn.Module):
    """One number, said sixteen times: a position gives sixteen rows of which one is new."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.said = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.said(x).expand(*x.shape[:-1], 16)


@pytest.mark.parametrize("width", [11, 40, 90])
def test_rows_are_added_until_none_is_new(width: int) -> None:
    found = dimension(Parrot(width), Vectors(1, width))
    assert found.saturated
    assert found.nullity == 0
    assert all(point.positions > width for point in found.points)
    assert all(point.rows == 16 * point.positions for point in found.points)


class Vanishing(nn.Module):
    """x ↦ w₁x + p·w₂x² for the first prime p that is asked: there it does not depend on w₂."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.w[0] * x + self.w[1] * (DEFAULT_PRIMES[0] * x**2)


def test_primes_that_disagree_leave_the_nullity_undecided() -> None:
    found = dimension(Vanishing(), Vectors(1, 1))
    assert [point.rank for point in found.points] == [1, 2]
    assert (found.rank, found.saturated, found.agree) == (2, True, False)
    with pytest.raises(Undecided, match="the primes disagree"):
        found.require_decided()
    for alone, rank in zip(DEFAULT_PRIMES, (1, 2), strict=True):
        found = dimension(Vanishing(), Vectors(1, 1), primes=(alone,))
        assert (found.rank, found.agree) == (rank, True)


@pytest.mark.parametrize(("layers", "degree"), [(1, 3), (2, 3 * 3 + 3)])
def test_the_bound_on_failure_is_that_of_schwartz_and_zippel(layers: int, degree: int) -> None:
    """P · δ / p for every prime, δ the outputs' degree: derivatives have one less, and a direction adds one."""
    found = dimension(Lightning(layers, 2, 1), Vectors(2, 2))
    chance = [found.parameters * degree / p for p in DEFAULT_PRIMES]
    assert found.parameters == 8 * layers
    assert found.failure_bound == pytest.approx(chance[0] * chance[1], abs=0)


class Pairs(nn.Module):
    """One number for each pair of neighbouring tokens."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.table = nn.Embedding(vocabulary**2, 1)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids[:, :-1] * self.vocabulary + ids[:, 1:])


@pytest.mark.parametrize("seed", range(8))
def test_a_few_rows_that_bring_nothing_new_settle_nothing(seed: int) -> None:
    """By the time that some pair is missing yet, most neighbours have been seen before."""
    found = dimension(Pairs(6), Tokens(6, 6), seed=seed, primes=DEFAULT_PRIMES[:1])
    assert (found.nullity, found.saturated) == (0, True)


@pytest.mark.parametrize("seed", range(3))
def test_the_more_was_looked_at_the_more_must_bring_nothing_new(seed: int) -> None:
    """Of 576 pairs the last few are rare: 128 further positions often miss them."""
    found = dimension(Pairs(24), Tokens(24, 4), seed=seed, primes=DEFAULT_PRIMES[:1])
    assert (found.nullity, found.saturated) == (0, True)


class Same(nn.Module):
    """x ↦ w₁ + w₂, whatever x is."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.w.sum() + x * 0


@pytest.mark.parametrize("inputs", [Vectors(1, 1), Vectors(3, 2)])
def test_values_that_run_out_among_endless_inputs_are_all_there_are(inputs: Vectors) -> None:
    found = dimension(Same(), inputs).require_decided()
    assert (found.rank, found.nullity, found.exhausted) == (1, 1, False)


class Rare(Pairs):
    """The number of the first pair, times a chain of roots of all tokens that few sequences have in the field."""

    def __init__(self, vocabulary: int, roots: int) -> None:
        super().__init__(vocabulary)
        self.numbers, self.roots = nn.Embedding(vocabulary, 1), roots

    def forward(self, ids: Tensor) -> Tensor:
        x = self.numbers(ids).sum(1)
        for i in range(self.roots):
            x = torch.sqrt(1 + x * x) + i
        return x * super().forward(ids[:, :2])[:, 0]


@pytest.mark.parametrize("seed", range(4))
def test_a_short_search_that_finds_little_settles_nothing(seed: int) -> None:
    """A batch of 512 candidates has some five usable ones, and that none of them is new says little."""
    found = dimension(Rare(7, 11), Tokens(7, 5), seed=seed, primes=DEFAULT_PRIMES[:1], rounds=1)
    assert not found.saturated


@pytest.mark.parametrize("roots", [7, 8])
@pytest.mark.parametrize("seed", range(6))
def test_a_further_batch_may_take_several_short_searches(
    roots: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fifths of what was used before must bring nothing new, however few of them one search finds."""
    searches: list[tuple[int, int]] = []
    grow = JacobianRows.grow

    def noted(self: JacobianRows, wanted: int) -> tuple[int, int]:
        added, gained = grow(self, wanted)
        searches.append((self.positions, gained))
        return added, gained

    monkeypatch.setattr(JacobianRows, "grow", noted)
    found = dimension(Rare(7, roots), Tokens(7, 5), seed=seed, primes=DEFAULT_PRIMES[:1], rounds=1)
    before = max(positions for positions, gained in searches if gained)
    assert found.nullity == 0 or not found.saturated or searches[-1][0] >= int(1.4 * before)
