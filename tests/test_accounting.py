"""The accounting finds what is missing and what is wrong: families left out, broken, or put on a wrong axis."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from sympy import Integer
from torch import Tensor, nn

from symgauge.accounting import account
from symgauge.architecture import Architecture, Rotary
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Arrays, Tokens, Vectors
from symgauge.exact.rank import Echelon
from symgauge.layout import Layout, Slot
from symgauge.subjects import Subject, subject_of
from symgauge.subjects.inputs import natural_inputs
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
    result = account(a, extra=[family])
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
    assert {f.name: (f.dimension, f.new_directions) for f in result.families} == {
        "query-key": (18, 18),
        "value-output": (8, 8),
    }
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


def test_a_family_left_out_is_missed() -> None:
    result = account(ATTENTION, without=["query-key"])
    assert result.decided
    assert not result.complete
    assert result.unexplained == 18
    pair = tuple(NAMES[part].replace(".", "__") for part in ("query", "key"))
    assert set(result.tensors) == set(pair)
    assert [(found.tensors, found.dimension, found.new_directions) for found in result.sets] == [(pair, 18, 18)]
    assert result.left == 0


def test_only_the_families_asked_for() -> None:
    result = account(ATTENTION, families=["value-output", "key-bias"])
    assert [(f.name, f.new_directions) for f in result.families] == [("value-output", 8)]
    assert (result.explained, result.unexplained) == (8, 18)


@pytest.mark.parametrize("option", ["families", "without"])
def test_unknown_families_are_refused(option: str) -> None:
    with pytest.raises(InvalidInput, match="no family 'query-keys'; did you mean 'query-key'"):
        account(ATTENTION, **{option: ["query-keys"]})


def test_a_layout_that_mixes_up_heads_is_refuted() -> None:
    """Query heads paired with the wrong keys: the family's generators leave the kernel."""
    subject = subject_of(ATTENTION.replace(rotary=None))
    layout = subject.layout
    slots = dict(layout.slots)
    slots[NAMES["key"]] = Slot(slots[NAMES["key"]].index.flip(0))
    wrong = Layout(slots, layout.size, layout.names)
    result = account(dataclasses.replace(subject, layout=wrong))
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
    assert {f.name: f.new_directions for f in result.families} == {"query-key": expected, "value-output": 4}


def test_probabilities_free_the_unembedding_shift() -> None:
    a = Architecture(d_model=4, heads=2, d_k=3, d_v=2, vocabulary=7, context=3)
    logits, probabilities = account(a), account(a, output="probabilities")
    assert logits.complete
    assert probabilities.complete
    assert probabilities.fibre.nullity - logits.fibre.nullity == 4


def test_unknown_modules_are_refused_with_the_way_out() -> None:
    with pytest.raises(UnsupportedModel, match=r"not a transformers model.*say what to probe it with: inputs="):
        account(nn.Linear(2, 2))


class Gated(nn.Module):
    """Attention whose heads pass a gate per channel on their way to the output map, with roles as parameters."""

    def __init__(self, a: Architecture) -> None:
        super().__init__()
        shapes = {"q": (a.heads, a.d_model, a.d_k), "k": (a.heads, a.d_model, a.d_k), "v": (a.heads, a.d_model, a.d_v)}
        for name, shape in {**shapes, "g": shapes["v"], "o": (a.heads, a.d_v, a.d_model)}.items():
            setattr(self, name, nn.Parameter(torch.randn(shape, dtype=torch.float64)))

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None]
        mixed = torch.softmax((x @ self.q) @ (x @ self.k).mT, -1) @ (x @ self.v)
        return (mixed * torch.sigmoid(x @ self.g) @ self.o).sum(1)


def gated() -> tuple[Gated, Layout]:
    module = Gated(ATTENTION)
    return module, Layout.of(module, dict(zip(NAMES.values(), "qkvo", strict=True)))


def test_the_part_of_a_family_that_holds_is_counted_and_said() -> None:
    """A gate per channel commutes with diagonal C only: 2 of each head's 4 value-output directions."""
    module, layout = gated()
    result = account(Subject(module, natural_inputs(ATTENTION), ATTENTION, layout))
    share = {f.name: f for f in result.families}["value-output"]
    assert (share.directions, share.dimension, share.new_directions, share.violations) == (8, 4, 4, 4)
    assert result.notes == ("of value-output's 8 directions 4 hold",)
    assert (result.fibre.nullity, result.unexplained, result.decided) == (22, 0, False)


def test_combinations_of_generators_that_hold_are_found() -> None:
    """Inverse in place of inverse transpose: the generators off the diagonal violate, their symmetric sums do not."""
    result = account(ATTENTION, extra=[query_key(broken=True)], families=["made"])
    (share,) = result.families
    assert (share.directions, share.dimension, share.violations) == (9, 6, 6)
    assert share.partial == "of made's 9 directions 6 hold"


def test_families_whose_roles_are_missing_are_skipped_and_named() -> None:
    subject = subject_of(ATTENTION)
    layout = subject.layout
    fewer = Layout({r: slot for r, slot in layout.slots.items() if r != NAMES["key"]}, layout.size, layout.names)
    result = account(dataclasses.replace(subject, layout=fewer))
    assert result.skipped == {"query-key": (NAMES["key"],)}
    assert {f.name: f.new_directions for f in result.families} == {"query-key": 0, "value-output": 8}
    assert (result.unexplained, result.decided) == (18, True)
    (note,) = result.notes
    assert note == f"query-key is counted only where it does without {NAMES['key']!r}, which the layout lacks"


def test_a_family_is_counted_where_its_roles_are() -> None:
    """Two layers, one without its keys: the other's directions are still explained."""
    subject = subject_of(ATTENTION.replace(layers=2, residual=True))
    gone, layout = NAMES["key"], subject.layout
    fewer = Layout({role: slot for role, slot in layout.slots.items() if role != gone}, layout.size, layout.names)
    whole, part = (account(dataclasses.replace(subject, layout=each)) for each in (layout, fewer))
    assert {f.name: f.new_directions for f in whole.families}["query-key"] == 36
    assert {f.name: f.new_directions for f in part.families}["query-key"] == 18
    assert part.skipped == {"query-key": (gone,)}


class Loose(nn.Module):
    """x ↦ x A B + c + e: a product with a free GL(2), and two biases that trade in three directions."""

    def __init__(self) -> None:
        super().__init__()
        for name, shape in {"a": (4, 2), "b": (2, 3), "c": (3,), "e": (3,)}.items():
            setattr(self, name, nn.Parameter(torch.randn(shape, dtype=torch.float64)))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.a @ self.b + self.c + self.e


def test_a_module_without_an_architecture_explains_itself() -> None:
    result = account(Loose(), Vectors(1, 4))
    assert result.architecture is None
    assert result.families == ()
    assert [(s.tensors, s.dimension, s.new_directions) for s in result.sets] == [(("a", "b"), 4, 4), (("c", "e"), 3, 3)]
    assert (result.explained, result.unexplained, result.left) == (7, 0, 0)
    assert result.complete
    assert "Loose is not a transformers model" in result.notes[0]
    data = result.as_dict()
    assert data["architecture"] is None
    assert data["tensor_sets"][0] == {"tensors": ["a", "b"], "dimension": 4, "new_directions": 4}  # type: ignore[index]


def test_what_may_lie_in_either_of_several_tensors_is_named() -> None:
    """With c against e known, c + e is still only one vector: what is unexplained needs neither and can move both."""
    module = Loose()
    layout = Layout.of(module, {"c": "c", "e": "e"})

    def act(roles: Roles, x: Tensor) -> dict[str, Tensor]:
        return {"c": roles["c"] + x, "e": roles["e"] - x}

    result = account(Subject(module, Vectors(1, 4), ATTENTION, layout), extra=[Made(3, act)], families=["made"])
    assert (result.explained, result.unexplained) == (3, 4)
    assert result.tensors == {"a": 4, "b": 4}
    assert result.movable == {"a": 4, "b": 4, "c": 3, "e": 3}


def test_frozen_tensors_keep_families_from_moving_them() -> None:
    """With the keys held fixed nothing is left of query-key; values and outputs trade as before."""
    subject = subject_of(ATTENTION)
    module, layout = subject.module, subject.layout
    fibre = dimension(module, subject.inputs)
    key = layout.slots[NAMES["key"]].index.flatten()
    free = torch.ones(fibre.parameters, dtype=torch.bool)
    free[key] = False
    echelon = Echelon(fibre.echelon.field, int(free.sum()))
    echelon.add(fibre.echelon.basis.map(lambda x: x[:, free]))
    held = dataclasses.replace(
        fibre, parameters=int(free.sum()), rank=echelon.rank, nullity=int(free.sum()) - echelon.rank,
        theta=fibre.theta[free], echelon=echelon,
        names=tuple(pair for pair in fibre.names if pair[0] != NAMES["key"].replace(".", "__")),
    )  # fmt: skip
    with torch.no_grad():
        module.get_parameter(NAMES["key"].replace(".", "__")).copy_(fibre.theta[key].reshape(2, 5, 3))
    result = account(subject, fibre=held)
    found = {f.name: (f.dimension, f.violations) for f in result.families}
    assert found == {"query-key": (0, 0), "value-output": (8, 0)}
    assert result.complete


def test_decimal_weights_are_the_floats_that_they_are() -> None:
    """0.1 in a parameter is no 1/10, here as in the engine."""
    subject = subject_of(ATTENTION)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in subject.module.parameters():
            p.copy_(torch.randint(1, 40, p.shape, generator=generator).double() / 10)
    fibre = dimension(subject.module, subject.inputs, point="own")
    assert account(subject, fibre=fibre).complete
    assert account(subject, point="own").complete


def test_unsettled_ranks_are_not_split() -> None:
    fibre = dataclasses.replace(dimension(Loose(), Vectors(1, 4)), saturated=False)
    result = account(Subject(Loose(), Vectors(1, 4)), fibre=fibre)
    assert (result.sets, result.unexplained, result.decided) == ((), 7, False)
    assert result.notes == ("the rank is not settled, so its kernel may be too large and is not split by tensors",)


OTHER = Made(2, lambda roles, x: {NAMES["value"]: roles[NAMES["value"]][..., :1]})
BAD_FAMILIES = {
    "a wrong shape": (OTHER, "role 'layers.0.attention.value.weight' has shape .2, 5, 2. and .2, 5, 1. after"),
    "no tensor": (Made(1, lambda roles, x: {NAMES["value"]: 3}), "is int; compute it from the roles"),
    "no dict": (Made(1, lambda roles, x: x), "must return a dict of roles"),
    "a misspelt role": (Made(1, lambda roles, x: {"layers.0.attention.valu.weight": x}), "did you mean 'layers.0.att"),
    "a misspelt role read": (Made(1, lambda roles, x: {"v": roles["layers.0.attention.que.weight"]}), "did you mean"),
    "an error": (Made(1, lambda roles, x: {NAMES["value"]: roles[NAMES["value"]] @ x.reshape(1, 1)}), "action raised"),
    "a class": (Made, "must be an instance; write Made\\(\\)"),
    "a function": (query_key, "a family must be a symgauge.symmetries.Symmetry"),
}


@pytest.mark.parametrize("case", BAD_FAMILIES)
def test_families_of_ones_own_that_are_none(case: str) -> None:
    family, message = BAD_FAMILIES[case]
    with pytest.raises(InvalidInput, match=message):
        account(ATTENTION, extra=[family])  # type: ignore[list-item]


def test_what_does_not_belong_together_is_refused() -> None:
    subject, other = subject_of(ATTENTION), subject_of(ATTENTION.replace(d_k=2))
    module, inputs, a, layout = subject.module, subject.inputs, subject.architecture, subject.layout
    fibre = dimension(module, inputs)
    with pytest.raises(InvalidInput, match="fibre is of another module: it has 4 tensors"):
        account(other, fibre=fibre)
    with pytest.raises(InvalidInput, match="measured for output 'logits', and is to be explained for 'probabilities'"):
        account(subject, fibre=fibre, output="probabilities")
    with pytest.raises(InvalidInput, match=r"fibre must be what symgauge.dimension returned, not 3"):
        account(subject, fibre=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"the layout describes 4 tensors .*; the module has 4 tensors"):
        account(Subject(module, inputs, a, other.layout))
    with pytest.raises(InvalidInput, match="give both the architecture and its layout"):
        Subject(module, inputs, a)
    with pytest.raises(InvalidInput, match="give both the architecture and its layout"):
        account(Subject(module, inputs), without=["query-key"])
    with pytest.raises(InvalidInput, match=r"no architecture is known \(Loose is not .*give both the architecture"):
        account(Loose(), Vectors(1, 4), without=["query-key"])
    flat = Layout({NAMES["query"]: Slot(layout.slots[NAMES["query"]].index.flatten())}, layout.size, layout.names)
    with pytest.raises(InvalidInput, match=r"has shape \(30,\); in this architecture it is \(2, 5, 3\)"):
        account(Subject(module, inputs, a, flat))
    moved = Layout({**layout.slots, NAMES["key"]: Slot(layout.slots[NAMES["key"]].index.mT)}, layout.size, layout.names)
    with pytest.raises(InvalidInput, match=r"'query-key': its action raised .* in this architecture it is \(2, 5, 3\)"):
        account(Subject(module, inputs, a, moved))


MODEL = Architecture(d_model=4, heads=1, d_k=2, d_v=2, vocabulary=7, context=3, position_table=True)


@pytest.mark.parametrize(
    ("a", "inputs", "message"),
    [
        (ATTENTION, Tokens(5, 3), r"must be Vectors\(length, 5\), not tokens"),
        (ATTENTION, Vectors(3, 4), "width 4, but d_model = 5"),
        (MODEL, Vectors(3, 4), r"must be Tokens\(7, length\), not vectors"),
        (MODEL, Tokens(8, 3), "8 tokens, the model's vocabulary 7"),
        (MODEL, Tokens(7, 4), "4 positions long, the model's position table 3"),
        (ATTENTION, 5, "symgauge.Tokens, Vectors or Arrays, not int"),
        (ATTENTION, Arrays((3, 5)), "symgauge.Tokens or symgauge.Vectors, not Arrays"),
    ],
)
def test_inputs_that_an_architecture_cannot_take(a: Architecture, inputs: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        account(a, inputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be an integer from 0 to 2\\^63 - 1, not -1"),
        ({"device": "gpu"}, "device 'gpu': choose cpu or cuda; write 'cuda'"),
        ({"progress": 3}, "progress must be a function"),
        ({"output": "logit"}, "output must be 'logits' or 'probabilities', not 'logit'; did you mean 'logits'"),
    ],
)
def test_options_that_are_none(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        account(ATTENTION, **options)  # type: ignore[arg-type]


def test_no_target() -> None:
    with pytest.raises(InvalidInput, match=r"a symgauge.Architecture or a target's name is needed, not 3"):
        account(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"there is no file, folder, preset or model type 'gpt3'"):
        account("gpt3")


@pytest.mark.parametrize(("d_model", "d_v", "free"), [(4, 2, 1), (5, 2, 0), (5, 3, 2)])
def test_a_norm_offset_stands_in_for_a_value_bias(d_model: int, d_v: int, free: int) -> None:
    """Values that read the norm's constant through 1/γ write it where LayerNorms do not look: h·d_v − (d − 1) ways."""
    a = Architecture(
        d_model=d_model, heads=2, d_k=3, d_v=d_v, vocabulary=12, context=3, norm="layer", norm_offset=True,
        final_norm=True,
    )  # fmt: skip
    result = account(a)
    assert result.complete
    assert sum(f.new_directions for f in result.families if f.name == "value-bias") == free
