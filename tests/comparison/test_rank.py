"""Heads whose products have less rank than channels: factors that no invertible map takes to each other."""

import pytest
import torch

from symgauge.comparison import compare
from symgauge.layout import flatten
from symgauge.models.huggingface import adapt, tiny
from symgauge.models.huggingface.adapter import load
from tests.comparison.edits import draw

BIAS = "layers.0.attention.query.bias"
QUERY, KEY, VALUE, OUTPUT = (f"layers.0.attention.{part}.weight" for part in ("query", "key", "value", "output"))


def zero(x, axis, channels=(1,)):
    return x.index_fill(axis, torch.tensor(channels), 0.0)


def changed(model_type, change):
    """A tiny model with changed roles of its first layer."""
    model = tiny(model_type, 2)
    adapted, (theta, _) = adapt(model), flatten(model)
    roles = dict(adapted.layout.read(theta))
    load(model, adapted.layout.write({**roles, **change(roles)}, theta))
    return model


def junk(x, axis, channels=(1,)):
    """Other numbers in channels of the first head or group, which meet zeros."""
    other = draw(*x.shape)
    where = torch.zeros(x.shape, dtype=torch.bool)
    where.select(0, 0).index_fill_(axis - 1, torch.tensor(channels), True)
    return torch.where(where, other, x)


def duplicated(x):
    """The second channel is the first."""
    return torch.cat([x[..., :1], x[..., :1], x[..., 2:]], -1)


DEFICIENT = {
    "values that no output reads": (
        "llama",
        lambda r: {OUTPUT: zero(r[OUTPUT], 1)},
        lambda r: {OUTPUT: zero(r[OUTPUT], 1), VALUE: junk(r[VALUE], 2)},
        (VALUE, OUTPUT),
    ),
    "keys that no query meets": (
        "opt",
        lambda r: {QUERY: zero(r[QUERY], 2), BIAS: zero(r[BIAS], 1)},
        lambda r: {
            QUERY: zero(r[QUERY], 2), BIAS: zero(r[BIAS], 1), KEY: junk(r[KEY], 2),
        },
        (QUERY, KEY),
    ),
    "a plane of keys that no query meets": (
        "llama",
        lambda r: {QUERY: zero(r[QUERY], 2, (1, 1 + r[QUERY].shape[2] // 2))},
        lambda r: {
            QUERY: zero(r[QUERY], 2, (1, 1 + r[QUERY].shape[2] // 2)),
            KEY: junk(r[KEY], 2, (1, 1 + r[KEY].shape[2] // 2)),
        },
        (QUERY, KEY),
    ),
    "values told apart by none": (
        "llama",
        lambda r: {VALUE: duplicated(r[VALUE])},
        lambda r: {
            VALUE: zero(r[VALUE], 2),
            OUTPUT: junk(torch.cat([r[OUTPUT][:, :1] + r[OUTPUT][:, 1:2], r[OUTPUT][:, 1:]], 1), 1),
        },
        (VALUE, OUTPUT),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DEFICIENT)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_products_are_compared(what, dtype):
    model_type, one, two, _ = DEFICIENT[what]
    a, b = (changed(model_type, change).to(dtype) for change in (one, two))
    found = compare(a, b, function=False)
    assert (found.verdict, found.tensor) == ("equal", None)
    assert any("less rank" in note for note in found.notes)
    assert not any("less rank" in note for note in compare(a, a, function=False).notes)


@pytest.mark.parametrize("what", DEFICIENT)
def test_another_product_is_another_head(what):
    model_type, one, two, roles = DEFICIENT[what]
    for role in roles:

        def wrong(r, role=role):
            done = {**r, **two(r)}
            return {**two(r), role: done[role] + 1e-3 * draw(*done[role].shape) * (done[role] != 0)}

        found = compare(changed(model_type, one), changed(model_type, wrong), function=False)
        assert found.verdict == "different"
