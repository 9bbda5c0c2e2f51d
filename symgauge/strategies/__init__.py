"""Hypothesis strategies for transformer architectures, parameters, group elements and inputs.

Use them in your own property tests::

    @given(architecture=architectures(kinds=["llama"]), data=st.data())
    def test_something(architecture, data):
        parameters = data.draw(strategies.parameters(architecture))

Every tensor comes from a drawn integer seed, and a failing test prints each value as the call that makes it again,
``element=random_element(QueryKey(), architecture, seed=3)``. Arguments are checked when a strategy is made, not when it
is drawn from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.control import current_build_context
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import DrawFn, SearchStrategy
from torch import Tensor

from symgauge.architecture import Architecture
from symgauge.models.parameters import random_parameters
from symgauge.numeric.inputs import random_element, random_inputs
from symgauge.strategies.arbitrary import arbitrary_architecture
from symgauge.strategies.kinds import KINDS
from symgauge.strategies.planner import Planner, choose_architecture
from symgauge.symmetries.base import DiscreteSymmetry, Symmetry

__all__ = ["arbitrary_architecture", "architectures", "elements", "inputs", "parameters"]

_SEEDS = st.integers(0, 2**32 - 1)
_CHOICES = 20
"""Enough choices for any kind."""


def _positive(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidArgument(f"{name} must be a positive integer, not {value!r}")


def _architecture(value: object) -> Architecture:
    if not isinstance(value, Architecture):
        raise InvalidArgument(f"expected an Architecture, not {value!r}; draw one first, or use .flatmap")
    return value


def architectures(
    *, kinds: Sequence[str] | None = None, max_parameters: int = 600, max_layers: int = 2, **fixed: Any
) -> SearchStrategy[Architecture]:
    """Small architectures in general position: sizes pairwise distinct, none 1, none the square of another if possible.

    Args:
        kinds: any of "attention" (a lone layer), "block" (Pre-LN), and whole models "gpt2", "bert", "llama" (also with
            biases or QK-norm), "gemma", "neox", "falcon", "mixtral", "mla"; all of them by default.
        max_parameters: budget of parameters; small enough for the exact engine by default.
        max_layers: most layers drawn.
        **fixed: fields of :class:`~symgauge.architecture.Architecture` to hold fixed, such as ``d_model=7``.

    No head is wider than the stream and no vocabulary narrower, unless both sizes are fixed. Examples shrink towards a
    lone attention layer, one layer, few features, small sizes. Raises ``InvalidArgument`` for unknown kinds and fields,
    and where nothing fits: for any kind asked for, or for all kinds.

    Example:
        >>> from symgauge.claims import for_all
        >>> from symgauge.strategies import architectures
        >>> drawn = architectures(kinds=["llama"], max_layers=1)
        >>> for_all(lambda a: a.norm == "rms" and a.layers == 1, a=drawn, examples=3).passed
        True
    """
    _positive("max_parameters", max_parameters)
    _positive("max_layers", max_layers)
    names = list(KINDS) if kinds is None else list(kinds)
    if not names or (unknown := [name for name in names if name not in KINDS]):
        raise InvalidArgument(f"kinds must be some of {', '.join(KINDS)}, not {unknown if names else names!r}")
    known = {f.name for f in dataclasses.fields(Architecture)}
    if wrong := sorted(set(fixed) - known):
        raise InvalidArgument(f"an architecture has no fields {wrong}; known are {', '.join(sorted(known))}")
    planners = {name: _planner(name, max_parameters, fixed) for name in names}
    fitting = [n for n, p in planners.items() if choose_architecture(p, max_layers, lambda options: options[0])]
    if not fitting or (kinds is not None and len(fitting) < len(names)):
        raise InvalidArgument(
            f"no architecture of kind {', '.join(n for n in names if n not in fitting)} has at most {max_parameters} "
            f"parameters and {fixed or 'sizes of its own'}; allow more or fix less"
        )
    return _architectures(tuple(fitting), max_parameters, max_layers, fixed)


_known: dict[str, Planner] = {}


def _planner(kind: str, budget: int, fixed: Mapping[str, Any]) -> Planner:
    """One planner for equal questions, because it remembers its answers."""
    return _known.setdefault(f"{kind} {budget} {sorted(fixed.items())}", Planner(KINDS[kind], budget, fixed))


@st.composite
def _architectures(
    draw: DrawFn, kinds: tuple[str, ...], max_parameters: int, max_layers: int, fixed: Mapping[str, Any]
) -> Architecture:
    left = _CHOICES

    def choose(options: list[Any]) -> Any:
        # Exactly one number per option, so that Hypothesis, which repeats no choices, repeats hardly any architecture.
        nonlocal left
        left -= 1
        return options[draw(st.integers(0, len(options) - 1))]

    result = choose_architecture(_planner(choose(list(kinds)), max_parameters, fixed), max_layers, choose)
    # The same number of draws for every kind, so that none is simpler for being described in fewer of them.
    for _ in range(left):
        draw(st.integers(0, 0))
    assert result is not None
    return result


class _Architecture:
    """Stands for the architecture in a call that is printed; in full it would hide the rest."""

    def __repr__(self) -> str:
        return "architecture"


@st.composite
def _seeded(draw: DrawFn, make: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    seed = draw(_SEEDS)
    value = make(*arguments, seed=seed, **options)
    shown = [_Architecture() if isinstance(argument, Architecture) else argument for argument in arguments]
    current_build_context().record_call(value, make, args=shown, kwargs={"seed": seed, **options})
    return value


def parameters(architecture: Architecture) -> SearchStrategy[dict[str, Tensor]]:
    """Roles of an architecture in general position (float64): random biases, gains of both signs.

    Example:
        >>> import symgauge
        >>> from symgauge.claims import for_all
        >>> from symgauge.strategies import parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2)
        >>> for_all(lambda roles: roles.keys() == symgauge.graph_of(a).shapes.keys(), roles=parameters(a)).passed
        True
    """
    return _seeded(random_parameters, _architecture(architecture))


def elements(family: Symmetry | DiscreteSymmetry, architecture: Architecture) -> SearchStrategy[Any]:
    """General elements of a symmetry family: not symmetric, both signs of the determinant, far from the identity.

    Coordinates (float64) for a continuous family, index and sign tensors by place for a discrete one. Raises
    ``InvalidArgument`` if the family does not act on this architecture.

    Example:
        >>> import symgauge
        >>> from symgauge.claims import for_all
        >>> from symgauge.strategies import elements
        >>> from symgauge.symmetries import families
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, residual=False)
        >>> for_all(lambda x: x.shape == (18,), x=elements(families(a)[0], a), examples=3).passed
        True
    """
    a = _architecture(architecture)
    if not isinstance(family, (Symmetry, DiscreteSymmetry)):
        raise InvalidArgument(f"expected a symmetry family, not {family!r}")
    if not (family.applies(a, "logits") or family.applies(a, "probabilities")):
        raise InvalidArgument(f"family {family.name!r} does not act on {a!r}")
    return _seeded(random_element, family, a)


def inputs(architecture: Architecture, *, batch: int = 3, length: int | None = None) -> SearchStrategy[Tensor]:
    """Token ids (batch, length), or vectors (batch, length, d_model) for an architecture without a vocabulary.

    ``length`` is the architecture's context (at most 8) unless given.

    Example:
        >>> import symgauge
        >>> from symgauge.claims import for_all
        >>> from symgauge.strategies import inputs
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2)
        >>> for_all(lambda x: x.shape == (3, 4, 5), x=inputs(a), examples=3).passed
        True
    """
    a = _architecture(architecture)
    _positive("batch", batch)
    if length is not None:
        _positive("length", length)
        if a.position_table and length > a.context:
            raise InvalidArgument(f"length {length} does not fit the position table of {a.context} rows")
    return _seeded(random_inputs, a, batch=batch, length=length)
