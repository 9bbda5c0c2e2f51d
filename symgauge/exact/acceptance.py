"""Choosing probes whose square roots all exist in the field.

Every norm of every token needs one root, so a random sequence is rarely usable as a whole. Roots that fail leave a
taint on exactly the outputs that rest on them; sequences with a clean prefix are kept and the rest of them drawn anew,
which pays one token at a time where the module is causal, and falls back to plain rejection where it is not.
"""

from __future__ import annotations

import torch
from torch import Tensor

from symgauge.exact.evaluation import Evaluation
from symgauge.exact.probes import Tokens, regrow

_ENUMERATE = 4096
"""Token spaces up to this size are enumerated, so that running out of inputs is known and not guessed."""


def by_position(x: Tensor) -> Tensor:
    """(batch, positions, width) of an output of any rank ≥ 1."""
    if x.dim() == 1:
        return x.reshape(-1, 1, 1)
    if x.dim() == 2:
        return x.reshape(x.shape[0], 1, x.shape[1])
    return x.reshape(x.shape[0], -1, x.shape[-1])


class Acceptance:
    """A stream of usable probes for one evaluation; never gives the same output value twice."""

    def __init__(self, evaluation: Evaluation, generator: torch.Generator, batch: int = 512, rounds: int = 60) -> None:
        self.evaluation = evaluation
        self.inputs = evaluation.inputs
        self.generator = generator
        self.batch = batch
        self.rounds = rounds
        self.seen: set[tuple[int, ...]] = set()
        self.exhausted = False
        self.tried = 0
        self._parents: tuple[Tensor, Tensor] | None = None
        everything = isinstance(self.inputs, Tokens) and self.inputs.count <= _ENUMERATE
        self._todo = self._shuffled(self.inputs.all()) if everything and isinstance(self.inputs, Tokens) else None
        self._leftover: list[tuple[Tensor, list[int]]] = []

    @property
    def done(self) -> bool:
        """Whether every input that exists has been looked at and handed out."""
        return self.exhausted and not self._leftover

    def _shuffled(self, batch: Tensor) -> Tensor:
        return batch[torch.randperm(len(batch), generator=self.generator)]

    def _candidates(self) -> Tensor | None:
        if self._todo is not None:
            batch, self._todo = self._todo[: self.batch], self._todo[self.batch :]
            self.exhausted = not len(self._todo)
            return batch if len(batch) else None
        if self._parents is None or not len(self._parents[0]):
            return self.inputs.draw(self.batch, self.generator)
        parents, keep = self._parents
        half = self.batch // 2
        pick = torch.randint(0, len(parents), (half,), generator=self.generator)
        grown = regrow(self.inputs, parents[pick], keep[pick], self.generator)
        return torch.cat([grown, self.inputs.draw(self.batch - half, self.generator)])

    def take(self, wanted: int) -> list[tuple[Tensor, list[int]]]:
        """Sequences with the positions of theirs that are usable and new, ``wanted`` positions or as many as come.

        An empty list means that no new probe was found within the budget of ``rounds`` batches.
        """
        found, self._leftover = self._leftover, []
        have = sum(len(p) for _, p in found)
        for _ in range(self.rounds):
            if have >= wanted:
                break
            batch = self._candidates()
            if batch is None:
                break
            for item in self._usable(batch):
                found.append(item)
                have += len(item[1])
        while found and have - len(found[-1][1]) >= wanted:
            self._leftover.append(found.pop())
            have -= len(self._leftover[-1][1])
        return found

    def _usable(self, batch: Tensor) -> list[tuple[Tensor, list[int]]]:
        output = self.evaluation(batch, tangents=False)
        self.tried += len(batch)
        value = by_position(output.value.re)
        clean = torch.ones(value.shape[:2], dtype=torch.bool)
        if output.taint is not None:
            clean = ~by_position(output.taint.expand(output.shape)).any(-1).cpu()
        sequence_long = clean.shape[1] == batch.shape[1] and batch.dim() >= 2
        if sequence_long and self._todo is None:
            self._remember(batch, clean)
        signature = value[..., :3].cpu()
        result = []
        # The most complete sequences first: one Jacobian pass then yields the most rows.
        for row in torch.argsort(clean.sum(1), descending=True, stable=True).tolist():
            fresh = []
            for position in torch.nonzero(clean[row]).flatten().tolist():
                key = (position, *signature[row, position].tolist())
                if key not in self.seen:
                    self.seen.add(key)
                    fresh.append(position)
            if fresh:
                result.append((batch[row], fresh))
        return result

    def _remember(self, batch: Tensor, clean: Tensor) -> None:
        """Keep sequences with a clean, incomplete prefix for regrowth, the longest prefixes first."""
        prefix = clean.to(torch.int64).cumprod(1).sum(1)
        partial = (prefix > 0) & (prefix < clean.shape[1])
        parents, keep = batch[partial], prefix[partial]
        if self._parents is not None:
            parents, keep = torch.cat([self._parents[0], parents]), torch.cat([self._parents[1], keep])
        best = torch.argsort(keep, descending=True, stable=True)[: self.batch]
        self._parents = (parents[best], keep[best])
