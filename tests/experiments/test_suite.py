"""Results, records and pages of experiments, on a suite made here."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from symgauge.cli import app
from symgauge.errors import InvalidInput
from symgauge.experiments import suite as suite_module
from symgauge.experiments.drawing import draw
from symgauge.experiments.record import Record
from symgauge.experiments.result import Agreement, Comparison, Figure, Outcome, Panel, Result, Series, Table
from symgauge.experiments.suite import Experiment, Setting, choose, experiments_of, reproduce, suites
from symgauge.reporting.experiments_page import figures, page


def a_result(ours: float = 2.0) -> Result:
    panel = Panel(
        "errors", "depth (layers)", "relative error", [Series("ours", [1, 2, 3], [1e-16, 2e-16, 4e-16])], y_scale="log"
    )
    return Result(
        key="",
        title="Errors",
        place="Table 2",
        protocol="Run it.",
        comparisons=[Comparison("maximum", 1.0, ours), Comparison("count", 16, 16, factor=1)],
        tables=[Table("more", ["a", "b"], [["x", 1.5]])],
        figures=[Figure("errors", "Errors grow.", [panel])],
        findings=["Errors are small."],
    )


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []

    def run(setting: Setting) -> Result:
        made.append(setting.seed)
        return a_result()

    monkeypatch.setattr(suite_module, "experiments_of", lambda name: {"table-2": Experiment("table-2", "Errors", run)})
    return made


def test_outcome_follows_from_the_comparisons() -> None:
    assert a_result(2.0).outcome is Outcome.REPRODUCED
    assert a_result(2.1).outcome is Outcome.PARTLY
    assert Result("k", "t", "p", "", comparisons=[Comparison("n", 16, 17, factor=1)]).outcome is Outcome.DIFFERS
    assert Result("k", "t", "p", "", comparisons=[Comparison("n", None, 17)]).outcome is Outcome.OURS_ONLY


AGREES, DIFFERS = Comparison("n", 1.0, 1.1), Comparison("n", 1.0, 9.0)
DEPENDS, NONE = Comparison("n", 1.0, 1.1, choices={"other": 9.0}), Comparison("n", 1.0, None, note="no data")


@pytest.mark.parametrize(
    ("comparisons", "outcome"),
    [
        ([AGREES, Comparison("n", 1.0, 1.1, choices={"other": 0.9})], Outcome.REPRODUCED),
        ([AGREES, DEPENDS], Outcome.DEPENDS),
        ([Comparison("n", 1.0, 9.0, choices={"picked": 1.0})], Outcome.DEPENDS),
        ([DEPENDS, Comparison("m", 1.0, 9.0, choices={"other": 1.0})], Outcome.SEPARATELY),
        ([DEPENDS, Comparison("m", 1.0, 0.9, choices={"other": 7.0})], Outcome.DEPENDS),
        ([DEPENDS, Comparison("m", 1.0, 9.0, choices={"of its own": 1.0})], Outcome.DEPENDS),
        ([AGREES, NONE], Outcome.PARTLY),
        ([DEPENDS, DIFFERS], Outcome.DIFFERS),
        ([NONE], Outcome.DIFFERS),
    ],
)
def test_a_number_that_one_choice_gives_and_another_does_not_is_not_reproduced(comparisons, outcome) -> None:
    assert Outcome.of(comparisons) is outcome


def test_a_number_that_cannot_be_had_says_why() -> None:
    with pytest.raises(InvalidInput, match="say in the note why"):
        Comparison("n", 1.0, None)


def test_agreement_is_symmetric_in_the_ratio_and_exact_where_asked() -> None:
    judged = [Comparison("x", 1.0, ours).agreement is Agreement.AGREES for ours in (0.49, 0.5, 2.0, 2.01, -1.0)]
    assert judged == [False, True, True, False, False]
    assert [Comparison("zero", 0, ours).agreement for ours in (0, 1)] == [Agreement.AGREES, Agreement.DIFFERS]
    assert [Comparison("x", 1.0, ours, limit=True).agreement for ours in (0.1, 1.1)] == [
        Agreement.AGREES,
        Agreement.DIFFERS,
    ]
    with pytest.raises(InvalidInput, match="must be at least 1"):
        Comparison("x", 1.0, 1.0, factor=0.5)


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no finite number"):
        Comparison("maximum", 1.0, float("nan"))
    with pytest.raises(InvalidInput, match="3 values of x for 2 of y"):
        Series("s", [1, 2, 3], [1, 2])
    with pytest.raises(InvalidInput, match="1 cells under 2 headers"):
        Table("t", ["a", "b"], [[1]])


def test_a_stopped_run_goes_on(calls, tmp_path) -> None:
    file, setting = tmp_path / "r.json", Setting()
    chosen = choose("gauge", [])
    assert [ran for _, _, ran in reproduce("gauge", chosen, setting, file, "command")] == [True]
    assert [ran for _, _, ran in reproduce("gauge", chosen, setting, file, "command")] == [False]
    assert [ran for _, _, ran in reproduce("gauge", chosen, Setting(seed=1), file, "command")] == [True]
    assert [ran for _, _, ran in reproduce("gauge", chosen, Setting(seed=1), file, "command", fresh=True)] == [True]
    assert calls == [0, 1, 1]


def test_a_record_survives_the_disk(calls, tmp_path) -> None:
    file = tmp_path / "r.json"
    list(reproduce("gauge", choose("gauge", []), Setting(), file, "command"))
    run = Record.load(file).runs["table-2"]
    assert run.result.comparisons[0] == Comparison("maximum", 1.0, 2.0)
    assert run.result.outcome is Outcome.REPRODUCED
    assert json.loads(file.read_text())["runs"]["table-2"]["command"] == "command --table 2"


def test_a_record_that_was_changed_by_hand_is_refused(calls, tmp_path) -> None:
    file = tmp_path / "r.json"
    list(reproduce("gauge", choose("gauge", []), Setting(), file, "command"))
    file.write_text(file.read_text().replace('"ours": 2.0', '"ours": 1.5'))
    with pytest.raises(InvalidInput, match="table-2 is not as it was measured"):
        Record.load(file)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"format": 99}', '{"format": 2, "suite": "x", "scale": "small", "runs": {"a": {}}}']
)
def test_a_file_that_is_no_record_is_refused(content, tmp_path) -> None:
    file = tmp_path / "r.json"
    file.write_text(content)
    with pytest.raises(InvalidInput):
        Record.load(file)


def test_page_and_figures_name_the_same_files(calls, tmp_path) -> None:
    file = tmp_path / "gauge-small.json"
    list(reproduce("gauge", choose("gauge", []), Setting(), file, "symgauge reproduce gauge"))
    records = {"small": Record.load(file)}
    from symgauge.reporting import experiments_page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments_page, "experiments_of", suite_module.experiments_of)
        text = page("gauge", records)
    (path,) = figures("gauge", records)
    assert f"]({path})" in text
    assert "reproduced" in text
    assert "symgauge reproduce gauge" in text


def test_figures_are_the_same_bytes_each_time() -> None:
    (figure,) = a_result().figures
    assert draw(figure) == draw(figure)
    assert draw(figure).startswith(b"\x89PNG")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="there is no suite 'nothing'"):
        experiments_of("nothing")
    with pytest.raises(InvalidInput, match="has no experiment 'table-99'"):
        choose("gauge", ["table-99"])
    with pytest.raises(InvalidInput, match="no scale is called"):
        list(reproduce("gauge", [], Setting("huge"), None, ""))  # type: ignore[arg-type]
    assert "gauge" in suites()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device", "gpu"), "--device 'gpu': choose cpu or cuda; write 'cuda' for a graphics card"),
        (("--seed", str(2**63)), "--seed must be an integer from 0 to 2^63 - 1"),
    ],
)
def test_options_that_nothing_could_use(tmp_path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["reproduce", "gauge", "--table", "4", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert not list(tmp_path.iterdir())
