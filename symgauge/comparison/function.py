"""The two functions themselves: streams after every layer and logits, in float64, one layer's weights in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.comparison.acting import moved_by
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import Anatomy, Normal, bias_of, normal
from symgauge.comparison.residuals import Residual
from symgauge.comparison.rounding import SAFETY
from symgauge.comparison.sides import Side
from symgauge.model_graph import graph_of
from symgauge.models.reference import Evaluation

_SHAPE = (2, 12)
"""Sequences and tokens of the random input."""


@dataclass(frozen=True)
class FunctionCheck:
    """Relative differences of the two functions on some tokens.

    ``layers`` are those of the streams up to the map found, from the embedding on; ``logits`` that of the result;
    ``allowed`` is what rounding of the weights at the precision stored may cause, and ``exact`` at that of the
    arithmetic, both measured by shaking the weights. ``float32`` and ``float64`` are the differences between A and the
    image of A under the element, at two precisions: rounding falls by eight orders, a mistake does not.
    """

    tokens: int
    layers: tuple[float, ...]
    logits: float
    allowed: float
    exact: float
    float32: float | None = None
    float64: float | None = None

    @property
    def equal(self) -> bool:
        """Whether the functions agree to rounding of the arithmetic, whatever their weights are."""
        return self.logits <= self.exact

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"tokens": self.tokens, "layers": list(self.layers), "logits": self.logits, "allowed": self.allowed,
                "float32": self.float32, "float64": self.float64}  # fmt: skip


class _Read(Mapping[str, Tensor]):
    """Roles by a function that reads one."""

    def __init__(self, side: Side, read: Callable[[str], Tensor]) -> None:
        self._side, self._read = side, read

    def __getitem__(self, role: str) -> Tensor:
        return self._read(role)

    def __iter__(self) -> Iterator[str]:
        return iter(self._side.graph.shapes)

    def __len__(self) -> int:
        return len(self._side.graph.shapes)


def tokens_for(side: Side, given: Tensor | None, seed: int) -> Tensor:
    """Token ids (B, T): those given, or random ones."""
    if given is not None:
        return given
    a = side.architecture
    generator = torch.Generator().manual_seed(seed)
    length = min(_SHAPE[1], a.context) if a.position_table else _SHAPE[1]
    return torch.randint(0, a.vocabulary, (_SHAPE[0], length), generator=generator)


def _stages(side: Side, read: Callable[[str], Tensor], ids: Tensor) -> Iterator[Tensor]:
    return Evaluation(side.architecture, _Read(side, read), side.graph).stages(ids)


def _difference(x: Tensor, y: Tensor) -> float:
    return float(torch.linalg.vector_norm(x - y) / torch.linalg.vector_norm(y).clamp_min(1e-300))


def check_function(
    a: Side, b: Side, anatomy: Anatomy, element: Element, residuals: list[Residual], ids: Tensor, *, ladder: bool,
    progress: Callable[[str, float], None] | None = None,
) -> FunctionCheck:  # fmt: skip
    """Run both models on token ids (B, T), layer by layer side by side, and B again with its weights shaken."""
    stored = {r.role: max(r.stored, r.exact) / SAFETY for r in residuals}
    exact = {r.role: r.exact / SAFETY for r in residuals}
    runs = [
        _stages(a, a.read, ids),
        _stages(b, b.read, ids),
        *(_stages(b, _shaken(b, n), ids) for n in (stored, exact)),
    ]
    layers, shaken = [], (0.0, 0.0)
    t = element.tensors["stream"]
    count = len(a.graph.steps) + 2
    last: tuple[Tensor, ...] = ()
    for done, last in enumerate(zip(*runs, strict=True)):
        if progress is not None:
            progress("both functions", (done + 1) / count)
        if done < count - 1:
            layers.append(_difference(_seen(last[0] @ t, anatomy), _seen(last[1], anatomy)))
        shaken = _difference(last[2], last[1]), _difference(last[3], last[1])
    floor = 2.0**-47
    rungs = [_ladder(a, anatomy, element, ids, d) for d in (torch.float32, torch.float64)] if ladder else [None, None]
    return FunctionCheck(
        ids.numel(), tuple(layers), _difference(last[0], last[1]), SAFETY * max(shaken[0], floor),
        SAFETY * max(shaken[1], floor), *rungs,
    )  # fmt: skip


def _seen(stream: Tensor, anatomy: Anatomy) -> Tensor:
    """The part of a stream that its readers see."""
    return stream - stream.mean(-1, keepdim=True) if set(anatomy.tables) & anatomy.centred else stream


def _shaken(side: Side, sizes: Mapping[str, float]) -> Callable[[str], Tensor]:
    generator = torch.Generator().manual_seed(0)

    def read(role: str) -> Tensor:
        x = side.read(role)
        return x * (1 + sizes.get(role, 2.0**-47) * torch.randn(x.shape, generator=generator, dtype=x.dtype))

    return read


def _ladder(side: Side, anatomy: Anatomy, element: Element, ids: Tensor, dtype: torch.dtype) -> float:
    """‖f(A) − f(element · A)‖ / ‖f(A)‖, weights and arithmetic in ``dtype``."""
    plain, moved = (
        list(Evaluation(s.architecture, _Read(s, lambda r, f=f: f(r).to(dtype)), s.graph).stages(ids))[-1]
        for s, f in ((side, side.read), _image(side, anatomy, element))
    )
    return _difference(moved.double(), plain.double())


def _image(side: Side, anatomy: Anatomy, element: Element) -> tuple[Side, Callable[[str], Tensor]]:
    """A's image under the element as a model of its own: gains one, offsets zero, a bias in every map."""
    fields = ("query_bias", "key_bias", "value_bias", "ff_bias", "head_bias")
    biased = {name: side.architecture.norm_offset or getattr(side.architecture, name) for name in fields}
    architecture = side.architecture.replace(**biased)
    graph = graph_of(architecture)
    if side.graph.head is None:
        graph = dataclasses.replace(graph, head=None)
    owners = {role: piece for piece in anatomy.pieces for role in (*piece.roles, *(bias_of(m) for m in piece.readers))}
    cache: dict[str, Normal] = {}

    def read(role: str) -> Tensor:
        if role in anatomy.tables:
            return side.read(role) @ element.tensors["stream"]
        piece = owners.get(role)
        if piece is None:  # a bias that is there because others are
            return torch.zeros(graph.shapes[role], dtype=torch.float64)
        if piece.norm is not None and role in (piece.norm.gain, piece.norm.offset):
            return torch.full((piece.norm.width,), float(role == piece.norm.gain), dtype=torch.float64)
        if piece.name not in cache:
            cache.clear()
            cache[piece.name] = moved_by(element, normal(side, piece, anatomy), piece, side, anatomy)
        found = cache[piece.name].roles.get(role)
        return torch.zeros(graph.shapes[role], dtype=torch.float64) if found is None else found

    return dataclasses.replace(side, architecture=architecture, graph=graph), read
