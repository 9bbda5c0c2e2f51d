"""A comparison as a page of Markdown with a picture: every tensor's residual against what rounding may leave."""

from __future__ import annotations

import io
from pathlib import Path

from symgauge.atomic import write_bytes, write_text
from symgauge.comparison.result import Comparison
from symgauge.extras import require

_COLOURS = {"exact": "#2a7f62", "stored": "#c98a1b", "unexplained": "#b3261e"}
_WORDS = {
    "exact": "rounding of the arithmetic",
    "stored": "noise of the precision stored",
    "unexplained": "unexplained",
}
_LEAST = 1e-17


def write_report(found: Comparison, path: Path, first: str, second: str) -> None:
    """Write ``path`` and, beside it, a picture of the same name. Raises InvalidInput without matplotlib."""
    picture = path.with_suffix(".png")
    write_bytes(picture, _picture(found))
    write_text(path, _page(found, picture.name, first, second))


def _page(found: Comparison, picture: str, first: str, second: str) -> str:
    lines = [
        f"# {found.verdict}",
        "",
        f"A is `{first}`, B is `{second}`.",
        "",
        f"{found.reason[:1].upper()}{found.reason[1:]}.",
    ]
    if found.output == "probabilities":
        lines += ["", "Probabilities are compared: heads and logits up to what moves all logits of a position alike."]
    if found.tensor is not None:
        lines += ["", f"The first tensor that no gauge explains is `{found.tensor}`."]
    lines += ["", f"![Residual of every tensor, and what is allowed]({picture})", ""]
    described = found.element.described()
    if described:
        lines += ["## The element that takes A to B", "", "| part | what it does |", "|---|---|"]
        lines += [f"| {name} | {what} |" for name, what in described.items()]
        lines += ["", f"Condition of its matrices: {found.element.condition:.3g} at most.", ""]
    if (f := found.function) is not None:
        differ = f"On {f.tokens} {f.of} the logits differ by {f.logits:.2g} of their size"
        lines += ["## The functions", "", f"{differ}; rounding of the weights may cause {f.allowed:.2g}.", ""]
        if f.float32 is not None and f.float64 is not None:
            rungs = f"{f.float32:.2g} in float32 and by {f.float64:.2g} in float64"
            lines += [
                f"A and its image under what was found differ by {rungs}: rounding falls, a mistake does not.",
                "",
            ]
        lines += ["| after layer | streams differ by |", "|---:|---:|"] if f.layers else []
        lines += [f"| {layer} | {value:.2g} |" for layer, value in enumerate(f.layers)]
        lines.append("")
    lines += [
        "## Every tensor",
        "",
        "| tensor of B | role | residual | allowed | precision | |",
        "|---|---|---:|---:|---|---|",
    ]
    for r in found.residuals:
        allowed = max(r.exact, r.stored)
        lines.append(f"| `{r.tensor}` | {r.role} | {r.value:.2g} | {allowed:.2g} | {r.precision} | {_WORDS[r.level]} |")
    return "\n".join([*lines, "", "\n\n".join(found.notes)]).rstrip() + "\n"


def _picture(found: Comparison) -> bytes:
    """Residuals from the first tensor to the last, on a logarithmic scale."""
    require("reproduce", "a picture of the residuals")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    for level, colour in _COLOURS.items():
        chosen = [(i, max(r.value, _LEAST)) for i, r in enumerate(found.residuals) if r.level == level]
        if chosen:
            places, sizes = zip(*chosen, strict=True)
            axes.scatter(places, sizes, s=12, color=colour, label=_WORDS[level])
    allowed = [max(r.exact, r.stored) for r in found.residuals]
    axes.step(range(len(allowed)), allowed, where="mid", color="#888888", linewidth=0.8, label="allowed")
    axes.set(yscale="log", xlabel="tensor, in the order in which a token meets them", ylabel="residual / size")
    axes.legend(loc="best", fontsize=8)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=130, metadata={"Software": None})
    return stream.getvalue()
