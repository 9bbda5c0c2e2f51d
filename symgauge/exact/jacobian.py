"""Rows of the Jacobian from accepted probes, fed to a growing echelon form."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import Residues, gathered
from symgauge.arithmetic.jet import Jet
from symgauge.errors import Undecided, UnsupportedOperation
from symgauge.exact.acceptance import Acceptance, Key
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.outputs import Positions, by_position, numbered, signatures
from symgauge.exact.rank import Echelon
from symgauge.exact.result import Output

PER_POSITION = 16
"""Random directions in which each position's output is looked at (all, if it is narrower)."""
_MEMORY = 3e7
"""Bytes that one array of tangents may take; probes are run in batches that keep to it."""


class JacobianRows:
    """The Jacobian's row space at one point and prime, ``columns`` = P."""

    def __init__(
        self, evaluation: Evaluation, acceptance: Acceptance, output: Output, columns: int, device: str, seed: int
    ) -> None:
        self.evaluation, self.acceptance, self.output = evaluation, acceptance, output
        self.field = evaluation.calculus.field
        self.device = device
        self.echelon = Echelon(self.field, columns, device)
        self.generator = torch.Generator().manual_seed(seed)
        self.rows = self.positions = self.sequences = self.slope = 0
        self.used: list[tuple[Tensor, dict[int, Key]]] = []
        """Inputs so far, with the positions looked at."""
        self.seconds = {"probing": 0.0, "jacobian": 0.0, "rank": 0.0}

    @property
    def per_position(self) -> float:
        """Rows that one position gives, on average over the outputs."""
        positions = sum(count for count, _ in self.acceptance.widths)
        return sum(count * self._per(width) for count, width in self.acceptance.widths) / positions

    def _per(self, width: int) -> int:
        return max(1, min(PER_POSITION, width - (self.output == "probabilities")))

    def _directions(self, width: int) -> Tensor:
        """Random output directions (width, per position); for probabilities they annihilate a shift of all logits."""
        per = self._per(width)
        if self.output == "probabilities":
            d = torch.randint(1, self.field.p, (width - 1, per), generator=self.generator)
            return torch.cat([d, (self.field.p - d.sum(0) % self.field.p)[None] % self.field.p])
        if per == width:
            return torch.eye(width, dtype=torch.int64)
        return torch.randint(1, self.field.p, (width, per), generator=self.generator)

    def _batch_size(self) -> int:
        widest = max(self.evaluation.calculus.widest, 1)
        return max(1, int(_MEMORY / (8 * widest * self.echelon.columns)))

    def grow(self, wanted: int) -> tuple[int, int]:
        """Add rows of about ``wanted`` new positions; returns (rows added, rank gained)."""
        start = time.perf_counter()
        found = self.acceptance.take(wanted)
        self.seconds["probing"] += time.perf_counter() - start
        self.used += found
        self.sequences += len(found)
        self.positions += sum(len(keys) for _, keys in found)
        return self._add(found)

    def again(self) -> int:
        """Look at the same positions in other directions of their outputs; returns the rank gained."""
        return self._add(self.used)[1]

    def _add(self, found: list[tuple[Tensor, dict[int, Key]]]) -> tuple[int, int]:
        added = gained = 0
        size = self._batch_size()
        for i in range(0, len(found), size):
            chunk = found[i : i + size]
            start = time.perf_counter()
            rows = self._jacobian(chunk)
            middle = time.perf_counter()
            gained += self.echelon.add(rows)
            self.seconds["jacobian"] += middle - start
            self.seconds["rank"] += time.perf_counter() - middle
            added += rows.shape[0]
        self.rows += added
        return added, gained

    def _jacobian(self, chunk: list[tuple[Tensor, dict[int, Key]]]) -> Residues:
        batch = torch.stack([sequence for sequence, _ in chunk])
        jets = self.evaluation(batch, tangents=True, watched=True)
        self._compare(jets, chunk)
        blocks = []
        for outputs in numbered(jets):
            _check(outputs.jet)
            self.slope = max(self.slope, outputs.jet.slope + 1)
            blocks += self._rows(outputs, chunk)
        return gathered(torch.cat, blocks)

    def _rows(self, outputs: Positions, chunk: list[tuple[Tensor, dict[int, Key]]]) -> list[Residues]:
        """Rows (…, P) of one output."""
        jet, inside = outputs.jet, range(outputs.start, outputs.start + outputs.count)
        picks = [(i, p - outputs.start) for i, (_, keys) in enumerate(chunk) for p in keys if p in inside]
        per = self._per(outputs.width)
        if jet.tangent is None or not picks:
            return [
                Residues(torch.zeros((len(picks) * per, self.echelon.columns), dtype=torch.int64, device=self.device))
            ]
        sequence, position = torch.tensor(picks, device=self.device).mT
        shape = by_position(jet.shadow).shape
        picked = jet.tangent.map(lambda t: t.expand(-1, *jet.shape).reshape(t.shape[0], *shape)[:, sequence, position])
        projected = self.field.matmul(picked, Residues(self._directions(shape[-1]).to(self.device)))
        rows = projected.map(lambda t: t.reshape(t.shape[0], -1))  # (span, rows)
        whole = self.evaluation.calculus.widen(rows, jet.span, (0, self.echelon.columns))
        return [whole.map(lambda t: t.mT.contiguous())]

    def _compare(self, jets: list[Jet], chunk: list[tuple[Tensor, dict[int, Key]]]) -> None:
        """The values must be those of the pass that chose these inputs."""
        if self.acceptance.generic is not None:  # keys are of another point
            return
        found = signatures(self.field, jets).tolist()
        for row, (_, keys) in enumerate(chunk):
            if any((p, *found[row][p]) != key for p, key in keys.items()):
                raise UnsupportedOperation(
                    f"{self.evaluation.subject.name} gave another value when it was run again on the "
                    "same input in exact "
                    "arithmetic, so it depends on what ran before or beside it; it is no function of one input"
                )


def _check(jet: Jet) -> None:
    if not bool(torch.isfinite(jet.shadow).all()):
        raise Undecided(
            "the float64 shadow of the output is not finite, so branches (ReLU, top-k, masks) cannot be trusted at "
            "this point; pass another seed"
        )
