"""Controls of Table 2: untrained models, doubled inputs, other architectures, symmetry directions, other |V| and T."""

from __future__ import annotations

import torch
from torch import Tensor

from proofs_checks.idealized.experiments.spaces import Spaces, spaces
from proofs_checks.idealized.experiments.table_1 import symmetries
from proofs_checks.idealized.model import (
    IdealizedModel,
    Protocol,
    Task,
    architecture,
    copy_last,
    initial,
    jacobians,
    parity,
    repeated_rows,
    train,
)
from symgauge.architecture import Architecture
from symgauge.arithmetic.primes import DEFAULT_PRIMES
from symgauge.exact.dimension import dimension
from symgauge.exact.probes import Tokens
from symgauge.experiments.result import Table
from symgauge.experiments.suite import Setting
from symgauge.numeric import generators, rank_with_gap
from symgauge.parameter_vector import ParameterVector
from symgauge.symmetries.group import families

GRID = ((2, 2), (2, 5), (2, 6), (2, 7), (3, 3), (3, 4), (4, 2), (4, 3), (5, 2), (5, 3), (6, 2), (7, 2))
SMALL_WIDTH, SMALL_HEADS = 8, 4


def _cells(s: Spaces) -> list[object]:
    left, right = (sorted(set(x.tolist())) for x in (s.left, s.right))
    return [s.rows, s.parameters, ", ".join(map(str, left)), ", ".join(f"{x:,}" for x in right)]


def controls(seeds: range, protocol: Protocol | None = None) -> Table:
    """The same Jacobian for models that were never trained, with inputs doubled, and with another architecture."""
    protocol = protocol or Protocol(rate=1e-3, loss=1e-3)
    task, rows = copy_last(), []

    def add(what: str, a: Architecture, theta: Tensor, inputs: Tensor) -> None:
        rows.append([what, *_cells(spaces(a, theta, inputs)), symmetries(16, a.layers, a.heads)])

    plain = architecture()
    start = initial(plain, seeds)
    add("untrained", plain, start, task.inputs)
    for other in (copy_last(2, 4), copy_last(3, 2)):
        a = architecture(vocabulary=other.vocabulary, length=other.length)
        add(f"untrained, |V|={other.vocabulary}, T={other.length}", a, initial(a, seeds), other.inputs)
    trained = train(plain, task, start, protocol).theta
    add("trained", plain, trained, task.inputs)
    add("trained, every input listed twice", plain, trained, task.inputs.repeat(2, 1))
    add("trained on XOR of all", plain, train(plain, parity(), start, protocol).theta, task.inputs)
    for what, a in (
        ("no residual stream", architecture(residual=False)),
        ("attention to all positions", architecture(causal=False)),
        ("RMSNorm", architecture(norm="rms")),
        ("learned positions", architecture(positions=True)),
        ("two layers", architecture(layers=2)),
    ):
        add(f"{what}, trained", a, train(a, task, initial(a, seeds), protocol).theta, task.inputs)
    columns = ["Copy-Last, |V|=2, T=3 unless said", "rows", "P", "rows − rank", "P − rank", "equation (5)"]
    note = (
        "A dimension of the solution set cannot depend on how often an input is listed: rows − rank does, P − rank "
        "does not. With positions or a second layer the order of the earlier tokens is seen and no row repeats."
    )
    return Table(f"Controls, {len(seeds)} seeds each", columns, rows, note=note)


def listed(architecture: Architecture, theta: Tensor) -> dict[str, Tensor]:
    """Family -> its tangent vectors (m, P) at a model theta (P,): the three of the source, and the stream's."""
    roles = ParameterVector.of(architecture).split(theta)
    return {family.name: generators(family, architecture, roles) for family in families(architecture)}


def moved(jacobian: Tensor, directions: Tensor) -> float:
    """The largest |J g| / (|J| |g|) over tangent vectors g."""
    images = (directions @ jacobian.mT).norm(dim=1)
    return float((images / (jacobian.norm() * directions.norm(dim=1))).max())


def tangents(architecture: Architecture, theta: Tensor, task: Task) -> Table:
    """How far the symmetry directions move the logits of a trained model, and how many of them are independent."""
    jacobian = jacobians(architecture, theta.unsqueeze(0), task.inputs)[0]
    found = listed(architecture, theta)
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(100, len(theta), generator=generator, dtype=torch.float64)
    rows: list[list[object]] = []
    stack: list[Tensor] = []
    for name, vectors in found.items():
        stack.append(vectors)
        together = rank_with_gap(torch.nn.functional.normalize(torch.cat(stack), dim=1)).rank
        rows.append([name, len(vectors), together, f"{moved(jacobian, vectors):.1e}"])
    rows.append(["random directions (control)", 100, "", f"{moved(jacobian, random):.1e}"])
    return Table(
        f"Symmetry directions at a trained model ({task})",
        ["family", "directions", "independent, with those above", "largest |J g| / (|J| |g|)"],
        rows,
        note="No symmetry is broken by the task: the architecture has them for every input.",
    )


def grid(setting: Setting) -> tuple[Table, str]:
    """rows − rank in exact arithmetic, at a random point, for other |V| and T; and a sentence on it."""
    d, heads = (16, 2) if setting.paper else (SMALL_WIDTH, SMALL_HEADS)
    rows, right = [], 0
    for number, (vocabulary, length) in enumerate(GRID):
        setting.tick(f"exact rank, |V| = {vocabulary}, T = {length}", 0.8 + 0.2 * number / len(GRID))
        left = exact_left(d, heads, vocabulary, length, setting.seed)
        formula = repeated_rows(vocabulary, length)
        right += left == formula
        rows.append([vocabulary, length, vocabulary ** (length + 1), left, formula])
    table = Table(
        f"rows − rank in exact arithmetic for other |V| and T (d = {d}, H = {heads}, random parameters)",
        ["|V|", "T", "rows", "rows − rank", "formula"],
        rows,
    )
    return table, f"the formula is exact for {right} of {len(GRID)} other (|V|, T) tried."


def exact_left(d: int, heads: int, vocabulary: int, length: int, seed: int = 0) -> int:
    """rows − rank of the Jacobian of the last logits on all inputs, modulo a prime, at a random point."""
    model = IdealizedModel(architecture(d, heads, vocabulary=vocabulary, length=length))
    found = dimension(model, Tokens(vocabulary, length), seed=seed, primes=DEFAULT_PRIMES[:1])
    return vocabulary ** (length + 1) - found.rank
