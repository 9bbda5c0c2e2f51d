"""Figures as PNG files, from the data in a result."""

from __future__ import annotations

from io import BytesIO
from math import ceil
from typing import Any

from symgauge.experiments.result import Figure, Panel, Series

WIDTH, HEIGHT, DPI = 5.2, 3.6, 110  # inches per panel; two panels side by side fit a page on GitHub
COLUMNS = 2
ROOM = 4  # labels that find a place beside the data; more of them stand below
# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def draw(figure: Figure) -> bytes:
    """PNG. The same figure and version of matplotlib give the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    columns = min(COLUMNS, len(figure.panels))
    rows = ceil(len(figure.panels) / columns)
    # A legend below takes its room from the panel, so there is more of it.
    height = HEIGHT + (1.0 if any(_labels(panel) > ROOM for panel in figure.panels) else 0)
    canvas = Canvas(
        figsize=(WIDTH * columns + (1.2 if columns == 1 else 0), height * rows), dpi=DPI, layout="constrained"
    )
    FigureCanvasAgg(canvas)
    grid = canvas.add_gridspec(rows, columns)
    for number, panel in enumerate(figure.panels):
        row, column = divmod(number, columns)
        # An odd one at the end has the whole row.
        place = grid[row, :] if number == len(figure.panels) - 1 and column == 0 else grid[row, column]
        _panel(canvas.add_subplot(place), panel)
    stream = BytesIO()
    canvas.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _panel(ax: Any, panel: Panel) -> None:
    for number, series in enumerate(panel.series):
        _series(ax, series, COLOURS[number % len(COLOURS)])
    for number, (label, value) in enumerate(panel.levels.items()):
        ax.axhline(value, color="0.35", linestyle=("--", ":", "-.")[number % 3], linewidth=1, label=label)
    for number, (label, value) in enumerate(panel.marks.items()):
        ax.axvline(value, color="0.55", linestyle=(":", "-.", "--")[number % 3], linewidth=1, label=label)
    ax.set_xscale(panel.x_scale)
    ax.set_yscale(panel.y_scale)
    ax.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.ticks:
        ax.set_xticks(list(panel.ticks.values()), list(panel.ticks))
    ax.grid(alpha=0.25)
    if _labels(panel) > ROOM:
        # The pad, in units of the font size, leaves room for ticks and label whatever the height of the panel.
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=5.5, ncols=2)
    elif _labels(panel):
        ax.legend(fontsize=8, framealpha=0.8)


def _labels(panel: Panel) -> int:
    return sum(bool(s.label) for s in panel.series) + len(panel.levels) + len(panel.marks)


def _series(ax: Any, series: Series, colour: str) -> None:
    label = series.label or None
    x, y = list(series.x), list(series.y)
    if series.style == "bars":
        ax.bar(x, y, width=0.8 * _spacing(x), color=colour, alpha=0.7, label=label)
    elif series.style == "steps":
        ax.step(x, y, where="mid", color=colour, label=label)
    elif series.style == "area":
        ax.fill_between(x, y, color=colour, alpha=0.25, step="mid", label=label)
    else:
        line, marker = {"line": ("-", ""), "points": ("", "o"), "line+points": ("-", "o")}[series.style]
        ax.plot(x, y, color=colour, linestyle=line, marker=marker, markersize=4, label=label)


def _spacing(x: list[float]) -> float:
    return min((b - a for a, b in zip(sorted(x), sorted(x)[1:], strict=False) if b > a), default=1.0)
