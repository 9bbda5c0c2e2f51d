"""Symmetries by which a tensor takes in the product of two others, also where it moves what these are computed from."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

import symgauge
from symgauge.arithmetic.finite_field import FiniteField
from symgauge.discovery.alike_modes import AlikeModes
from symgauge.discovery.ansatz import Block, blocks_of
from symgauge.discovery.derived import inverses, reciprocals
from symgauge.discovery.emit import emit
from symgauge.discovery.extended import extension
from symgauge.discovery.fields import Fields
from symgauge.discovery.flows import run as run_fields
from symgauge.discovery.integrated import run, run_to_rounding
from symgauge.discovery.moving import closed_at_points
from symgauge.discovery.multiplied import chain, product, value
from symgauge.discovery.points import Point
from symgauge.discovery.sizes import subject_at
from symgauge.discovery.structure import closed
from symgauge.discovery.translations import Modulo
from symgauge.discovery.unexplained_sets import lacking, unexplained_sets
from symgauge.exact.rank import Echelon
from symgauge.model_graph import graph_of
from symgauge.symmetries.catalogue.token_shifts import TokenValueShift

from .test_emit import loaded

P = 2147483579


def test_a_field_that_moves_what_it_takes_in(command, tmp_path) -> None:
    """Two constants c that the reader sees, and one direction that it does not see, which no inverse moves."""
    found = symgauge.discover("mine.py:shifted", discrete=False)
    assert (found.nullity, found.algebra, found.beyond_affine, found.integrated, found.unexplained) == (3, 0, 3, 2, 0)
    assert [(ideal.algebra, ideal.moving) for ideal in found.ideals] == [("ℝ", False), ("abelian(2)", True)]
    assert found.ideals[1].action.endswith("reader takes in a multiple of (table)⁻¹ * reader")
    assert all(flow.holds for flow in found.flows)
    assert "products of two tensors in" in found.tried[-1]
    assert (found.as_dict()["integrated"], found.as_dict()["ideals"][1]["integrated"]) == (2, True)
    assert "of these, moving what they take in" in str(found)
    path = tmp_path / "made.py"
    emit(path, found, "mine.py:shifted")
    loaded(path).test_every_family_is_a_symmetry_and_nothing_is_left()
    text = path.read_text()
    for before, after in (
        ("offset[0, 0] -= 1", "offset[0, 0] -= 2 * 1"),
        ("reader -= (table)⁻¹[:, 0] * reader[0]", "reader -= (table)⁻¹[:, 0] * reader[1]"),
    ):
        assert before in text
        path.write_text(text.replace(before, after))
        with pytest.raises(AssertionError, match="outside the kernel"):
            loaded(path).test_every_family_is_a_symmetry_and_nothing_is_left()


def test_a_spoiled_field_changes_the_function(command) -> None:
    found = symgauge.discover("mine.py:shifted", discrete=False)
    ideal, subject = found.ideals[1], found.subject
    derived = partial(extension, ideal.derived)
    for column in (0, int(np.nonzero(ideal.fields.columns)[0][-1])):
        values = ideal.fields.values.copy()
        values[:, column] *= -1
        values[:, column] += 1
        spoiled = replace(ideal.fields, values=values)
        flows = run_fields(
            subject.module, subject.inputs, spoiled, output="logits", seed=0, derived=derived, moving=True
        )  # fmt: skip
        assert not any(flow.holds for flow in flows)
        assert min(flow.change for flow in flows) > 1e-4


def test_as_many_as_the_reader_sees(command) -> None:
    found = symgauge.discover(subject_at("mine.py:shifted", {"width": 3, "outer": 3}), discrete=False)
    assert (found.nullity, found.integrated, found.unexplained) == (3, 3, 0)
    assert [ideal.algebra for ideal in found.ideals] == ["abelian(3)"]


def test_what_a_map_makes_of_the_target(command, tmp_path) -> None:
    found = symgauge.discover("mine.py:written", discrete=False)
    assert (found.nullity, found.integrated, found.unexplained) == (2, 2, 0)
    assert found.ideals[0].algebra == "abelian(2)"
    assert "reader takes in a multiple of (table)⁻¹ * (writer:1·reader:0)" in found.ideals[0].action
    emit(tmp_path / "made.py", found, "mine.py:written")
    loaded(tmp_path / "made.py").test_every_family_is_a_symmetry_and_nothing_is_left()


def test_a_mode_on_which_nothing_acts_comes_from_constants(command) -> None:
    """What two maps together lose: first ↦ first + C n second⁻¹ with n third = 0, for any C over the inputs."""
    found = symgauge.discover("mine.py:stacked", discrete=False)
    assert (found.nullity, found.unexplained, found.beyond_affine) == (20, 0, 2)
    assert (found.ideals[-1].algebra, found.ideals[-1].tensors) == ("ℝ²", ("first",))
    assert all(flow.holds for flow in found.flows)


def test_constants_in_the_values_of_a_first_layer() -> None:
    """The catalogue's family, where heads write to two of three directions of the stream."""
    family, stages = TokenValueShift(), set()
    architecture = family.example.replace(vocabulary=3, d_model=3, heads=1, groups=1, d_k=2, d_v=2, d_ff=2)
    found = symgauge.discover(architecture, discrete=False, progress=lambda stage, *_: stages.add(stage))
    (site,) = family.sites(architecture, graph_of(architecture))
    assert (found.unexplained, found.integrated, found.doubt) == (0, site.coordinates, "")
    moved = {"token_table", "layers__0__attention__query__weight", "layers__0__attention__value__weight"}
    assert [set(ideal.tensors) for ideal in found.ideals if ideal.moving] == [moved]
    assert "products of two tensors" in stages


def test_what_is_left_says_that_products_were_tried(command) -> None:
    found = symgauge.discover("mine.py:cubed", discrete=False)
    assert found.unexplained == 2
    assert "products of two tensors in" in found.tried[-1]
    assert found.tried[-1].endswith(": 0 of 2")


def test_what_is_too_large_is_said(command, monkeypatch) -> None:
    monkeypatch.setattr("symgauge.discovery.attempts._PRODUCTS", 50)
    found = symgauge.discover("mine.py:cubed", discrete=False)
    assert found.unexplained == 2
    assert re.search(r"products of two tensors in \d ways, \d with more unknowns left out", found.tried[-1])


def test_where_nothing_is_left_no_products_are_tried(command) -> None:
    stages = set()
    found = symgauge.discover("mine.py:gained", discrete=False, progress=lambda stage, *_: stages.add(stage))
    assert found.unexplained == 0
    assert "products of two tensors" not in stages
    assert not any("products" in tried for tried in found.tried)


def test_derivatives_of_what_is_computed_follow_from_what_defines_it() -> None:
    """γ·(1/γ) = 1 and W·W⁻¹ = 1 stay so along any motion, and a product's second difference is its bilinear rest."""
    blocks = blocks_of([("gain", (3,)), ("tall", (4, 2)), ("wide", (2, 3))])
    size, field = blocks[-1].start + 6, FiniteField(P)
    theta, motion = (torch.randint(1, P, (size,), generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    (gain,) = reciprocals(blocks, size)
    there, change = gain.of(theta, P), gain.along(theta, motion, field)
    assert ((motion[:3] * there % P + theta[:3] * change % P) % P == 0).all()
    for inverse in inverses(blocks, size):
        n = inverse.shape[-1]
        matrix, moved = (torch.zeros((n, n), dtype=torch.int64) for _ in range(2))
        rows, columns = inverse.base.shape
        matrix[:rows, :columns], moved[:rows, :columns] = (x[inverse.base.places] for x in (theta, motion))
        for i in range(min(rows, columns), n):
            matrix[i, i] = 1
        here, change = (x.reshape(n, n) for x in (inverse.of(theta, P), inverse.along(theta, motion, field)))
        assert (_times(matrix, here) == torch.eye(n, dtype=torch.int64)).all()
        assert ((_times(moved, here) + _times(matrix, change)) % P == 0).all()
        both = product(inverse, blocks[0], size)
        left, right = value(inverse, theta, P), value(blocks[0], theta, P)
        expected = torch.outer(change.reshape(-1), right) % P + torch.outer(left, motion[:3]) % P
        assert (both.along(theta, motion, field) == expected.reshape(-1) % P).all()
        assert both.bases == {inverse.base.name, "gain"}
        assert both.degree == n + 1


def test_the_derivative_of_a_product_of_matrices_is_its_bilinear_rest() -> None:
    """(A + A')(B + B') − AB − A'B', over the second mode of one and the first of the other."""
    blocks = blocks_of([("a", (2, 3)), ("b", (3, 2))])
    both = chain(*blocks, (1, 0))
    theta, motion = (torch.randint(1, P, (12,), generator=torch.Generator().manual_seed(s)) for s in (0, 1))
    a, b = theta[:6].reshape(2, 3), theta[6:].reshape(3, 2)
    assert (both.of(theta, P).reshape(2, 2) == _times(a, b)).all()
    rest = both.of((theta + motion) % P, P) - both.of(theta, P) - both.of(motion, P)
    assert (both.along(theta, motion, FiniteField(P)) == rest % P).all()
    assert (both.bases, both.degree) == ({"a", "b"}, 2)


def _times(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ((a[:, :, None] * b[None, :, :]) % P).sum(1) % P


class _Anywhere:
    """Points without a function: what brackets are taken at."""

    primes = (P, 2147483123)

    def __init__(self, size: int, derived=()) -> None:
        self.derived = derived
        self.fibre = type("Fibre", (), {"parameters": size})

    def used(self, prime: int) -> int:
        return 0

    def point(self, number: int, prime: int) -> Point:
        generator = torch.Generator().manual_seed(number)
        theta = torch.randint(1, prime, (self.fibre.parameters,), generator=generator)
        return Point(torch.cat([theta, extension(self.derived, theta, prime)]), theta[None], 1)


def _free(size: int) -> Modulo:
    nothing = np.zeros(0, dtype=np.int64)
    return Modulo(Fields(size, nothing, nothing, np.zeros((0, 0), dtype=np.int64)))


def test_brackets_at_points_are_those_of_the_fields() -> None:
    """Rotations of space, whose structure constants follow from their matrices too."""
    rows, columns = np.array([0, 1, 1, 2, 2, 0]), np.array([2, 1, 3, 2, 1, 3])
    turns = Fields(3, rows, columns, np.array([[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0], [0, 0, 0, 0, 2, -2]]))
    constants = closed_at_points(turns, _Anywhere(3), _free(3))
    assert constants == closed(turns, _free(3))[1]
    assert constants


def test_fields_that_are_no_algebra_are_told() -> None:
    """∂/∂γ and (1/γ)∂/∂b: the bracket is −1/γ times the second."""
    gain = Block("gain", (1,), 0)
    (over,) = reciprocals([gain], 2)
    fields = Fields(3, np.array([0, 1]), np.array([0, 3]), np.array([[1, 0], [0, 1]]))
    assert closed_at_points(fields, _Anywhere(2, (over,)), _free(3)) is None
    assert closed_at_points(fields.chosen([1]), _Anywhere(2, (over,)), _free(3)) == {}


def test_brackets_are_taken_modulo_translations() -> None:
    """The same two where b may be anything: the bracket points along a translation, and so does the second field."""
    (over,) = reciprocals([Block("gain", (1,), 0)], 3)
    along_b = Modulo(Fields(4, np.array([1]), np.array([0]), np.array([[1]])))
    fields = Fields(4, np.array([0, 2, 1]), np.array([0, 0, 4]), np.array([[1, 0, 0], [0, 1, 1]]))
    assert closed_at_points(fields, _Anywhere(3, (over,)), along_b) == {}
    assert closed_at_points(fields, _Anywhere(3, (over,)), _free(4)) is None


def test_modes_are_alike_where_symmetries_act_alike() -> None:
    """W ↦ AW, U ↦ UA⁻¹ for two A: the outer modes are those on which nothing acts, and W⁻¹ has the mode of U."""
    blocks = blocks_of([("w", (2, 3)), ("u", (3, 2)), ("v", (2, 2))])
    w, u, v = blocks
    rows, columns, values = [], [], [[], []]
    for which, (i, j) in enumerate([(0, 1), (1, 0)]):
        for k in range(3):
            for row, column, x in ((w.places[i, k], w.places[j, k], 1), (u.places[k, j], u.places[k, i], -1)):
                rows.append(int(row))
                columns.append(int(column) + 1)
                values[which].append(x)
                values[1 - which].append(0)
        for k in range(2):
            rows.append(int(v.places[i, k]))
            columns.append(int(v.places[j, k]) + 1)
            values[which].append(1)
            values[1 - which].append(0)
    modes = AlikeModes(Fields(16, np.array(rows), np.array(columns), np.array(values)), P)
    assert modes.of(w)[0] == modes.of(v)[0] != modes.of(u)[1]
    assert modes.of(w)[0].dual == modes.of(u)[1].action
    assert modes.linked(w, u, [1])
    assert not modes.linked(w, v, [0])
    (inverse,) = (each for each in inverses([v], 16))
    assert modes.of(inverse)[1] == modes.of(u)[1]
    assert list(modes.matchings(u, inverse, [1])) == [((1, 1),)]
    assert list(modes.matchings(w, inverse, [0])) == []


@pytest.mark.parametrize("at_most", [1, 3])
def test_sets_that_move_are_found_beyond_the_size_that_is_looked_through(command, at_most) -> None:
    """The offset's two directions need the table and the reader, and not what writes it."""
    subject = symgauge.subject_of("mine.py:written")
    fibre = symgauge.dimension(subject.module, subject.inputs)
    known = Echelon(fibre.echelon.field, fibre.parameters)
    assert unexplained_sets(fibre, known, at_most) == [("table", "reader", "offset")]
    assert lacking(("table", "reader", "offset"), fibre, known)
    assert not lacking(("table", "offset", "writer"), fibre, known)
    known.add(fibre.kernel())
    assert not lacking(("table", "reader", "offset"), fibre, known)
    assert unexplained_sets(fibre, known, at_most) == []


def test_a_flow_is_run_to_rounding() -> None:
    """y' = y² from 1/2 reaches 1 at time 1; from 2 it runs into its pole before."""
    half = torch.tensor([0.5], dtype=torch.float64)
    after, settled = run_to_rounding(lambda y: y * y, half)
    assert settled
    assert abs(float(after) - 1) < 1e-15
    assert abs(float(run(lambda y: y * y, half, 1)) - 1) > 1e-15
    assert not run_to_rounding(lambda y: y * y, 4 * half)[1]
