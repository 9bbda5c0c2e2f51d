"""The float comparison itself: it accepts symmetries at every precision, and refuses what it must."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from symgauge.errors import InvalidInput, SymgaugeError, Undecided
from symgauge.models.parameters import random_parameters
from symgauge.numeric import (
    ControlHeld,
    Invariance,
    NotInvariant,
    action,
    assert_changes,
    assert_invariant,
    compare,
    function_of,
    measure_invariance,
    negative_controls,
    random_element,
    random_inputs,
    required_change,
)
from symgauge.symmetries import families
from tests.numeric.models import MODELS

ATTENTION = MODELS["attention"]
PARAMETERS = random_parameters(ATTENTION, 1)
INPUTS = random_inputs(ATTENTION, 2)
QUERY, KEY = "layers.0.attention.query.weight", "layers.0.attention.key.weight"
VALUE, OUTPUT = "layers.0.attention.value.weight", "layers.0.attention.output.weight"
MATRIX = torch.tensor(
    [[0.3, 1.1, -0.4, 0.2], [-0.7, 0.5, 0.9, -1.2], [0.1, -0.3, 1.4, 0.8], [1.0, 0.6, -0.2, 0.4]], dtype=torch.float64
)


def query_key(roles: dict[str, Tensor], matrix: Tensor) -> dict[str, Tensor]:
    return {QUERY: roles[QUERY] @ matrix, KEY: roles[KEY] @ torch.linalg.inv(matrix).mT}


def inverse_for_transposed(roles: dict[str, Tensor], matrix: Tensor) -> dict[str, Tensor]:
    return {QUERY: roles[QUERY] @ matrix, KEY: roles[KEY] @ torch.linalg.inv(matrix)}


def test_a_hand_written_symmetry_is_accepted_and_its_neighbour_refused() -> None:
    found = assert_invariant(ATTENTION, PARAMETERS, query_key, MATRIX, INPUTS)
    assert 0 < found.allowed < 1e-12
    assert found.values == INPUTS.numel()
    with pytest.raises(NotInvariant, match="changes by"):
        assert_invariant(ATTENTION, PARAMETERS, inverse_for_transposed, MATRIX, INPUTS)


def test_the_inverse_in_place_of_its_transpose_passes_for_symmetric_matrices_only() -> None:
    assert_invariant(ATTENTION, PARAMETERS, inverse_for_transposed, MATRIX @ MATRIX.mT, INPUTS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_family_is_within_its_tolerance_and_not_far_below(name: str, dtype: torch.dtype) -> None:
    """A bound thousands of times above what is seen would not be an error model."""
    a = MODELS[name]
    ratios = []
    for family in families(a):
        for seed in range(2):
            element, inputs = random_element(family, a, seed), random_inputs(a, seed)
            try:
                found = measure_invariance(
                    a, random_parameters(a, seed), action(family, a), element, inputs, dtype=dtype
                )
            except Undecided:
                # Single precision cannot judge the worst conditioned elements, and says so.
                assert dtype is torch.float32
                continue
            assert found.require().dtype == str(dtype)[6:]
            ratios.append(found.ratio)
    assert ratios
    assert 1e-3 < max(ratios) < 1


def test_a_change_far_below_float32_is_seen_in_float64() -> None:
    def nearly(roles: dict[str, Tensor], matrix: Tensor) -> dict[str, Tensor]:
        changed = query_key(roles, matrix)
        return {**changed, KEY: changed[KEY] * (1 + 1e-11)}

    found = measure_invariance(ATTENTION, PARAMETERS, nearly, MATRIX, INPUTS)
    assert 1e-13 < found.observed < 1e-10
    assert not found.holds


def test_nan_and_infinity_fail() -> None:
    for bad in (float("nan"), float("inf")):

        def spoil(roles: dict[str, Tensor], _: Tensor, bad: float = bad) -> dict[str, Tensor]:
            return {QUERY: roles[QUERY] * bad}

        with pytest.raises(SymgaugeError):
            assert_invariant(ATTENTION, PARAMETERS, spoil, MATRIX, INPUTS)
    one = torch.ones(3, dtype=torch.float64)
    spoiled = Invariance(float("nan"), 1.0, 1e-16, 1.0, 1.0, 1.0, 1, "float64", "logits")
    assert not spoiled.holds
    with pytest.raises(NotInvariant):
        spoiled.require()
    with pytest.raises(SymgaugeError):
        compare(lambda roles: one * float("nan"), {"x": one}, {"x": 2 * one}, length=1).require()


@pytest.mark.parametrize("shape", [(0, 4, 7), (3, 0, 7)])
def test_no_inputs_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="no inputs"):
        measure_invariance(ATTENTION, PARAMETERS, query_key, MATRIX, torch.zeros(shape, dtype=torch.float64))


def test_the_identity_and_a_zero_function_are_refused() -> None:
    with pytest.raises(InvalidInput, match="could not fail"):
        measure_invariance(ATTENTION, PARAMETERS, query_key, torch.eye(4, dtype=torch.float64), INPUTS)
    a = ATTENTION.replace(residual=False)
    silent = {**PARAMETERS, OUTPUT: torch.zeros_like(PARAMETERS[OUTPUT])}
    with pytest.raises(InvalidInput, match="zero"):
        measure_invariance(a, silent, query_key, MATRIX, INPUTS)


def test_a_hopeless_element_is_undecided() -> None:
    nearly_singular = MATRIX.clone()
    nearly_singular[0] = MATRIX[1] + 1e-13 * MATRIX[0]
    with pytest.raises(Undecided, match="rounding"):
        measure_invariance(ATTENTION, PARAMETERS, query_key, nearly_singular, INPUTS)


def test_probabilities_ignore_a_common_shift_that_logits_see() -> None:
    a = MODELS["llama"]
    parameters, inputs = random_parameters(a, 0), random_inputs(a, 0)
    shift = torch.randn(a.d_model, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def act(roles: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
        return {"unembedding.weight": roles["unembedding.weight"] + x}

    assert_invariant(a, parameters, act, shift, inputs, output="probabilities")
    assert not measure_invariance(a, parameters, act, shift, inputs).holds
    with pytest.raises(InvalidInput, match="output"):
        function_of(a, inputs, "odds")  # type: ignore[arg-type]


# ----- negative controls


def test_each_coupling_counts() -> None:
    found = negative_controls(ATTENTION, PARAMETERS, query_key, MATRIX, INPUTS)
    assert set(found.broken) == {QUERY, KEY}
    assert found.weakest >= found.margin >= 1e-3
    assert found.margin == required_change(found.invariance)


def test_a_symmetry_with_an_idle_passenger_is_caught() -> None:
    """A role that the action changes without need (here by a symmetry of its own) is no evidence of a coupling."""
    a = ATTENTION.replace(key_bias=True)
    parameters, bias = random_parameters(a, 0), "layers.0.attention.key.bias"

    def act(roles: dict[str, Tensor], matrix: Tensor) -> dict[str, Tensor]:
        return {**query_key(roles, matrix), bias: roles[bias] + 1}

    with pytest.raises(ControlHeld, match=r"key\.bias"):
        negative_controls(a, parameters, act, MATRIX, INPUTS)
    reason = {bias: "softmax does not see a constant added to every key"}
    found = negative_controls(a, parameters, act, MATRIX, INPUTS, redundant=reason)
    assert found.redundant[bias] < 1e-14
    with pytest.raises(InvalidInput, match="declared redundant"):
        negative_controls(a, parameters, act, MATRIX, INPUTS, redundant={**reason, QUERY: "a false excuse"})
    with pytest.raises(InvalidInput, match="does not change"):
        negative_controls(a, parameters, act, MATRIX, INPUTS, redundant={**reason, VALUE: "not even touched"})


def test_controls_that_cannot_fail_are_refused() -> None:
    a = ATTENTION.replace(key_bias=True)
    parameters, bias = random_parameters(a, 0), "layers.0.attention.key.bias"

    def act(roles: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
        return {bias: roles[bias] + x}

    with pytest.raises(Undecided, match="nothing here could fail"):
        negative_controls(a, parameters, act, torch.ones(()).double(), INPUTS, redundant={bias: "softmax"})
    after = act(parameters, torch.ones(()).double())
    with pytest.raises(ControlHeld):
        assert_changes(a, parameters, after, INPUTS)
    assert assert_changes(a.replace(attention="linear"), parameters, after, INPUTS) > 1e-3


def test_displacing_spoils_actions_whose_roles_are_free_one_by_one() -> None:
    a = MODELS["mixtral"]
    router = "layers.0.ff.router.weight"
    shift = torch.randn(a.d_model, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def act(roles: dict[str, Tensor], x: Tensor) -> dict[str, Tensor]:
        return {router: roles[router] + x}

    inputs, parameters = random_inputs(a, 0), random_parameters(a, 0)
    with pytest.raises(ControlHeld):
        negative_controls(a, parameters, act, shift, inputs, kind="undo")
    assert negative_controls(a, parameters, act, shift, inputs, kind="displace").weakest > 1e-3


@pytest.mark.parametrize("change", [float("nan"), float("inf")])
def test_a_control_that_gives_no_number_is_no_control(change: float) -> None:
    with pytest.raises(ControlHeld):
        assert_changes(ATTENTION, PARAMETERS, {OUTPUT: PARAMETERS[OUTPUT] * change}, INPUTS)
    with pytest.raises(InvalidInput):
        assert_changes(ATTENTION, PARAMETERS, {OUTPUT: PARAMETERS[OUTPUT] * 2}, INPUTS[:0])
