"""Arguments that many functions share: seeds, devices, counts, words."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn

import symgauge
from symgauge import checks
from symgauge.errors import InvalidInput


@pytest.mark.parametrize("seed", [-1, 1.0, True, None, "0", 2**63, 10**5000], ids=lambda seed: type(seed).__name__)
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(InvalidInput, match=re.escape("seed must be an integer from 0 to 2^63 - 1, not ")) as refused:
        symgauge.dimension(nn.Linear(2, 2), symgauge.Vectors(1, 2), seed=seed)
    assert len(str(refused.value)) < 130


def test_the_largest_seed() -> None:
    assert symgauge.dimension(nn.Linear(2, 2), symgauge.Vectors(1, 2), seed=2**63 - 1).nullity == 0


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("gpu", "device 'gpu': choose cpu or cuda; write 'cuda' for a graphics card"),
        ("mps", "device 'mps': choose cpu or cuda; its arithmetic has no float64"),
        ("cuda:x", "device 'cuda:x': choose cpu or cuda"),
        ("cpu:3", "device cpu:3: there is one cpu; write cpu"),
        (3, "device 3: choose cpu or cuda"),
        (None, "device None: choose cpu or cuda"),
        ("", "device '': choose cpu or cuda"),
    ],
)
def test_bad_devices(device: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        symgauge.dimension(nn.Linear(2, 2), symgauge.Vectors(1, 2), device=device)


def test_cards_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InvalidInput, match="device cuda:99: torch sees no CUDA device here"):
        checks.check_device("cuda:99")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InvalidInput, match=re.escape("device cuda:99: torch sees 1 CUDA device(s), numbered from 0")):
        checks.check_device("cuda:99")
    for device in ("cpu", "cpu:0", "cuda", "cuda:0", torch.device("cpu")):
        checks.check_device(device)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "rounds must be a positive integer, not 0"),
        ({"rounds": 2.5}, "rounds must be a positive integer, not 2.5"),
        ({"rounds": True}, "rounds must be a positive integer, not True"),
        ({"progress": "loud"}, "progress must be a function of (stage, rank so far, parameters), not 'loud'"),
    ],
)
def test_other_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        symgauge.dimension(nn.Linear(2, 2), symgauge.Vectors(1, 2), **options)


def test_words() -> None:
    checks.check_choice("colour", "red", ("red", "blue"))
    with pytest.raises(InvalidInput, match="colour must be 'red' or 'blue', not 'rd'; did you mean 'red'"):
        checks.check_choice("colour", "rd", ("red", "blue"))
    assert checks.listed("a") == "'a'"
    assert checks.listed("abc", "and") == "'a', 'b' and 'c'"
    assert checks.did_you_mean("zzz", ("red", "blue")) == ""


def test_values_that_cannot_be_shown() -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert checks.shown(Silent()) == "a Silent"
    assert checks.shown(10**5000) == "a int"
