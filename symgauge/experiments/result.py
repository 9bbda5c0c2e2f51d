"""What an experiment found: numbers beside the source's, tables, figures as data, and the outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal, get_args

from symgauge.errors import InvalidInput

Scale = Literal["linear", "log"]
Style = Literal["line", "points", "line+points", "bars", "steps", "area"]


class Outcome(StrEnum):
    """Whether the source's numbers were obtained again."""

    REPRODUCED = "reproduced"
    PARTLY = "reproduced in part"
    DIFFERS = "not reproduced"
    OURS_ONLY = "nothing printed to compare with"


@dataclass(frozen=True)
class Comparison:
    """One number of the source beside ours. They agree if their ratio lies within [1/factor, factor].

    quantity: what it is, with its configuration. source: None where the source prints none. factor: chosen before the
    run and stated in the report; 1 demands equality (integers). note: Markdown.
    """

    quantity: str
    source: float | int | None
    ours: float | int
    factor: float = 2.0
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.factor, (int, float)) and self.factor >= 1):
            raise InvalidInput(f"{self.quantity}: the factor of agreement is {self.factor!r}; it must be at least 1")
        if not math.isfinite(self.ours):
            raise InvalidInput(f"{self.quantity}: measured {self.ours!r}, which is no finite number")

    @property
    def ratio(self) -> float | None:
        """ours / source; None without a number to divide by."""
        return self.ours / self.source if self.source else None

    @property
    def agrees(self) -> bool | None:
        """None where there is nothing to compare with."""
        if self.source is None:
            return None
        if self.ratio is None or self.factor == 1:
            return self.ours == self.source
        return 1 / self.factor <= self.ratio <= self.factor


@dataclass(frozen=True)
class Table:
    """Further numbers. columns: headers; rows: as many cells each. Cells: text (Markdown) or numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput(f"{self.title}: a row of {len(row)} cells under {len(self.columns)} headers")


@dataclass(frozen=True)
class Series:
    """One curve, point cloud or histogram. low, high: an optional band (style "area") around it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style = "line"

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or not len(self.x):
            raise InvalidInput(f"series {self.label!r}: {len(self.x)} values of x for {len(self.y)} of y")
        if self.style not in get_args(Style):
            raise InvalidInput(f"series {self.label!r}: style {self.style!r} is none of {', '.join(get_args(Style))}")


@dataclass(frozen=True)
class Panel:
    """One pair of axes, labelled with units. levels: label -> horizontal line; marks: label -> vertical line."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    levels: Mapping[str, float] = field(default_factory=dict)
    marks: Mapping[str, float] = field(default_factory=dict)
    ticks: Mapping[str, float] = field(default_factory=dict)  # names in place of numbers along x


@dataclass(frozen=True)
class Figure:
    """name: of the file, without suffix. caption: Markdown, says what to see."""

    name: str
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Result:
    """What one experiment found.

    key: "table-2", "figure-1", ... place: where the source has it. protocol: Markdown, what was run.
    open_choices: what the source leaves open -> what was taken. findings: Markdown sentences, the point first.
    """

    key: str
    title: str
    place: str
    protocol: str
    comparisons: Sequence[Comparison] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    open_choices: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[str] = ()
    seconds: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """From the comparisons alone."""
        judged = [comparison.agrees for comparison in self.comparisons if comparison.agrees is not None]
        if not judged:
            return Outcome.OURS_ONLY
        if all(judged):
            return Outcome.REPRODUCED
        return Outcome.PARTLY if any(judged) else Outcome.DIFFERS

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """The result that `as_dict` gave. Raises InvalidInput where fields are missing or unknown."""
        try:
            known = {entry.name: data[entry.name] for entry in fields(cls)}
            known["comparisons"] = [Comparison(**entry) for entry in data["comparisons"]]
            known["tables"] = [Table(**entry) for entry in data["tables"]]
            known["figures"] = [_figure(entry) for entry in data["figures"]]
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"recorded result {data.get('key', '?')!r} is malformed: {error}") from error
        return cls(**known)


def _figure(data: Mapping[str, Any]) -> Figure:
    panels = []
    for panel in data["panels"]:
        series = [Series(**entry) for entry in panel["series"]]
        panels.append(Panel(**{**panel, "series": series}))
    return Figure(data["name"], data["caption"], panels)
