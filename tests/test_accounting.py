"""The accounting finds what is missing and what is wrong: families left out, broken, or put on a wrong axis."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from sympy import Integer
from torch import Tensor, nn

from symgauge import accounting
from symgauge.accounting import account, account_for, describe, natural_inputs
from symgauge.architecture import Architecture, Rotary
from symgauge.errors import UnsupportedModel
from symgauge.layout import Layout, Slot
from symgauge.symmetries.base import Roles, Site, Symmetry

ATTENTION = Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False, context=3)
NAMES = {part: f"layers.0.attention.{part}.weight" for part in ("query", "key", "value", "output")}


class Made(Symmetry):
    """A family built from one function, for maps that should not be symmetries."""

    name, title, source = "made", "made for a test", "this test"

    def __init__(self, count: int, act: Callable[[Roles, Tensor], dict[str, Tensor]]) -> None:
        self.count, self.function = count, act

    def sites(self, a: Architecture, w: object) -> list[Site]:
        return [Site(0, Integer(self.count), self.count, self.function, lambda g: torch.zeros(self.count))]


def violations(family: Symmetry, a: Architecture = ATTENTION) -> int:
    module, a, layout = describe(a)
    result = account_for(module, natural_inputs(a), a, layout, extra=[family])
    assert result.complete == (result.families[-1].violations == 0)
    return result.families[-1].violations


def query_key(broken: bool) -> Made:
    def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
        matrix = torch.eye(3, dtype=torch.float64) + x.reshape(3, 3)
        inverse = torch.linalg.inv(matrix)
        return {
            NAMES["query"]: roles[NAMES["query"]] @ matrix,
            NAMES["key"]: roles[NAMES["key"]] @ (inverse if broken else inverse.mT),
        }

    return Made(9, act)


def test_lone_attention_is_explained_by_its_two_families() -> None:
    result = account(ATTENTION)
    assert result.complete
    assert {f.name: (f.dimension, f.gain) for f in result.families} == {"query-key": (18, 18), "value-output": (8, 8)}
    assert result.as_dict()["unexplained"] == 0


def test_inverse_in_place_of_inverse_transpose_is_refuted() -> None:
    """Only the right coupling lies in the kernel."""
    assert violations(query_key(broken=False)) == 0
    assert violations(query_key(broken=True)) == 6  # A⁻¹ and A⁻ᵀ agree to first order on diagonal A


def test_generators_on_a_wrong_axis_are_refuted() -> None:
    def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
        values = roles[NAMES["value"]]
        return {NAMES["value"]: values * (1 + x[:, None])}  # scales rows (the stream) and not columns

    assert violations(Made(5, act)) == 5


def test_a_family_left_out_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    full = accounting.families
    monkeypatch.setattr(accounting, "families", lambda a, output: full(a, output)[1:])
    result = account(ATTENTION)
    assert result.decided
    assert not result.complete
    assert result.unexplained == 18
    assert set(result.tensors) == {n.replace(".", "__") for n in (NAMES["query"], NAMES["key"])}


def test_a_layout_that_mixes_up_heads_is_refuted() -> None:
    """Query heads paired with the wrong keys: the family's generators leave the kernel."""
    module, a, layout = describe(ATTENTION.replace(rotary=None))
    slots = dict(layout.slots)
    slots[NAMES["key"]] = Slot(slots[NAMES["key"]].index.flip(0))
    wrong = Layout(slots, layout.size, layout.names)
    result = account_for(module, natural_inputs(a), a, wrong)
    assert not result.decided
    assert {f.name for f in result.families if f.violations} == {"query-key"}


@pytest.mark.parametrize(
    ("rotary", "expected"),
    [
        (Rotary((0.1, 0.17)), 4),
        (Rotary((0.1, 0.1)), 8),
        (Rotary((0.125, 0.875)), 8),
        (Rotary((0.1,), unrotated=2), 6),
        (Rotary((0.5, 0.1)), 6),
        (Rotary((0.1, 0.1), interleaved=True), 8),
    ],
    ids=["distinct", "equal", "opposite", "partial", "half turn", "interleaved"],
)
def test_rotary_commutants(rotary: Rotary, expected: int) -> None:
    a = Architecture(d_model=5, heads=3, groups=1, d_k=4, d_v=2, residual=False, context=4, rotary=rotary)
    result = account(a)
    assert result.complete
    assert {f.name: f.gain for f in result.families} == {"query-key": expected, "value-output": 4}


def test_probabilities_free_the_unembedding_shift() -> None:
    a = Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7, context=3)
    logits, probabilities = account(a), account(a, output="probabilities")
    assert logits.complete
    assert probabilities.complete
    assert probabilities.fibre.nullity - logits.fibre.nullity == 4


def test_unknown_modules_are_refused_with_the_way_out() -> None:
    with pytest.raises(UnsupportedModel, match="transformers"):
        account(nn.Linear(2, 2))


@pytest.mark.parametrize(("d_model", "d_v", "free"), [(4, 2, 1), (5, 2, 0), (5, 3, 2)])
def test_a_norm_offset_stands_in_for_a_value_bias(d_model: int, d_v: int, free: int) -> None:
    """Values that read the norm's constant through 1/γ write it where LayerNorms do not look: h·d_v − (d − 1) ways."""
    a = Architecture(
        d_model=d_model, heads=2, d_k=3, d_v=d_v, vocabulary=12, context=3, norm="layer", norm_offset=True,
        final_norm=True,
    )  # fmt: skip
    result = account(a)
    assert result.complete
    assert sum(f.gain for f in result.families if f.name == "value-bias") == free
