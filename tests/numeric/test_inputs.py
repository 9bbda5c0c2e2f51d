"""Random inputs and elements."""

from __future__ import annotations

import pytest
import torch

from symgauge.errors import InvalidInput
from symgauge.numeric import random_element, random_inputs
from symgauge.symmetries import families
from tests.numeric.models import MODELS


def test_inputs_follow_the_architecture_and_the_seed() -> None:
    ids = random_inputs(MODELS["gpt2"], 1, batch=5, length=3)
    assert ids.shape == (5, 3)
    assert ids.dtype is torch.int64
    assert 0 <= int(ids.min()) <= int(ids.max()) < 11
    vectors = random_inputs(MODELS["attention"], 1)
    assert vectors.shape == (3, 4, 7)
    assert vectors.equal(random_inputs(MODELS["attention"], 1))
    assert not vectors.equal(random_inputs(MODELS["attention"], 2))


def test_impossible_inputs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        random_inputs(MODELS["attention"], batch=0)
    with pytest.raises(InvalidInput, match="position table"):
        random_inputs(MODELS["gpt2"], length=5)


def test_elements_follow_the_seed() -> None:
    a = MODELS["attention"]
    family = families(a)[0]
    assert random_element(family, a, 1).equal(random_element(family, a, 1))
    assert not random_element(family, a, 1).equal(random_element(family, a, 2))
