"""Discover the symmetries of every specimen and write down what was found: the data of this source's page.

    python -m proofs_checks.discovered.measuring [--out FILE] [NAME …]

A specimen's line is replaced, so that a run that was stopped can be taken up by names.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

import symgauge
from proofs_checks.discovered.specimens.attention import variants
from proofs_checks.discovered.specimens.families import known
from proofs_checks.discovered.specimens.models import configurations, model
from symgauge.atomic import write_text
from symgauge.discovery.alike import alike
from symgauge.discovery.discovery import Discovery
from symgauge.exact.result import Output
from symgauge.subjects import Subject

RECORD = Path(__file__).with_name("discovered.jsonl")
COMMAND = "python -m proofs_checks.discovered.measuring"


@dataclass(frozen=True)
class Specimen:
    """What is looked at: one of three groups, and what its fibre is known to be where it is."""

    name: str
    group: str
    subject: Subject
    output: Output = "logits"
    expected: dict[str, Any] | None = None


def specimens() -> Iterator[Specimen]:
    """All of them, the cheapest group first."""
    for name, variant in variants().items():
        own = variant.sizes[0]
        counts = {"nullity": variant.count(own), "by hand": variant.by_hand(**own)}
        yield Specimen(name, "attention variants", Subject(*variant.make(own)), expected=counts)
    for name, reference in known().items():
        subject = symgauge.subject_of(reference.architecture)
        counts = {"algebra": reference.name, "dimension": reference.dimension}
        yield Specimen(name, "reference families", subject, reference.output, counts)
    for name in configurations():
        yield Specimen(name, "transformers models", model(name))


def measured(specimen: Specimen) -> dict[str, Any]:
    """A line of the record."""
    line: dict[str, Any] = {"name": specimen.name, "group": specimen.group, "expected": specimen.expected}
    began = time.process_time()
    try:
        found = symgauge.discover(specimen.subject, output=specimen.output)
    except symgauge.Undecided as error:
        return line | {"undecided": str(error), "seconds": round(time.process_time() - began, 1)}
    return line | _found(found) | {"seconds": round(time.process_time() - began, 1)}


def _found(found: Discovery) -> dict[str, Any]:
    data = found.as_dict()
    kept = (
        "parameters", "nullity", "frozen", "algebra", "beyond_affine", "integrated", "explained", "unexplained",
        "unexplained_tensors", "discrete_order", "discrete", "tried", "flows",
        "failure_bound", "primes", "seed", "points", "doubt",
    )  # fmt: skip
    ideals = [
        {
            "algebra": group.algebra, "copies": len(group.ideals), "dimension": group.dimension,
            "tensors": list(group.tensors), "action": group.action,
        }
        for group in alike(found.ideals)
    ]  # fmt: skip
    return {key: data[key] for key in kept if key in data} | {"ideals": ideals}


def main() -> None:
    """Measure the specimens named, or all, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=RECORD)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    versions = {"torch": torch.__version__, "Python": platform.python_version()}
    lines = {line["name"]: line for line in map(json.loads, arguments.out.read_text().splitlines())} if (
        arguments.out.exists()
    ) else {}  # fmt: skip
    chosen = [each for each in specimens() if not arguments.names or each.name in arguments.names]
    if unknown := set(arguments.names) - {each.name for each in chosen}:
        parser.error(f"there is no specimen {', '.join(sorted(unknown))}")
    for specimen in chosen:
        line = measured(specimen)
        lines[specimen.name] = line | {"command": COMMAND, "date": date.today().isoformat(), "versions": versions}
        write_text(arguments.out, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines.values()))
        print(f"{specimen.name}: {line.get('unexplained', 'undecided')} unexplained, {line['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
