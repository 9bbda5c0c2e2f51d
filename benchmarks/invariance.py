"""Time Table 5's protocol of the gauge paper and write the table to its machine's part of benchmarks/invariance.md.

    python benchmarks/invariance.py [--device cuda]

On a card: 1,000 inputs under 100 elements of the group, per configuration. On a processor fewer of both. Nothing is
tested here: tests must not depend on how fast a machine is.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proofs_checks.gauge.experiments.subject import PAPER_ELEMENTS, PAPER_INPUTS, SIZES
from proofs_checks.gauge.experiments.timing import timed
from proofs_checks.gauge.experiments.trials import TOKENS
from proofs_checks.gauge.reported import TABLE_5
from symgauge.experiments.environment import environment

PROCESSOR = {"Small": (200, 10), "Medium": (100, 5), "Large": (32, 3)}  # inputs, elements
HEAD = ["configuration", "sizes", "trials", "seconds", "drawing elements", "ms per trial", "paper, ms",
        "TFLOP/s", "product", "share"]  # fmt: skip


INTRODUCTION = f"""# Invariance trials: measured times

Table 5's protocol, float64, {TOKENS} tokens: elements of the group are drawn, the weights changed, the whole layer
computed on every input (and once unchanged), and the relative error kept per trial. Seconds of wall clock, the
fastest of three runs; the paper's are for an H100 (18.51, 32.33 and 170.82 s for 100,000 trials). TFLOP/s counts the
matrix products of attention; *product* is one float64 product of the shape of the largest of them, in the same run.
Written by `python benchmarks/invariance.py`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    card = torch.device(arguments.device).type == "cuda"
    rows = []
    for name, sizes in SIZES.items():
        inputs, elements = (PAPER_INPUTS, PAPER_ELEMENTS) if card else PROCESSOR[name]
        t = timed(sizes, inputs, elements, arguments.device, repeats=3)
        rates = [f"{t.rate / 1e12:.3g}", f"{t.product_rate / 1e12:.3g}", f"{100 * t.share:.0f} %"]
        times = [f"{t.seconds:.2f}", f"{t.drawing:.2f}", f"{t.milliseconds:.3g}", TABLE_5[name][1]]
        rows.append([name, str(sizes), f"{t.trials:,}", *times, *rates])
        print(" | ".join(rows[-1]), flush=True)
    found = ", ".join(f"{key} {value}" for key, value in environment(arguments.device).items())
    part = [
        *("| " + " | ".join(row) + " |" for row in [HEAD, ["---"] * len(HEAD), *rows]),
        "",
        f"Machine: {found}. Seed 0. Date: {date.today().isoformat()}.",
    ]
    write(arguments.out, "Card" if card else "Processor", "\n".join(part))


def write(file: Path, heading: str, text: str) -> None:
    """Replace the part of the page under a heading; the measurements of other machines stay."""
    parts = dict.fromkeys(("Card", "Processor"), "Not measured.")
    if file.exists():
        for part in file.read_text().split("\n## ")[1:]:
            name, _, body = part.partition("\n")
            parts[name] = body.strip()
    parts[heading] = text
    file.write_text("\n\n".join([INTRODUCTION, *(f"## {name}\n\n{body}" for name, body in parts.items())]) + "\n")


if __name__ == "__main__":
    main()
