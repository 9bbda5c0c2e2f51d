"""Feed-forward layers: matching hidden neurons, with the factor that each may carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from symgauge.algorithms.assignment import assignment
from symgauge.errors import InvalidInput

Freedom = Literal["none", "sign", "positive", "any"]
"""By which factors a neuron's input column may be scaled when its output row is divided by a power of it."""


@dataclass(frozen=True, eq=False)
class FeedForwardParameters:
    """act(x W_up + b) W_down, gated: (act(x W_gate + b) ⊙ (x W_up + b)) W_down.

    ``up`` and ``gate`` (d_model, d_ff), ``down`` (d_ff, d_model), biases (d_ff,); a bias of ``down`` belongs to the
    stream and not to a neuron. ``activation`` as in :class:`symgauge.architecture.Architecture`.

    Example:
        >>> import torch
        >>> from symgauge.algorithms import FeedForwardParameters
        >>> layer = FeedForwardParameters(torch.randn(5, 7), torch.randn(7, 5), "relu", up_bias=torch.randn(7))
        >>> moved = layer.moved(torch.randperm(7), 2 * torch.ones(7))   # renumbered, doubled, and halved after
        >>> x = torch.randn(3, 5)
        >>> before, after = ((x @ p.up + p.up_bias).relu() @ p.down for p in (layer, moved))
        >>> torch.allclose(before, after, atol=1e-4)
        True
    """

    up: Tensor
    down: Tensor
    activation: str
    gate: Tensor | None = None
    up_bias: Tensor | None = None
    gate_bias: Tensor | None = None

    def __post_init__(self) -> None:
        d, width = self.up.shape
        shapes = {"down": (width, d), "gate": (d, width), "up_bias": (width,), "gate_bias": (width,)}
        for name, shape in shapes.items():
            x = getattr(self, name)
            if x is not None and tuple(x.shape) != shape:
                raise InvalidInput(f"feed-forward parameters: {name!r} must have shape {shape}, not {tuple(x.shape)}")
        for name, x in self.tensors().items():
            if not bool(torch.isfinite(x).all()):
                raise InvalidInput(f"feed-forward parameters: {name!r} has entries that are not finite")

    @property
    def width(self) -> int:
        return self.up.shape[1]

    @property
    def freedom(self) -> Freedom:
        """What scales a neuron without a trace: any factor on gated up columns, positive for ReLU, a sign for tanh."""
        if self.gate is not None:
            return "any"
        return {"relu": "positive", "relu2": "positive", "tanh": "sign"}.get(self.activation, "none")  # type: ignore[return-value]

    @property
    def power(self) -> int:
        """Power of the factor by which a scaled neuron grows."""
        return 2 if self.gate is None and self.activation == "relu2" else 1

    def tensors(self) -> dict[str, Tensor]:
        """The tensors present, by field name."""
        names = ("up", "down", "gate", "up_bias", "gate_bias")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def incoming(self) -> Tensor:
        """What is scaled, one row per neuron (d_ff, d_model or + 1): up columns with their biases."""
        rows = self.up.mT
        return rows if self.up_bias is None else torch.cat([rows, self.up_bias.unsqueeze(-1)], -1)

    def fixed(self) -> Tensor:
        """What is only permuted (d_ff, …): gate columns with their biases."""
        if self.gate is None:
            return self.up.new_zeros(self.width, 0)
        rows = self.gate.mT
        return rows if self.gate_bias is None else torch.cat([rows, self.gate_bias.unsqueeze(-1)], -1)

    def moved(self, order: Tensor, factors: Tensor) -> FeedForwardParameters:
        """Neuron i of the result is neuron ``order[i]``, scaled by ``factors[i]``; the function stays."""
        changes = {name: x[..., order] for name, x in self.tensors().items() if name != "down"}
        changes["down"] = self.down[order] / factors.pow(self.power).unsqueeze(-1)
        changes["up"] = changes["up"] * factors
        if self.up_bias is not None:
            changes["up_bias"] = changes["up_bias"] * factors
        return FeedForwardParameters(activation=self.activation, **changes)


@dataclass(frozen=True, eq=False)
class NeuronAlignment:
    """The layer moved; ``order`` and ``factors`` (d_ff,) move it (:meth:`FeedForwardParameters.moved`).

    Example:
        >>> import torch
        >>> from symgauge.algorithms import FeedForwardParameters, align_neurons
        >>> layer = FeedForwardParameters(torch.randn(5, 7).double(), torch.randn(7, 5).double(), "relu")
        >>> order = torch.randperm(7)
        >>> other = layer.moved(order, torch.ones(7).double())
        >>> found = align_neurons(layer, other)
        >>> torch.equal(order[found.order], torch.arange(7)), found.factors.shape
        (True, torch.Size([7]))
    """

    parameters: FeedForwardParameters
    order: Tensor
    factors: Tensor
    mismatch: float
    """Σ of the distances between matched neurons; 0 for equal layers up to permutation and scale."""


def align_neurons(reference: FeedForwardParameters, other: FeedForwardParameters) -> NeuronAlignment:
    """Renumber (and rescale) the hidden neurons of ``other`` next to those of ``reference``; the function stays.

    A neuron without free factor is its incoming and outgoing weights. One with a free factor is first scaled so that
    the two have equal norms, which leaves a sign at most; neurons are then compared by the distance least over that
    sign, and assigned exactly (scipy's Hungarian method on the host, O(d_ff³), on a d_ff × d_ff table). The factors
    returned bring each neuron to the scale of its match. Any float dtype and device.

    Raises :class:`InvalidInput` when layers differ in shape or kind, or a neuron with a free factor is zero.

    Example:
        >>> import torch
        >>> from symgauge.algorithms import FeedForwardParameters, align_neurons
        >>> layer = FeedForwardParameters(torch.randn(5, 7).double(), torch.randn(7, 5).double(), "relu")
        >>> order = torch.randperm(7)
        >>> other = layer.moved(order, torch.ones(7).double())
        >>> found = align_neurons(layer, other)
        >>> bool(found.mismatch < 1e-9), torch.allclose(found.parameters.up, layer.up)
        (True, True)
    """
    if other.tensors().keys() != reference.tensors().keys() or reference.activation != other.activation:
        raise InvalidInput("align_neurons: the two feed-forward layers have different tensors or activations")
    for name, x in reference.tensors().items():
        if x.shape != other.tensors()[name].shape:
            raise InvalidInput(
                f"align_neurons: {name!r} has shapes {tuple(x.shape)} and {tuple(other.tensors()[name].shape)}"
            )
    scales = [_balancing(layer) for layer in (reference, other)]
    rows = []
    for layer, scale in zip((reference, other), scales, strict=True):
        down = layer.down / scale.pow(layer.power).unsqueeze(-1)
        rows.append((torch.cat([layer.incoming() * scale.unsqueeze(-1), down], -1), layer.fixed()))
    (free_one, fixed_one), (free_two, fixed_two) = rows
    plus = _distances(free_one, free_two)
    minus = _distances(free_one, -free_two) if reference.freedom in ("sign", "any") else plus
    cost = torch.minimum(plus, minus)
    if fixed_one.shape[-1]:
        cost = cost + _distances(fixed_one, fixed_two)
    order = torch.as_tensor(assignment(cost.detach().double().cpu().numpy()), device=cost.device)
    own = torch.arange(len(order), device=order.device)
    signs = torch.where(minus[own, order] < plus[own, order], -1.0, 1.0).to(cost)
    factors = signs * scales[1][order] / scales[0]
    return NeuronAlignment(other.moved(order, factors), order, factors, float(cost[own, order].sum()))


def _balancing(p: FeedForwardParameters) -> Tensor:
    """Positive factors (d_ff,) after which incoming and outgoing norms agree; ones where no factor is free."""
    if p.freedom in ("none", "sign"):
        return torch.ones_like(p.up[0])
    inside, outside = (torch.linalg.vector_norm(x, dim=-1) for x in (p.incoming(), p.down))
    if not bool(((inside > 0) & (outside > 0)).all()):
        raise InvalidInput(
            "align_neurons: a neuron has no incoming or no outgoing weight, so its scale is undetermined"
        )
    return (outside / inside).pow(1 / (1 + p.power))


def _distances(one: Tensor, two: Tensor) -> Tensor:
    """‖row i − row j‖ (n, n), by differences and not by products, so that equal rows are at distance 0."""
    return torch.cdist(one, two, compute_mode="donot_use_mm_for_euclid_dist")
