"""One vector space that activations live in: who writes it, who reads it, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, field

from symgauge.model_graph import Map, Norm


@dataclass(frozen=True)
class Constant:
    """Roles that add the same constant vector to a space when each of them moves by it (divided by ``factor``)."""

    roles: tuple[str, ...]
    table: bool = False
    factor: float = 1.0


@dataclass(frozen=True)
class Reader:
    """A linear map that reads a space, and how a constant added to its result can be taken back.

    ``columns`` are the output columns in which it can: through ``bias``; or ``through`` the heads' output map into the
    ``sink`` (attention weights sum to one); or, with neither, because softmax does not see it. What goes ``onward``
    through that map with no bias to take it is one more constant of the space that was read, a moment later.
    """

    weight: str
    columns: tuple[int, ...] = ()
    bias: str | None = None
    through: str | None = None
    sink: Constant | None = None
    onward: str | None = None
    tied: bool = False
    router: bool = False


@dataclass
class Moment:
    """Writers that add to a space together, and then what reads it before the next ones write."""

    constants: list[Constant] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    writers: list[Map] = field(default_factory=list)
    norms: list[Norm] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)


@dataclass
class Space:
    """One space, its history moment by moment, and all that writes it.

    ``source`` is the norm whose result opened it; ``outputs`` are output norms that add to it later. ``given`` says
    that it starts from something no role controls linearly (an input, an activation), ``taken`` that it is the output.
    """

    width: int
    layer: int | None = None
    source: Norm | None = None
    outputs: list[Norm] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=lambda: [Moment()])
    given: bool = False
    taken: bool = False
    homogeneous: Map | None = None
    """The map whose rectified result a given space holds: scaling the map scales the space."""

    @property
    def norms(self) -> list[Norm]:
        """Norms that read the space."""
        return [norm for moment in self.moments for norm in moment.norms]

    @property
    def readers(self) -> list[Reader]:
        """Linear maps that read the space directly."""
        return [reader for moment in self.moments for reader in moment.readers]

    @property
    def tables(self) -> list[str]:
        """Tables that write the space."""
        return [table for moment in self.moments for table in moment.tables]

    @property
    def writers(self) -> list[Map]:
        """Linear maps that write the space."""
        return [m for moment in self.moments for m in moment.writers]

    def centred(self, position: int) -> bool:
        """Whether only LayerNorms look from this moment on, so that what is added along **1** is never seen."""
        after = self.moments[position:]
        norms = [norm for moment in after for norm in moment.norms]
        seen = self.taken or any(moment.readers for moment in after)
        return bool(norms) and not seen and all(norm.kind == "layer" for norm in norms)

    @property
    def refoldable(self) -> bool:
        """Whether a norm opened it and nothing but untied linear maps reads it."""
        return (
            self.source is not None
            and len(self.moments) == 1
            and not self.norms
            and not self.taken
            and bool(self.readers)
            and not any(reader.tied for reader in self.readers)
        )
