"""Rows of the Jacobian from accepted probes, fed to a growing echelon form."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import torch
from torch import Tensor

from symgauge.arithmetic.finite_field import Residues
from symgauge.arithmetic.tape import Node
from symgauge.arithmetic.traced_value import TracedValue
from symgauge.errors import UnsupportedOperation
from symgauge.exact.acceptance import Acceptance, Key
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.outputs import Positions, numbered, signatures
from symgauge.exact.rank import Echelon
from symgauge.exact.result import Output

PER_POSITION = 16
"""Random directions in which each position's output is looked at (all, if it is narrower)."""
_MIXTURES = 2
"""Random combinations of all rows of a batch: if a row is new, each is in the old span with probability 1/p only."""
_MEMORY = 6e7
"""Bytes that one array of rows may take; probes are run in batches that keep to it."""


Probe = tuple[Tensor, dict[int, Key]]
"""A sequence, and the positions of its outputs that are looked at."""


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
        self.rows = self.positions = self.sequences = self.derivative_degree = 0
        self.used: list[Probe] = []
        """Inputs so far, with the positions looked at."""
        self.seconds = {"probing": 0.0, "jacobian": 0.0, "rank": 0.0}

    @property
    def per_position(self) -> float:
        """Rows that one position gives, on average over the outputs."""
        positions = sum(count for count, _ in self.acceptance.widths)
        return sum(count * self._per(width) for count, width in self.acceptance.widths) / positions

    def _per(self, width: int) -> int:
        return max(1, min(PER_POSITION, width - (self.output == "probabilities")))

    def _random(self, width: int, count: int) -> Tensor:
        """Random output directions (count, width); for probabilities they annihilate a shift of all logits."""
        shift = self.output == "probabilities"
        d = torch.randint(1, self.field.p, (count, width - shift), generator=self.generator)
        return torch.cat([d, (-d.sum(1, keepdim=True)) % self.field.p], 1) if shift else d

    def _directions(self, width: int) -> Tensor:
        """Those in which each position is looked at: (per position, width)."""
        per = self._per(width)
        return torch.eye(width, dtype=torch.int64) if per == width else self._random(width, per)

    def grow(self, wanted: int) -> tuple[int, int]:
        """Add rows of about ``wanted`` new positions; returns (rows looked at, rank gained)."""
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

    def _add(self, found: list[Probe]) -> tuple[int, int]:
        looked = sum(self._count(keys) for _, keys in found)
        before = self.echelon.rank
        self.rows += looked
        if before and not self._news(found):
            return looked, 0
        for chunk in self._chunks(found, max((self._count(keys) for _, keys in found), default=1)):
            rows = self._timed(chunk, self._each, watched=not before)
            start = time.perf_counter()
            self.echelon.add(rows)
            self.seconds["rank"] += time.perf_counter() - start
        return looked, self.echelon.rank - before

    def _news(self, found: list[Probe]) -> bool:
        """Whether any row of these is new, by random combinations of all of them: far less work than the rows."""
        chunks = self._chunks(found, _MIXTURES)
        for i, chunk in enumerate(chunks):
            if not bool(self.echelon.contains(self._timed(chunk, self._mixed)).all()):
                for rest in chunks[i + 1 :]:  # the sides of thresholds are noted of all
                    self.evaluation(torch.stack([sequence for sequence, _ in rest]), watched=True)
                return True
        return False

    def _count(self, positions: Collection[int]) -> int:
        """Rows of one sequence."""
        start, total = 0, 0
        for count, width in self.acceptance.widths:
            total += sum(start <= p < start + count for p in positions) * self._per(width)
            start += count
        return total

    def _chunks(self, found: list[Probe], rows: int) -> list[list[Probe]]:
        """Batches for one pass, where each sequence has so many rows."""
        widest = max(self.evaluation.record.widest, self.echelon.columns)
        size = max(1, int(_MEMORY / (8 * widest * max(rows, 1))))
        return [found[i : i + size] for i in range(0, len(found), size)]

    def _timed(
        self, chunk: list[Probe], rows: Callable[[list[Probe], list[Positions]], Residues], watched: bool = True
    ) -> Residues:
        start = time.perf_counter()
        batch = torch.stack([sequence for sequence, _ in chunk])
        elements = self.evaluation(batch, derivatives=True, watched=watched)
        self._compare(elements, chunk)
        outputs = numbered(elements)
        for each in outputs:
            self.derivative_degree = max(self.derivative_degree, each.element.derivative_degree + 1)
        result = rows(chunk, outputs)
        self._jumps()
        self.seconds["jacobian"] += time.perf_counter() - start
        return result

    def _each(self, chunk: list[Probe], outputs: list[Positions]) -> Residues:
        """Rows (…, P): every position of every sequence in its directions."""
        used = [0] * len(chunk)
        """Rows of each sequence so far; all sequences have their rows in one array, see :func:`pull`."""
        filled = []
        for each in outputs:
            directions = self._directions(each.width)
            places = []
            for i, (_, keys) in enumerate(chunk):
                for p in keys:
                    if each.start <= p < each.start + each.count:
                        places += [(used[i] + j, i, p - each.start, j) for j in range(len(directions))]
                        used[i] += len(directions)
            filled.append((each, directions, torch.tensor(places, dtype=torch.int64).reshape(-1, 4).mT))
        n, groups = max(used), len(chunk)
        seeds = []
        for each, directions, (row, sequence, position, direction) in filled:
            coefficients = torch.zeros((n, groups, each.count, each.width), dtype=torch.int64)
            coefficients[row, sequence, position] = directions[direction]
            seeds.append((each, coefficients))
        valid = torch.arange(n)[:, None] < torch.tensor(used)
        whole = self._pulled(seeds, n, groups)
        keep = torch.nonzero(valid.reshape(-1)).flatten().to(self.device)
        return whole.map(lambda x: x[keep])

    def _mixed(self, chunk: list[Probe], outputs: list[Positions]) -> Residues:
        """A few random combinations (…, P) of all rows."""
        seeds = []
        for each in outputs:
            coefficients = torch.zeros((_MIXTURES, len(chunk), each.count, each.width), dtype=torch.int64)
            for i, (_, keys) in enumerate(chunk):
                inside = [p - each.start for p in keys if each.start <= p < each.start + each.count]
                drawn = self._random(each.width, _MIXTURES * len(inside))
                coefficients[:, i, inside] = drawn.reshape(_MIXTURES, len(inside), each.width)
            seeds.append((each, coefficients))
        return self._pulled(seeds, _MIXTURES, 1)

    def _pulled(self, seeds: list[tuple[Positions, Tensor]], n: int, groups: int) -> Residues:
        """Rows (n · groups, P) of combinations with these coefficients (n, batch, positions, width)."""
        given: list[tuple[Node, Residues, Tensor | None]] = []
        for each, coefficients in seeds:
            if each.element.node is not None:
                shape = each.element.shape
                owner = torch.arange(shape[0], device=self.device).reshape(-1, *[1] * (len(shape) - 1)).expand(shape)
                given.append((each.element.node, Residues(coefficients.reshape(n, *shape).to(self.device)), owner))
        if not given:
            return Residues(torch.zeros((n * groups, self.echelon.columns), dtype=torch.int64, device=self.device))
        return self.evaluation.rows(given, groups)

    def _jumps(self) -> None:
        """Derivatives of the distances at which the function may jump."""
        samples = self.evaluation.record.without_rows()
        by_node: dict[Node, list[tuple[int, int]]] = {}
        for i, sample in enumerate(samples):
            assert sample.node is not None
            by_node.setdefault(sample.node, []).append((i, sample.entry))
        seeds: list[tuple[Node, Residues, Tensor | None]] = []
        for node, places in by_node.items():
            one = torch.zeros((len(samples), node.shape.numel()), dtype=torch.int64, device=self.device)
            one[tuple(torch.tensor(places, device=self.device).mT)] = 1
            seeds.append((node, Residues(one.reshape(-1, *node.shape)), None))
        if seeds:
            rows = self.evaluation.rows(seeds, 1)
            for i, sample in enumerate(samples):
                sample.row, sample.node = rows.map(lambda x, i=i: x[i].clone()), None  # type: ignore[misc]

    def _compare(self, elements: list[TracedValue], chunk: list[Probe]) -> None:
        """The values must be those of the pass that chose these inputs."""
        if self.acceptance.generic is not None:  # keys are of another point
            return
        found = signatures(self.field, elements).tolist()
        for row, (_, keys) in enumerate(chunk):
            if any((p, *found[row][p]) != key for p, key in keys.items()):
                raise UnsupportedOperation(
                    f"{self.evaluation.function.name} gave another value when it was run again on the "
                    "same input in exact "
                    "arithmetic, so it depends on what ran before or beside it; it is no function of one input"
                )
