"""What a subject is probed with: as text, and as it follows from an architecture."""

from __future__ import annotations

import re

from symgauge.architecture import Architecture
from symgauge.checks import shown
from symgauge.errors import InvalidInput
from symgauge.exact.probes import Arrays, Inputs, Tokens, Vectors


def parse_inputs(text: str) -> Inputs:
    """``tokens:V,T``, ``vectors:T,WIDTH`` or ``arrays:A,B,…``; raises :class:`InvalidInput` for anything else."""
    match = re.fullmatch(r"(tokens|vectors|arrays):(\d{1,9}(?:,\d{1,9})*)", text.replace(" ", ""))
    sizes = tuple(map(int, match[2].split(","))) if match else ()
    if match is None or (match[1] != "arrays" and len(sizes) != 2):
        raise InvalidInput(
            f"--inputs {shown(text)} is not understood: write tokens:VOCABULARY,LENGTH or vectors:LENGTH,WIDTH, such "
            "as tokens:11,4, or arrays:CHANNELS,HEIGHT,WIDTH"
        )
    if match[1] == "arrays":
        return Arrays(sizes)
    return Tokens(sizes[0], sizes[1]) if match[1] == "tokens" else Vectors(sizes[0], sizes[1])


def natural_inputs(architecture: Architecture) -> Inputs:
    """Tokens for a model, vectors for a block or a lone attention layer; ``context`` positions long."""
    if architecture.is_model:
        return Tokens(architecture.vocabulary, architecture.context)
    return Vectors(architecture.context, architecture.d_model)


def check_inputs(inputs: Inputs, a: Architecture) -> None:
    """Raises InvalidInput where a module of this architecture cannot take the inputs."""
    if not isinstance(inputs, Tokens | Vectors):
        raise InvalidInput(f"inputs must be symgauge.Tokens or symgauge.Vectors, not {type(inputs).__name__}")
    if isinstance(inputs, Vectors):
        if a.is_model:
            raise InvalidInput(f"this model takes tokens: inputs must be Tokens({a.vocabulary}, length), not vectors")
        if inputs.width != a.d_model:
            raise InvalidInput(f"inputs have width {inputs.width}, but d_model = {a.d_model}")
    elif not a.is_model:
        raise InvalidInput(f"without a vocabulary inputs must be Vectors(length, {a.d_model}), not tokens")
    elif inputs.vocabulary > a.vocabulary:
        raise InvalidInput(f"inputs have {inputs.vocabulary} tokens, the model's vocabulary {a.vocabulary}")
    if a.position_table and inputs.length > a.context:
        raise InvalidInput(f"inputs are {inputs.length} positions long, the model's position table {a.context}")
