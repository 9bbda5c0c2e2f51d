"""Choosing probes whose square roots all exist in the field.

Every norm of every token needs one root, so a random sequence is rarely usable as a whole. Roots that fail leave
undefined exactly the outputs that rest on them; sequences with a clean prefix are kept and the rest of them drawn anew,
which pays one token at a time where the module is causal, and falls back to plain rejection where it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from symgauge.arithmetic.record import Record
from symgauge.errors import Undecided
from symgauge.exact.evaluation import Evaluation
from symgauge.exact.outputs import clean, finite, numbered, signatures
from symgauge.exact.probes import Tokens, regrow

_ENUMERATE = 4096
"""Token spaces up to this size are enumerated, so that running out of inputs is known and not guessed."""
_CHOICE = 4
"""How many usable positions to collect for each one wanted, so that the fullest sequences can be chosen."""

_TIMES = 4
"""At how many positions each token is to be looked at, as the position's own token."""
_SHARE = 0.75
"""How much of what is usable may be handed out at once, to show every token."""
_FLIPS = 48
"""Inputs to take at once that have units on the other side."""

Key = tuple[int, ...]


@dataclass(frozen=True)
class Usable:
    """A sequence with its clean output positions; equal keys mean equal output values, which would add nothing."""

    sequence: Tensor
    keys: dict[int, Key]
    aligned: bool = True
    """Whether there is one output position for each input position."""

    def fresh(self, seen: set[Key]) -> dict[int, Key]:
        return {position: key for position, key in self.keys.items() if key not in seen}

    def own(self) -> list[int]:
        """The tokens of its clean positions, but of the first, where a token meets no other; all, if outputs are not
        aligned with inputs."""
        if self.sequence.dim() != 1:
            return []
        if not self.aligned:
            return self.sequence.tolist()
        tokens = self.sequence.tolist()
        return [tokens[p] for p in self.keys if p or len(tokens) == 1]


class Acceptance:
    """A stream of usable probes for one evaluation; never gives the same output value twice."""

    def __init__(
        self,
        evaluation: Evaluation,
        generator: torch.Generator,
        batch: int = 512,
        rounds: int = 60,
        generic: Evaluation | None = None,
    ) -> None:
        self.evaluation = evaluation
        self.generic = generic
        """The subject at a generic point, to tell probes apart where the point itself has equal outputs."""
        self.inputs = evaluation.inputs
        self.generator = generator
        self.batch = batch
        self.rounds = rounds
        self.tried = 0
        self.widths: list[tuple[int, int]] = [(1, 1)]
        """(positions, entries at each) of every output, known after the first batch."""
        self.unusable = 0
        """Positions whose square roots do not exist in the field."""
        self.looked = self.not_finite = 0
        """Positions, and those among them where float64 has no number: no branch can be decided there."""
        self._seen: set[Key] = set()
        self._covered: Counter[int] = Counter()
        """How often each token was a position's own in what was handed out, and in all that was found usable."""
        self._found: Counter[int] = Counter()
        self._given_up: set[int] = set()
        """Tokens that are not sought any more."""
        self._pool: list[Usable] = []
        self._urgent: list[Usable] = []
        self._parents: tuple[Tensor, Tensor] | None = None
        self._todo: Tensor | None = None
        if isinstance(self.inputs, Tokens) and self.inputs.count <= _ENUMERATE:
            everything = self.inputs.all()
            self._todo = everything[torch.randperm(len(everything), generator=generator)]

    @property
    def done(self) -> bool:
        """Whether every input that exists has been looked at and handed out."""
        return self._todo is not None and not len(self._todo) and not self._pool

    @property
    def complete(self) -> bool:
        """Whether every value that there is was used: of all inputs, or as far as a long search finds any.

        The rank is then that of all there is.
        """
        return not self.unusable and (self.done or self._todo is None)

    def prepare(self) -> None:
        """Look at a first batch of candidates, so that the output's width is known."""
        if not self.tried:
            batch = self._candidates()
            assert batch is not None
            self._collect(batch)

    def take(self, wanted: int) -> list[tuple[Tensor, dict[int, Key]]]:
        """Sequences with the positions of theirs that are usable and new: about ``wanted`` positions, or what there is.

        An empty list means that no new probe was found within the budget of ``rounds`` batches.
        """
        for _ in range(self.rounds):
            if self._enough(wanted):
                break
            batch = self._candidates()
            if batch is None:
                break
            self._collect(batch)
        self._given_up |= set(self._uncovered())  # they were sought as long as may be, or in all inputs there are
        return self._choose(wanted)

    @property
    def misses_a_token(self) -> bool:
        """Whether some token could not be looked at once, though long sought, so that its embedding looks free."""
        return any(not self._found[v] for v in self._given_up)

    @property
    def available(self) -> int:
        """Usable positions that were looked at and not handed out yet."""
        return sum(len(u.fresh(self._seen)) for u in self._pool)

    def _enough(self, wanted: int) -> bool:
        return self.available >= _CHOICE * wanted and not self._uncovered()

    def _uncovered(self) -> list[int]:
        """Tokens that few usable probes have shown yet: their embedding would look free."""
        if not isinstance(self.inputs, Tokens):
            return []
        return [v for v in range(self.inputs.vocabulary) if self._found[v] < _TIMES and v not in self._given_up]

    def _candidates(self) -> Tensor | None:
        if self._todo is not None:
            batch, self._todo = self._todo[: self.batch], self._todo[self.batch :]
            return batch if len(batch) else None
        if self._parents is None or not len(self._parents[0]):
            return self.inputs.draw(self.batch, self.generator)
        parents, keep = self._parents
        half = self.batch // 2
        pick = torch.randint(0, len(parents), (half,), generator=self.generator)
        grown = regrow(self.inputs, parents[pick], keep[pick], self.generator)
        if rare := self._uncovered():
            # A token whose own roots lie outside GF(p) is rarely usable: it is tried where all before it is.
            some = torch.arange(0, half, 2)
            drawn = torch.randint(0, len(rare), (len(some),), generator=self.generator)
            grown[some, keep[pick[some]]] = torch.tensor(rare)[drawn]
        return torch.cat([grown, self.inputs.draw(self.batch - half, self.generator)])

    def _collect(self, batch: Tensor) -> None:
        """Evaluate candidates (values only) and pool the usable ones."""
        elements = self.evaluation(batch)
        self.tried += len(batch)
        outputs = numbered(elements)
        self.widths = [(each.count, each.width) for each in outputs]
        good = clean(elements)
        aligned = len(outputs) == 1 and good.shape[1] == batch.shape[1]
        if aligned and self._todo is None and not bool(good.all()):
            self._remember(batch, good)
        self.unusable += int((~good).sum())
        there = finite(elements)
        self.looked += there.numel()
        self.not_finite += int((~there).sum())
        if 2 * self.not_finite > self.looked:
            raise Undecided(
                "the float64 reference of the output is not finite for most inputs, so branches (ReLU, top-k, masks) "
                "cannot be trusted at this point; pass another seed"
            )
        good &= there
        apart = elements if self.generic is None else self.generic(batch)
        signature = signatures(self.evaluation.calculus.field, apart).tolist()
        for row in torch.nonzero(good.any(1)).flatten().tolist():
            where = torch.nonzero(good[row]).flatten().tolist()
            usable = Usable(batch[row], {p: (p, *signature[row][p]) for p in where}, aligned)
            self._found.update(usable.own())
            if usable.fresh(self._seen):
                self._pool.append(usable)

    def flipping(self, record: Record, fewer: int, scales: Sequence[float]) -> int:
        """Look for inputs with units on a side where they were at fewer places than that; returns how many were found.

        They go to the front of what :meth:`take` gives. Vectors are tried in several sizes.
        """
        sites = {key: sides.stuck(fewer) for key, sides in record.sides.items() if sides.counts and not sides.ordered}
        wanted = {key: site for key, site in sites.items() if bool((site[1] | site[2]).any())}
        found = 0
        for scale in scales if wanted else ():
            batch = self.inputs.draw(self.batch, self.generator)
            batch = batch if scale == 1 else batch * scale
            kept, self.evaluation.record = self.evaluation.record, Record(wanted=wanted)
            try:
                self.evaluation(batch, watched=True)
                flips = self.evaluation.record.flips
            finally:
                self.evaluation.record = kept
            if flips is not None and bool(flips.any()):
                found += self.prefer(batch[flips][:_FLIPS])
        return found

    def prefer(self, batch: Tensor) -> int:
        """Put those of a batch that are usable and new to the front; returns how many."""
        before, tried = len(self._pool), self.tried
        self._collect(batch)
        self.tried = tried
        new = self._pool[before:]
        self._urgent += new
        del self._pool[before:]
        return len(new)

    def _remember(self, batch: Tensor, good: Tensor) -> None:
        """Keep sequences with a clean, incomplete prefix for regrowth, the longest prefixes first."""
        prefix = good.to(torch.int64).cumprod(1).sum(1)
        partial = (prefix > 0) & (prefix < good.shape[1])
        parents, keep = batch[partial], prefix[partial]
        if self._parents is not None:
            parents, keep = torch.cat([self._parents[0], parents]), torch.cat([self._parents[1], keep])
        best = torch.argsort(keep, descending=True, stable=True)[: self.batch]
        self._parents = (parents[best], keep[best])

    def _choose(self, wanted: int) -> list[tuple[Tensor, dict[int, Key]]]:
        """Those with tokens rarely seen before first, then the fullest: one Jacobian pass then gives the most rows."""
        chosen: list[tuple[Tensor, dict[int, Key]]] = []
        have = 0
        for usable in self._urgent:
            if fresh := usable.fresh(self._seen):
                chosen.append((usable.sequence, fresh))
                self._seen.update(usable.keys.values())
        self._urgent = []
        self._pool.sort(key=lambda u: -len(u.keys))
        # Some are left, where there are few in all: what brings nothing new can be seen from these only.
        most = max(wanted, int(_SHARE * self.available))
        for rare_tokens in (True, False):
            rest = []
            for usable in self._pool:
                fresh = usable.fresh(self._seen)
                rare = have < most and any(self._covered[v] < _TIMES for v in usable.own())
                wants = rare if rare_tokens else have < wanted
                if fresh and wants:
                    chosen.append((usable.sequence, fresh))
                    have += len(fresh)
                    self._seen.update(usable.keys.values())
                    self._covered.update(usable.own())
                elif fresh:
                    rest.append(usable)
            self._pool = rest
        return chosen
