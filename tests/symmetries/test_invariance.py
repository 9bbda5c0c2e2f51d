"""Every family keeps the function, for general elements far from the identity, up to rounding."""

from __future__ import annotations

import pytest
import torch

from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.symmetries import Symmetry
from symgauge.symmetries.base import Output
from symgauge.symmetries.finding import continuous_families
from tests.symmetries.cases import ACTING, ARCHITECTURES, IDS, family_of
from tests.symmetries.evidence import point
from tests.symmetries.family_checks import check_identity, check_invariance


@pytest.mark.parametrize(("a", "output", "family"), ACTING, ids=IDS)
def test_function_stays(a: Architecture, output: Output, family: Symmetry) -> None:
    check_invariance(a, family, output)


@pytest.mark.parametrize(("a", "output", "family"), ACTING, ids=IDS)
def test_zero_is_the_identity(a: Architecture, output: Output, family: Symmetry) -> None:
    check_identity(a, family)


def test_every_family_is_exercised() -> None:
    assert {family.name for _, _, family in ACTING} == {kind.name for kind in continuous_families()}


def test_coordinates_of_wrong_length_are_refused() -> None:
    a = ARCHITECTURES["llama"]
    with pytest.raises(InvalidInput, match=r"'query-key' takes x of shape \(16,\) here, not \(3,\)"):
        family_of(a, "logits", "query-key").act(a, graph_of(a), point(a), torch.zeros(3))
