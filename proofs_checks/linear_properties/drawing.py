"""Random models with prescribed visible and invisible parts, and partners that compute the same distribution."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field, Matrix
from proofs_checks.linear_properties.model import Model
from symgauge.errors import InvalidInput


@dataclass(frozen=True)
class Room:
    """Extra dimensions that probabilities do not see: of embeddings only, of unembeddings only, and of neither.

    Without unused dimensions M = N always; with one they differ in general.
    """

    embedding: int = 0
    unembedding: int = 0
    unused: int = 0

    @property
    def size(self) -> int:
        return self.embedding + self.unembedding + self.unused


NO_ROOM = Room()


def random_matrix(rng: Random, rows: int, columns: int, field: Field = RATIONALS, largest: int = 4) -> Matrix:
    """Small integers, or any residues of a finite field."""
    low, high = (0, field.prime - 1) if field.prime else (-largest, largest)
    return field.matrix([[rng.randint(low, high) for _ in range(columns)] for _ in range(rows)], columns)


def of_rank(rng: Random, rows: int, columns: int, rank: int, field: Field = RATIONALS) -> Matrix:
    """A random matrix of exactly this rank. Raises InvalidInput if the shape does not allow it."""
    if rank > min(rows, columns):
        raise InvalidInput(f"no matrix of shape ({rows}, {columns}) has rank {rank}")
    while True:
        found = random_matrix(rng, rows, rank, field) @ random_matrix(rng, rank, columns, field)
        if found.rank == rank:
            return found


def invertible(rng: Random, size: int, field: Field = RATIONALS) -> Matrix:
    """A general element of GL(size), not symmetric; over the rationals integer with determinant ±1, so with an
    integer inverse too."""
    lower, upper = (
        field.matrix(
            [
                [int(i == j) or (rng.randint(-2, 2) if (i > j) == below else 0) for j in range(size)]
                for i in range(size)
            ],
            size,
        )
        for below in (True, False)
    )
    order = rng.sample(range(size), size)
    signs = [[rng.choice((1, -1)) if i == j else 0 for j in range(size)] for i in range(size)]
    return (lower @ upper).rows(order) @ field.matrix(signs, size)


def random_model(
    rng: Random,
    complexity: int,
    room: Room = NO_ROOM,
    *,
    contexts: int,
    tokens: int,
    field: Field = RATIONALS,
) -> Model:
    """A model of the given effective complexity and of dimension complexity + room, in a general basis.

    Raises InvalidInput unless contexts ≥ complexity and tokens > complexity.
    """
    free = of_rank(rng, contexts, complexity, complexity, field)
    seen = of_rank(rng, tokens - 1, complexity, complexity, field)
    return embed(rng, free, field.zeros(1, complexity).over(seen), room)


def partner(rng: Random, model: Model, room: Room = NO_ROOM) -> Model:
    """Another model with the same p and pivot, of dimension effective complexity + room."""
    coordinates = model.modulo_unseen
    return embed(rng, coordinates.f @ coordinates.pairing, coordinates.g, room, model.pivot)


def embed(rng: Random, f: Matrix, g0: Matrix, room: Room, pivot: int = 0) -> Model:
    """[f | junk | 0 | 0] C and [g₀ | 0 | junk | 0] C^(−⊤) + a shift, for random junk, C in GL and shift."""
    field, contexts, tokens = f.field, f.shape[0], g0.shape[0]
    junk_f = random_matrix(rng, contexts, room.embedding, field)
    junk_g = random_matrix(rng, tokens, room.unembedding, field)
    junk_g = junk_g - field.ones(tokens) @ junk_g.rows([pivot])
    zeros = field.zeros
    wide_f = f.beside(junk_f).beside(zeros(contexts, room.unembedding + room.unused))
    wide_g = g0.beside(zeros(tokens, room.embedding)).beside(junk_g).beside(zeros(tokens, room.unused))
    size = wide_f.shape[1]
    change = invertible(rng, size, field)
    shift = random_matrix(rng, 1, size, field)
    return Model(wide_f @ change, wide_g @ change.inverse().T + field.ones(tokens) @ shift, pivot)
