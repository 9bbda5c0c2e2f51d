"""Measure how much memory the commands on checkpoints take, as a function of the size of one layer.

    python -m benchmarks.checkpoint_memory --work FOLDER [--widths 1024,2048,4096] [--layers 2] [--tokens 32000]

Two LLaMA folders are written in bfloat16 with the shapes of LLaMA-2-7B (width 4096: 32 heads of 128 channels, 11,008
neurons, 32,000 tokens or as many as are asked for) or a part of its width, and few of its layers: random weights, and
the same with heads and neurons renumbered. Each command runs in a process of its own, whose peak resident memory the
kernel tells. Results are data in checkpoint-memory.json, from which the table in checkpoint-memory.md is written. A run
replaces what is there for its own sizes and keeps the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch

from symgauge.atomic import write_text
from symgauge.checkpoints.writing import TensorFile
from symgauge.experiments.environment import environment
from symgauge.reporting import markdown as md

HERE = Path(__file__).parent
CHANNELS = 128
COMMANDS = {
    "compare, tensors": ("compare", "A", "B", "--tensors-only", "--element", "G"),
    "compare, with both functions": ("compare", "A", "B"),
    "apply": ("apply", "A", "G", "--out", "M"),
    "audit": ("audit", "A", "--report", "audit.md"),
    "canonicalize": ("canonicalize", "A", "--out", "C"),
    "compress": ("compress", "A", "--out", "S"),
    "expand": ("expand", "S", "--out", "E"),
}
_RUN = """
import resource, sys
from symgauge.cli import app
try:
    app(sys.argv[1:])
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def sizes(width: int, layers: int, tokens: int) -> dict[str, Any]:
    """A configuration of LLaMA-2-7B's proportions."""
    heads = width // CHANNELS
    return {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": width,
        "num_attention_heads": heads, "num_key_value_heads": heads, "num_hidden_layers": layers,
        "intermediate_size": width * 11008 // 4096,
        "vocab_size": tokens, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
        "max_position_embeddings": 4096, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    }  # fmt: skip


def shapes(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Tensor → shape."""
    d, ff = c["hidden_size"], c["intermediate_size"]
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (c["vocab_size"], d)}
    for i in range(c["num_hidden_layers"]):
        parts = {f"self_attn.{x}_proj": (d, d) for x in "qkvo"} | {f"mlp.{x}_proj": (ff, d) for x in ("gate", "up")}
        parts |= {"mlp.down_proj": (d, ff), "input_layernorm": (d,), "post_attention_layernorm": (d,)}
        found |= {f"model.layers.{i}.{name}.weight": shape for name, shape in parts.items()}
    return found | {"model.norm.weight": (d,), "lm_head.weight": (c["vocab_size"], d)}


def write(folder: Path, c: dict[str, Any], renumbered: bool) -> None:
    """A folder of random weights; ``renumbered`` with heads and neurons in another order, which changes no number."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(c))
    heads = torch.randperm(c["num_attention_heads"], generator=torch.Generator().manual_seed(1))
    channels = torch.arange(c["hidden_size"]).unflatten(0, (-1, CHANNELS))[heads].flatten()
    neurons = torch.randperm(c["intermediate_size"], generator=torch.Generator().manual_seed(2))
    generator = torch.Generator().manual_seed(0)
    wanted = shapes(c)
    with TensorFile(folder / "model.safetensors", wanted) as file:
        for name, shape in wanted.items():
            x = torch.randn(shape, generator=generator).mul_(shape[-1] ** -0.5 if len(shape) > 1 else 0.1)
            x = (x + 1 if len(shape) == 1 else x).to(torch.bfloat16)
            if renumbered and name.split(".")[-2] in ("q_proj", "k_proj", "v_proj"):
                x = x[channels]
            elif renumbered and "o_proj" in name:
                x = x[:, channels]
            elif renumbered and name.split(".")[-2] in ("gate_proj", "up_proj"):
                x = x[neurons]
            elif renumbered and "down_proj" in name:
                x = x[:, neurons]
            file.add(name, x)
        file.close()


def measured(what: str, work: Path) -> dict[str, Any]:
    """Peak resident memory (bytes) and seconds of one command."""
    began = time.monotonic()
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *COMMANDS[what]], cwd=work, env=variables, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{what}: {done.stdout[-500:]}{done.stderr[-1500:]}")
    peak = int(done.stderr.strip().split("\n")[-1]) * 1024
    said = done.stdout.split("\n")[0] if what.startswith("compare") else ""
    return {"command": what, "peak": peak, "seconds": round(time.monotonic() - began), "said": said}


def run(width: int, layers: int, tokens: int, commands: list[str], work: Path) -> list[dict[str, Any]]:
    """Commands on one pair of folders, which are deleted again."""
    c = sizes(width, layers, tokens)
    counts = {name: torch.Size(shape).numel() for name, shape in shapes(c).items()}
    layer = sum(n for name, n in counts.items() if ".layers.0." in name)
    rows = []
    shutil.rmtree(work, ignore_errors=True)
    try:
        for name in "AB":
            write(work / name, c, name == "B")
        for what in commands:
            sizes_of = {"width": width, "layers": layers, "tokens": tokens}
            sizes_of |= {"numbers": sum(counts.values()), "numbers of a layer": layer}
            rows.append(sizes_of | measured(what, work))
            print(json.dumps(rows[-1]), flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return rows


def page(data: dict[str, Any]) -> str:
    """The table."""
    order = list(COMMANDS)
    ordered = sorted(data["rows"], key=lambda r: (order.index(r["command"]), r["width"], r["layers"], r["tokens"]))
    rows = [
        [r["command"], f"{r['width']:,}", r["layers"], f"{r['tokens']:,}", f"{r['numbers of a layer'] / 1e6:,.0f} M",
         f"{r['numbers'] * 2 / 1e9:.2f} GB", f"{r['peak'] / 1e9:.2f} GB"]
        for r in ordered
    ]  # fmt: skip
    machine = ", ".join(f"{key} {value}" for key, value in data["environment"].items())
    return md.document(
        "# Memory of the commands on checkpoints",
        "Peak resident memory of one process, on LLaMA folders in bfloat16 with the proportions of LLaMA-2-7B (width "
        "4,096) and few layers. Arithmetic is float64, so that a number read takes four times the memory of one "
        "stored. What counts is the larger of a layer and the tables, which are read a block of rows at a "
        "time (by expand whole), and not how many layers there are.",
        md.table(["command", "width", "layers", "tokens", "one layer", "folder", "peak"], rows, right=[*range(1, 7)]),
        f"Made by {md.code(data['command'])} on {data['date']}; {machine}.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="a folder to make, for some GB")
    parser.add_argument("--widths", default="1024,2048,4096")
    parser.add_argument("--layers", default="2", help="numbers of layers, the first for all widths")
    parser.add_argument("--tokens", type=int, default=32000, help="size of the vocabulary")
    parser.add_argument("--only", default="", help="only commands that contain one of these, by commas")
    arguments = parser.parse_args()
    widths, layers = ([int(x) for x in text.split(",")] for text in (arguments.widths, arguments.layers))
    cases = [(width, layers[0]) for width in widths] + [(widths[0], more) for more in layers[1:]]
    commands = [what for what in COMMANDS if any(part in what for part in arguments.only.split(","))]
    rows = [row for width, count in cases for row in run(width, count, arguments.tokens, commands, arguments.work)]
    record(rows)


def record(rows: list[dict[str, Any]]) -> None:
    """Put rows in the place of those of the same command and sizes, and write the table again."""
    file = HERE / "checkpoint-memory.json"
    known = json.loads(file.read_text())["rows"] if file.exists() else []
    both = {(r["command"], r["width"], r["layers"], r["tokens"]): r for r in (*known, *rows)}
    data = {
        "command": "python -m benchmarks.checkpoint_memory --work FOLDER --widths W,… --layers N,… --tokens V",
        "date": date.today().isoformat(), "environment": environment("cpu"), "rows": [*both.values()],
    }  # fmt: skip
    write_text(file, json.dumps(data, indent=1) + "\n")
    write_text(HERE / "checkpoint-memory.md", page(data))


if __name__ == "__main__":
    main()
