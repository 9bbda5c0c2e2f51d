"""Two checkpoints that no family describes: one function or not, as far as tensors and runs can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from symgauge.checkpoints import Checkpoint
from symgauge.comparison.element import Element
from symgauge.comparison.function import FunctionCheck
from symgauge.comparison.result import Comparison, Verdict
from symgauge.comparison.undescribed.feeding import batches, natural
from symgauge.comparison.undescribed.running import Batches, check_function, unseen
from symgauge.comparison.undescribed.side import ALONE, Side, computed_differently, two_sides
from symgauge.comparison.undescribed.tensors import Paired, masks, pair, reason, roundings
from symgauge.errors import Undecided
from symgauge.exact.probes import Inputs


def compare_by_name(
    sources: tuple[Any, Any], opened: tuple[Checkpoint, Checkpoint], configs: tuple[Any, Any], *,
    inputs: Inputs | None = None, tokens: Tensor | None = None, function: bool = True, seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:  # fmt: skip
    """As :func:`symgauge.compare`, where no family says how a tensor may move.

    Every tensor is held against the one of its name. Both functions are run where modules are given or
    ``transformers`` has the class: equal tensors are one function if the two also compute alike, and tensors that
    differ are one if the results agree and every number that differs has an influence on them.

    Raises :class:`Undecided`, naming the tensor, where the tensors differ and no run settles what that means.
    """
    a, b = two_sides(sources, opened, configs)
    fields = computed_differently(a, b)
    paired = pair(a, b)
    if progress is not None:
        progress("tensors", 0.5)
    run = _Run(a, b, inputs, tokens, seed) if function else None
    ran = None if run is None or run.why else run.check(paired)
    return _Verdict(a, b, paired, fields, run, ran).decided()


class _Run:
    """Both modules and what they are fed with; ``why`` says why they are not run."""

    def __init__(self, a: Side, b: Side, inputs: Inputs | None, tokens: Tensor | None, seed: int) -> None:
        self.sides, self.why, self.drawn = (a, b), a.why or b.why, True
        self.fed: list[nn.Module] = []
        chosen: tuple[Inputs, ...] = () if inputs is None else (inputs,)
        for side in self.sides if not self.why else ():
            assert side.module is not None
            fed = side.module
            if inputs is None and side.config is not None:
                fed, chosen, why = natural(side.module, side.config)
                self.why = self.why or why
            self.fed.append(fed)
        if not self.why and not chosen:
            self.drawn = False
            if tokens is None:
                self.why = f"nothing says what {a.kind} takes; give inputs=symgauge.Vectors(length, width), or the like"
        self.batches: Batches = [] if self.why else batches(chosen, seed, tokens)

    def check(self, paired: Paired) -> FunctionCheck:
        b = self.sides[1]
        return check_function(self.fed[0], self.fed[1], self.batches, b.tensors(), *roundings(b, paired))

    def unseen(self, paired: Paired) -> str | None:
        """A tensor that differs in numbers on which the results do not depend."""
        differing = masks(*self.sides, paired)
        for side, fed in zip(self.sides, self.fed, strict=True):
            its = {name: mask for name, mask in differing.items() if name in side.names}
            hidden = unseen(fed, self.batches, side.tensors(), its)
            if hidden is not None:
                return hidden
        return None


class _Verdict:
    """What follows from tensors and runs; what does not is left undecided."""

    def __init__(
        self, a: Side, b: Side, paired: Paired, fields: list[str], run: _Run | None, ran: FunctionCheck | None
    ) -> None:
        self.a, self.b, self.paired, self.fields, self.run, self.ran = a, b, paired, fields, run, ran

    def decided(self) -> Comparison:
        return self._of_equal_tensors() if self.paired.differing is None else self._of_different_tensors()

    def _of_equal_tensors(self) -> Comparison:
        ran, residuals = self.ran, self.paired.residuals
        if ran is not None and ran.logits > ran.allowed:
            differ = f"the results differ by {ran.logits:.2g}, where rounding may cause {ran.allowed:.2g}"
            return self._made("different", None, f"all tensors agree, yet {differ}")
        self._check_fields("all tensors agree")
        if ran is None and self.a.kind != self.b.kind:
            raise Undecided(f"all tensors agree, but A is {self.a.kind} and B is {self.b.kind}, and {self._not_run()}")
        lowest = max((r for r in residuals if r.level == "stored"), key=lambda r: r.stored, default=None)
        if lowest is not None:
            most = f"{lowest.value:.2g} of {lowest.tensor}, where {lowest.stored:.2g} may be"
            sentence = f"all tensors agree to the noise of {lowest.precision}: {most}"
            return self._made("equal-to-stored-precision", None, sentence)
        worst = max(residuals, key=lambda r: r.value / r.exact)
        return self._made("equal", None, f"all tensors agree to rounding, {worst.value:.2g} of {worst.tensor} at most")

    def _of_different_tensors(self) -> Comparison:
        a, b, paired, ran = self.a, self.b, self.paired, self.ran
        name = paired.differing
        first = next(iter(paired.broken), None)
        told = next(iter(paired.apart.values())) if first is None else f"{first.tensor} differs by {first.value:.2g}"
        if ran is None:
            raise Undecided(f"{told}, which a gauge may explain, and {self._not_run()}")
        if ran.logits > ran.allowed:
            sentence = told if first is None else reason(a, b, first)
            tensor = b.names.get(str(name), name)
            return self._made("different", tensor, f"{sentence}; the results differ by {ran.logits:.2g}")
        agree = f"{told}, and the function agrees on {ran.tokens} {ran.of}"
        if not ran.equal:
            raise Undecided(
                f"{agree} only to the noise of the precision stored ({ran.logits:.2g}), which hides a small mistake as "
                "well as none; compare before rounding"
            )
        assert self.run is not None
        if not self.run.drawn:
            raise Undecided(f"{agree} that were given, which need not show it; give inputs to draw at random")
        self._check_fields(agree)
        hidden = self.run.unseen(paired)
        if hidden is not None:
            raise Undecided(f"{agree}, but the results do not depend on all the numbers in which {hidden} differs")
        return self._made(
            "equal", None,
            f"the tensors differ but the function agrees on {ran.tokens} random {ran.of} to rounding "
            f"({ran.logits:.2g}); no gauge element was solved because no family describes {b.kind}",
        )  # fmt: skip

    def _check_fields(self, told: str) -> None:
        """Configurations that differ in what a run may not show make nothing equal."""
        if self.fields:
            ran = f"{self._not_run()}" if self.ran is None else "the inputs that were run need not show it"
            raise Undecided(f"{told}, but the configurations differ in {', '.join(self.fields[:4])}, and {ran}")

    def _not_run(self) -> str:
        if self.run is None:
            return "the models were not run"
        return self.run.why if self.b.kind == ALONE else f"the models were not run: {self.run.why}"

    def _made(self, verdict: Verdict, tensor: str | None, sentence: str) -> Comparison:
        notes = ["without a description of the model, tensors were paired by name and no gauge element was solved"]
        notes += [f"not run: {self.run.why}"] if self.run is not None and self.run.why else []
        if left := self.paired.left_out:
            notes.append(f"not compared, for only one of the two has it: {', '.join(left[:4])}")
        return Comparison(verdict, tensor, sentence, Element(), self.paired.residuals, self.ran, tuple(notes))
