"""`symgauge discover` as a user meets it: text, JSON, the page, exit status, and what `account` makes of it."""

from __future__ import annotations

import json

import pytest

import symgauge
from symgauge.discovery.alike import alike, without_indices
from symgauge.discovery.ideals import Ideal

KEYS = {
    "parameters", "nullity", "frozen", "algebra", "explained", "unexplained", "ideals", "discrete_order",
    "failure_bound", "seconds", "primes", "seed", "points", "tried", "decided", "target",
}  # fmt: skip


def test_json_says_what_was_found(command) -> None:
    done = command("discover", "mine.py:product", "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data.keys() >= KEYS
    assert (data["nullity"], data["algebra"], data["unexplained"], data["decided"]) == (4, 4, 0, True)
    (ideal,) = data["ideals"]
    assert (ideal["algebra"], ideal["dimension"], ideal["tensors"]) == ("gl(2)", 4, ["0.weight", "1.weight"])


def test_equal_ideals_are_one_line(command) -> None:
    done = command("discover", "mine.py:units")
    assert done.exit_code == 0, done.stderr
    assert "3 × gl(1, ℝ)" in done.stdout
    assert "i = 0…2" in done.stdout
    assert "Every direction of the fibre is explained." in done.stdout


def test_what_is_left_is_said(command) -> None:
    done = command("discover", "mine.py:cubed")
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "2 directions are not explained by any symmetry that was sought" in text
    assert "They move a (" in text
    assert "Tried were: with nothing held, maps of one tensor" in text


def test_what_is_held_and_moved_by_nothing_affine_is_said(command, tmp_path) -> None:
    done = command("discover", "mine.py:cubed_vectors", "--report", "page.md")
    assert done.exit_code == 0, done.stderr
    assert "of these, moved by no affine symmetry 2 " in " ".join(done.stdout.split())
    assert "| of these, moved by no affine symmetry | 2 |" in (tmp_path / "page.md").read_text()


def test_the_page_has_a_picture_beside_it(command, tmp_path) -> None:
    done = command("discover", "mine.py:normed", "--report", "out/normed.md")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "out/normed.md").read_text()
    assert "| so(3) | 3 | `writer.weight`, `reader.weight` |" in page
    assert "`gain` (3)" in page
    assert "](normed.png)" in page
    assert (tmp_path / "out/normed.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"normed.md", "normed.png"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mine.py:product", "rank=1,2"], "sizes need --vary"),
        (["mine.py:product", "--vary"], "--vary needs sizes"),
        (["mine.py:product", "--vary", "rank=one"], "size 'rank=one' is not understood"),
        (["mine.py:product", "--vary", "rank=1,1"], "size rank: give different whole numbers"),
        (["mine.py:product", "--vary", "width=1,2"], "calling mine.py:product(width=2) raised TypeError"),
        (["llama-3-8b", "--vary", "heads=1,2"], "sizes can be varied where file.py:factory takes them"),
        (["mine.py:product", "--report", "page.html"], "give the name of a file that ends in .md"),
        (["mine.py:product", "--emit", "families"], "give the name of a file that ends in .py"),
        (["mine.py:product", "--emit", "./mine.py"], "which has the module itself and would be replaced"),
        (["mine.py:nothing"], "mine.py has no 'nothing'"),
    ],
)
def test_a_mistake_is_one_sentence(command, arguments, sentence) -> None:
    done = command("discover", *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_sizes_give_polynomials_and_nothing_that_is_zero(command, tmp_path) -> None:
    done = command("discover", "mine.py:units", "--vary", "width=2,3,4", "--report", "page.md")
    assert done.exit_code == 0, done.stderr
    shown = done.stdout.partition("dimensions by width, over 3 sizes")[2]
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "nullity (fibre dimension) width 1 of 3" in rows
    assert "unexplained" not in shown
    page = (tmp_path / "page.md").read_text().partition("## By size")[2]
    assert "| nullity (fibre dimension) | `width` | 1 |" in page
    assert "unexplained" not in page


def test_account_says_what_was_held(command) -> None:
    text = " ".join(command("account", "mine.py:cubed_vectors").stdout.split())
    assert "an algebra of dimension 0, with a (2) held at plain values; 2 of 2 directions are explained" in text


def test_account_falls_back_on_discovery(command) -> None:
    done = command("account", "mine.py:product", "--json")
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert [s["tensors"] for s in data["tensor_sets"]] == [["0.weight", "1.weight"]]
    assert [ideal["algebra"] for ideal in data["discovery"]["ideals"]] == ["gl(2)"]
    assert "gl(2)" in command("account", "mine.py:product").stdout
    done = command("account", "mine.py:product", "--no-discover", "--json")
    assert json.loads(done.stdout)["discovery"] is None


def test_account_looks_only_where_something_is_left() -> None:
    a = symgauge.Architecture(d_model=3, heads=1, d_k=1, d_v=1, residual=False, context=3)
    assert symgauge.account(a).discovery is None
    assert symgauge.account(a, without=["query-key"]).discovery is None, "families were chosen"
    found = symgauge.account(a, without=["query-key"], discover=True)
    assert found.unexplained == 1
    assert found.discovery is not None
    assert found.discovery.unexplained == 0


def ideal(tensors: list[str], action: str, algebra: str = "gl(1, ℝ)") -> Ideal:
    return Ideal(algebra, 1, tuple(tensors), action, None)  # type: ignore[arg-type]


def test_indices_that_differ_become_letters() -> None:
    found = alike([
        ideal(["layers.0.v", "layers.0.o"], "layers.0.v[0, 0:2] ↦ A along mode 2; layers.0.o[:, 1] ↦ A⁻¹ ·"),
        ideal(["layers.0.v", "layers.0.o"], "layers.0.v[1, 0:2] ↦ A along mode 2; layers.0.o[:, 1] ↦ A⁻¹ ·"),
        ideal(["layers.1.v", "layers.1.o"], "layers.1.v[1, 0:2] ↦ A along mode 2; layers.1.o[:, 1] ↦ A⁻¹ ·"),
        ideal(["b"], "b ↦ t ·"),
    ])  # fmt: skip
    assert [(len(group.ideals), group.tensors, group.action, group.where) for group in found] == [
        (
            3, ("layers.i.v", "layers.i.o"), "layers.i.v[j, 0:2] ↦ A along mode 2; layers.i.o[:, 1] ↦ A⁻¹ ·",
            "(i, j) = (0, 0), (0, 1), (1, 1)",
        ),
        (1, ("b",), "b ↦ t ·", ""),
    ]  # fmt: skip
    assert without_indices("0.weight[3, :], h.12.w.1, q2, layers__0__v") == "#.weight[#, :], h.#.w.#, q2, layers__#__v"
