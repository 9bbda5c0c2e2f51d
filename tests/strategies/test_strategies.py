"""The public strategies: what they draw, how failures shrink and print, and what they refuse."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from symgauge import profiles
from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.model_graph import graph_of
from symgauge.models.parameters import random_parameters
from symgauge.models.reference import forward
from symgauge.numeric import random_element, random_inputs
from symgauge.strategies import architectures, elements, inputs, parameters
from symgauge.strategies.kinds import KINDS
from symgauge.strategies.planner import SEQUENCES
from symgauge.symmetries import families
from tests.numeric.models import MODELS

profiles.activate()

PHASES = (Phase.generate, Phase.shrink)
"""Without the last one, which explains a failure: it traces every line, and nothing here looks at what it says."""


def find(strategy: st.SearchStrategy[Architecture], condition: Callable[[Architecture], bool]) -> Architecture:
    """The simplest example that Hypothesis shrinks to."""
    return hypothesis.find(strategy, condition, settings=settings(max_examples=100, database=None, phases=PHASES))


def axes(a: Architecture) -> list[int]:
    """Lengths of axes that must not be confused."""
    found = [a.d_model, a.heads, a.d_k, a.d_v]
    found += [a.groups] if a.groups not in (1, a.heads) else []
    found += [n for n in (a.d_ff, a.vocabulary) if n]
    found += [a.latent.query, a.latent.key_value] if a.latent else []
    return found + ([a.experts.d_ff] if a.experts else [])


@given(architectures())
def test_architectures_are_small_and_in_general_position(a: Architecture) -> None:
    assert graph_of(a).parameters <= 600
    assert 1 <= a.layers <= 2
    sizes = axes(a)
    assert min(sizes) > 1
    assert len(set(sizes)) == len(sizes)
    assert max(a.d_k, a.d_v) < a.d_model
    assert not a.is_model or a.vocabulary > a.d_model
    names = {kind.__name__: kind for kind in (Architecture, Rotary, Latent, Experts)}
    assert eval(repr(a), dict(names)) == a


@given(architectures(kinds=["attention", "block", "falcon"], max_parameters=900))
def test_no_size_is_the_square_of_another_where_the_budget_allows(a: Architecture) -> None:
    if a.layers == 1:
        assert all(x != y * y for x, y in itertools.permutations(axes(a), 2))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_drawn_evaluated_and_recognised(kind: str) -> None:
    @settings(max_examples=3)
    @given(architectures(kinds=[kind]), st.data())
    def check(a: Architecture, data: st.DataObject) -> None:
        assert a.is_model == (kind not in ("attention", "block"))
        assert (a.latent is not None) == (kind == "mla")
        assert (a.groups == 1) == (kind == "falcon") or kind in ("attention", "block")
        roles, x = data.draw(parameters(a)), data.draw(inputs(a))
        assert {name: tuple(role.shape) for name, role in roles.items()} == graph_of(a).shapes
        assert torch.isfinite(forward(a, roles, x)).all()

    check()


def test_hardly_any_architecture_is_drawn_twice() -> None:
    drawn: list[str] = []

    @settings(max_examples=100, derandomize=True)
    @given(architectures())
    def remember(a: Architecture) -> None:
        drawn.append(repr(a))

    remember()
    assert len(set(drawn)) > 0.75 * len(drawn)


@pytest.mark.parametrize(("kind", "layers"), [("gpt2", 2), ("llama", 2), ("mixtral", 1)])
def test_what_shows_little_of_itself_has_inputs_enough_for_an_exact_run(kind: str, layers: int) -> None:
    @given(architectures(kinds=[kind], layers=layers))
    def check(a: Architecture) -> None:
        assert a.vocabulary**a.context >= SEQUENCES

    check()


def test_the_simplest_example_is_a_small_bare_attention_layer() -> None:
    smallest = find(architectures(), lambda a: True)
    assert not smallest.is_model
    assert smallest.layers == 1
    assert smallest.rotary is None
    assert graph_of(smallest).parameters < 250


def test_failures_shrink_to_the_feature_that_causes_them() -> None:
    found = find(architectures(kinds=["attention"]), lambda a: a.key_bias and a.rotary is not None)
    assert (found.layers, found.groups) == (1, found.heads)
    assert not any((found.query_bias, found.value_bias, found.output_bias))
    deep = find(architectures(kinds=["llama"]), lambda a: a.layers == 2)
    assert not deep.tied
    assert not deep.qk_norm


@pytest.mark.parametrize(
    "fixed",
    [
        {"d_model": 9}, {"heads": 4, "groups": 2}, {"attention": "linear"}, {"layers": 3, "max_parameters": 2000},
        {"tied": True, "kinds": ["llama"]}, {"d_k": 5, "d_v": 8, "d_model": 4}, {"epsilon": 0.0},
        {"rotary": Rotary((0.25, 0.25)), "d_k": 4}, {"vocabulary": 5, "d_model": 8, "kinds": ["llama"]},
    ],
    ids=str,
)  # fmt: skip
def test_any_field_can_be_fixed(fixed: dict[str, Any]) -> None:
    fields = {k: v for k, v in fixed.items() if k not in ("kinds", "max_parameters")}

    @settings(max_examples=5)
    @given(architectures(**fixed))
    def check(a: Architecture) -> None:
        assert {name: getattr(a, name) for name in fields} == fields

    check()


def failure(test: Callable[[], None]) -> str:
    """What Hypothesis says of a test that fails."""
    with pytest.raises(AssertionError) as raised:
        test()
    return "\n".join(getattr(raised.value, "__notes__", []))


def test_a_failing_test_prints_calls_that_make_its_values_again() -> None:
    a = MODELS["llama"]
    family = families(a)[0]
    drawn: dict[str, Any] = {}

    @settings(max_examples=5, database=None, phases=PHASES)
    @given(roles=parameters(a), element=elements(family, a), x=inputs(a, batch=20, length=3))
    def failing(roles: Any, element: Any, x: Any) -> None:
        drawn.update(roles=roles, element=element, x=x)
        raise AssertionError

    said = failure(failing)
    assert len(said.splitlines()) < 20
    space: dict[str, Any] = {
        "architecture": a, type(family).__name__: type(family), "failing": dict,
        "random_parameters": random_parameters, "random_element": random_element, "random_inputs": random_inputs,
    }  # fmt: skip
    again = eval(said[said.index("failing(") : said.index("\n)")] + ")", space)
    assert all(x.equal(again["roles"][name]) for name, x in drawn["roles"].items())
    assert drawn["element"].equal(again["element"])
    assert drawn["x"].equal(again["x"])
    assert drawn["x"].shape == (20, 3)


def test_values_drawn_inside_a_test_are_printed_as_calls_too() -> None:
    @settings(max_examples=5, database=None, phases=PHASES)
    @given(architectures(kinds=["llama"]), st.data())
    def failing(a: Architecture, data: st.DataObject) -> None:
        data.draw(parameters(a))
        raise AssertionError

    said = failure(failing)
    assert "a=Architecture(d_model=" in said
    assert "Draw 1: random_parameters(architecture, seed=" in said
    assert "tensor" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ["gpt3"]}, "kinds must be some of"),
        ({"kinds": []}, "kinds must be some of"),
        ({"d_modle": 5}, "no fields"),
        ({"max_parameters": 0}, "max_parameters"),
        ({"max_layers": True}, "max_layers"),
        ({"max_parameters": 50}, "at most 50"),
        ({"kinds": ["attention", "mla"], "max_parameters": 300}, "mla"),
        ({"heads": 3, "groups": 2}, "at most 600"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_when_the_strategy_is_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        architectures(**arguments)


def test_wrong_architectures_families_and_sizes_are_refused_at_once() -> None:
    a = MODELS["llama"]
    for make in (parameters, inputs):
        with pytest.raises(InvalidArgument, match="expected an Architecture"):
            make(architectures())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="expected a symmetry family"):
        elements("query-key", a)  # type: ignore[arg-type]
    tied = next(f for f in families(MODELS["gpt2"]) if f.name not in {g.name for g in families(a)})
    with pytest.raises(InvalidArgument, match="does not act"):
        elements(tied, a)
    with pytest.raises(InvalidArgument, match="batch"):
        inputs(a, batch=0)
    with pytest.raises(InvalidArgument, match="length"):
        inputs(a, length=-1)
    with pytest.raises(InvalidArgument, match="position table"):
        inputs(MODELS["gpt2"], length=99)


def test_hypothesis_finds_the_strategy_of_the_type() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, hook = project["project"]["entry-points"]["hypothesis"]["_"].split(":")
    getattr(import_module(module), hook)()

    @settings(max_examples=2)
    @given(st.from_type(Architecture))
    def check(a: Architecture) -> None:
        assert isinstance(a, Architecture)
        assert graph_of(a).parameters <= 600

    check()
