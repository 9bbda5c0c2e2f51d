"""The parameters of one attention layer, in the shapes and conventions of the project's roles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from symgauge.architecture import Rotary
from symgauge.errors import InvalidInput

WEIGHTS = ("query", "key", "value", "output")
BIASES = ("query_bias", "key_bias", "value_bias", "output_bias")


@dataclass(frozen=True, eq=False)
class AttentionParameters:
    """Weights and biases of softmax attention with h heads in g key/value groups; y = x W + b.

    ``query`` (h, d_model, d_k), ``key`` (g, d_model, d_k), ``value`` (g, d_model, d_v), ``output`` (h, d_v, d_model);
    biases (h, d_k), (g, d_k), (g, d_v), (d_model,), each optional. Heads j·h/g … (j+1)·h/g − 1 share group j.
    ``rotary`` turns queries and keys by position; ``capped`` says that scores pass a soft cap before softmax, so that
    no key bias is free. One floating dtype and one device throughout.

    Raises :class:`InvalidInput` when shapes, dtypes or devices do not fit together.

    Example:
        >>> import torch, symgauge
        >>> query = key = torch.ones(2, 5, 3)
        >>> p = symgauge.AttentionParameters(query, key, value=torch.ones(2, 5, 4), output=torch.ones(2, 4, 5))
        >>> p.heads, p.groups, p.d_model, p.d_k, p.d_v, p.size
        (2, 2, 5, 3, 4, 140)
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    query_bias: Tensor | None = None
    key_bias: Tensor | None = None
    value_bias: Tensor | None = None
    output_bias: Tensor | None = None
    rotary: Rotary | None = field(default=None)
    capped: bool = False

    def __post_init__(self) -> None:
        for name in WEIGHTS:
            if getattr(self, name).dim() != 3:
                shape = tuple(getattr(self, name).shape)
                raise InvalidInput(f"attention parameters: {name!r} must have three axes, heads first, not {shape}")
        (h, d, d_k), g, d_v = self.query.shape, self.key.shape[0], self.value.shape[-1]
        if min(h, g, d, d_k, d_v) < 1 or h % g:
            raise InvalidInput(f"attention parameters: {h} heads cannot share {g} key/value groups evenly")
        shapes: dict[str, tuple[int, ...]] = {"key": (g, d, d_k), "value": (g, d, d_v), "output": (h, d_v, d)}
        shapes |= {"query_bias": (h, d_k), "key_bias": (g, d_k), "value_bias": (g, d_v), "output_bias": (d,)}
        for name, shape in shapes.items():
            tensor = getattr(self, name)
            if tensor is not None and tuple(tensor.shape) != shape:
                raise InvalidInput(f"attention parameters: {name!r} must have shape {shape}, not {tuple(tensor.shape)}")
        for name, tensor in self.tensors().items():
            if tensor.dtype != self.query.dtype or tensor.device != self.query.device:
                raise InvalidInput(
                    f"attention parameters: {name!r} is {tensor.dtype} on {tensor.device}, "
                    f"but 'query' is {self.query.dtype} on {self.query.device}; give all the same"
                )
        if self.query.dtype not in (torch.float32, torch.float64):
            raise InvalidInput(f"attention parameters must be float32 or float64, not {self.query.dtype}")
        if self.rotary is not None and self.rotary.channels != d_k:
            raise InvalidInput(f"the rotary encoding describes {self.rotary.channels} channels, but d_k = {d_k}")

    @property
    def heads(self) -> int:
        return self.query.shape[0]

    @property
    def groups(self) -> int:
        return self.key.shape[0]

    @property
    def shared(self) -> int:
        """Heads per group, h / g."""
        return self.heads // self.groups

    @property
    def d_model(self) -> int:
        return self.query.shape[1]

    @property
    def d_k(self) -> int:
        return self.query.shape[2]

    @property
    def d_v(self) -> int:
        return self.value.shape[2]

    @property
    def epsilon(self) -> float:
        """Machine epsilon of the dtype."""
        return torch.finfo(self.query.dtype).eps

    @property
    def size(self) -> int:
        """Number of parameter entries."""
        return sum(x.numel() for x in self.tensors().values())

    def tensors(self) -> dict[str, Tensor]:
        """The tensors present, by field name."""
        found = {name: getattr(self, name) for name in (*WEIGHTS, *BIASES)}
        return {name: x for name, x in found.items() if x is not None}

    def replace(self, **changes: Tensor) -> AttentionParameters:
        """A copy with some fields changed, and checked again."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def map(self, change: Callable[[Tensor], Tensor]) -> AttentionParameters:
        """A copy with every tensor changed, such as ``p.map(torch.Tensor.float)``."""
        return self.replace(**{name: change(x) for name, x in self.tensors().items()})

    def combine(self, other: AttentionParameters, change: Callable[[Tensor, Tensor], Tensor]) -> AttentionParameters:
        """A copy with every tensor made from this one's and the other's; for averages and differences."""
        require_alike(self, other)
        theirs = other.tensors()
        return self.replace(**{name: change(x, theirs[name]) for name, x in self.tensors().items()})

    def norm(self) -> float:
        """Frobenius norm of all parameters together."""
        return float(torch.stack([x.square().sum() for x in self.tensors().values()]).sum().sqrt())

    def distance(self, other: AttentionParameters) -> float:
        """Frobenius norm of the difference."""
        return self.combine(other, torch.sub).norm()

    def group_of_head(self) -> Tensor:
        """The group of each head (h,)."""
        return torch.arange(self.heads, device=self.query.device) // self.shared

    def grouped_output(self) -> Tensor:
        """Σ of the output maps of a group's heads, (g, d_v, d_model): what a constant value of the group writes."""
        return self.output.reshape(self.groups, self.shared, self.d_v, self.d_model).sum(1)

    def free_key_channels(self) -> Tensor:
        """Mask (d_k,) of the channels in which softmax does not see the key bias: those that do not turn."""
        free = torch.zeros(self.d_k, dtype=torch.bool, device=self.query.device)
        if self.capped:
            return free
        if self.rotary is None:
            return ~free
        still = [c for j, t in enumerate(self.rotary.turns) if t % 1 == 0 for c in self.rotary.plane(j)]
        still += range(2 * len(self.rotary.turns), self.d_k)
        free[still] = True
        return free

    def without_free_biases(self) -> AttentionParameters:
        """The same function with the free key biases zero and the value bias carried into the output bias."""
        changes: dict[str, Tensor] = {}
        if self.key_bias is not None:
            changes["key_bias"] = torch.where(self.free_key_channels(), 0.0, self.key_bias)
        if self.value_bias is not None and self.output_bias is not None:
            written = (self.value_bias.unsqueeze(-2) @ self.grouped_output()).sum((0, 1))
            changes |= {"value_bias": torch.zeros_like(self.value_bias), "output_bias": self.output_bias + written}
        return self.replace(**changes)


def require_finite(parameters: AttentionParameters, what: str) -> None:
    """Raise :class:`InvalidInput` if an entry is NaN or infinite."""
    for name, x in parameters.tensors().items():
        if not bool(torch.isfinite(x).all()):
            raise InvalidInput(f"{what}: {name!r} has entries that are not finite; check where the weights come from")


def require_alike(first: AttentionParameters, second: AttentionParameters) -> None:
    """Raise :class:`InvalidInput` unless two layers have the same tensors, shapes, dtype and encoding."""
    for name in sorted({*first.tensors(), *second.tensors()}):
        one, two = first.tensors().get(name), second.tensors().get(name)
        if one is None or two is None:
            raise InvalidInput(f"only one of the two attention layers has {name!r}; their architectures differ")
        if one.shape != two.shape or one.dtype != two.dtype or one.device != two.device:
            described = ", ".join(f"{tuple(x.shape)} {x.dtype} on {x.device}" for x in (one, two))
            raise InvalidInput(f"the two attention layers differ in {name!r}: {described}")
    if (first.rotary, first.capped) != (second.rotary, second.capped):
        raise InvalidInput("the two attention layers differ in position encoding or soft cap; their groups differ")


def require_ordinary_value_bias(parameters: AttentionParameters) -> None:
    """Without an output bias, values wider than the stream have further free biases, which are not treated."""
    if parameters.value_bias is not None and parameters.output_bias is None:
        width = parameters.groups * parameters.d_v
        if width > parameters.d_model:
            raise InvalidInput(
                f"value biases of width g·d_v = {width} > d_model = {parameters.d_model} without an output bias are "
                "partly free; add an output bias of zeros to let it absorb them"
            )


def random_attention(
    d_model: int,
    heads: int,
    d_k: int,
    d_v: int,
    *,
    groups: int = 0,
    biases: Iterable[str] = (),
    rotary: Rotary | None = None,
    seed: int = 0,
) -> AttentionParameters:
    """Gaussian parameters with activations of order one (float64); ``biases`` names the bias fields to have.

    Example:
        >>> from symgauge.algorithms import random_attention
        >>> layer = random_attention(d_model=6, heads=4, d_k=2, d_v=3, groups=2, biases=("key_bias",))
        >>> {name: tuple(tensor.shape) for name, tensor in layer.tensors().items()}
        {'query': (4, 6, 2), 'key': (2, 6, 2), 'value': (2, 6, 3), 'output': (4, 3, 6), 'key_bias': (2, 2)}
    """
    generator = torch.Generator().manual_seed(seed)
    groups = groups or heads

    def draw(*shape: int, scale: float) -> Tensor:
        return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

    shapes: dict[str, tuple[int, ...]] = {
        "query_bias": (heads, d_k),
        "key_bias": (groups, d_k),
        "value_bias": (groups, d_v),
    }
    shapes["output_bias"] = (d_model,)
    return AttentionParameters(
        query=draw(heads, d_model, d_k, scale=d_model**-0.5),
        key=draw(groups, d_model, d_k, scale=d_model**-0.5),
        value=draw(groups, d_model, d_v, scale=d_model**-0.5),
        output=draw(heads, d_v, d_model, scale=(heads * d_v) ** -0.5),
        rotary=rotary,
        **{name: draw(*shapes[name], scale=0.5) for name in biases},  # type: ignore[arg-type]
    )
