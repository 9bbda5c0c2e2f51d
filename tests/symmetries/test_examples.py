"""Each family on the architecture that its class gives: its action, its couplings, its formula, the exact kernel."""

from __future__ import annotations

import pytest

from symgauge.architecture import Architecture
from symgauge.symmetries import Symmetry
from symgauge.symmetries.base import Output
from tests.symmetries.cases import EXAMPLES, OF_FAMILY
from tests.symmetries.family_checks import (
    check_dimension,
    check_each_role_counts,
    check_identity,
    check_invariance,
    check_kernel,
)


@pytest.mark.parametrize(("a", "output", "family"), EXAMPLES, ids=OF_FAMILY)
def test_example(a: Architecture, output: Output, family: Symmetry) -> None:
    assert family.applies(a, output)
    check_identity(a, family)
    check_invariance(a, family, output)
    check_each_role_counts(a, family, output)
    check_dimension(a, family)
    check_kernel(a, family, output)
