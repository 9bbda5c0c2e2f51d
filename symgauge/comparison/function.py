"""The two functions themselves: streams after every layer and logits, in float64, one layer's weights in memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.checkpoints.rows import Rows
from symgauge.comparison.acting import moved_by
from symgauge.comparison.element import Element
from symgauge.comparison.pieces import Anatomy, Normal, bias_of, inner_norms, normal
from symgauge.comparison.residuals import Residual
from symgauge.comparison.rounding import SAFETY
from symgauge.comparison.sides import Side
from symgauge.comparison.unembedding import moved as moved_unembedding
from symgauge.errors import InvalidInput
from symgauge.model_graph import LatentAttention, graph_of
from symgauge.models.reference import Evaluation

Read = Callable[[str], Tensor]
Change = Callable[[str, Tensor], Tensor]
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
    of: str = "tokens"
    """What ``tokens`` counts."""
    noise: float | None = None
    """What the differences of the tensors that agree may cause by themselves, where some do not agree and others are
    rounded."""

    @property
    def equal(self) -> bool:
        """Whether the functions agree to rounding of the arithmetic, whatever their weights are."""
        return self.logits <= self.exact

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {"tokens": self.tokens, "layers": list(self.layers), "logits": self.logits, "allowed": self.allowed,
                "float32": self.float32, "float64": self.float64}  # fmt: skip


class _Roles(Mapping[str, Tensor]):
    """Roles as a run sees them: read through ``read`` and changed by ``change``."""

    def __init__(self, side: Side, read: Read, change: Change | None = None) -> None:
        self._names, self._read, self._change = side.graph.shapes, read, change

    def __getitem__(self, role: str) -> Tensor:
        found = self._read(role)
        return found if self._change is None else self._change(role, found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _ByRows(Evaluation):
    """An evaluation that reads of the tables what it needs: rows of the tokens, and a block of the unembedding."""

    def __init__(self, side: Side, layer: _Layer, change: Change | None) -> None:
        super().__init__(side.architecture, _Roles(side, layer, change), side.graph)
        self._layer, self._change = layer, change

    def look_up(self, ids: Tensor) -> Tensor:
        used, places = ids.unique(return_inverse=True)
        rows = self._layer.rows("token_table").take(used)
        return (rows if self._change is None else self._change("token_table", rows))[places]

    def unembed(self, x: Tensor, role: str, tied: bool) -> Tensor:
        rows = self._layer.rows(role)
        rows = rows if self._change is None else rows.map(lambda block: self._change(role, block))  # type: ignore[misc]
        return torch.cat([x @ block.mT for block in rows], -1)


class _Layer:
    """What several runs read in one layer, read once; ``rows`` reads tables by their rows."""

    def __init__(self, read: Read, rows: Callable[[str], Rows]) -> None:
        self._read, self._rows = read, rows
        self._known: dict[str, Tensor] = {}
        self._tables: dict[str, Rows] = {}

    def rows(self, role: str) -> Rows:
        if role not in self._tables:
            found = self._rows(role)
            self._tables[role] = found if role == "token_table" else found.settled()
        return self._tables[role]

    def __call__(self, role: str) -> Tensor:
        if role not in self._known:
            self._known[role] = self._read(role)
        return self._known[role]

    def over(self) -> None:
        self._known.clear()
        self._tables.clear()


def tokens_for(side: Side, given: Tensor | None, seed: int) -> Tensor:
    """Token ids (B, T): those given, or random ones. Raises :class:`InvalidInput` for what the model cannot read."""
    a = side.architecture
    if given is not None:
        if given.dim() != 2 or given.numel() == 0:
            raise InvalidInput(f"tokens have shape {tuple(given.shape)}; give ids (B, T), at least one")
        if bool(((given < 0) | (given >= a.vocabulary)).any()):
            lowest, highest = int(given.min()), int(given.max())
            raise InvalidInput(f"token ids go from {lowest} to {highest}; this model has 0 to {a.vocabulary - 1}")
        if a.position_table and given.shape[1] > a.context:
            raise InvalidInput(
                f"sequences of {given.shape[1]} tokens are too long; this model has {a.context} positions"
            )
        return given
    generator = torch.Generator().manual_seed(seed)
    length = min(_SHAPE[1], a.context) if a.position_table else _SHAPE[1]
    return torch.randint(0, a.vocabulary, (_SHAPE[0], length), generator=generator)


def _difference(x: Tensor, y: Tensor) -> float:
    return float(
        torch.linalg.vector_norm(x.double() - y.double()) / torch.linalg.vector_norm(y.double()).clamp_min(1e-300)
    )


def check_function(
    a: Side, b: Side, anatomy: Anatomy, element: Element, residuals: list[Residual], same: frozenset[str], ids: Tensor,
    *, ladder: bool, progress: Callable[[str, float], None] | None = None,
) -> FunctionCheck:  # fmt: skip
    """Run both models on token ids (B, T), layer by layer side by side, and B again with its weights shaken; those of
    roles that are the ``same`` in both have no rounding.

    With ``ladder`` also A and its image under the element, in float32 and float64.
    """
    stored = {r.role: max(r.stored, r.exact) / SAFETY for r in residuals}
    exact = {r.role: 0.0 if r.role in same else r.exact / SAFETY for r in residuals}
    mine, theirs = _Layer(a.read, a.rows), _Layer(b.read, b.rows)
    runs = [
        _stages(a, mine, ids),
        *(_stages(b, theirs, ids, change) for change in (None, _shaken(stored), _shaken(exact))),
    ]
    layers = [mine, theirs]
    if ladder:
        moved, image = _image(a, anatomy, element)
        layers.append(image)
        runs += [_stages(s, r, ids, c) for c in (_to_float32, None) for s, r in ((a, mine), (moved, image))]
    elif any(r.level == "unexplained" for r in residuals) and any(r.level == "stored" for r in residuals):
        seen = {r.role: r.value if r.level == "stored" else r.exact / SAFETY for r in residuals}
        runs.append(_stages(b, theirs, ids, _shaken(seen)))
    t, count = element.tensors["stream"], len(a.graph.steps) + 2
    differences: list[float] = []
    results: tuple[Tensor, ...] = ()
    for done, results in enumerate(zip(*runs, strict=True)):
        for layer in layers:
            layer.over()
        if progress is not None:
            progress("both functions", (done + 1) / count)
        if done < count - 1:
            differences.append(_difference(_seen(results[0] @ t, anatomy), _seen(results[1], anatomy)))
    one, two, shaken, slightly = results[:4]
    floor = 2.0**-47
    rungs = (_difference(results[5], results[4]), _difference(results[7], results[6])) if ladder else (None, None)
    return FunctionCheck(
        ids.numel(), tuple(differences), _difference(one, two), SAFETY * max(_difference(shaken, two), floor),
        SAFETY * max(_difference(slightly, two), floor),
        float32=rungs[0], float64=rungs[1], noise=SAFETY * _difference(results[4], two) if len(results) == 5 else None,
    )  # fmt: skip


def _stages(side: Side, layer: _Layer, ids: Tensor, change: Change | None = None) -> Iterator[Tensor]:
    return _ByRows(side, layer, change).stages(ids)


def _to_float32(role: str, x: Tensor) -> Tensor:
    return x.float()


def _shaken(sizes: Mapping[str, float]) -> Change:
    """Every weight changed at random by about its rounding."""
    generator = torch.Generator().manual_seed(0)

    def change(role: str, x: Tensor) -> Tensor:
        noise = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        return noise.mul_(sizes.get(role, 2.0**-47)).add_(1).mul_(x)

    return change


def _seen(stream: Tensor, anatomy: Anatomy) -> Tensor:
    """The part of a stream that its readers see."""
    return stream - stream.mean(-1, keepdim=True) if set(anatomy.tables) & anatomy.centred else stream


def _image(side: Side, anatomy: Anatomy, element: Element) -> tuple[Side, _Layer]:
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
        if any(
            role == inner.gain for s in piece.sublayers if isinstance(s, LatentAttention) for inner in inner_norms(s)
        ):
            return torch.ones(graph.shapes[role], dtype=torch.float64)
        if piece.norm is not None and role in (piece.norm.gain, piece.norm.offset):
            return torch.full((piece.norm.width,), float(role == piece.norm.gain), dtype=torch.float64)
        if piece.name not in cache:
            cache.clear()
            cache[piece.name] = moved_by(element, normal(side, piece, anatomy), piece, side, anatomy)
        found = cache[piece.name].roles.get(role)
        return torch.zeros(graph.shapes[role], dtype=torch.float64) if found is None else found

    def rows(role: str) -> Rows:
        if role == "token_table":
            return side.rows(role).map(lambda x: x @ element.tensors["stream"])
        return moved_unembedding(side, owners[role], element, anatomy.stream != "any")

    return dataclasses.replace(side, architecture=architecture, graph=graph), _Layer(read, rows)
