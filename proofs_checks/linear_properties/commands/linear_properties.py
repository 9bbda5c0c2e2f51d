"""`symgauge linear-properties`: what a next-token model's probabilities see, and which linear properties follow."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from symgauge.commands._output import JsonFlag, foreign_code, print_json

if TYPE_CHECKING:
    from torch import Tensor

    from proofs_checks.linear_properties.report import Report

UNDECIDED = 1


@dataclass(frozen=True)
class Asked:
    """The command line's questions, and how contexts are made."""

    hidden: str
    unembedding: str
    answers: str
    after: str
    query: list[int]
    tokens: list[int]
    pairs: list[tuple[tuple[int, int], tuple[int, int]]]
    prompts: str
    contexts: int
    length: int
    gap: float | None
    seed: int


def command(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="A transformers model folder (with safetensors weights, or only a config.json: random), a "
            "file.py:factory that makes a model, or a .npz, .npy or .safetensors file of arrays.",
        ),
    ],
    hidden: Annotated[
        str, typer.Option(metavar="NAME", help="Arrays: the hidden states (contexts × width), NAME, FILE or FILE:NAME.")
    ] = "",
    unembedding: Annotated[
        str, typer.Option(metavar="NAME", help="Arrays: the unembedding (tokens × width), NAME, FILE or FILE:NAME.")
    ] = "",
    answers: Annotated[
        str, typer.Option(metavar="FILE", help="Log-odds per context (contexts × answers) that should be linear.")
    ] = "",
    after: Annotated[
        str, typer.Option(metavar="NAME", help="Arrays: hidden states after a query, in place of --answers.")
    ] = "",
    query: Annotated[
        str, typer.Option(metavar="T,T", help="Models: a query's token ids, put behind each context.")
    ] = "",
    tokens: Annotated[
        str, typer.Option(metavar="T,T", help="Answer tokens after the query; log-odds are against the first one.")
    ] = "",
    parallel: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B,C:D", help="Is g(A) − g(B) parallel to g(C) − g(D)? Repeatable."),
    ] = None,
    prompts: Annotated[
        str, typer.Option(metavar="FILE", help="Models: token ids (contexts × length) to use as contexts.")
    ] = "",
    contexts: Annotated[int, typer.Option(min=0, help="Models: random contexts; 2 × width + 16 by default.")] = 0,
    length: Annotated[int, typer.Option(min=0, help="Models: tokens per random context; at most 8 by default.")] = 0,
    gap: Annotated[float | None, typer.Option(help="Gap that a decision needs; eps^(-1/4) by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of random contexts and parameters.")] = 0,
    json: JsonFlag = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show an error of your code in full.")] = False,
) -> None:
    """How many dimensions the probabilities see, and whether a linear property follows from them or is the model's own.

    Exit status: 0 decided, 1 undecided, 2 for input that cannot be used.
    """
    asked = Asked(
        hidden, unembedding, answers, after, token_ids("--query", query), token_ids("--tokens", tokens),
        [token_pairs(text) for text in parallel or ()], prompts, contexts, length, gap, seed,
    )  # fmt: skip
    with foreign_code(json, traceback):
        found, notes = _measure(target, asked)
    if json:
        reason = found.undecided
        data = {"target": target, **found.as_dict(), "decided": not reason, "reason": reason}
        print_json({**data, "notes": [*notes, *found.notes]})
    else:
        from symgauge.printing.tables import console, table

        console().print(table(["", ""], found.rows()))
        for note in (*notes, *found.notes):
            print(f"note: {note}")
    if found.undecided:
        print(f"undecided: {found.undecided}", file=sys.stderr)
        raise typer.Exit(UNDECIDED)


def token_ids(option: str, text: str) -> list[int]:
    """Token ids separated by commas. Raises InvalidInput for anything else."""
    from symgauge.errors import InvalidInput

    if not re.fullmatch(r"(\d+(,\d+)*)?", text.replace(" ", "")):
        raise InvalidInput(f"{option} {text!r}: write token ids separated by commas, such as 5,17")
    return [int(part) for part in text.split(",")] if text else []


def token_pairs(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """A:B,C:D as two pairs. Raises InvalidInput for anything else."""
    from symgauge.errors import InvalidInput

    match = re.fullmatch(r"(\d+):(\d+),(\d+):(\d+)", text.replace(" ", ""))
    if match is None:
        raise InvalidInput(f"--parallel {text!r}: write two pairs of token ids as A:B,C:D")
    a, b, c, d = (int(part) for part in match.groups())
    return (a, b), (c, d)


def _measure(target: str, asked: Asked) -> tuple[Report, tuple[str, ...]]:
    from proofs_checks.linear_properties.floating import Representation
    from proofs_checks.linear_properties.report import report
    from proofs_checks.linear_properties.saved_arrays import is_array_file, load_array
    from symgauge.errors import InvalidInput

    if asked.answers and asked.tokens:
        raise InvalidInput("--answers gives the log-odds and --tokens computes them; give one of the two")
    arrays = is_array_file(target)
    states, table, after, notes = (_from_arrays if arrays else _from_network)(target, asked)
    stated = []
    if asked.answers:
        found = load_array(asked.answers, target if arrays else "")
        found = found if found.is_floating_point() else found.double()
        stated.append((f"answers in {asked.answers}", found[:, None] if found.dim() == 1 else found))
    if asked.tokens:
        stated.append((f"log-odds of tokens {','.join(map(str, asked.tokens))}", _log_odds(after, table, asked.tokens)))
    return report(Representation(states, table, asked.gap), stated, asked.pairs), notes


def _log_odds(after: Tensor | None, table: Tensor, tokens: list[int]) -> Tensor:
    from symgauge.errors import InvalidInput

    if after is None:
        raise InvalidInput("--tokens are answers after a query; give --after NAME (arrays) or --query T,T (models)")
    if len(set(tokens)) < 2 or max(tokens) >= len(table):
        raise InvalidInput(f"--tokens needs two or more different ids below {len(table)}, not {tokens}")
    rows = table[tokens]
    return after.to(rows.dtype) @ (rows[1:] - rows[0]).mT


Found = tuple["Tensor", "Tensor", "Tensor | None", tuple[str, ...]]


def _from_arrays(target: str, asked: Asked) -> Found:
    from proofs_checks.linear_properties.saved_arrays import HIDDEN, UNEMBEDDING, load_array
    from symgauge.errors import InvalidInput

    for option, value in (("--query", asked.query), ("--prompts", asked.prompts), ("--contexts", asked.contexts)):
        if value:
            raise InvalidInput(f"{option} makes contexts for a model; {target} holds arrays, whose contexts are given")
    if target.endswith(".npy") and not asked.unembedding:
        raise InvalidInput(f"{target} holds one array, the hidden states; give the unembedding by --unembedding FILE")
    states = load_array(asked.hidden or target, target, HIDDEN)
    table = load_array(asked.unembedding or target, target, UNEMBEDDING)
    after = load_array(asked.after, target) if asked.after else None
    if after is not None and after.shape != states.shape:
        raise InvalidInput(
            f"hidden states have shape {tuple(states.shape)} before a query and {tuple(after.shape)} after; they need "
            "to match row by row"
        )
    return states, table, after, ()


def _from_network(target: str, asked: Asked) -> Found:
    import torch

    from proofs_checks.linear_properties import network as n
    from proofs_checks.linear_properties.saved_arrays import load_array
    from symgauge.blame import blaming
    from symgauge.errors import InvalidInput

    for option, value in (("--hidden", asked.hidden), ("--unembedding", asked.unembedding), ("--after", asked.after)):
        if value:
            raise InvalidInput(f"{option} names an array; {target} is a model, whose own are used")
    net = n.network(target, seed=asked.seed)
    room = net.inputs.length - len(asked.query)
    ids = load_array(asked.prompts) if asked.prompts else None
    if ids is None:
        if room < 1 and not asked.length:
            raise InvalidInput(f"{len(asked.query)} query tokens leave no room in {net.inputs.length}; say --length")
        count = asked.contexts or 2 * n.unembedding(net.module).shape[1] + 16
        ids = n.random_contexts(net.inputs, count, asked.length or room, asked.seed)
    if ids.dim() != 2 or ids.is_floating_point() or not ids.numel():
        raise InvalidInput(
            f"--prompts must be a matrix of token ids (contexts × length), not {ids.dtype} {tuple(ids.shape)}"
        )
    query = torch.tensor(asked.query, dtype=torch.int64).expand(len(ids), -1)
    if int(max(ids.max(), query.max() if asked.query else 0)) >= net.inputs.vocabulary or int(ids.min()) < 0:
        raise InvalidInput(f"token ids run from 0 to {net.inputs.vocabulary - 1}")
    with n.evaluating(net.module), blaming(f"running {type(net.module).__name__}", net.module):
        states = n.hidden_states(net.module, ids.long())
        after = n.hidden_states(net.module, torch.cat([ids.long(), query], 1)) if asked.query else None
    notes = (*net.notes, *(("the output layer's bias counts as one more dimension",) if n.has_bias(net.module) else ()))
    return states, n.unembedding(net.module), after, notes
