"""Small modules as users write them: the number is right, or one sentence says why there is none."""

from __future__ import annotations

import pytest
import torch

import symgauge
from symgauge.errors import SymgaugeError
from tests.user_modules.modules import CASES, REFUSE


@pytest.mark.parametrize("name", CASES)
def test_right_or_refused(name: str) -> None:
    make, inputs, right = CASES[name]
    torch.manual_seed(0)
    try:
        fibre = symgauge.dimension(make(), inputs)
        said, why = (REFUSE, fibre.doubt) if fibre.doubt else (fibre.nullity, "")
    except SymgaugeError as error:
        said, why = REFUSE, str(error)
    assert said in (right if isinstance(right, tuple) else (right,)), why
    assert said != REFUSE or ("\n" not in why and len(why) > 40)


# What must be a number because nothing stands against it.
DECIDED = {
    "exp-double": 3, "root-of-square": 3, "outside-the-registry": 10, "dead-unless-far": 0, "frozen-base": 4,
    "shared-submodule": 0, "root-of-abs": 0, "three-constant-outputs": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_decided_where_it_can_be(name: str) -> None:
    make, inputs, _ = CASES[name]
    torch.manual_seed(0)
    assert symgauge.dimension(make(), inputs).require_decided().nullity == DECIDED[name]
