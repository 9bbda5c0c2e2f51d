"""Time `discover` on models of about 200 and 600 parameters and write benchmarks/discovery.md.

    OMP_NUM_THREADS=2 python -m benchmarks.discovery [--only NAME]

Wall clock of one run each, permutations and signs included, with nothing else running. Nothing is tested here.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import symgauge
from symgauge.architecture import Architecture, Rotary
from symgauge.atomic import write_text
from symgauge.experiments.environment import environment
from symgauge.reporting import markdown as md

HERE = Path(__file__).parent
RECORD = HERE / "discovery.json"
LLAMA = Architecture(
    d_model=4, heads=2, groups=1, d_k=2, d_v=2, d_ff=5, vocabulary=8, rotary=Rotary(turns=(0.159,)), norm="rms",
    final_norm=True, gated=True, activation="silu",
)  # fmt: skip
GPT2 = Architecture(
    d_model=4, heads=2, d_k=2, d_v=2, d_ff=5, vocabulary=9, query_bias=True, key_bias=True, value_bias=True,
    output_bias=True, ff_bias=True, norm="layer", norm_offset=True, final_norm=True, position_table=True, tied=True,
)  # fmt: skip
CASES = {
    "LLaMA-like, one layer": LLAMA,
    "GPT-2-like, one layer": GPT2,
    "LLaMA-like, two layers, wider": replace(LLAMA, layers=2, d_model=6, d_ff=8, vocabulary=13),
    "GPT-2-like, two layers": replace(GPT2, layers=2, d_model=6, d_ff=7, vocabulary=12),
}
HEADER = ["model", "P", "nullity", "frozen", "unexplained", "seconds"]


def main() -> None:
    """Run the cases named, or all, and write the table of all that are on record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name, architecture in CASES.items():
        if only in name:
            began = time.perf_counter()
            found = symgauge.discover(architecture)
            record[name] = {
                "P": found.fibre.parameters, "nullity": found.nullity, "frozen": sum(found.frozen.values()),
                "unexplained": found.unexplained, "seconds": round(time.perf_counter() - began, 1),
                "date": date.today().isoformat(), "environment": environment("cpu"),
            }  # fmt: skip
            print(name, record[name], flush=True)
            write_text(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    rows = [[name, *(f"{line[key]:,}" for key in ("P", "nullity", "frozen", "unexplained", "seconds"))]
            for name, line in record.items()]  # fmt: skip
    first = next(iter(record.values()))
    machine = ", ".join(f"{key} {value}" for key, value in first["environment"].items())
    text = md.document(
        "# Discovery: measured times",
        "Wall clock of `symgauge.discover`, one run each; by `python -m benchmarks.discovery`.",
        md.table(HEADER, rows, right=range(1, 6)),
        f"{first['date']}: {machine}.",
    )
    write_text(HERE / "discovery.md", text)


if __name__ == "__main__":
    main()
