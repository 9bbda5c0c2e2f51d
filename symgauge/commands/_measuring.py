"""What `dim` and `account` share: their options, progress on stderr, and how results become text and exit status."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from symgauge.commands._output import print_json

if TYPE_CHECKING:
    from symgauge.subjects import Subject

UNDECIDED = 1
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

    @property
    def measuring(self) -> dict[str, Any]:
        """What the library's measurements take of it."""
        names = ("output", "point", "primes", "device", "seed", "rounds")
        return {name: getattr(self, name) for name in names}


def subject(target: str, inputs: str, options: Options, as_is: bool = False) -> Subject:
    """What the command line names. Raises InvalidInput and UnsupportedModel for what cannot be measured."""
    from symgauge.measurement import PARAMETERS
    from symgauge.subjects import subject_of
    from symgauge.subjects.inputs import parse_inputs

    wanted = parse_inputs(inputs) if inputs else None
    return subject_of(target, wanted, seed=options.seed, parameters=PARAMETERS[options.point], as_is=as_is)


@contextmanager
def progress(subject: Subject, options: Options) -> Iterator[Callable[[str, int, int], None]]:
    """Around a measurement: what it will take said before, and where it is, on stderr; yields what is to be called.

    Raises InvalidInput if the machine has not memory enough, and ForeignError for what the module raises.
    """
    from symgauge.blame import blaming
    from symgauge.estimate import estimate

    expected = estimate(subject.module, subject.inputs, len(options.primes))
    if expected.seconds > SILENT:
        print(f"symgauge: {subject.name}, {expected}", file=sys.stderr, flush=True)
    with _progress(options) as show, blaming(f"running {subject.name}", subject.module):
        yield show


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


def report(options: Options, data: dict[str, Any], parts: Iterable[Any], reason: str) -> None:
    """Print a result as JSON, or its parts as text; with a reason for doubt, say it and end with exit status 1."""
    if options.json:
        print_json({**data, "decided": not reason, "reason": reason})
    else:
        from symgauge.printing.tables import console

        for part in parts:
            console().print(part)
    if reason:
        print(f"undecided: {reason}", file=sys.stderr)
        raise typer.Exit(UNDECIDED)
