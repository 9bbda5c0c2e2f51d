"""Time the exact engine on models of growing size and write the table to benchmarks/engine.md, or engine-cuda.md.

    python benchmarks/engine.py [--large] [--device cuda]

Each row is one call of symgauge.dimension with two primes on an unmodified transformers model; stages are the sums over
the primes. Nothing is tested here: tests must not depend on how fast a machine is.
"""

from __future__ import annotations

import argparse
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

import symgauge
from symgauge.models.huggingface import tiny

CASES = [
    ("tiny LLaMA, one layer", "llama", 1, {"hidden_size": 4, "num_attention_heads": 2, "num_key_value_heads": 2,
     "head_dim": 2, "intermediate_size": 5, "vocab_size": 8}, 5),
    ("GPT-2, one layer", "gpt2", 1, {}, 4),
    ("GPT-2, two layers", "gpt2", 2, {"vocab_size": 17}, 4),
    ("LLaMA, one layer", "llama", 1, {}, 6),
    ("GPT-2, two layers, wider", "gpt2", 2, {"n_embd": 10, "n_head": 2, "n_inner": 17, "vocab_size": 23}, 4),
]  # fmt: skip
LARGE = [
    ("GPT-2, two layers, wide", "gpt2", 2, {"n_embd": 12, "n_head": 3, "n_inner": 20, "vocab_size": 29}, 4),
    ("GPT-2, two layers, widest", "gpt2", 2, {"n_embd": 16, "n_head": 2, "n_inner": 32, "vocab_size": 31}, 4),
]  # fmt: skip
CARD = [
    ("GPT-2, two layers, for a card", "gpt2", 2, {"n_embd": 24, "n_head": 3, "n_inner": 40, "vocab_size": 37}, 4),
]  # fmt: skip


def measure(kind: str, layers: int, sizes: dict[str, int], length: int, device: str) -> symgauge.FibreDimension:
    model = tiny(kind, layers=layers, **sizes).to(device)
    if kind == "gpt2":
        length = model.config.n_positions
    return symgauge.dimension(model, symgauge.Tokens(model.config.vocab_size, length), device=device, witness=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also models of a few thousand parameters (many minutes)")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    cuda, rows = arguments.device == "cuda", []
    for label, kind, layers, sizes, length in CASES + (LARGE if arguments.large else []) + (CARD if cuda else []):
        r = measure(kind, layers, sizes, length, arguments.device)
        stages = {k: sum(p.seconds[k] for p in r.points) for k in ("probing", "jacobian", "rank")}
        settled = "yes" if r.saturated and r.agree else "no"
        figures = [str(r.parameters), str(r.rank), str(r.nullity), settled, f"{r.seconds:.1f}"]
        rows.append([label, *figures, *(f"{stages[k]:.1f}" for k in stages)])
        print(" | ".join(rows[-1]), flush=True)
        write(rows, cuda)


def write(rows: list[list[str]], cuda: bool) -> None:
    """After every row, because the last ones take long."""
    head = ["model", "P", "rank", "nullity", "settled", "seconds", "probing", "Jacobian", "rank stage"]
    table = [head, ["---"] * len(head), *rows]
    card = torch.cuda.get_device_name() if cuda else f"{torch.get_num_threads()} threads"
    lines = [
        f"# Exact engine: measured times{' on a card' if cuda else ''}",
        "",
        "`symgauge.dimension`, two primes, seconds of wall clock. Written by "
        f"`python benchmarks/engine.py --large{' --device cuda' if cuda else ''}`.",
        "",
        *("| " + " | ".join(row) + " |" for row in table),
        "",
        f"Machine: {platform.machine()}, {card}. Python {platform.python_version()}, torch {version('torch')}, "
        f"transformers {version('transformers')}. Seed 0. Date: {date.today().isoformat()}.",
    ]
    Path(__file__).with_name("engine-cuda.md" if cuda else "engine.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
