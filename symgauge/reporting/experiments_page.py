"""Results as a Markdown page, with links to their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symgauge.experiments.drawing import draw
from symgauge.experiments.record import Record, Run, recorded
from symgauge.experiments.result import Agreement, Comparison, Figure, Result, Table
from symgauge.experiments.suite import experiments_of
from symgauge.reporting import markdown as md
from symgauge.reporting.figures import short
from symgauge.sources import source

FIGURES = "figures"
SCALES = {"small": "reduced sizes, on a processor", "paper": "the source's sizes"}
LISTED = 3  # choices; more are counted
MARKED = {Agreement.DIFFERS: "**differs**", Agreement.DEPENDS: "**depends on the choice**"}


def title(suite: str) -> str:
    """Title of the suite's page."""
    return f"{source(suite).title}: experiments run again"


def recorded_page(suite: str) -> str:
    """The page of the records that come with the package."""
    return page(suite, recorded(suite))


def recorded_figures(suite: str) -> dict[str, bytes]:
    """Path below the reports -> PNG, for the same records."""
    return figures(suite, recorded(suite))


def page(suite: str, records: Mapping[str, Record]) -> str:
    """Markdown: what came out at a glance, then an experiment after the other, each at all scales recorded."""
    known = [key for key in experiments_of(suite) if any(key in record.runs for record in records.values())]
    if not known:
        return md.document(
            f"# {title(suite)}", f"Nothing is recorded; {md.code(f'symgauge reproduce {suite}')} runs it."
        )
    return md.document(
        f"# {title(suite)}",
        "[All sources](index.md)",
        "Each number of the source stands beside the one measured here, with their ratio. They agree if the ratio is "
        "within the factor given, which was set before the run. What the source leaves open is listed with what was "
        "taken; where other choices were tried, the numbers under all of them have to agree.",
        md.table(["experiment", "place", *records], [_glance(key, records) for key in known]),
        *(_experiment(suite, key, records) for key in known),
        "## How it was measured",
        *(_provenance(record) for record in records.values()),
        source(suite).experiments[1],
    )


def figures(suite: str, records: Mapping[str, Record]) -> dict[str, bytes]:
    """Path of each figure, relative to the page -> PNG."""
    return {
        _path(suite, scale, figure): draw(figure)
        for scale, record in records.items()
        for run in record.runs.values()
        for figure in run.result.figures
    }


def _path(suite: str, scale: str, figure: Figure) -> str:
    return f"{FIGURES}/{suite}-{scale}-{figure.name}.png"


def _glance(key: str, records: Mapping[str, Record]) -> list[str]:
    found = [record.runs[key].result for record in records.values() if key in record.runs]
    cells = [str(record.runs[key].result.outcome) if key in record.runs else "" for record in records.values()]
    return [f"[{found[0].title}](#{key})", found[0].place, *cells]


def _experiment(suite: str, key: str, records: Mapping[str, Record]) -> str:
    runs = {scale: record.runs[key] for scale, record in records.items() if key in record.runs}
    first = next(iter(runs.values())).result
    return md.document(
        f'<a id="{key}"></a>\n\n## {first.title} ({first.place})',
        *(_run(suite, scale, run) for scale, run in runs.items()),
    )


def _run(suite: str, scale: str, run: Run) -> str:
    result = run.result
    return md.document(
        f"### Scale {md.code(scale)}: {result.outcome}",
        md.text(result.protocol),
        "\n".join(f"- {md.text(finding)}" for finding in result.findings),
        _comparisons(result),
        *(_table(table) for table in result.tables),
        *(f"![{figure.name}]({_path(suite, scale, figure)})\n\n{md.text(figure.caption)}" for figure in result.figures),
        _choices(result),
        _replay(run),
    )


def _comparisons(result: Result) -> str:
    if not result.comparisons:
        return ""
    optional = {
        "under all choices": any(each.choices for each in result.comparisons),
        "note": any(each.note for each in result.comparisons),
    }
    shown = [name for name, needed in optional.items() if needed]
    header = ["quantity", "source", "ours", "ratio", "within a factor", "verdict", *shown]
    return md.table(header, [_row(each, shown) for each in result.comparisons], right=range(1, 5))


def _row(comparison: Comparison, shown: Sequence[str]) -> list[str]:
    unit = f" {comparison.unit}" if comparison.unit else ""
    reported = "" if comparison.source is None else f"{short(comparison.source)}{unit}"
    ours = "" if comparison.ours is None else f"{short(comparison.ours)}{unit}"
    ratio = "" if comparison.ratio is None else short(float(comparison.ratio))
    agreement = comparison.agreement
    verdict = "" if agreement is None else MARKED.get(agreement, str(agreement))
    more = {"under all choices": _interval(comparison), "note": comparison.note}
    return [comparison.quantity, reported, ours, ratio, _factor(comparison), verdict, *(more[name] for name in shown)]


def _factor(comparison: Comparison) -> str:
    if comparison.source is None:
        return ""
    if comparison.limit:
        return "at most"
    return "equal" if comparison.factor == 1 else short(float(comparison.factor))


def _interval(comparison: Comparison) -> str:
    if not comparison.choices:
        return ""
    low, high = (short(end(comparison.values)) for end in (min, max))
    names, count = "; ".join(comparison.choices), len(comparison.choices)
    return f"{low} to {high} ({names if count <= LISTED else f'{count} others, in the tables'})"


def _table(table: Table) -> str:
    numeric = [
        column
        for column in range(len(table.columns))
        if table.rows and all(isinstance(row[column], (int, float)) or row[column] == "" for row in table.rows)
    ]
    rows = [[cell if isinstance(cell, str) else short(cell) for cell in row] for row in table.rows]
    return md.document(
        f"**{md.text(table.title)}:**", md.table(table.columns, rows, right=numeric), md.text(table.note)
    )


def _choices(result: Result) -> str:
    if not result.open_choices:
        return ""
    return md.table(["left open by the source", "taken"], list(result.open_choices.items()))


def _replay(run: Run) -> str:
    settings = ", ".join(f"{name} {short(value)}" for name, value in run.result.settings.items())
    return md.document(
        f"Settings: {settings}." if settings else "", f"Again: {md.code(run.command)} ({run.result.seconds:.1f} s)."
    )


def _provenance(record: Record) -> str:
    """A line per environment and date, with what was measured so."""
    groups: dict[str, list[str]] = {}
    for key, run in record.runs.items():
        environment = ", ".join(f"{name} {value}" for name, value in run.environment.items())
        groups.setdefault(f"{environment}; seed {run.seed}; {run.date}", []).append(key)
    lines = [f"- {', '.join(keys)}: {what}." for what, keys in groups.items()]
    return md.document(f"Scale {md.code(record.scale)} ({SCALES[record.scale]}):", "\n".join(lines))
