"""What an experiment found: numbers beside the source's, tables, figures as data, and the outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, TypeVar, get_args

from symgauge.errors import InvalidInput

Scale = Literal["linear", "log"]
Style = Literal["line", "points", "line+points", "bars", "steps", "area"]


class Agreement(StrEnum):
    """How a number of the source compares with ours under every choice that the source leaves open."""

    AGREES = "agrees"
    DEPENDS = "depends on the choice"
    DIFFERS = "differs"
    NONE = "cannot be had"


class Outcome(StrEnum):
    """Whether the source's numbers were obtained again."""

    REPRODUCED = "reproduced"
    DEPENDS = "reproduced for some choices only"
    SEPARATELY = "each number by some choice, all by none"
    PARTLY = "reproduced in part"
    DIFFERS = "not reproduced"
    OURS_ONLY = "nothing reported to compare with"

    @classmethod
    def of(cls, comparisons: Iterable[Comparison]) -> Outcome:
        """The rule, for the pages of experiments and for the claims that they decide alike.

        Reproduced is what agrees under every admissible choice, or under the one that a stated reason fixed beforehand;
        a number that comes out for some choices and not for others is not reproduced by picking among them, and
        several numbers come out for a choice only where all of them do.
        """
        judged = [comparison for comparison in comparisons if comparison.agreement is not None]
        found = {comparison.agreement for comparison in judged}
        if not found:
            return cls.OURS_ONLY
        if found == {Agreement.AGREES}:
            return cls.REPRODUCED
        if found <= {Agreement.AGREES, Agreement.DEPENDS}:
            return cls.DEPENDS if _one_choice_gives_all(judged) else cls.SEPARATELY
        return cls.PARTLY if Agreement.AGREES in found else cls.DIFFERS


@dataclass(frozen=True)
class Comparison:
    """One number of the source beside ours. They agree if their ratio lies within [1/factor, factor].

    quantity: what it is, with its configuration. source: None where the source prints none. ours: None where it cannot
    be had, for which `note` gives the reason. factor: chosen before the run and stated in the report; 1 demands
    equality (integers). note: Markdown. choices: our number under each other choice that the source leaves open.
    limit: the source's number is a bound that ours may not exceed, and the factor plays no part.
    """

    quantity: str
    source: float | int | None
    ours: float | int | None
    factor: float = 2.0
    unit: str = ""
    note: str = ""
    choices: Mapping[str, float | int] = field(default_factory=dict)
    limit: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.factor, (int, float)) and self.factor >= 1):
            raise InvalidInput(f"{self.quantity}: the factor of agreement is {self.factor!r}; it must be at least 1")
        for value in self.values:
            if not math.isfinite(value):
                raise InvalidInput(f"{self.quantity}: measured {value!r}, which is no finite number")
        if self.ours is None and not self.note:
            raise InvalidInput(f"{self.quantity}: there is no number of ours; say in the note why it cannot be had")

    @property
    def values(self) -> tuple[float | int, ...]:
        """Ours under every choice, the one taken first; nothing where it cannot be had."""
        return () if self.ours is None else (self.ours, *self.choices.values())

    @property
    def ratio(self) -> float | None:
        """ours / source; None without a number to divide by."""
        return self.ours / self.source if self.source and self.ours is not None else None

    @property
    def agreeing(self) -> frozenset[str | None]:
        """The choices under which it agrees; None is the one that was taken."""
        return frozenset(
            name for name, value in zip((None, *self.choices), self.values, strict=False) if self._near(value)
        )

    @property
    def agreement(self) -> Agreement | None:
        """None where there is nothing to compare with."""
        if self.source is None:
            return None
        judged = {self._near(value) for value in self.values}
        if not judged:
            return Agreement.NONE
        return Agreement.DEPENDS if len(judged) == 2 else Agreement.AGREES if True in judged else Agreement.DIFFERS

    def against(self, source: float | int | None) -> Agreement | None:
        """The agreement of our numbers with another number in place of the source's."""
        return replace(self, source=source).agreement

    def with_choices_of(self, other: Comparison, name: str) -> Comparison:
        """This, with the numbers of another experiment, called name, on the same quantity as further choices.

        Raises InvalidInput where the two hold another number of the source against theirs, or in another way.
        """
        asked = [(each.quantity, each.source, each.factor, each.limit) for each in (self, other)]
        if asked[0] != asked[1]:
            raise InvalidInput(f"{self.quantity}: {name} compares it otherwise, {asked[1]} and not {asked[0]}")
        taken = {} if other.ours is None else {f"{name}: as taken there": other.ours}
        added = {**taken, **{f"{name}: {choice}": value for choice, value in other.choices.items()}}
        return replace(self, choices={**self.choices, **added})

    def _near(self, value: float | int) -> bool:
        assert self.source is not None
        if self.limit:
            return value <= self.source
        if not self.source or self.factor == 1:
            return value == self.source
        return 1 / self.factor <= value / self.source <= self.factor


def _one_choice_gives_all(comparisons: Sequence[Comparison]) -> bool:
    """Whether all agree under one choice. Numbers with other choices to make, or with none, do not bear on it."""
    together: dict[frozenset[str], list[Comparison]] = {}
    for each in comparisons:
        together.setdefault(frozenset(each.choices), []).append(each)
    return all(frozenset.intersection(*(each.agreeing for each in group)) for group in together.values())


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
        return Outcome.of(self.comparisons)

    def comparison(self, beginning: str) -> Comparison:
        """The one comparison whose quantity begins so. Raises InvalidInput where there is none, or several."""
        found = [each for each in self.comparisons if each.quantity.startswith(beginning)]
        return _the_only(found, f"{self.key} compares no quantity, or several, beginning with {beginning!r}")

    def table(self, beginning: str) -> Table:
        """The one table whose title begins so. Raises InvalidInput where there is none, or several."""
        found = [each for each in self.tables if each.title.startswith(beginning)]
        return _the_only(found, f"{self.key} has no table, or several, beginning with {beginning!r}")

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


T = TypeVar("T")


def _the_only(found: Sequence[T], otherwise: str) -> T:
    if len(found) != 1:
        raise InvalidInput(otherwise)
    return found[0]
