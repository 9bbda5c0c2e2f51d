"""Measure a small model of many model types of transformers and write benchmarks/model-types.md.

    python benchmarks/model_types.py [TYPE …] [--limit SECONDS] [--again] [--refused]

Each model type is one run of `symgauge dim TYPE` in a process of its own, with a time limit: its default configuration,
scaled down by the same code that scales any configuration down. Runs that are recorded are not repeated, so a run that
was stopped goes on where it was; `--again` repeats those named, `--refused` those that gave no number.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORD, PAGE = HERE / "model-types.jsonl", HERE / "model-types.md"
# Beyond the eleven families that accounting knew first.
TYPES = """
albert apertus arcee audio-spectrogram-transformer bamba bart bert-generation big_bird biogpt bitnet blenderbot bloom
camembert canine clip clip_text_model clip_vision_model codegen cohere cohere2 convbert ctrl cwm data2vec-text
data2vec-vision deberta deberta-v2 deepseek_v32 deit diffllama dinov2 dinov3_vit distilbert doge dpr electra ernie
ernie4_5 ernie4_5_moe eurobert exaone4 falcon_h1 falcon_mamba flaubert fnet gemma gemma3_text glm glm4 glm4_moe
gpt_bigcode gpt_oss gptj granite granitemoe helium hubert ijepa imagegpt jamba jetmoe lfm2 longt5 m2m_100 mamba mamba2
marian mbart megatron-bert minimax ministral3 mllama_text_model modernbert modernbert-decoder moonshine mpt mt5 mvp
nanochat nemotron nomic_bert olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt owlvit_text_model pegasus persimmon phi
phi3 phimoe pixtral plbart poolformer qwen2_moe qwen3_5_text qwen3_moe qwen3_next recurrent_gemma rembert resnet roberta
roberta-prelayernorm roc_bert rwkv seed_oss segformer siglip_text_model siglip_vision_model smollm3 splinter squeezebert
stablelm starcoder2 switch_transformers t5 tapas trocr umt5 vaultgemma videomae visual_bert vit vit_msn wav2vec2 whisper
xglm xlm xlm-roberta xlnet xlstm yolos yoso zamba2
""".split()  # noqa: SIM905
COLUMNS = ("model type", "class", "inputs", "P", "nullity", "second witness", "seconds", "remark")


def run(name: str, limit: float) -> dict[str, Any]:
    """One measurement in its own process, as data; a reason instead of numbers where there are none."""
    command = [sys.executable, "-m", "symgauge.cli", "dim", name, "--json"]
    began = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as error:
        said = error.stderr.decode() if isinstance(error.stderr, bytes) else error.stderr or ""
        last = next((line for line in reversed(said.splitlines()) if line.startswith("symgauge:")), "")
        reached = last.removeprefix("symgauge: ")
        return {"type": name, "seconds": limit, "reason": f"stopped after {limit:.0f} s ({reached})"}
    seconds = time.perf_counter() - began
    expected = [line for line in done.stderr.splitlines() if "parameters: about" in line]
    row: dict[str, Any] = {"type": name, "seconds": round(seconds, 1), "estimate": expected[0] if expected else ""}
    try:
        found = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
        return row | {"reason": last[0].removeprefix("symgauge: ")}
    kept = ("parameters", "nullity", "rank", "decided", "reason", "notes", "module", "inputs", "float_rank", "gap")
    return row | {key: found.get(key) for key in kept}


def line(row: dict[str, Any]) -> list[str]:
    """A row of the page."""
    if row.get("nullity") is None:
        return [row["type"], "", "", "", "", "", f"{row['seconds']:.0f}", row["reason"]]
    notes = [n for n in row["notes"] if "scaled" not in n and "is measured as a small" not in n and "is taken" not in n]
    remark = ("" if row["decided"] else f"undecided: {row['reason']}. ") + "; ".join(notes)
    witness = ""
    if row.get("float_rank") is not None:
        witness = "agrees" if row["float_rank"] == row["rank"] else f"rank {row['float_rank']}"
        witness += f", gap {row['gap']:.0e}" if row.get("gap") else ""
    cells = [row["type"], row["module"], row["inputs"], f"{row['parameters']:,}", f"{row['nullity']:,}", witness]
    return [*cells, f"{row['seconds']:.0f}", remark]


def write(rows: dict[str, dict[str, Any]]) -> None:
    measured = [r for r in rows.values() if r.get("nullity") is not None]
    decided = sum(bool(r["decided"]) for r in measured)
    head = (
        "# Model types of transformers\n\n"
        "`symgauge dim TYPE`: the type's default configuration, scaled down to a few hundred or thousand parameters "
        "with the same parts, at a random point, two primes. Written by `python benchmarks/model_types.py`; measuring "
        f"takes no code of a type's own.\n\n{len(rows)} types: {decided} decided, {len(measured) - decided} undecided, "
        f"{len(rows) - len(measured)} without a number, each with its reason.\n"
    )
    table = [COLUMNS, ["---"] * len(COLUMNS), *(line(rows[name]) for name in sorted(rows))]
    text = "\n".join(f"| {' | '.join(str(cell).replace('|', '¦') for cell in cells)} |" for cells in table)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    tail = f"Machine: {platform.machine()}. Python {platform.python_version()}, {libraries}. Date: {date.today()}."
    PAGE.write_text(f"{head}\n{text}\n\n{tail}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("types", nargs="*")
    parser.add_argument("--limit", type=float, default=400)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--refused", action="store_true")
    arguments = parser.parse_args()
    rows = {}
    if RECORD.exists():
        rows = {row["type"]: row for row in map(json.loads, RECORD.read_text().splitlines())}
    for name in arguments.types or TYPES:
        without = name in rows and rows[name].get("nullity") is None
        if name in rows and not arguments.again and not (arguments.refused and without):
            continue
        rows[name] = run(name, arguments.limit)
        RECORD.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values()))
        write(rows)
        print(" | ".join(line(rows[name])), flush=True)


if __name__ == "__main__":
    main()
