"""Are two checkpoints one function, by which gauge element, and if not, which tensor breaks it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn

from symgauge.checkpoints import Checkpoint, open_checkpoint, stored_model
from symgauge.checks import check_choice
from symgauge.comparison.element import Element, kind_of
from symgauge.comparison.function import FunctionCheck, check_function, tokens_for
from symgauge.comparison.mistakes import diagnose
from symgauge.comparison.pieces import anatomy
from symgauge.comparison.residuals import Judge, Residual
from symgauge.comparison.result import Comparison, Verdict
from symgauge.comparison.scene import Scene, difference_of, scene_of
from symgauge.comparison.sides import Side, two_sides
from symgauge.comparison.solving import solve
from symgauge.comparison.trades import traded
from symgauge.comparison.undescribed import compare_by_name
from symgauge.errors import InvalidInput, Undecided, UnsupportedModel
from symgauge.exact.probes import Inputs
from symgauge.exact.result import Output

Source = str | Path | nn.Module | Mapping[str, Tensor] | Checkpoint
_LARGE = 0.3
"""Share of a tensor: that so much of it differs and no logit shows it is doubtful; less may drown in rounding."""
_LADDER = 2 * 10**8
"""Parameters up to which the element's action is repeated at two precisions without being asked."""


def compare(
    first: Source, second: Source, *, config: Mapping[str, Any] | None = None, tokens: Tensor | None = None,
    inputs: Inputs | None = None, output: Output = "logits", function: bool = True, seed: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> Comparison:  # fmt: skip
    """Whether two checkpoints are one function up to the symmetries of their architecture, and by which element.

    Every tensor of ``first`` is moved by the element found and held against that of ``second``; what may be left is
    rounding at the precision stored. Then both are run on ``tokens`` (B, T), or random ones, in float64; where
    no known symmetry explains a tensor, equal logits on random ones make the two equal all the same.

    Args:
        first, second: what :func:`symgauge.checkpoints.open_checkpoint` opens.
        config: fields of a ``config.json``, for checkpoints without one; that of the other is taken otherwise.
        inputs: what modules take that are no models of ``transformers``, which say so themselves.
        output: "probabilities" leaves out what moves all logits of a position alike, as a centred head does.
        function: whether to run the models; without it tensors alone decide.

    Of a model that no family describes, tensors are paired by name, and no element is looked for.

    Raises :class:`InvalidInput` for what is no checkpoint, has entries that are not finite, or has another
    architecture; :class:`Undecided` where tensors differ of a model that no family describes, and running the two does
    not settle what that means, or where rounded models differ in a tensor and not in what they compute.

    Example:
        >>> import symgauge
        >>> from symgauge.models.huggingface import tiny
        >>> model, other = tiny("llama", 2), tiny("llama", 2)
        >>> with __import__("torch").no_grad():
        ...     gain = other.model.norm.weight.clone()
        ...     _ = other.lm_head.weight.mul_(gain), other.model.norm.weight.fill_(1.0)
        ...
        >>> symgauge.compare(model, other).verdict
        'equal'
    """
    check_choice("output", output, get_args(Output))
    opened = [open_checkpoint(source) for source in (first, second)]
    configs = [dict(config) if config is not None else one.config for one in opened]
    shared = configs[0] or configs[1]
    try:
        models = None if shared is None else [
            stored_model(one, its or shared) for one, its in zip(opened, configs, strict=True)
        ]  # fmt: skip
    except UnsupportedModel:
        models = None
    if models is None and output != "logits":
        raise InvalidInput(
            "no family describes these models, and such are compared by all that they return; leave output out"
        )
    if models is None:
        return compare_by_name(
            (first, second), (opened[0], opened[1]), (configs[0], configs[1]), inputs=inputs, tokens=tokens,
            function=function, seed=seed, progress=progress,
        )  # fmt: skip
    a, b, computed = two_sides(models[0], models[1], output)
    ids = tokens_for(a, tokens, seed) if function and a.architecture.is_model else None
    judge, element = Judge(a, b, anatomy(a)), Element(made_for=kind_of(a.architecture))
    residuals: list[Residual] = []
    steps = len(judge.anatomy.pieces) + 1
    with torch.no_grad():
        for done, (name, found) in enumerate(solve(judge, element)):
            residuals += found
            if progress is not None:
                progress(name, (done + 1) / steps)
        residuals, same = judge.untouched(traded(judge, element, residuals), element)
        residuals += _others(judge)
        ran = None if ids is None else _run(judge, element, residuals, same, ids, progress)
        return _concluded(judge, element, residuals, computed, ran, drawn=tokens is None)


def _others(judge: Judge) -> list[Residual]:
    """Tensors of no role (a pooler), which are compared as they are, under the names that both have."""
    mine, theirs = (side.model for side in (judge.a, judge.b))
    found = []
    for name in theirs.others:
        if name in mine.checkpoint and mine.checkpoint.shape(name) == theirs.checkpoint.shape(name):
            found.append(judge.alone(name, mine.checkpoint.read(name), theirs.checkpoint.read(name)))
    return found


def _run(
    judge: Judge, element: Element, residuals: list[Residual], same: frozenset[str], ids: Tensor,
    progress: Callable[[str, float], None] | None,
) -> FunctionCheck:  # fmt: skip
    a, b = judge.a, judge.b
    small = a.graph.parameters <= _LADDER and not any(r.level == "unexplained" for r in residuals)
    return check_function(a, b, judge.anatomy, element, residuals, same, ids, ladder=small, progress=progress)


def _concluded(
    judge: Judge, element: Element, residuals: list[Residual], computed: tuple[str, ...],
    ran: FunctionCheck | None, *, drawn: bool,
) -> Comparison:  # fmt: skip
    """The verdict. Logits alone make two functions equal only on tokens ``drawn`` at random: one token, or one
    repeated, shows nothing of queries and keys."""
    broken = next((r for r in residuals if r.level == "unexplained"), None)
    lowest = max((r for r in residuals if r.level == "stored"), key=lambda r: r.stored, default=None)
    width = _widths(judge)
    notes = (*(() if width is None else (width,)), *_notes(judge.a, judge.b, residuals))
    unties = judge.a.model.architecture.tied and not judge.b.model.architecture.tied

    def made(verdict: Verdict, tensor: str | None, reason: str, known: bool = True) -> Comparison:
        return Comparison(
            verdict,
            tensor,
            reason,
            element if known and width is None else Element(),
            tuple(residuals),
            ran,
            notes,
            unties,
            judge.a.output,
        )

    if computed == ("vocabulary",) and broken is None:
        return made("different", None, _on_common_tokens(judge))
    if computed and computed != ("vocabulary",):
        return made("different", None, f"the configurations compute differently: {_told(judge, computed)}")
    seen = ran is not None and ran.equal and drawn and not computed
    if broken is not None and ran is not None and seen and _all_seen(judge, element, residuals):
        same = f"both give the same logits to rounding ({ran.logits:.2g})"
        return made(
            "equal", None, f"{same}, by none of the known symmetries: {broken.tensor} differs by {broken.value:.2g}",
            known=False,
        )  # fmt: skip
    if broken is not None and ran is not None and drawn and not computed and _drowned(judge, element, residuals, ran):
        raise Undecided(
            f"{broken.tensor} differs by {broken.value:.2g} of its size, and no known symmetry explains it; but the "
            f"logits differ by {ran.logits:.2g}, no more than the rounding of other tensors causes ({ran.noise:.2g}), "
            "so it may be a symmetry that is not known here: compare the two as they were before they were rounded"
        )
    if broken is not None:
        found = diagnose(difference_of(judge, element, broken)) if broken.role in judge.b.graph.shapes else None
        sentence = "it belongs to no part that has a gauge" if found is None else found.reason
        tensor = broken.tensor if found is None or found.tensor is None else found.tensor
        allowed = max(broken.exact, broken.stored)
        value = broken.value if found is None or found.value is None else found.value
        return made("different", tensor, f"{sentence} (differs by {value:.2g} of its size, allowed {allowed:.2g})")
    if ran is not None and ran.logits > max(ran.allowed, ran.exact):
        differ = f"the logits differ by {ran.logits:.2g}, where rounding may cause {ran.allowed:.2g}"
        return made("different", None, f"all tensors agree, yet {differ}")
    if lowest is not None:
        most = f"{lowest.value:.2g} of {lowest.tensor}, where {lowest.stored:.2g} may be"
        return made("equal-to-stored-precision", None, f"all tensors agree to the noise of {lowest.precision}: {most}")
    worst = max(residuals, key=lambda r: r.value / r.exact)
    return made("equal", None, f"all tensors agree to rounding, {worst.value:.2g} of {worst.tensor} at most")


def _drowned(judge: Judge, element: Element, residuals: list[Residual], ran: FunctionCheck) -> bool:
    """Whether tensors differ in much of what they hold, and the logits by no more than the rounding of others."""
    large = all(r.value > _LARGE for r in residuals if r.level == "unexplained")
    return ran.noise is not None and ran.logits <= ran.noise and large and _all_seen(judge, element, residuals)


def _all_seen(judge: Judge, element: Element, residuals: list[Residual]) -> bool:
    """Whether a few tokens show all that is unexplained: no row of a table, no expert or neuron that may be silent."""
    silent = (*judge.anatomy.tables, ".experts.", *((".ff.",) if "relu" in judge.a.architecture.activation else ()))
    unexplained = [r for r in residuals if r.level == "unexplained"]
    return not any(part in r.role for r in unexplained for part in silent) and not any(
        _of_some_neurons(scene_of(judge, element, r)) for r in unexplained if ".ff." in r.role
    )


def _of_some_neurons(scene: Scene) -> bool:
    """Whether a feed-forward map differs in some neurons alone, which may be those that no token wakes."""
    change = (scene.found() - scene.expected()).square()
    if change.dim() == 2:
        change = change.sum(-1 if ".down." in scene.role else -2)
    elif ".down." in scene.role:
        return False
    return bool((change < 1e-12 * change.max()).any())


def _told(judge: Judge, fields: tuple[str, ...]) -> str:
    a, b = (side.model.architecture for side in (judge.a, judge.b))
    short = {"rotary": "the rotary frequencies", "rotary_by_layer": "the rotary frequencies"}
    return "; ".join(short.get(name, f"{name} is {getattr(a, name)!r} and {getattr(b, name)!r}") for name in fields)


def _on_common_tokens(judge: Judge) -> str:
    a, b = (side.model.architecture.vocabulary for side in (judge.a, judge.b))
    return f"A knows {a:,} tokens and B {b:,}; on the first {min(a, b):,}, which both know, all tensors agree"


def _widths(judge: Judge) -> str | None:
    """What is to be known of models whose hidden layers differ in width; None if they do not."""
    a, b = (side.model.architecture.d_ff for side in (judge.a, judge.b))
    if a == b:
        return None
    return (
        f"A has {a:,} neurons a layer and B {b:,}: neurons that add nothing stand for the missing ones, and no element "
        "takes one to the other"
    )


def _notes(a: Side, b: Side, residuals: list[Residual]) -> tuple[str, ...]:
    lacking = [name for name in b.model.others if name not in a.model.checkpoint]
    lacking += [name for name in a.model.others if name not in b.model.checkpoint]
    found = [f"not compared, for only one of the two has it: {_some(lacking)}"] if lacking else []
    if products := [r.tensor for r in residuals if r.of_product]:
        found.append(
            "heads of less rank than channels, or mixed by maps of large condition number, were compared by their "
            f"products W_Q W_Kᵀ and W_V W_O, and no element takes one to the other: in {_some(products)}"
        )
    if sums := [r.tensor for r in residuals if r.of_sum]:
        found.append(
            "neurons that add nothing were left out, and those with one gate or input compared by what they add "
            f"together; no element takes one to the other: in {_some(sums)}"
        )
    return tuple(found)


def _some(names: list[str]) -> str:
    return ", ".join(sorted(names)[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
