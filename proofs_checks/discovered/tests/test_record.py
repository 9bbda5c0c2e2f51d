"""The record of what was found: complete, of specimens that are there, and in agreement with counts by hand."""

import pytest

from proofs_checks.discovered.measuring import main, specimens
from proofs_checks.discovered.page import page, recorded
from proofs_checks.discovered.specimens.attention import variants
from proofs_checks.discovered.specimens.families import known
from symgauge.claims import Ledger


def test_every_specimen_is_on_record_once() -> None:
    names = [line["name"] for line in recorded()]
    assert sorted(names) == sorted(specimen.name for specimen in specimens())


def test_a_specimen_that_is_not_there_is_refused(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["measuring", "--out", str(tmp_path / "record.jsonl"), "key-bais"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no specimen key-bais" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_is_explained_and_what_is_left_make_the_fibre() -> None:
    lines = [line for line in recorded() if "undecided" not in line]
    assert len(lines) > 60
    for line in lines:
        assert line["explained"] + line["unexplained"] == line["nullity"]
        assert line["flows"]["run"] == line["flows"]["kept"] == sum(i["dimension"] for i in line["ideals"])
        assert line["failure_bound"] < 1e-6


def test_variants_have_the_nullity_counted_by_hand_and_nothing_is_left() -> None:
    lines = {line["name"]: line for line in recorded()}
    for name, variant in variants().items():
        assert (lines[name]["nullity"], lines[name]["unexplained"]) == (variant.count(variant.sizes[0]), 0)


def test_groups_of_matrices_have_the_name_that_is_known() -> None:
    lines = {line["name"]: line for line in recorded()}
    linear = [name for name, reference in known().items() if reference.name.startswith(("gl(", "so("))]
    assert len(linear) > 5
    for name in linear:
        expected = known()[name].name.replace("C", "ℂ")
        # gl(n) whose scalings are told by the fewest tensors that they move is read as sl(n) beside them.
        names = (expected, expected.replace("gl(", "sl(").removesuffix(")"))
        assert any(each in ideal["algebra"] for each in names for ideal in lines[name]["ideals"]), name


def test_products_of_two_tensors_explain_what_inverses_leave() -> None:
    lines = {line["name"]: line for line in recorded()}
    for name, integrated in (("token-value-shift", 4), ("token-key-shift", 4), ("successive-value-bias-shift", 0)):
        line = lines[name]
        assert (line["unexplained"], line["integrated"]) == (0, integrated)
        assert line["flows"]["run"] == line["flows"]["kept"]
        assert "products of two tensors in" in line["tried"][-1]


def test_the_page_names_what_is_left(monkeypatch) -> None:
    lines = recorded()
    assert lines[0]["unexplained"] == 0
    left = lines[0] | {"name": "left", "unexplained": 3, "unexplained_tensors": {"table": 3}}
    monkeypatch.setattr("proofs_checks.discovered.page.recorded", lambda: [*lines, left])
    text = page(Ledger())
    for line in (*lines, left):
        assert f"| {line['name']} |" in text
    unexplained = sum(line.get("unexplained", 0) > 0 for line in lines)
    assert text.count("- **unexplained**: ") == unexplained + 1
    assert "- **unexplained**: 3 directions, which move `table`" in text
