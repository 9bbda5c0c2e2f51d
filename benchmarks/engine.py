"""Time the exact engine on models of growing size and write the table to benchmarks/engine.md, or engine-cuda.md.

    python benchmarks/engine.py [--large] [--device cuda] [--against COMMIT]

Each row is one call of symgauge.dimension with two primes on an unmodified transformers model, in a process of its own,
so that peak memory is that of the row; stages are the sums over the primes. With --against every row is measured with
that commit as well, in the same minute on the same machine, and the ranks must be equal. Nothing is tested here: tests
must not depend on how fast a machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Case(NamedTuple):
    label: str
    kind: str
    layers: int
    sizes: dict[str, int]
    length: int | None = None
    """Tokens in a sequence; all positions that the model has by default."""
    large: bool = False
    before: bool = True
    """Whether --against measures it too: what would take hours there is left out."""


CASES = [
    Case("tiny LLaMA, one layer", "llama", 1, {"hidden_size": 4, "num_attention_heads": 2, "num_key_value_heads": 2,
         "head_dim": 2, "intermediate_size": 5, "vocab_size": 8}, 5),
    Case("GPT-2, one layer", "gpt2", 1, {}),
    Case("OPT (ReLU), one layer", "opt", 1, {}, 4),
    Case("GPT-2, two layers", "gpt2", 2, {"vocab_size": 17}),
    Case("LLaMA, one layer", "llama", 1, {}, 6),
    Case("Qwen3, one layer", "qwen3", 1, {}, 4),
    Case("DeepSeek-V3, one layer", "deepseek_v3", 1, {}, 4),
    Case("Mixtral, one layer", "mixtral", 1, {}, 4),
    Case("GPT-2, two layers, wider", "gpt2", 2, {"n_embd": 10, "n_head": 2, "n_inner": 17, "vocab_size": 23}),
    Case("GPT-2, two layers, wide", "gpt2", 2, {"n_embd": 12, "n_head": 3, "n_inner": 20, "vocab_size": 29},
         large=True),
    Case("GPT-2, two layers, widest", "gpt2", 2, {"n_embd": 16, "n_head": 2, "n_inner": 32, "vocab_size": 31},
         large=True),
    Case("GPT-2, two layers, ten thousand", "gpt2", 2, {"n_embd": 23, "n_head": 1, "n_inner": 46, "vocab_size": 47},
         large=True, before=False),
]  # fmt: skip
STAGES = {"probing": "probing", "Jacobian": "jacobian", "rank stage": "rank"}
"""Columns of the table, and what the engine calls them."""


def measure(case: Case, device: str) -> dict[str, Any]:
    """One row, by the package that is first on the path."""
    import resource

    import torch

    import symgauge
    from symgauge.models.huggingface import tiny

    model = tiny(case.kind, layers=case.layers, **case.sizes).to(device)
    inputs = symgauge.Tokens(model.config.vocab_size, case.length or model.config.n_positions)
    r = symgauge.dimension(model, inputs, device=device, witness=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "P": r.parameters,
        "rank": r.rank,
        "nullity": r.nullity,
        "settled": r.saturated and r.agree,
        "seconds": r.seconds,
        "bytes": torch.cuda.max_memory_allocated() if device == "cuda" else peak,
        "card": torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads",
        **{column: sum(p.seconds[stage] for p in r.points) for column, stage in STAGES.items()},
    }


def measured(case: Case, device: str, root: Path) -> dict[str, Any]:
    """The row of the package in ``root``, from a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", case.label, "--device", device]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case.label}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def checked_out(commit: str | None) -> Iterator[Path | None]:
    """A folder with that commit, while it is needed."""
    if commit is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True)
        if archive.returncode:
            raise SystemExit(f"--against {commit}: git has no such commit here")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also models of a few thousand parameters")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit beside the present code")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(next(c for c in CASES if c.label == options.one), options.device)))
        return
    rows: list[tuple[Case, dict[str, Any], dict[str, Any] | None]] = []
    with checked_out(options.against) as old:
        for case in CASES:
            if case.large and not options.large:
                continue
            now = measured(case, options.device, ROOT)
            then = measured(case, options.device, old) if old is not None and case.before else None
            if then is not None and then["rank"] != now["rank"]:
                raise SystemExit(f"{case.label}: rank {now['rank']}, at {options.against} {then['rank']}")
            rows.append((case, now, then))
            print(case.label, now, then, flush=True)
            write(rows, options)  # after every row, because the last ones take long


def write(rows: list[tuple[Case, dict[str, Any], dict[str, Any] | None]], options: argparse.Namespace) -> None:
    cuda = options.device == "cuda"
    head = ["model", "P", "rank", "nullity", "settled", "seconds", *STAGES, "peak memory"]
    head += ["seconds before", "times faster", "peak before"] if options.against else []
    table = [head, ["---"] * len(head)]
    for case, now, then in rows:
        cells = [case.label, *(str(now[k]) for k in ("P", "rank", "nullity")), "yes" if now["settled"] else "no"]
        cells += [f"{now[k]:.1f}" for k in ("seconds", *STAGES)] + [_bytes(now)]
        if options.against and then is None:
            cells += ["—"] * 3
        elif then is not None:
            cells += [f"{then['seconds']:.1f}", f"{then['seconds'] / now['seconds']:.1f}", _bytes(then)]
        table.append(cells)
    arguments = ["--large"] * options.large + ["--device cuda"] * cuda
    arguments += [f"--against {options.against}"] if options.against else []
    lines = [
        f"# Exact engine: measured times{' on a card' if cuda else ''}",
        "",
        "`symgauge.dimension`, two primes, seconds of wall clock, each row in a process of its own. Written by "
        f"`{' '.join(['python benchmarks/engine.py', *arguments])}`.",
        *([f'"Before" is commit {options.against}, measured right after each row.'] if options.against else []),
        f"Peak memory is {'what torch had allocated on the card' if cuda else 'that of the process'}.",
        "",
        *("| " + " | ".join(row) + " |" for row in table),
        "",
        f"Machine: {platform.machine()}, {rows[0][1]['card']}. Python {platform.python_version()}, torch "
        f"{version('torch')}, transformers {version('transformers')}. Seed 0. Date: {date.today().isoformat()}.",
    ]  # fmt: skip
    Path(__file__).with_name("engine-cuda.md" if cuda else "engine.md").write_text("\n".join(lines) + "\n")


def _bytes(row: dict[str, Any]) -> str:
    return f"{row['bytes'] / 1e9:.2f} GB"


if __name__ == "__main__":
    main()
