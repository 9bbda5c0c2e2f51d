"""What `dim` and `account` share: their options, progress on stderr, and how results become text and exit status."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from symgauge.exact.result import FibreDimension
    from symgauge.full_size import FullSize
    from symgauge.targets import Target

UNDECIDED = 1
WIDTH = 110
SILENT = 5.0
"""Seconds that a run may take without being announced."""
PAUSE = 20.0
"""Seconds between two lines about a run off a terminal."""

TargetName = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="file.py:factory (which returns (module, inputs)), a transformers config.json, model folder or GGUF file, "
        "a preset such as llama-3-8b, or a model type such as mamba. What is too large is measured scaled down.",
    ),
]
InputsOption = Annotated[
    str, typer.Option("--inputs", metavar="FORM", help="tokens:VOCABULARY,LENGTH, vectors:LENGTH,WIDTH or arrays:A,B,…")
]
OutputOption = Annotated[str, typer.Option("--output", help="logits, or probabilities (logits up to a shift).")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Everything random follows from it.")]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu or cuda.")]
PrimesOption = Annotated[
    str, typer.Option("--primes", metavar="P,Q", help="Primes P below 2^31 with (P - 1)/2 prime; two by default.")
]
PointOption = Annotated[str, typer.Option("--point", help="random: a generic point; own: the module's parameters.")]
AsIsFlag = Annotated[bool, typer.Option("--as-is", help="Do not scale a configuration down, whatever its size.")]
ParametersOption = Annotated[
    str, typer.Option("--parameters", help="trained: those with requires_grad; all: the others count too.")
]
OutputsOption = Annotated[
    str, typer.Option("--outputs", metavar="A,B", help="Names or numbers of the outputs that count; see the docs.")
]
RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Batches of candidate probes to try.")]
TracebackFlag = Annotated[bool, typer.Option("--traceback", help="Show the whole traceback of an error in your code.")]


@dataclass(frozen=True)
class Options:
    """A command line, checked."""

    output: Literal["logits", "probabilities"]
    point: Literal["random", "own"]
    primes: tuple[int, ...]
    device: str
    seed: int
    rounds: int
    json: bool
    traceback: bool

    @classmethod
    def checked(
        cls, *, output: str, point: str, primes: str, device: str, seed: int, rounds: int, json: bool, traceback: bool
    ) -> Options:
        """Raises InvalidInput for what no measurement could use, before anything is built."""
        from symgauge.arithmetic.primes import DEFAULT_PRIMES, check_primes
        from symgauge.checks import check_device, check_seed
        from symgauge.errors import InvalidInput

        if output not in ("logits", "probabilities"):
            raise InvalidInput(f"--output {output!r}: choose logits or probabilities")
        if point not in ("random", "own"):
            raise InvalidInput(f"--point {point!r}: choose random or own")
        check_device(device, "--device")
        check_seed(seed, "--seed")
        try:
            chosen = tuple(int(p) for p in primes.split(",")) if primes else DEFAULT_PRIMES
        except ValueError:
            raise InvalidInput(f"--primes {primes!r}: write integers separated by commas") from None
        return cls(output, point, check_primes(chosen), device, seed, rounds, json, traceback)  # type: ignore[arg-type]


@contextmanager
def quiet_stdout(options: Options) -> Iterator[None]:
    """With --json nothing but the result may reach stdout, whatever the user's code prints."""
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        yield


def measured(target: Target, options: Options, parameters: str = "trained", outputs: str = "") -> FibreDimension:
    """The exact fibre dimension of a target, with what it will take said before, and progress, on stderr.

    Raises InvalidInput if the point asked for is not there, or the machine has not memory enough.
    """
    from symgauge.errors import InvalidInput
    from symgauge.estimate import estimate
    from symgauge.measurement import dimension
    from symgauge.targets import blaming

    if options.point == "own" and target.no_own_point:
        raise InvalidInput(f"{target.no_own_point}; leave --point out for a random one")
    name = target.name
    expected = estimate(target.module, target.inputs, len(options.primes))
    if expected.seconds > SILENT:
        print(f"symgauge: {name}, {expected}", file=sys.stderr, flush=True)
    with _progress(options) as progress, blaming(f"running {name}", target.module, options.traceback):
        return dimension(
            target.module, target.inputs, seed=options.seed, primes=options.primes, output=options.output,
            point=options.point, device=options.device, rounds=options.rounds, progress=progress,
            parameters=parameters, outputs=outputs.split(",") if outputs else None,
        )  # fmt: skip


@contextmanager
def _progress(options: Options) -> Iterator[Callable[[str, int, int], None]]:
    """A bar per prime on stderr: the rank so far, out of the parameters. Off a terminal, or with --json, a line now and
    then instead."""
    if options.json or not sys.stderr.isatty():
        with _lines() as note:
            yield note
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        waiting = bar.add_task("looking for probes", total=None)
        tasks: dict[str, TaskID] = {}

        def show(stage: str, rank: int, parameters: int) -> None:
            bar.update(waiting, visible=False)
            if stage not in tasks:
                tasks[stage] = bar.add_task(f"rank, {stage}", total=parameters)
            bar.update(tasks[stage], completed=rank)

        yield show


@contextmanager
def _lines() -> Iterator[Callable[[str, int, int], None]]:
    """Every ``PAUSE`` seconds a line on stderr with where the run is, from a thread, since stages may be long."""
    state, done, began = ["looking for probes"], threading.Event(), time.monotonic()

    def note(stage: str, rank: int, parameters: int) -> None:
        state[0] = f"{stage}: rank {rank:,} of at most {parameters:,}"

    def write() -> None:
        while not done.wait(PAUSE):
            print(f"symgauge: {time.monotonic() - began:,.0f} s, {state[0]}", file=sys.stderr, flush=True)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield note
    finally:
        done.set()
        writer.join()


def console() -> Console:
    """Where tables go: the terminal's own width, a fixed one elsewhere."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, markup=False)


def print_table(columns: list[str], rows: list[list[str]], title: str = "") -> None:
    """The first column on the left, numbers on the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, title=title or None, title_justify="left", show_header=any(columns))
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def summary(fibre: FibreDimension) -> list[list[str]]:
    """Rows of what was found and how."""
    share = 100 * fibre.nullity / fibre.parameters
    used = "all there are" if fibre.exhausted else "positions"
    return [
        ["parameters", f"{fibre.parameters:,}"],
        ["rank", f"{fibre.rank:,}"],
        ["nullity (fibre dimension)", f"{fibre.nullity:,} ({share:.1f} %)"],
        ["output", fibre.output],
        ["primes", ", ".join(map(str, fibre.primes))],
        ["seed", str(fibre.seed)],
        ["probes", f"{fibre.probes:,} {used}"],
        ["failure bound", f"{fibre.failure_bound:.1e}{_conditions(fibre)}"],
        ["second witness", _witness(fibre)],
        *([["generic rank", f"{fibre.generic_rank:,}{_singular(fibre)}"]] if fibre.generic_rank is not None else []),
        ["seconds", f"{fibre.seconds:.1f}"],
    ]


def _conditions(fibre: FibreDimension) -> str:
    """What the bound supposes, in a word."""
    return f", if {', '.join(fibre.conditional_on)} have no other relations" if fibre.conditional_on else ""


def _singular(fibre: FibreDimension) -> str:
    return " (the module's own point is singular: the nullity is an upper bound only)" if fibre.singular else ""


def _witness(fibre: FibreDimension) -> str:
    """What float64 says of the rank."""
    if fibre.float_rank is None:
        return f"none: {fibre.witness}"
    verdict = "agrees" if fibre.float_rank == fibre.rank else f"contradicts, with rank {fibre.float_rank:,}"
    return f"float64 {verdict}, gap {fibre.gap:.0e}"


def print_full_size(full: FullSize) -> None:
    """The formula's parts at full size."""
    rows = [[s.name, str(s.formula), f"{s.dimension:,}"] for s in full.shares if s.dimension]
    rows.append(["all", str(full.formula), f"{full.dimension:,}"])
    rows.append(["the gauge paper's count", str(full.paper_formula), f"{full.paper:,}"])
    title = f"{full.architecture.name} at full size, {full.parameters:,} parameters: known symmetries by formula"
    print_table(["family", "formula", "dimension"], rows, title)


def full_size_of(target: Target, options: Options) -> FullSize | None:
    """The formula at full size, where the target stands for something larger."""
    from symgauge.full_size import full_size

    return full_size(target.full_size, options.output) if target.full_size is not None else None


def report(options: Options, data: dict[str, Any], show: Callable[[], None], reason: str) -> None:
    """Print a result as JSON or with ``show``; with a reason for doubt, say it and end with exit status 1."""
    from symgauge.commands._output import print_json

    if options.json:
        print_json({**data, "decided": not reason, "reason": reason})
    else:
        show()
    if reason:
        print(f"undecided: {reason}", file=sys.stderr)
        raise typer.Exit(UNDECIDED)
