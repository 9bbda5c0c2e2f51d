"""Formulas of the idealized model against counting, the symmetry families, and the reference module's tensors."""

from __future__ import annotations

from itertools import product

import pytest
import sympy as sp

from proofs_checks.idealized import dimension_formulas as f
from proofs_checks.idealized.model import architecture, function_classes, repeated_rows
from symgauge.errors import InvalidInput
from symgauge.model_graph import graph_of
from symgauge.symbolic.proof import NotProved
from symgauge.symmetries import dimension
from symgauge.symmetries import symbols as s

SIZES = [(4, 1, 1, 5), (6, 2, 1, 7), (6, 3, 2, 9), (8, 4, 3, 8), (16, 2, 1, 17)]


@pytest.mark.parametrize(("d", "heads", "layers", "vocabulary"), SIZES)
def test_parameters_are_those_of_the_tensors(d: int, heads: int, layers: int, vocabulary: int) -> None:
    a = architecture(d, heads, layers, vocabulary)
    assert f.parameters().at(d=d, h=heads, L=layers, V=vocabulary) == graph_of(a).parameters


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize(("d", "heads", "layers", "vocabulary"), [*SIZES, (4, 2, 2, 4)])
def test_fibre_is_the_sum_of_the_families(d: int, heads: int, layers: int, vocabulary: int, residual: bool) -> None:
    a = architecture(d, heads, layers, vocabulary, residual=residual)
    formula = f.fibre(residual=residual, tokens_as_wide=vocabulary == d)
    assert formula.at(d=d, h=heads, L=layers) == s.evaluate(dimension(a), a)


def test_vectors_have_no_first_gap() -> None:
    one, many = (f.fibre(residual=r).total - f.fibre(residual=r, embedding=False).total for r in (True, False))
    assert one == many == f.d**2
    with pytest.raises(InvalidInput, match="tokens need the embedding"):
        f.fibre(residual=True, embedding=False, tokens_as_wide=True)


@pytest.mark.parametrize(("vocabulary", "length"), [(1, 4), (2, 3), (2, 4), (3, 2), (3, 3), (4, 3), (5, 2), (2, 7)])
def test_classes_by_enumeration(vocabulary: int, length: int) -> None:
    words = product(range(vocabulary), repeat=length)
    seen = {(word[-1], *sorted(word[:-1])) for word in words}
    numbers = sp.Integer(vocabulary), sp.Integer(length)
    assert f.classes(*numbers) == len(seen) == function_classes(vocabulary, length)
    assert f.left_null(*numbers) == vocabulary * (vocabulary**length - len(seen)) == repeated_rows(vocabulary, length)


def test_two_tokens() -> None:
    many = (1, 1, 1)
    assert [f.two_token_left_null(3, 1, groups) for groups in ((many, many), ((3,), many), ((3,), (3,)))] == [4, 5, 6]
    assert f.two_token_left_null(3, 2, ((3,), (3,))) == f.left_null(sp.Integer(2), sp.Integer(3)) == 4
    assert [f.two_token_left_null(5, 2, (q, q)) for q in ((3, 2), (5,))] == [44, 48]
    assert f.two_token_left_null(4, 1, ((3, 1), (2, 2))) == 17
    with pytest.raises(InvalidInput, match="each of two queries has 3 classes"):
        f.two_token_left_null(3, 1, ((2, 2), (3,)))


@pytest.mark.parametrize("residual", [True, False])
def test_layer_symmetry(residual: bool) -> None:
    identity = f.layer_symmetry(residual=residual)
    identity.prove()
    assert identity.difference_at_instance() == sp.zeros(3, 4)
    assert identity.refute_broken().difference != sp.zeros(3, 4)
    with pytest.raises(NotProved):
        identity.prove_broken()
