"""What people compute with torch, as functions of one (2, 3, 4) float64 tensor: each is compared with torch itself."""

from __future__ import annotations

from tests.arithmetic.cases import complex_numbers, decisions, functions, images, layers, moves, products
from tests.arithmetic.cases.inputs import Case

CASES: dict[str, Case] = {
    **layers.CASES,
    **functions.CASES,
    **products.CASES,
    **images.CASES,
    **moves.CASES,
    **decisions.CASES,
    **complex_numbers.CASES,
}
