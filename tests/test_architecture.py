"""Words, flags and sizes of an architecture: what makes no sense is refused in one short sentence."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from symgauge.architecture import Architecture, Experts, Latent, Rotary
from symgauge.errors import InvalidInput
from symgauge.fields import check_fields
from symgauge.model_graph import graph_of

SIZES: dict[str, Any] = {"d_model": 4, "heads": 2, "d_k": 2, "d_v": 2}
VALID: dict[type, dict[str, Any]] = {
    Architecture: SIZES,
    Rotary: {"turns": (0.1,)},
    Latent: {"query": 2, "key_value": 2, "d_rope": 2},
    Experts: {"count": 3, "active": 2, "d_ff": 4},
}
GELUS = "'gelu', 'gelu_tanh', 'relu', 'relu2', 'silu' or 'tanh'"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("norm", "rmsnorm", "'norm' must be 'none', 'layer' or 'rms', not 'rmsnorm'; did you mean 'rms'?"),
        ("norm", "RMS", "did you mean 'rms'?"),
        ("norm", None, "'norm' must be 'none', 'layer' or 'rms', not None"),
        ("norm", ["rms"], "'norm' must be 'none', 'layer' or 'rms', not ['rms']"),
        ("gated", "false", "'gated' must be True or False, not 'false'"),
        ("causal", 1, "'causal' must be True or False, not 1"),
        ("activation", "swish", f"'activation' must be {GELUS}, not 'swish'; did you mean 'silu'?"),
        ("activation", "gelu_new", "did you mean 'gelu_tanh'?"),
        ("placement", "prenorm", "did you mean 'pre'?"),
        ("attention", "soft", "'attention' must be 'softmax' or 'linear', not 'soft'; did you mean 'softmax'?"),
        ("heads", True, "'heads' must be an integer, not True"),
        ("heads", 2.0, "'heads' must be an integer, not 2.0"),
        ("heads", 0, "'heads' must be a positive integer, not 0"),
        ("d_ff", -1, "'d_ff' must be an integer ≥ 0, not -1"),
        ("groups", -2, "'groups' must be a positive integer, not -2"),
        ("groups", 3, "2 heads cannot share 3 key/value groups evenly"),
        ("name", 3, "'name' must be a string, not 3"),
        ("rotary", (0.1,), "'rotary' must be a Rotary or None, not (0.1,)"),
        ("latent", {"query": 2}, "'latent' must be a Latent or None, not {'query': 2}"),
        ("experts", 8, "'experts' must be an Experts or None, not 8"),
        ("logit_softcap", 0.0, "'logit_softcap' must be a positive number or None, not 0.0"),
        ("attention_softcap", math.inf, "'attention_softcap' must be a finite number or None, not inf"),
        ("attention_softcap", True, "'attention_softcap' must be a finite number or None, not True"),
        ("epsilon", math.nan, "'epsilon' must be a finite number, not nan"),
        ("epsilon", -1e-5, "'epsilon' must be a number ≥ 0, not -1e-05"),
        ("residual_scale", "0.22", "'residual_scale' must be a finite number, not '0.22'"),
        ("logit_scale", 0.0, "'logit_scale' must be a number other than 0"),
        ("gelu_slope", 0.8, "gelu_slope belongs to activation='gelu_tanh'"),
        ("latent", Latent(2, 3, 2, epsilon=0.0), "'epsilon' and latent.epsilon must both be 0, or neither"),
        ("latent", Latent(2, 3, 4), "4 rotated channels (latent.d_rope) do not fit into d_k = 2"),
    ],
)
def test_fields_that_make_no_sense(field: str, value: object, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Architecture(**{**SIZES, field: value})
    assert message in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("value", ["x" * 10**6, [0] * 10**6, 10**5000], ids=["text", "list", "integer"])
def test_long_values_are_not_quoted_back(value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        Architecture(**{**SIZES, "activation": value})
    assert len(str(refused.value)) < 250


def test_every_field_with_a_kind_is_checked() -> None:
    """Fields added later too: an object is no word, flag, number or record."""
    for kind in (Architecture, Rotary, Latent, Experts):
        hints = get_type_hints(kind)
        arguments = VALID[kind]
        for f in dataclasses.fields(kind):
            with pytest.raises(InvalidInput, match=f"{f.name!r} must be"):
                kind(**{**arguments, f.name: object()})
            if get_origin(hints[f.name]) is Literal:
                for word in get_args(hints[f.name]):
                    assert _accepted(kind, {**arguments, f.name: word})


def _accepted(kind: type, arguments: dict[str, Any]) -> bool:
    """Whether the word itself is not what is refused (some words need others beside them)."""
    try:
        kind(**arguments)
    except InvalidInput as error:
        return "must be" not in str(error)
    return True


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rotary((math.nan,)), "'turns' must be a tuple, each entry a Fraction or a finite number, not (nan,)"),
        (lambda: Rotary([0.1]), "'turns' must be a tuple"),  # type: ignore[arg-type]
        (lambda: Rotary((0.1,), unrotated=-1), "'unrotated' must be an integer ≥ 0, not -1"),
        (lambda: Rotary((0.1,), interleaved=1), "'interleaved' must be True or False, not 1"),  # type: ignore[arg-type]
        (lambda: Rotary.standard(3), "turns channels in pairs; 3 rotated channels were asked for"),
        (lambda: Rotary.standard(2, base=0), "base of rotary frequencies must be a positive number, not 0"),
        (lambda: Latent(1, 0, 2), "'key_value' must be a positive integer, not 0"),
        (lambda: Latent(-1, 1, 2), "'query' must be an integer ≥ 0, not -1"),
        (lambda: Experts(0, 1, 4), "'count' must be a positive integer, not 0"),
        (lambda: Experts(3, 4, 4), "4 of 3 experts cannot be active; there are only 3"),
        (lambda: Experts(3, 2, 4, routing="soft_max"), "did you mean 'softmax'?"),  # type: ignore[arg-type]
        (lambda: Experts(3, True, 4), "'active' must be an integer, not True"),
        (lambda: Experts(3, 1, 4, scale=0), "'scale' must be a number other than 0"),
        (lambda: Experts(8, 1, 4, groups=2), "2 groups need routing='sigmoid'"),
        (lambda: Experts(8, 1, 4, routing="sigmoid", groups=3), "as many experts in each, two at least"),
        (lambda: Experts(4, 1, 4, routing="sigmoid", groups=4), "as many experts in each, two at least"),
        (lambda: Experts(8, 1, 4, routing="sigmoid", groups=2, active_groups=2), "must be less than the 2 groups"),
        (lambda: Experts(8, 5, 4, routing="sigmoid", groups=2), "leave 5 experts to choose, not 1 with 4 experts each"),
        (lambda: Architecture(**SIZES).replace(nrom="rms"), "an architecture has no field 'nrom'; did you mean 'norm'"),
    ],
)
def test_records_inside(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert message in str(refused.value)


def test_what_makes_sense_is_taken() -> None:
    a = Architecture(
        **{**SIZES, "d_k": 4}, rotary=Rotary((Fraction(1, 2), 0.1)), attention_softcap=50, epsilon=1, score_scale=2,
        name="x", experts=Experts(3, 1, 2, routing="sigmoid"),
    )  # fmt: skip
    assert a.groups == 2


def test_a_graph_is_its_callers_own() -> None:
    a = Architecture(d_model=4, heads=2, d_k=2, d_v=2)
    before = graph_of(a)
    graph_of(a).shapes.clear()
    assert graph_of(a) == before
    assert graph_of(a.replace(value_bias=True)) != before


def test_all_that_an_architecture_says_counts() -> None:
    """Graphs and accounts are kept by ==: it leaves nothing out, nor does the hash."""
    for kind in (Architecture, Rotary, Latent, Experts):
        assert [f.name for f in dataclasses.fields(kind) if not f.compare or f.hash is not None] == []
    a = Architecture(**SIZES)
    assert len({a, a.replace(epsilon=0.1), a.replace(residual_scale=0.5), a.replace(logit_scale=0.5)}) == 4


def test_kinds_of_annotations() -> None:
    @dataclasses.dataclass
    class Record:
        pair: tuple[int, str] = (1, "a")
        either: int | str | None = None
        anything: Any = None

    check_fields(Record(), "field")
    check_fields(Record(either="x", anything=object()), "field")
    with pytest.raises(InvalidInput, match=r"'either' must be an integer or a string or None, not 1.5"):
        check_fields(Record(either=1.5), "field")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'pair' must be a tuple"):
        check_fields(Record(pair=(1, 2)), "field")  # type: ignore[arg-type]
