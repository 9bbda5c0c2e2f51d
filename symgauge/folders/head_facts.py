"""What is particular about the heads and neurons of a layer: rank, conditioning, dead and doubled units."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from symgauge.algorithms import AttentionParameters, FeedForwardParameters
from symgauge.algorithms.pairs import Pair, score_pairs, value_pair
from symgauge.comparison.idle_neurons import silent_neurons


@dataclass(frozen=True)
class PairFacts:
    """The products of two factors of an attention layer, W_Q W_Kᵀ or W_V W_O, over its groups.

    ``rank`` is the sum over groups, to the precision stored, out of ``full``. ``condition`` is the largest condition
    number of a factor as stored, ``balanced`` that after balancing, √(σ₁/σᵣ) of the product; both among groups of full
    rank, None without one. ``imbalance`` is the largest ratio of the sizes of the two factors. ``gap`` is the least
    relative distance of two singular values of a block, below which its basis is not determined (None for rotary
    planes, one to a block).
    """

    what: str
    rank: int
    full: int
    condition: float | None
    balanced: float | None
    imbalance: float | None
    gap: float | None
    saved: int
    """Numbers that the missing ranks make superfluous."""


@dataclass(frozen=True)
class AttentionFacts:
    layer: str
    pairs: tuple[PairFacts, ...]
    dead_heads: tuple[int, ...]
    """Heads that write nothing, whatever they attend to."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class NeuronFacts:
    """Neurons that are dead (nothing goes out, or nothing goes in and nothing is added), or that repeat another's input
    up to a free factor, so that one can do the work of both. ``scales``: least and largest ratio of what goes out to
    what comes in, None where no factor is free. ``cost`` is the numbers of one neuron."""

    layer: str
    width: int
    dead: int
    doubled: int
    scales: tuple[float, float] | None
    cost: int

    @property
    def saved(self) -> int:
        return (self.dead + self.doubled) * self.cost

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {**asdict(self), "saved": self.saved}


def attention_facts(layer: str, p: AttentionParameters, unit: float) -> AttentionFacts:
    """Facts of a layer whose norms are folded; ``unit`` is the unit roundoff of what is stored."""
    scores = score_pairs(p)
    pairs = [_facts(pair, p, unit) for pair in (*scores, value_pair(p))]
    written = torch.linalg.matrix_norm(_r(p.value).repeat_interleave(p.shared, 0) @ p.output)
    dead = (written <= unit * written.max()).nonzero().flatten().tolist()
    return AttentionFacts(layer, tuple(pairs), tuple(dead))


def _r(x: Tensor) -> Tensor:
    return torch.linalg.qr(x, mode="r").R


def _facts(pair: Pair, p: AttentionParameters, unit: float) -> PairFacts:
    left, right = _r(pair.left), _r(pair.right)
    core = left @ right.mH
    values = torch.linalg.svdvals(core)
    floor = _noise(left, right, p.d_model, unit).unsqueeze(-1)
    present = values > floor
    full = bool(present.all(-1).any()) and values.shape[-1] == pair.rank
    whole = present.all(-1)
    one, two = (torch.linalg.svdvals(x) for x in (left, right))
    gap = None
    if pair.rank > 1 and values.shape[-1] > 1:
        gap = float((-values.diff(dim=-1) / values[..., :1].clamp_min(1e-300)).min())
    channels = 2 if pair.channels is not None and pair.channels.complex else 1
    count, groups = values.shape[:2]
    rank = int(present.sum())
    missing = count * groups * pair.rank - rank
    sizes = [torch.linalg.matrix_norm(x) for x in (left, right)]
    ratio = (sizes[0] / sizes[1].clamp_min(1e-300))[whole]
    return PairFacts(
        what=pair.what + (", rotary planes" if channels == 2 else ""),
        rank=channels * rank,
        full=channels * count * groups * pair.rank,
        condition=float(torch.stack([_condition(x, whole) for x in (one, two)]).max()) if full else None,
        balanced=float(_condition(values, whole).sqrt()) if full else None,
        imbalance=float(torch.maximum(ratio, 1 / ratio).max()) if len(ratio) else None,
        gap=gap,
        saved=channels * missing * p.d_model * (1 + p.shared),
    )


def _noise(left: Tensor, right: Tensor, rows: int, unit: float) -> Tensor:
    """How large a singular value rounding alone may make (n, g).

    An error of relative size ``unit`` in every number of a factor has the spectral norm of a random matrix. One column
    has full rank unless it is next to nothing.
    """
    wide = left.shape[-1]
    two, all_of = ([torch.linalg.matrix_norm(x, kind) for x in (left, right)] for kind in (2, "fro"))
    if wide == 1:
        return (unit * (two[0] * two[1]).max()).expand_as(two[0])
    return unit * (rows**-0.5 + wide**-0.5) * (two[0] * all_of[1] + all_of[0] * two[1])


def _condition(values: Tensor, whole: Tensor) -> Tensor:
    return (values[..., 0] / values[..., -1])[whole].max()


def neuron_facts(layer: str, p: FeedForwardParameters, unit: float) -> NeuronFacts:
    """Facts of a feed-forward layer whose norm is folded."""
    out = torch.linalg.vector_norm(p.down, dim=-1)
    inside = torch.linalg.vector_norm(p.incoming(), dim=-1)
    silent = silent_neurons(p, unit)
    alive = ~silent
    scaled = p.freedom in ("positive", "any")
    scales = None
    if scaled and bool(alive.any()):
        ratio = (out / inside.clamp_min(1e-300))[alive]
        scales = (float(ratio.min()), float(ratio.max()))
    cost = sum(x.numel() for x in p.tensors().values()) // p.width
    return NeuronFacts(layer, p.width, int(silent.sum()), _doubled(p, alive), scales, cost)


def _doubled(p: FeedForwardParameters, alive: Tensor) -> int:
    """How many neurons compute what another does, up to a factor that the outgoing weights take up."""
    rows = p.incoming()[alive]
    if p.freedom in ("positive", "any"):
        rows = rows / torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
    if p.freedom in ("sign", "any"):
        largest = rows.gather(-1, rows.abs().argmax(-1, keepdim=True))
        rows = rows * largest.sign()
    rows = torch.cat([rows, p.fixed()[alive]], -1)
    return len(rows) - len(torch.unique((rows * 2.0**30).round(), dim=0)) if len(rows) else 0
