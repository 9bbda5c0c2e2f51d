"""Equivalent models with a query, drawn so that the answers follow linearly from what is seen, or do not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from proofs_checks.linear_properties.drawing import Room, embed, of_rank, random_matrix
from proofs_checks.linear_properties.drawn_models import ROOMS, SEEDS
from proofs_checks.linear_properties.exact_matrices import RATIONALS, Field, Matrix
from proofs_checks.linear_properties.model import Model
from proofs_checks.linear_properties.properties import Affine, Query, relational_map


@dataclass(frozen=True)
class Asked:
    """Two equivalent models, a query, and Γ ⊆ N as combinations (k, V) of the tokens' visible vectors P_N g₀(y)."""

    models: tuple[Model, Model]
    query: Query
    coefficients: Matrix

    def gamma(self, model: Model) -> Matrix:
        return self.coefficients @ model.projected.g

    def targets(self, model: Model) -> Matrix:
        """The same answers as log-ratios: they need no subspace, and exist over every field."""
        return model.logit_ratios.rows(self.query.after) @ self.coefficients.T

    def map_within_m(self, model: Model) -> Affine | None:
        """The query's map on Γ with Γ_q ⊆ M."""
        return relational_map(model, self.query, self.gamma(model), reading=model.M)


def ask(
    rng: Random, visible: Matrix, after: Matrix, seen: Matrix, rooms: tuple[Room, Room], coefficients: Matrix
) -> Asked:
    """Models whose contexts have the visible parts ``visible`` before and ``after`` behind the query (n, r each)."""
    models = (embed(rng, visible.over(after), seen, rooms[0]), embed(rng, visible.over(after), seen, rooms[1]))
    n = visible.shape[0]
    return Asked(models, Query(tuple(range(n)), tuple(range(n, 2 * n))), coefficients)


@st.composite
def asked(draw: st.DrawFn, linear: bool | None = None, field: Field = RATIONALS) -> Asked:
    """Complexity 1 to 3; more contexts before the query than any affine map meets by itself; linear or free answers."""
    complexity, rng = draw(st.integers(1, 3)), Random(draw(SEEDS))
    contexts, tokens = complexity + 1 + draw(st.integers(1, 3)), complexity + 1 + draw(st.integers(0, 2))
    visible = of_rank(rng, contexts, complexity, complexity, field)
    after = random_matrix(rng, contexts, complexity, field)
    if linear or (linear is None and draw(st.booleans())):
        shift = random_matrix(rng, 1, complexity, field)
        after = visible @ random_matrix(rng, complexity, complexity, field) + field.ones(contexts) @ shift
    seen = field.zeros(1, complexity).over(of_rank(rng, tokens - 1, complexity, complexity, field))
    coefficients = random_matrix(rng, draw(st.integers(1, 2)), tokens, field)
    return ask(rng, visible, after, seen, (draw(ROOMS), draw(ROOMS)), coefficients)
