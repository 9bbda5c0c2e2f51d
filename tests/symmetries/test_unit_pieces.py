"""Units that take one side at every input: what is free then, and that a wrong list of units is caught."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from symgauge.accounting import Account, account
from symgauge.architecture import Architecture, Experts
from symgauge.errors import InvalidInput
from symgauge.exact.dimension import dimension
from symgauge.exact.result import FibreDimension
from symgauge.model_graph import graph_of
from symgauge.subjects import Subject, subject_of
from symgauge.symmetries.unit_pieces import Units

RELU = Architecture(
    d_model=3, heads=1, d_k=2, d_v=2, d_ff=6, context=3, norm="layer", norm_offset=True, activation="relu",
    query_bias=True, key_bias=True, value_bias=True, output_bias=True, ff_bias=True,
)  # fmt: skip
PLACE = "layers.0.ff"
TRUE = Units(off={PLACE: (1,)}, on={PLACE: (0, 4, 5)})


@cache
def measured() -> tuple[Subject, FibreDimension]:
    """A block whose biases push the units TRUE to one side for every vector that a norm lets through."""
    subject = subject_of(RELU)
    module = subject.module
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel())))
        bias = module.get_parameter(f"{PLACE}.up.bias".replace(".", "__"))
        bias.zero_()  # so that units which are not pushed are on for some inputs and off for others
        bias[list(TRUE.off[PLACE])] -= 50.0
        bias[list(TRUE.on[PLACE])] += 50.0
    return subject, dimension(module, subject.inputs, point="own")


def explained(by: Units | None) -> Account:
    subject, fibre = measured()
    return account(subject, fibre=fibre, units=by)


def gains(account: Account) -> dict[str, int]:
    return {f.name: f.new_directions for f in account.families if f.name in ("dead-units", "always-on-units")}


def test_dead_and_linear_units_explain_the_rest_of_their_piece() -> None:
    before, after, found = map(explained, (Units(), TRUE, None))
    # A dead unit's 3 + 1 + 3 numbers, of which scaling and the norm's null direction are counted before; GL(3) of the
    # others, of which three scalings are, and three biases.
    assert gains(after) == {"dead-units": 5, "always-on-units": 9}
    assert before.unexplained == 14
    assert after.complete
    # Told nothing, the account finds the same units among the thresholds of the exact run, and says so.
    assert found.complete
    assert gains(found) == gains(after)
    assert any("one piece of the function" in note for note in found.notes)


def test_a_wrong_list_of_units_is_caught() -> None:
    claimed = Units(off={PLACE: (1, 2)}, on={PLACE: (0, 4, 3)})
    wrong = explained(claimed)
    assert not wrong.decided
    assert {f.name: f.violations > 0 for f in wrong.families if f.name in gains(wrong)} == {
        "dead-units": True, "always-on-units": True,
    }  # fmt: skip
    assert gains(wrong)["dead-units"] == 5
    assert any(note.startswith("of dead-units' 14 directions") for note in wrong.notes)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (Units(off={"layer.0.ff": (1,)}), "there is no feed-forward layer 'layer.0.ff' .* did you mean 'layers.0.ff'"),
        (Units(off={PLACE: (6,)}), "distinct numbers from 0 to 5"),
        (Units(on={PLACE: (1, 1)}), "distinct numbers from 0 to 5"),
        (Units(on={PLACE: (1.0,)}), "distinct numbers from 0 to 5"),  # type: ignore[dict-item]
    ],
)
def test_units_that_are_not_there_are_refused(units: Units, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        explained(units)


def test_units_of_gated_layers_and_experts() -> None:
    """Off for a gate frees all three maps; a gated unit that is on is no linear layer."""
    a = Architecture(
        d_model=3, heads=1, d_k=2, d_v=2, context=3, norm="rms", gated=True, activation="relu", vocabulary=9,
        experts=Experts(2, 2, 2),
    )  # fmt: skip
    graph = graph_of(a)
    dead, linear = Units(off={"layers.0.ff.experts.1": (0,)}, on={"layers.0.ff.experts.0": (0, 1)}).families()
    assert dead.coordinates(a, graph) == 9
    assert linear.coordinates(a, graph) == 0
