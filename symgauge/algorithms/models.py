"""The same algorithms on a whole model's roles: every attention and feed-forward layer by its name."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from symgauge.algorithms.alignment import Alignment, align
from symgauge.algorithms.canonical import Canonical, Form, canonicalize
from symgauge.algorithms.equivalence import Equivalence, equivalent
from symgauge.algorithms.neurons import FeedForwardParameters, NeuronAlignment, align_neurons
from symgauge.algorithms.parameters import AttentionParameters
from symgauge.architecture import Architecture
from symgauge.errors import InvalidInput, UnsupportedModel
from symgauge.model_graph import Attention, FeedForward, Map, Mixture, ModelGraph, graph_of

Roles = Mapping[str, Tensor]


def _layers(graph: ModelGraph) -> list[tuple[str, Attention]]:
    found = [(s.query.weight.removesuffix(".query.weight"), s) for s in graph.sublayers() if isinstance(s, Attention)]
    if not found:
        raise UnsupportedModel("this architecture has no plain multi-head attention (latent attention is not handled)")
    return found


def _feed_forwards(graph: ModelGraph) -> list[tuple[str, FeedForward]]:
    found: list[FeedForward] = []
    for s in graph.sublayers():
        if isinstance(s, FeedForward):
            found.append(s)
        elif isinstance(s, Mixture):
            found += [*s.experts, *s.shared]
    return [(f.up.weight.removesuffix(".up.weight"), f) for f in found]


def attention_layers(architecture: Architecture, roles: Roles) -> dict[str, AttentionParameters]:
    """Attention layers by name ("layers.0.attention"), from the roles of a model (``layout.read(θ)`` gives them).

    Raises :class:`UnsupportedModel` for attention whose group is another one: linear, with QK-norm, latent.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> roles = random_parameters(a)
        >>> {name: (layer.heads, layer.d_k) for name, layer in symgauge.attention_layers(a, roles).items()}
        {'layers.0.attention': (2, 3)}
    """
    a = architecture
    if a.attention != "softmax" or a.qk_norm or a.alibi or any(a.windows):
        raise UnsupportedModel(
            "the gauge algorithms are for softmax attention to all positions, without normalised queries and keys, and "
            "without ALiBi"
        )
    layers = {}
    for name, s in _layers(graph_of(architecture)):
        maps = {"query": s.query, "key": s.key, "value": s.value, "output": s.output}
        tensors = {field: _role(roles, m.weight) for field, m in maps.items()}
        tensors |= {f"{field}_bias": _role(roles, m.bias) for field, m in maps.items() if m.bias is not None}
        capped = architecture.attention_softcap is not None
        layers[name] = AttentionParameters(**tensors, rotary=s.rotary, capped=capped)
    return layers


def feed_forward_layers(architecture: Architecture, roles: Roles) -> dict[str, FeedForwardParameters]:
    """Feed-forward layers (experts included) by name ("layers.0.ff"), from the roles of a model.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> roles = random_parameters(a)
        >>> from symgauge.algorithms import feed_forward_layers
        >>> {name: tuple(layer.up.shape) for name, layer in feed_forward_layers(a, roles).items()}
        {'layers.0.ff': (5, 4)}
    """
    layers = {}
    for name, f in _feed_forwards(graph_of(architecture)):
        tensors = {"up": roles[f.up.weight], "down": roles[f.down.weight]}
        if f.gate is not None:
            tensors["gate"] = roles[f.gate.weight]
        for field, m in (("up_bias", f.up), ("gate_bias", f.gate)):
            if m is not None and m.bias is not None:
                tensors[field] = roles[m.bias]
        layers[name] = FeedForwardParameters(activation=architecture.activation, **tensors)
    return layers


def with_layers(
    architecture: Architecture, roles: Roles, layers: Mapping[str, AttentionParameters | FeedForwardParameters]
) -> dict[str, Tensor]:
    """A model's roles with the layers given replaced; ``layout.write(roles, θ)`` puts them into a module's vector.

    Raises :class:`InvalidInput` for names of layers that the model has not.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> roles = random_parameters(a)
        >>> layer = symgauge.attention_layers(a, roles)["layers.0.attention"]
        >>> changed = symgauge.with_layers(a, roles, {"layers.0.attention": layer.replace(key=2 * layer.key)})
        >>> changed["layers.0.attention.key.weight"].equal(2 * roles["layers.0.attention.key.weight"])
        True
    """
    graph, result = graph_of(architecture), dict(roles)
    maps: dict[str, dict[str, Map]] = {
        name: {"query": s.query, "key": s.key, "value": s.value, "output": s.output} for name, s in _layers(graph)
    }
    maps |= {
        name: {"up": f.up, "down": f.down} | ({"gate": f.gate} if f.gate is not None else {})
        for name, f in _feed_forwards(graph)
    }
    for name, layer in layers.items():
        if name not in maps:
            raise InvalidInput(f"the architecture has no layer {name!r}; it has {sorted(maps)}")
        for field, tensor in layer.tensors().items():
            m = maps[name][field.removesuffix("_bias")]
            target = m.bias if field.endswith("_bias") else m.weight
            assert target is not None
            result[target] = tensor
    return result


def canonicalize_model(
    architecture: Architecture, roles: Roles, form: Form | None = None
) -> tuple[dict[str, Tensor], dict[str, Canonical]]:
    """Roles with every attention layer in canonical form, and the reports by layer.

    Fixes the gauge of attention alone; other symmetries of whole models (norm folds, the residual stream) stay.

    Roles by name, in the shapes of ``symgauge.graph_of(architecture).shapes``. Raises as :func:`canonicalize` and
    :func:`attention_layers`.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> roles = random_parameters(a)
        >>> changed, reports = symgauge.canonicalize_model(a, roles)
        >>> changed.keys() == roles.keys(), [report.form for report in reports.values()]
        (True, ['svd'])
    """
    found = {name: canonicalize(p, form) for name, p in attention_layers(architecture, roles).items()}
    return with_layers(architecture, roles, {name: c.parameters for name, c in found.items()}), found


def align_model(
    architecture: Architecture, reference: Roles, other: Roles
) -> tuple[dict[str, Tensor], dict[str, Alignment | NeuronAlignment]]:
    """``other``'s roles, heads, groups and neurons of every layer moved next to ``reference``'s; and the reports.

    Roles by name, in the shapes of ``symgauge.graph_of(architecture).shapes``. Raises as :func:`align` and
    :func:`~symgauge.algorithms.align_neurons`, and :class:`UnsupportedModel` as :func:`attention_layers`.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> one, two = random_parameters(a, seed=0), random_parameters(a, seed=1)
        >>> moved, reports = symgauge.align_model(a, one, two)
        >>> moved.keys() == two.keys(), sorted(reports)
        (True, ['layers.0.attention', 'layers.0.ff'])
    """
    found: dict[str, Alignment | NeuronAlignment] = {}
    theirs = attention_layers(architecture, other)
    for name, p in attention_layers(architecture, reference).items():
        found[name] = align(p, theirs[name])
    neurons = feed_forward_layers(architecture, other)
    for name, f in feed_forward_layers(architecture, reference).items():
        found[name] = align_neurons(f, neurons[name])
    return with_layers(architecture, other, {name: a.parameters for name, a in found.items()}), found


def equivalent_layers(
    architecture: Architecture, first: Roles, second: Roles, tolerance: float | None = None
) -> dict[str, Equivalence]:
    """For every attention layer whether the two models' are on one gauge orbit, and by which element.

    Roles by name, in the shapes of ``symgauge.graph_of(architecture).shapes``. Raises as :func:`equivalent` and
    :func:`attention_layers`.

    Example:
        >>> import symgauge
        >>> from symgauge.models.parameters import random_parameters
        >>> a = symgauge.Architecture(d_model=5, heads=2, d_k=3, d_v=2, vocabulary=7, d_ff=4)
        >>> roles = random_parameters(a)
        >>> changed, _ = symgauge.canonicalize_model(a, roles)
        >>> {name: bool(found) for name, found in symgauge.equivalent_layers(a, roles, changed).items()}
        {'layers.0.attention': True}
    """
    theirs = attention_layers(architecture, second)
    ours = attention_layers(architecture, first)
    return {name: equivalent(p, theirs[name], tolerance) for name, p in ours.items()}


def _role(roles: Roles, name: str) -> Tensor:
    if name not in roles:
        raise InvalidInput(f"role {name!r} is missing from the parameters")
    return roles[name]
