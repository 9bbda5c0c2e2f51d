"""Verdicts on pairs of which it is known what was done: gauges are seen through, and planted mistakes are named."""

from dataclasses import replace

import pytest
import torch

from symgauge.checkpoints import open_checkpoint
from symgauge.comparison import compare
from symgauge.errors import InvalidInput
from symgauge.models.huggingface import tiny
from tests.comparison import edits as e

EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"
Q, K, V, O = (e.NAME.format(0, f"self_attn.{part}_proj") for part in "qkvo")
GATE, UP, DOWN = (e.NAME.format(1, f"mlp.{part}_proj") for part in ("gate", "up", "down"))
NORM = e.NAME.format(0, "input_layernorm")


@pytest.fixture(scope="module")
def model():
    return e.model()


def everything(s):
    s = e.permute_neurons(e.permute_heads(e.mix_values(e.turn_planes(s, 1), 1), 0), 1)
    return e.rotate(e.fold(s))


RIGHT = {
    "nothing": lambda s: s,
    "norms folded": e.fold,
    "rotated, det −1": lambda s: e.rotate(e.fold(s)),
    "rotated, det +1": lambda s: e.rotate(e.fold(s), e.rotation(1)),
    "stream permuted": lambda s: e.rotate(e.fold(s), torch.eye(e.D).double()[torch.randperm(e.D)]),
    "values mixed": e.mix_values,
    "planes turned": e.turn_planes,
    "heads and groups permuted": e.permute_heads,
    "neurons permuted and scaled": e.permute_neurons,
    "everything": everything,
}


@pytest.mark.parametrize("what", RIGHT)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gauges_are_seen_through(model, what, dtype):
    other = {name: x.to(dtype) for name, x in RIGHT[what](model.state_dict()).items()}
    found = compare(model, other)
    assert (found.verdict, found.tensor) == ("equal", None), str(found)
    assert found.function.logits <= found.function.allowed


def with_moved_head(s):
    """All rows by one vector: all logits of a position move alike."""
    return {**s, HEAD: s[HEAD] + torch.linspace(-1, 2, e.D).to(s[HEAD])}


def test_a_head_whose_rows_all_move_keeps_probabilities_alone(model):
    other = e.rotate(e.fold(with_moved_head(model.state_dict())))
    logits, probabilities = compare(model, other), compare(model, other, output="probabilities")
    assert (logits.verdict, logits.tensor) == ("different", HEAD)
    assert "every row is moved by one vector" in logits.reason
    assert probabilities.verdict == "equal"
    assert probabilities.function.logits <= probabilities.function.allowed
    assert "(up to a common shift)" in str(probabilities)
    assert probabilities.as_dict()["output"] == "probabilities"
    other[HEAD][3] *= 1.01
    assert compare(model, other, output="probabilities").tensor == HEAD
    with pytest.raises(InvalidInput, match="output must be"):
        compare(model, other, output="scores")


def test_a_bias_that_moves_all_logits_alike_keeps_probabilities():
    model = tiny("phi", 2)
    other = {**model.state_dict(), "lm_head.bias": model.state_dict()["lm_head.bias"] + 1.5}
    assert compare(model, other).tensor == "lm_head.bias"
    assert compare(model, other, output="probabilities").verdict == "equal"


def test_of_two_vocabularies_the_common_tokens_are_compared(model):
    config = {**model.config.to_dict(), "vocab_size": e.VOCABULARY + 8}
    wide = e.rotate(e.fold({name: x.double() for name, x in model.state_dict().items()}))
    for name in (EMBED, HEAD):
        wide[name] = torch.cat([wide[name], torch.zeros(8, e.D, dtype=torch.float64)])
    found = compare(model, replace(open_checkpoint(wide), config=config))
    assert (found.verdict, found.tensor) == ("different", None)
    assert f"on the first {e.VOCABULARY}, which both know, all tensors agree" in found.reason
    assert found.function.logits <= found.function.allowed
    wide[HEAD][5] *= 1.1
    assert compare(replace(open_checkpoint(wide), config=config), model).tensor == HEAD


def test_heads_under_alibi_keep_their_places():
    model = tiny("bloom", 2)
    other = {name: x.clone() for name, x in model.state_dict().items()}
    name = "transformer.h.1.self_attention."
    heads = model.config.n_head
    order = torch.arange(heads).roll(1)
    for part in ("query_key_value.weight", "query_key_value.bias"):
        x = other[name + part]
        other[name + part] = x.unflatten(0, (heads, -1))[order].flatten(0, 1)
    x = other[name + "dense.weight"]
    other[name + "dense.weight"] = x.unflatten(1, (heads, -1))[:, order].flatten(1)
    found = compare(model, other)
    assert (found.verdict, found.tensor) == ("different", name + "query_key_value.weight")
    assert "slopes of ALiBi stay in their places" in found.reason


def test_the_elements_error_falls_with_the_precision(model):
    function = compare(model, everything(model.state_dict())).function
    assert function.float64 < 1e-6 * function.float32


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("what", RIGHT)
def test_casts_are_equal_to_the_precision_stored(model, what, dtype):
    other = {name: x.to(dtype) for name, x in RIGHT[what](model.state_dict()).items()}
    for second in (other, {name: x.float() for name, x in other.items()}):
        found = compare(model, second)
        assert (found.verdict, found.tensor) == ("equal-to-stored-precision", None), str(found)
        assert str(dtype).removeprefix("torch.") in found.reason


def low_rank(x, rank=1):
    return x + 0.1 * e.draw(x.shape[0], rank, seed=8) @ e.draw(rank, x.shape[1], seed=9)


def centred(x):
    return x - x.mean(-1, keepdim=True)


def one_number(x):
    return x + torch.eye(*x.shape) * (torch.arange(len(x)) == 3).unsqueeze(-1)


def halve(x):
    return x.unflatten(0, (-1, e.WIDTH // 2, 2)).transpose(1, 2).flatten(0, 2)


def interleave(x):
    return x.unflatten(0, (-1, 2, e.WIDTH // 2)).transpose(1, 2).flatten(0, 2)


def exchanged(x, i, j):
    order = list(range(len(x)))
    order[i], order[j] = j, i
    return x[order]


def rows_changed(x, *rows):
    return x.index_add(0, torch.tensor(rows), 0.3 * e.draw(len(rows), x.shape[1]))


WRONG = {
    "mean of the embedding": (e.change(EMBED, centred), EMBED, "mean"),
    "mean of the embedding, rotated": (lambda s: e.rotate({**e.fold(s), EMBED: centred(s[EMBED])}), EMBED, "mean"),
    "mean of an output": (e.change(O, lambda x: x - x.mean(0)), O, "mean"),
    "keys permuted": (lambda s: e.permute_heads(s, 0, "k"), K, "keys"),
    "values permuted": (lambda s: e.permute_heads(s, 0, "v"), V, "values"),
    "outputs permuted": (lambda s: e.permute_heads(s, 0, "o"), O, "outputs"),
    "A⁻¹ for A⁻ᵀ": (lambda s: e.turn_planes(s, 0, wrong=True), K, "A⁻¹"),
    "C for C⁻¹": (lambda s: e.mix_values(s, 0, lambda c: c), O, "by C "),
    "Cᵀ for C⁻¹": (lambda s: e.mix_values(s, 0, lambda c: c.mT), O, "by Cᵀ "),
    "γ for 1 + γ in a fold": (lambda s: e.fold(s, -1.0), Q, "1 + γ"),
    "1 + γ for γ in a fold": (lambda s: e.fold(s, 1.0), Q, "1 + γ"),
    "γ − 1 stored": (e.change(NORM, lambda x: x - 1), NORM, "1 + γ"),
    "gain lost": (e.change(NORM, torch.ones_like), NORM, "lost"),
    "gain kept": (lambda s: {**e.fold(s), NORM: s[NORM]}, NORM, "twice"),
    "rotated without a fold": (e.rotate, Q, "had not been folded"),
    "rotary channels": (lambda s: {**s, Q: interleave(s[Q]), K: interleave(s[K])}, Q, "interleaved"),
    "rotary channels, back": (lambda s: {**s, Q: halve(s[Q]), K: halve(s[K])}, Q, "halved"),
    "a group missing": (lambda s: e.with_heads(s, 0, "k", e.heads(s, 0, "k")[[0, 0]]), K, "missing"),
    "a group zero": (lambda s: e.with_heads(s, 0, "v", e.heads(s, 0, "v") * torch.tensor([1.0, 0.0])[:, None, None]), V,
                     "missing"),
    "neurons of one map": (lambda s: e.permute_neurons(s, 1, ("up", "gate"), scale=False), DOWN, "neurons"),
    "gate and up": (lambda s: {**s, GATE: s[UP], UP: s[GATE]}, GATE, "exchanged"),
    "scaled down": (e.change(DOWN, lambda x: 1.5 * x), DOWN, "1.5 times"),
    "adapter": (e.change(DOWN, low_rank), DOWN, "rank 1"),
    "adapter on keys, rotated": (lambda s: e.rotate(e.fold({**s, K: low_rank(s[K], 2)})), K, "rank 2"),
    "rounded": (e.change(UP, lambda x: x * (1 + 2.0**-9 * torch.rand_like(x))), UP, "rounding"),
    "one number": (e.change(Q, one_number), Q, "1 of its 512"),
    "two tokens": (e.change(EMBED, lambda x: exchanged(x, 3, 5)), EMBED, "2 of its 40 rows (3, 5) have changed places"),
    "a token trained, rotated": (lambda s: e.rotate(e.fold({**s, EMBED: rows_changed(s[EMBED], 4)})), EMBED,
                                 "1 of its 40 rows (4) differs"),
    "two rows of keys": (e.change(K, lambda x: rows_changed(x, 1, 6)), K, "2 of its 16 output channels differ"),
    "a column of gates": (e.change(GATE, lambda x: rows_changed(x.mT, 2).mT), GATE,
                          "1 of its 16 input channels differs"),
    "two columns of outputs": (e.change(O, lambda x: exchanged(x.mT, 1, 2).mT), O, "2 of its 32 input channels"),
    "noise": (e.change(GATE, lambda x: x + 0.3 * e.draw(*x.shape)), GATE, "no known"),
    "head": (e.change(HEAD, lambda x: x + 0.3 * e.draw(*x.shape)), HEAD, ""),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_planted_mistakes_are_named(model, what):
    edit, tensor, words = WRONG[what]
    found = compare(model, edit(model.state_dict()))
    assert (found.verdict, found.tensor) == ("different", tensor), str(found)
    assert words in found.reason
    assert not found


def test_tokens_that_hide_a_difference_make_nothing_equal(model):
    """One token attends to itself, whatever queries and keys are."""
    other = e.change(Q, lambda x: x + 0.3 * e.draw(*x.shape))(model.state_dict())
    for ids in ([[1]], [[1, 1, 1, 1]]):
        found = compare(model, other, tokens=torch.tensor(ids))
        assert found.function.equal
        assert (found.verdict, found.tensor) == ("different", Q)


def test_neurons_that_sleep_may_wake():
    model = tiny("gpt2", 2)
    weight, bias = "transformer.h.0.mlp.c_fc.weight", "transformer.h.0.mlp.c_fc.bias"
    sleeping = model.state_dict() | {bias: model.state_dict()[bias].index_fill(0, torch.tensor([3]), -40.0)}
    other = sleeping | {weight: sleeping[weight].index_fill(1, torch.tensor([3]), 0.5)}
    found = compare(sleeping, other, config=model.config.to_dict())
    assert found.function.equal
    assert (found.verdict, found.tensor) == ("different", weight)


@pytest.mark.parametrize("name", [Q, K, V, O])
@pytest.mark.parametrize("channels", [slice(0, 1), slice(0, e.WIDTH), slice(None)])
def test_pruned_channels_and_heads_are_found(model, name, channels):
    pruned = model.state_dict()[name].clone()
    (pruned.mT if name == O else pruned)[channels] = 0
    found = compare(model, model.state_dict() | {name: pruned})
    assert (found.verdict, found.tensor) == ("different", name)


@pytest.mark.parametrize(
    ("ids", "words"), [([[1, 4000]], "1 to 4000"), ([[-1]], "-1"), ([1, 2], "shape"), ([[]], "shape")]
)
def test_tokens_that_the_model_cannot_read_are_refused(model, ids, words):
    with pytest.raises(InvalidInput, match=words):
        compare(model, model, tokens=torch.tensor(ids))


def test_no_grid_is_so_coarse_that_anything_agrees(model):
    lost = model.state_dict()[EMBED].to(torch.int8)
    found = compare(model, model.state_dict() | {EMBED: lost})
    assert (found.verdict, found.tensor) == ("different", EMBED)


def test_a_model_of_zeros_is_another(model):
    nothing = {name: torch.zeros_like(x) for name, x in model.state_dict().items()}
    assert compare(model, nothing).tensor == EMBED
    assert compare(nothing, model, config=model.config.to_dict()).tensor == EMBED


def test_one_number_of_very_many_is_not_lost_in_the_norm():
    """A number of 128,000 that is 0.2 % off is 6e-6 of the table, less than rounding may be there."""
    large = e.model(hidden_size=16, vocab_size=8000).state_dict()
    large = {name: x.float() for name, x in large.items()}
    name = "model.embed_tokens.weight"
    table = large[name].clone()
    table[4000, 3] += 2e-3 * table.square().mean().sqrt()
    a, b = (e.model(hidden_size=16, vocab_size=8000).float() for _ in range(2))
    a.load_state_dict(large)
    b.load_state_dict({**large, name: table})
    found = compare(a, b)
    assert (found.verdict, found.tensor) == ("different", name)
    assert "1 of its 128,000 numbers" in found.reason
    turned = {**large, **{n: x.float() for n, x in e.rotate(e.fold({n: x.double() for n, x in large.items()})).items()}}
    b.load_state_dict(turned)
    assert compare(a, b).verdict == "equal"
