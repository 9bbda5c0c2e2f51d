"""`symgauge reproduce`: run the experiments of a source again, and set its numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Whose experiments; 'list' names them all.")],
    table: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this table (may be repeated).")] = None,
    figure: Annotated[list[str] | None, typer.Option(metavar="N", help="Only this figure (may be repeated).")] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Only this experiment (may be repeated).")
    ] = None,
    scale: Annotated[str, typer.Option(help="small: minutes on two cores; paper: the source's own sizes.")] = "small",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, where an experiment has them.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, where an experiment has parts of hours.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for results; reproduced/ without it.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again even what is recorded in DIR.")] = False,
) -> None:
    """Run experiments of a source; writes results (JSON), a page (Markdown), figures (PNG). A stopped run goes on."""
    from symgauge.experiments.suite import experiments_of, suites
    from symgauge.extras import require

    require("reproduce", "symgauge reproduce")
    if suite == "list":
        for name in suites():
            for key, experiment in experiments_of(name).items():
                print(f"{name:<12} {key:<24} {experiment.title}")
        return
    from symgauge.atomic import check_writable, write_bytes, write_text
    from symgauge.checks import check_device, check_seed
    from symgauge.commands._progress import shares
    from symgauge.experiments.record import Record
    from symgauge.experiments.suite import Setting, choose, reproduce
    from symgauge.reporting.experiments_page import figures, page

    keys = [*(f"table-{n}" for n in table or ()), *(f"figure-{n}" for n in figure or ()), *(only or ())]
    check_device(device, "--device")
    check_seed(seed, "--seed")
    chosen = choose(suite, keys)
    folder = out or Path("reproduced")
    check_writable(folder)
    file = folder / f"{suite}-{scale}.json"
    words = ["symgauge reproduce", suite, "--scale", scale, *(["--device", device] if device != "cpu" else [])]
    words += [*(["--seed", str(seed)] if seed else []), *(["--seeds", str(seeds)] if seeds else [])]
    with shares() as tick:
        setting = Setting(scale, device, seed, seeds, tick, folder, fresh, workers)
        for experiment, result, ran in reproduce(suite, chosen, setting, file, " ".join(words), fresh):
            time = f"{result.seconds:.1f} s" if ran else "recorded before"
            print(f"{experiment.key:<24} {result.outcome:<36} {time:>16}  {experiment.title}", flush=True)
    records = {scale: Record.load(file)}
    drawn = figures(suite, records)
    for path, png in drawn.items():
        write_bytes(folder / path, png)
    written = folder / f"{suite}-experiments.md"
    write_text(written, page(suite, records))
    print(f"wrote {written}, {file} and {len(drawn)} figures")
