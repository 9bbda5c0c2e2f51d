"""A second witness for an exact rank: the plain module's float64 Jacobian at the same point, ranked where there is a gap.

It shares nothing with the exact engine: no field, no rules, no hashes, no elimination, and derivatives are torch's own. What
keeps float64 from seeing a rank is nearly always one of three things, and each has its remedy here:

- parameters and probes of unequal size: rows and columns are scaled to length one, which leaves the rank as it is;
- an ε that breaks a symmetry by 1e-12 of the output: the rank is taken with added small constants enlarged;
- saturation: vectors are looked at in smaller sizes too, where softmax and tanh are not flat.

What counts as zero is measured: the Jacobian is computed again with each parameter off by one unit of rounding, and
singular values that do not exceed the difference are noise. A rank is given only if nothing lies in the gap above that.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from symgauge.errors import InvalidInput, SymgaugeError
from symgauge.plain import Forward, float64, prepare, run

AT_MOST = 1500
"""Parameters up to which ``rank_witness`` takes seconds on two cores; the cost grows with the third power."""
CLEAR_GAP = 1e5
"""Smallest ratio of the last singular value kept to the first dropped."""
ROWS = 4.0
"""Rows per parameter that are aimed at."""
SIZES = (1.0, 0.25, 0.0625)
"""What probes that are vectors are multiplied by."""
_CHUNK = 192
"""Rows pulled back in one pass."""
_TRUST = 1e-12
"""Rows and columns shorter than this share of the longest may be rounding alone, and are not stretched."""
_MARGIN = 1000.0
"""How far above its measured error a length or a singular value is trusted."""
_ROUNDING = 64.0
"""Units of rounding, of the largest singular value, that are noise in any case (seen: 1 to 10)."""
_EPS = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class RankWitness:
    """What float64 saw: a rank with its gap, or the reason why there is none."""

    rank: int | None
    gap: float
    """Last singular value kept over the first dropped (or the rounding level); the widest such ratio if rank is None."""
    rows: int
    reason: str
    """Why there is no rank, in a sentence; empty if there is one."""
    seconds: float
    at_least: int = 0
    """How many singular values of the unchanged module stand a thousandfold above noise: the rank is no smaller."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "rank": self.rank, "gap": self.gap, "rows": self.rows, "reason": self.reason, "at_least": self.at_least,
            "seconds": round(self.seconds, 3),
        }  # fmt: skip


class _NoJacobian(SymgaugeError):
    """Why the float64 Jacobian says nothing."""


def rank_witness(
    module: nn.Module,
    names: Sequence[str],
    theta: Tensor,
    batches: Sequence[Tensor],
    *,
    output: Literal["logits", "probabilities"] = "logits",
    at_most: int = AT_MOST,
    device: str | torch.device = "cpu",
    forward: Forward | None = None,
    min_gap: float = CLEAR_GAP,
    batch_axis: int = 0,
) -> RankWitness:
    """Rank of the Jacobian of a plain module's outputs by the parameters ``names``, from float64 singular values.

    Args:
        module: a private copy; it is put in float64, at the point, and run.
        names: the parameters that count, in the order of θ. The others stay as they are.
        theta: the point (P,), float64.
        batches: inputs as the module takes them, ids or vectors; three times as many rows as parameters, or more, are wanted.
        output: for "probabilities" outputs count up to a common shift along their last axis.
        at_most: beyond so many parameters there is no witness.
        forward: (module, batch) → output tensors, each with the batch on axis 0; ``plain.run`` by default.
        min_gap: see ``CLEAR_GAP``.
        batch_axis: where a batch counts its inputs; with the default ``forward``, outputs too.

    Never raises for what the module does: a module that fails, or outputs that are not finite, are a reason. Raises
    :class:`InvalidInput` for names, sizes or options that do not fit.
    """
    began = time.perf_counter()
    if output not in ("logits", "probabilities"):
        raise InvalidInput(f"output must be 'logits' or 'probabilities', not {output!r}")
    if not min_gap > 1:
        raise InvalidInput(f"min_gap must exceed 1, not {min_gap!r}")

    def nothing(reason: str) -> RankWitness:
        return RankWitness(None, math.nan, 0, reason, time.perf_counter() - began)

    if len(theta) > at_most:
        return nothing(f"{len(theta):,} parameters are too many for singular values in float64 (at most {at_most:,})")
    if not len(theta):
        return nothing("no parameters are counted")
    plan = _Plan(names, list(batches), output, device, forward, batch_axis)
    try:
        spares = _copies(module, 2)
        plain, enlarged = plan.jacobian(module, theta, enlarge=False)
        deciding = plan.jacobian(spares[0], theta, enlarge=True)[0] if enlarged else plain
        ulps = torch.randn(len(theta), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        shaken = theta.cpu() * (1 + _EPS * ulps)
        again = plan.jacobian(spares[1], shaken, enlarge=enlarged)[0]
        rank, gap, reason, at_least = _judge(deciding, again, min_gap)
        if enlarged:
            at_least = _judge(plain, plain + (again - deciding), min_gap)[3]
    except _NoJacobian as error:
        return nothing(str(error))
    if rank is not None and at_least > rank:
        rank, reason = None, (
            f"the rank is {rank} with small constants enlarged, and at least {at_least} as they are: not generic in them"
        )  # fmt: skip
    return RankWitness(rank, gap, len(plain), reason, time.perf_counter() - began, at_least)


def _copies(module: nn.Module, count: int) -> list[nn.Module]:
    """Fresh copies, so that nothing a run leaves in the module reaches the next; the module itself if it has no copy."""
    try:
        return [copy.deepcopy(module) for _ in range(count)]
    except Exception:  # noqa: BLE001  (whatever a user's module raises)
        return [module] * count


@dataclass(frozen=True)
class _Plan:
    """How Jacobians are taken: the same rows each time."""

    names: Sequence[str]
    batches: Sequence[Tensor]
    output: str
    device: str | torch.device
    forward: Forward | None
    batch_axis: int

    def jacobian(self, module: nn.Module, theta: Tensor, *, enlarge: bool) -> tuple[Tensor, bool]:
        """Rows (R, P), and whether the module adds small constants. Raises :class:`_NoJacobian`."""
        counted = prepare(module, self.names, theta, self.device)
        try:
            jacobian, small = self._rows(module, counted, enlarge)
        except SymgaugeError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a user's module raises)
            said = " ".join(str(error).split())[:200]
            raise _NoJacobian(f"the plain module fails in float64: {type(error).__name__}: {said}") from error
        if not bool(torch.isfinite(jacobian).all()):
            raise _NoJacobian("the float64 Jacobian has entries that are not finite")
        return jacobian, small

    def _rows(self, module: nn.Module, counted: Sequence[Tensor], enlarge: bool) -> tuple[Tensor, bool]:
        generator = torch.Generator().manual_seed(0)
        probes = list(self._probes())
        if not probes:
            raise _NoJacobian("there are no inputs to look at")
        axis, parameters = self.batch_axis, sum(p.numel() for p in counted)
        first, small = self._outputs(module, probes[0].narrow(axis, 0, 1), enlarge=True)
        places = sum(y.shape[1] for y in first)  # output positions of one input
        inputs, wanted = sum(x.shape[axis] for x in probes), ROWS * parameters
        per = math.ceil(wanted / (inputs * places))
        every = max(1, int(inputs * places / (2 * wanted)))
        size = max(1, _CHUNK // sum(y.shape[1] * min(per, y.shape[2]) for y in first))
        rows = []
        for probe in probes:
            some = torch.arange(0, probe.shape[axis], every, device=probe.device)
            for chunk in probe.index_select(axis, some).split(size, axis):
                outputs, _ = self._outputs(module, chunk, enlarge=enlarge)
                looked_at = [(y[..., None, :] @ self._directions(y.shape, per, generator).to(y)) for y in outputs]
                rows.append(_pull(torch.cat([y.reshape(-1) for y in looked_at]), counted))
        return torch.cat(rows), small

    def _probes(self) -> Iterator[Tensor]:
        for batch in self.batches:
            x = batch.to(self.device)
            if x.numel():
                yield from (x.double() * size for size in SIZES) if x.is_floating_point() else (x,)

    def _outputs(self, module: nn.Module, batch: Tensor, *, enlarge: bool) -> tuple[list[Tensor], bool]:
        """Output tensors as (batch, positions, width), and whether there were small constants to enlarge."""
        with float64(enlarge) as mode:
            if self.forward is not None:
                outputs = [y for y in self.forward(module, batch) if y.is_floating_point()]
            else:
                outputs = [y.movedim(self.batch_axis, 0) if y.dim() else y for y in run(module, batch)]
            if not outputs:
                raise _NoJacobian("the plain module returns no tensor of floating-point numbers")
            if not all(y.dim() for y in outputs):
                raise _NoJacobian("the plain module returns a single number for a whole batch")
            if not all(bool(torch.isfinite(y).all()) for y in outputs):
                raise _NoJacobian("the plain module's outputs are not finite (NaN or infinite) in float64")
            shaped = [y.double().reshape(len(y), -1, y.shape[-1] if y.dim() > 1 else 1) for y in outputs]
        return shaped, mode.enlarged

    def _directions(self, shape: Sequence[int], count: int, generator: torch.Generator) -> Tensor:
        """Orthonormal directions (…, width, at most count) of their own for each position of outputs (…, width).

        For probabilities they are orthogonal to a common shift.
        """
        width = shape[-1]
        free = width - 1 if self.output == "probabilities" else width
        if count >= width == free:
            return torch.eye(width, dtype=torch.float64)
        draw = torch.randn(*shape, min(count, free), generator=generator, dtype=torch.float64)
        return torch.linalg.qr(draw - draw.mean(-2, keepdim=True) if free < width else draw).Q


def _pull(y: Tensor, counted: Sequence[Tensor]) -> Tensor:
    """Rows (R, P): derivatives of y (R,), all at once or, where a module cannot be vectorised, one at a time."""
    sizes = [p.numel() for p in counted]
    if not y.requires_grad:
        return y.new_zeros(len(y), sum(sizes))

    def pull(v: Tensor, batched: bool) -> Tensor:
        found = torch.autograd.grad(y, counted, v, retain_graph=True, allow_unused=True, is_grads_batched=batched)
        lead = v.shape[:-1]
        blocks = [v.new_zeros(*lead, n) if g is None else g.reshape(*lead, n) for g, n in zip(found, sizes, strict=True)]
        return torch.cat(blocks, -1)

    eye = torch.eye(len(y), dtype=y.dtype, device=y.device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says so where vmap falls back to a loop
            return pull(eye, True)
    except RuntimeError:
        return torch.stack([pull(v, False) for v in eye])


def _judge(jacobian: Tensor, again: Tensor, min_gap: float) -> tuple[int | None, float, str, int]:
    """Rank or None, gap, reason, and a lower bound of the rank, from a Jacobian (R, P) and its repetition."""
    noise = again - jacobian
    for axis in (0, 1, 0):  # columns, rows, columns
        lengths, errors = (torch.linalg.vector_norm(x, dim=axis, keepdim=True) for x in (jacobian, noise))
        top = float(lengths.max())
        if top == 0:
            return 0, math.inf, "", 0
        lengths = torch.where(lengths > (_MARGIN * errors).clamp_min(_TRUST * top), lengths, top)
        jacobian, noise = jacobian / lengths, noise / lengths
    values = torch.linalg.svdvals(torch.linalg.qr(jacobian, mode="r").R).cpu()
    largest = float(values[0])
    level = max(_ROUNDING * _EPS, float(torch.linalg.matrix_norm(noise, ord=2)) / largest)
    values = values / largest
    rank = int((values > level).sum())
    at_least = int((values > _MARGIN * level).sum())
    if rank == 0:
        return None, 1.0, "the float64 Jacobian is not reproducible: two runs at one point differ altogether", 0
    following = float(values[rank]) if rank < len(values) else 0.0
    gap = float(values[rank - 1]) / max(following, _EPS)
    if gap < min_gap:
        low = f"{float(values[rank - 1]):.0e}"
        return None, gap, f"no gap: singular values fall to {low} of the largest, and noise is at {level:.0e}", at_least
    return rank, gap, "", at_least
