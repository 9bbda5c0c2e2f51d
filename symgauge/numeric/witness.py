"""A second witness for an exact rank: the plain module's float64 Jacobian at that point, ranked where there is a gap.

It shares nothing with the exact engine: no field, no rules, no hashes, no elimination, and derivatives are torch's own.
What keeps float64 from seeing a rank is nearly always one of three things, and each has its remedy here:

- parameters and probes of unequal size: rows and columns are scaled to length one, which leaves the rank as it is;
- an ε that breaks a symmetry by 1e-12 of the output: the rank is taken with added small constants enlarged;
- saturation: vectors are looked at in smaller sizes too, where softmax and tanh are not flat, and the rank must not be
  larger at a quarter of the point.

What counts as zero is measured: the Jacobian is computed again with each parameter off by one unit of rounding, and
singular values that do not exceed the difference are noise. A rank is given only if nothing lies in the gap above that.
"""

from __future__ import annotations

import dataclasses
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
from symgauge.private import private_copy
from symgauge.threads import one_thread

AT_MOST = 1500
"""Parameters up to which it takes some 15 seconds on one core; that grows with the third power, and gaps get rarer."""
CLEAR_GAP = 1e4
"""Smallest ratio of the last singular value kept to the first dropped: of 540 random models none was ranked too low."""
ROWS = 4.0
"""Rows per parameter that are aimed at; each position gives one at least, since one alone may reach a parameter."""
SIZES = (0.25, 0.0625)
"""Every other probe that is a vector is looked at in these multiples too."""
CALM = 0.25
"""A second point, θ times this, at which fewer functions saturate."""
_CHUNK = 96
"""Rows pulled back in one pass."""
_TRUST_COLUMNS, _TRUST_ROWS = 1e-12, 1e-6
"""Columns and rows shorter than this share of the longest may be rounding alone, and are not stretched. Rows are short
where a softmax saturates: 1 − p is then a few units of rounding, the same ones each time, and measured as exact."""
_MARGIN = 1000.0
"""How far above its measured error a length or a singular value is trusted."""
_HOPELESS = 1e-6
"""Noise above this share of the largest singular value is none of rounding."""
_ROUNDING = 64.0
"""Units of rounding, of the largest singular value, that are noise in any case (seen: 1 to 10)."""
_COMPARED, _STEP, _UNEQUAL = 24, 1e-6, 1e-2
"""Inputs at which torch's derivatives are compared with differences at this step; relative deviations above count."""
_EPS = torch.finfo(torch.float64).eps


@dataclass(frozen=True)
class RankWitness:
    """What float64 saw: a rank with its gap, or the reason why there is none."""

    rank: int | None
    gap: float
    """Last singular value above noise over the next one, which counts as a unit of rounding if it is smaller."""
    rows: int
    reason: str
    """Why there is no rank, in a sentence; empty if there is one."""
    seconds: float
    at_least: int = 0
    """How many singular values of the unchanged module stand a thousandfold above noise: the rank is no smaller."""
    calm: int | None = None
    """The rank with a clear gap at a quarter of the point, where less saturates; at generic θ as large as ``rank``."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "rank": self.rank, "gap": self.gap, "rows": self.rows, "reason": self.reason, "at_least": self.at_least,
            "calm": self.calm, "seconds": round(self.seconds, 3),
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
        batches: inputs as the module takes them, ids or vectors; many more rows than parameters are wanted.
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
    with torch.random.fork_rng(devices=[]), one_thread():
        try:
            plan = plan.with_finite_outputs(_copies(module, 1)[0], theta)
            here = _seen(plan, module, theta, min_gap, lower_bound=True)
            if not here.reason or here.at_least:
                plan.check_derivatives(_copies(module, 3), theta)
        except _NoJacobian as error:
            return nothing(str(error))
        try:
            calm = _seen(plan, module, theta * CALM, min_gap, lower_bound=False)
        except _NoJacobian:  # the logarithm of a parameter has no such point
            calm = _Seen(None, math.nan, "", 0, 0)
    rank, reason = here.rank, here.reason
    if rank is not None and here.at_least > rank:
        reason = f"the rank is {rank} with small constants enlarged and at least {here.at_least} as they are"
    elif rank is not None and calm.at_least > rank:
        reason = (
            f"singular values have a gap at rank {rank}, but {calm.at_least} are clear of noise at {CALM:g} times the "
            "point: softmax or activations are too flat here for float64, or it is another piece of the function"
        )
    rank = None if reason else rank
    return RankWitness(rank, here.gap, here.rows, reason, time.perf_counter() - began, here.at_least, calm.rank)


def _failed(error: Exception) -> _NoJacobian:
    said = " ".join(str(error).split())[:200]
    return _NoJacobian(f"the plain module fails in float64: {type(error).__name__}: {said}")


@dataclass(frozen=True)
class _Seen:
    """The verdict of one point."""

    rank: int | None
    gap: float
    reason: str
    at_least: int
    rows: int


def _seen(plan: _Plan, module: nn.Module, theta: Tensor, min_gap: float, *, lower_bound: bool) -> _Seen:
    fresh = _copies(module, 3)
    jacobian, small = plan.jacobian(fresh[0], theta, enlarge=True)
    ulps = torch.randn(len(theta), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    again, _ = plan.jacobian(fresh[1], theta * (1 + _EPS * ulps.to(theta)), enlarge=True)
    rank, gap, reason, at_least = _judge(jacobian, again - jacobian, min_gap)
    if small and lower_bound:
        plain, _ = plan.jacobian(fresh[2], theta, enlarge=False)
        at_least = _judge(plain, again - jacobian, min_gap)[3]
    return _Seen(rank, gap, reason, at_least, len(jacobian))


def _copies(module: nn.Module, count: int) -> list[nn.Module]:
    """Fresh copies, so that nothing a run leaves in one reaches the next; the module itself if it cannot be copied."""
    try:
        return [private_copy(module) for _ in range(count)]
    except Exception:  # whatever a user's module raises
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
        try:
            counted = prepare(module, self.names, theta, self.device)
            jacobian, small = self._rows(module, counted, enlarge)
        except SymgaugeError:
            raise
        except Exception as error:  # whatever a user's module raises
            raise _failed(error) from error
        if not bool(torch.isfinite(jacobian).all()):
            raise _NoJacobian("the float64 Jacobian has entries that are not finite")
        return jacobian, small

    def _rows(self, module: nn.Module, counted: Sequence[Tensor], enlarge: bool) -> tuple[Tensor, bool]:
        generator = torch.Generator().manual_seed(0)
        probes = list(self._probes())
        if not probes:
            raise _NoJacobian("there are no inputs to look at")
        axis = self.batch_axis
        first, small = self._outputs(module, probes[0].narrow(axis, 0, 1), enlarge=True)
        places = sum(y.shape[1] for y in first)  # output positions of one input
        positions = places * sum(x.shape[axis] for x in probes)
        per = math.ceil(ROWS * sum(p.numel() for p in counted) / positions)
        size = max(1, _CHUNK // sum(y.shape[1] * min(per, y.shape[2]) for y in first))
        rows = []
        for probe in probes:
            for chunk in probe.split(size, axis):
                outputs, _ = self._outputs(module, chunk, enlarge=enlarge)
                looked_at = [(y[..., None, :] @ self._directions(y.shape, per, generator).to(y)) for y in outputs]
                rows.append(_pull(torch.cat([y.reshape(-1) for y in looked_at]), counted))
        return torch.cat(rows), small

    def with_finite_outputs(self, module: nn.Module, theta: Tensor) -> _Plan:
        """The plan without the inputs at which the module gives no number; most must give one.

        Raises :class:`_NoJacobian` if they do not, or if the module fails.
        """
        kept = []
        axis = self.batch_axis
        try:
            prepare(module, self.names, theta, self.device)
            with torch.no_grad():
                for batch in (x for x in self.batches if x.numel()):
                    x = batch.double() if batch.is_floating_point() else batch
                    outputs, _ = self._outputs(module, x.to(self.device), enlarge=True, may_overflow=True)
                    good = torch.stack([torch.isfinite(y).flatten(1).all(1) for y in outputs]).all(0)
                    kept.append(batch.index_select(axis, torch.nonzero(good).flatten().to(batch.device)))
        except SymgaugeError:
            raise
        except Exception as error:  # whatever a user's module raises
            raise _failed(error) from error
        if 2 * sum(x.shape[axis] for x in kept) < sum(x.shape[axis] for x in self.batches):
            raise _NoJacobian("the plain module's outputs are not finite (NaN or infinite) in float64")
        return dataclasses.replace(self, batches=kept)

    def check_derivatives(self, copies: Sequence[nn.Module], theta: Tensor) -> None:
        """Compare torch's derivatives with differences of values, along one direction at a few inputs.

        Raises :class:`_NoJacobian` where a module cuts them off (``detach``, ``no_grad``) or gives others (a
        straight-through estimate), or if it fails.
        """
        x = next((x for x in self.batches if x.numel()), None)
        if x is None:
            return
        x = x.narrow(self.batch_axis, 0, min(_COMPARED, x.shape[self.batch_axis])).to(self.device)
        x = x.double() if x.is_floating_point() else x
        generator = torch.Generator().manual_seed(2)
        direction = torch.randn(len(theta), generator=generator, dtype=torch.float64).to(theta)

        def mixed(module: nn.Module, step: float) -> tuple[Tensor, list[nn.Parameter]]:
            """A random combination of each input's outputs (batch,), and the parameters it was taken at."""
            counted = prepare(module, self.names, theta + step * direction, self.device)
            outputs, _ = self._outputs(module, x, enlarge=True)
            flat = torch.cat([y.flatten(1) for y in outputs], 1)
            weights = torch.randn(flat.shape[1], generator=generator.manual_seed(3), dtype=torch.float64)
            return flat @ weights.to(flat), counted

        try:
            here, counted = mixed(copies[0], 0.0)
            derivative = _pull(here, counted) @ direction
            with torch.no_grad():
                after, before = (mixed(copy, step)[0] for copy, step in zip(copies[1:], (_STEP, -_STEP), strict=True))
            difference = (after - before) / (2 * _STEP)
        except SymgaugeError:
            raise
        except Exception as error:  # whatever a user's module raises
            raise _failed(error) from error
        size = torch.maximum(derivative.abs(), difference.abs()) + _STEP * here.detach().abs()
        if 4 * int(((derivative - difference).abs() > _UNEQUAL * size).sum()) > len(derivative):
            raise _NoJacobian(
                "torch's derivatives of the plain module are not those of its function (detach, no_grad, a "
                "straight-through estimate), so they witness nothing"
            )

    def _probes(self) -> Iterator[Tensor]:
        for batch in self.batches:
            x = batch.to(self.device)
            if not x.numel():
                continue
            if not x.is_floating_point():
                yield x
                continue
            yield x.double()
            half = torch.arange(0, x.shape[self.batch_axis], 2, device=x.device)
            yield from (x.double().index_select(self.batch_axis, half) * size for size in SIZES)

    def _outputs(
        self, module: nn.Module, batch: Tensor, *, enlarge: bool, may_overflow: bool = False
    ) -> tuple[list[Tensor], bool]:
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
            if not (may_overflow or all(bool(torch.isfinite(y).all()) for y in outputs)):
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
        if not free:
            return torch.zeros(1, 1, dtype=torch.float64)
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
        pairs = zip(found, sizes, strict=True)
        return torch.cat([v.new_zeros(*lead, n) if g is None else g.reshape(*lead, n) for g, n in pairs], -1)

    eye = torch.eye(len(y), dtype=y.dtype, device=y.device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says so where vmap falls back to a loop
            return pull(eye, True)
    except RuntimeError:
        return torch.stack([pull(v, False) for v in eye])


def _judge(jacobian: Tensor, noise: Tensor, min_gap: float) -> tuple[int | None, float, str, int]:
    """Rank or None, gap, reason and a lower bound of the rank, from a Jacobian (R, P) and its change when repeated."""
    for axis, trust in ((0, _TRUST_COLUMNS), (1, _TRUST_ROWS), (0, _TRUST_COLUMNS)):
        lengths, errors = (torch.linalg.vector_norm(x, dim=axis, keepdim=True) for x in (jacobian, noise))
        top = float(lengths.max())
        if top == 0:
            return 0, math.inf, "", 0
        lengths = torch.where(lengths > (_MARGIN * errors).clamp_min(trust * top), lengths, top)
        jacobian, noise = jacobian / lengths, noise / lengths
    values = torch.linalg.svdvals(torch.linalg.qr(jacobian, mode="r").R).cpu()
    largest = float(values[0])
    level = max(_ROUNDING * _EPS, _largest(noise) / largest)
    values = values / largest
    rank = int((values > level).sum())
    at_least = int((values > _MARGIN * level).sum())
    if rank == 0 or level > _HOPELESS:
        return None, 1.0, f"the float64 Jacobian is not reproducible: two runs at one point differ by {level:.0e}", 0
    following = float(values[rank]) if rank < len(values) else 0.0
    gap = float(values[rank - 1]) / max(following, _EPS)
    if gap < min_gap:
        low = f"{float(values[rank - 1]):.0e}"
        return None, gap, f"no gap: singular values fall to {low} of the largest, and noise is at {level:.0e}", at_least
    return rank, gap, "", at_least


def _largest(matrix: Tensor) -> float:
    """The largest singular value, by power iteration to a few per cent: only its size matters."""
    size = float(matrix.abs().max())
    if size == 0:
        return 0.0
    matrix = matrix / size  # squares of rounding errors would underflow otherwise
    v = torch.ones(matrix.shape[1], dtype=matrix.dtype, device=matrix.device)
    v += torch.linspace(-1, 1, len(v), dtype=v.dtype, device=v.device)
    for _ in range(30):
        w = matrix.mT @ (matrix @ v)
        length = float(torch.linalg.vector_norm(w))
        if length == 0:
            return size * float(torch.linalg.matrix_norm(matrix))
        v = w / length
    return size * math.sqrt(length)
