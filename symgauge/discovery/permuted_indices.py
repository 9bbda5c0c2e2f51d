"""All sets of views that are permuted together, for every n, with the symmetric groups on their indices."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from symgauge.discovery.generators import LinkedViews
from symgauge.discovery.index_views import IndexView, moved, swapped
from symgauge.discovery.linkage import Linkage
from symgauge.discovery.sameness import PlainValues, close, shaken


class PermutedIndices:
    """The search at one generic point, in float64; :attr:`found` is what is left to be decided exactly."""

    def __init__(
        self, values: PlainValues, theta: Tensor, views: dict[int, list[IndexView]], choices: set[int]
    ) -> None:
        self.values, self.theta, self.choices = values, theta, choices
        self.outputs = values(theta)
        self.found: list[LinkedViews] = []
        for n in sorted(views, reverse=True):  # what a coarser view does, a finer one may have done
            for pair in dict.fromkeys([(0, 1), (n - 2, n - 1), (0, n // 2)]):
                # Equal experts hide what happens inside one: views of single tensors are looked at first by themselves.
                single = [view for view in views[n] if view.mode is not None]
                for some in (single, views[n]) if 0 < len(single) < len(views[n]) else (views[n],):
                    self._search(some, pair)
        self._split()

    def keeps(self, image: Tensor) -> bool:
        return close(self.outputs, self.values(image))

    def _search(self, views: list[IndexView], pair: tuple[int, int]) -> None:
        link = Linkage(self.values, self.theta, views, pair)
        self._add(link, link.views, pair)
        seeds = [view for view in link.seeds if view.outer == 1 and not self._known(view, link)]
        if seeds and any(size % views[0].n == 0 for size in self.choices):
            rest = [view for view in views if not any(view in known.views for known in self.found)]
            link = Linkage(self.values, self.theta, rest, pair, all_stay=True)
            self._add(link, seeds, pair)

    def _known(self, view: IndexView, link: Linkage) -> bool:
        return any(
            view in known.views or known.makes(moved(len(self.theta), [view], link.order)) for known in self.found
        )

    def _add(self, link: Linkage, seeds: Sequence[IndexView], pair: tuple[int, int]) -> None:
        """Add what is linked to each of these views."""
        for seed in seeds:
            views = None if self._known(seed, link) else link.linked(seed)
            if views is None or not self._shows(views, pair):
                continue
            if not any(known.makes(moved(len(self.theta), views, link.order)) for known in self.found):
                self.found.append(LinkedViews(views, self._classes(views), len(self.theta)))

    def _shows(self, views: Sequence[IndexView], pair: tuple[int, int]) -> bool:
        """Whether the function depends on what is exchanged: on an unused row, every permutation is a symmetry."""
        entries = torch.cat([view.slices[list(pair)].reshape(-1) for view in views])
        return not self.keeps(shaken(self.theta, entries))

    def _classes(self, views: Sequence[IndexView]) -> list[list[int]]:
        """Indices of which any two may be exchanged: an equivalence, so one of each class is compared."""
        classes: list[list[int]] = []
        n = views[0].n
        for i in range(n):
            for members in classes:
                if self.keeps(self.theta[moved(len(self.theta), views, swapped(n, members[0], i))]):
                    members.append(i)
                    break
            else:
                classes.append([i])
        return classes

    def _split(self) -> None:
        """Hidden units of each stacked expert by themselves: in one slice of another family, if the function stays."""
        whole = self.found
        self.found = []
        for family in whole:
            parts = next(
                (parts for other in whole if other is not family and (parts := self._parts(family, other))), None
            )
            self.found += parts or [family]

    def _parts(self, family: LinkedViews, other: LinkedViews) -> list[LinkedViews] | None:
        parts = []
        for e in range(other.n):
            entries = torch.cat([view.slices[e] for view in other.views])
            views = [view.restricted(entries, f"in {e} of {other.n}") for view in family.views]
            if not all(view.slices.numel() for view in views):
                return None
            order = family.permutations()[0]
            kept = torch.cat([view.slices.reshape(-1) for view in views])
            image = self.theta.clone()
            image[kept] = self.theta[order.permutation[kept]]
            if not self.keeps(image):
                return None
            parts.append(LinkedViews(views, self._classes(views), family.size))
        covered = sum(view.slices.numel() for part in parts for view in part.views)
        return parts if covered == sum(view.slices.numel() for view in family.views) else None
