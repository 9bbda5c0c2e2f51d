"""The pytest plugin, run by pytester in processes of their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from symgauge.claims import Ledger

pytest_plugins = ["pytester"]

HEAD = """
import math, os, pytest
from hypothesis import settings
from symgauge.claims import checks, at_most, at_least, equal
"""

CLAIM = "[[claim]]\nid = '{}'\nplace = 'p'\nstatement = 's'\nverdict = '{}'\ncorrection = 'c'\n"

GOOD = """
@checks("good")
def test_good(evidence):
    evidence.proof("proved", True)
    evidence.numeric("error", figures={"error": at_most(1e-15, 1e-12)})
    evidence.control("break", figures={"change": at_least(0.5, 1e-3)})

@checks("twin-a", "twin-refuted")
def test_twins(evidence):
    evidence.exact("a", True, only="twin-a")
    evidence.exact("b", False, counterexample="x", only="twin-refuted")
    evidence.control("b elsewhere", True, kind="exact", only="twin-refuted")
    evidence.exact("c", True, on="correction", only="twin-refuted")

def test_plain():
    pass
"""


def write(folder: Path, names: list[str], body: str) -> None:
    """The folder of a source with claims of these names; on record as refuted if they end in that, else as holding."""
    folder.mkdir(exist_ok=True)
    claims = [CLAIM.format(name, "refuted" if name.endswith("refuted") else "holds") for name in names]
    (folder / "claims.toml").write_text("".join(claims))
    (folder / "test_it.py").write_text(HEAD + body)


@pytest.fixture
def run(pytester, monkeypatch):
    """Writes a source's folder and runs it with this plugin, and pytest-xdist, and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("SYMGAUGE_PROFILE", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(body: str, *arguments: str):
        named = re.findall(r'"([^"]+)"', " ".join(re.findall(r"@checks\((.*)\)", body)))
        write(pytester.path / "src", named, body)
        plugins = ["-p", "symgauge_pytest_plugin", "-p", "xdist.plugin", "-p", "no:cacheprovider"]
        return pytester.runpytest_subprocess(*plugins, "--ledger", "out/l.json", *arguments)

    return run


def ledger(pytester) -> Ledger:
    return Ledger.load(pytester.path / "out" / "l.json")


def test_one_line_per_claim_and_a_ledger(run, pytester) -> None:
    result = run(GOOD)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*= claims =*",
            "src/good * holds * proof numeric * Holds because: proved*",
            "src/twin-a * holds * exact*",
            "src/twin-refuted * refuted * exact*",
            "3 claims: 2 holds, 1 refuted; all as on record",
        ]
    )
    found = ledger(pytester)
    assert list(found.entries) == ["src/good", "src/twin-a", "src/twin-refuted"]
    assert found.agrees
    assert found.profile == "ci"
    assert found.entries["src/good"].claim.check == "src/test_it.py::test_good"


def test_the_ledger_is_the_same_under_xdist(run, pytester) -> None:
    run(GOOD).assert_outcomes(passed=3)
    alone = (pytester.path / "out" / "l.json").read_bytes()
    result = run(GOOD, "-n", "2")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["3 claims: 2 holds, 1 refuted; all as on record"])
    assert (pytester.path / "out" / "l.json").read_bytes() == alone


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('@checks("bad-refuted")\ndef test_bad(evidence):\n    evidence.proof("p", True)', "p"),
        ('@checks("bad")\ndef test_bad(evidence):\n    pass', "no evidence was recorded"),
        ('@checks("bad")\ndef test_bad():\n    pass', "no evidence was recorded"),
        (
            '@checks("bad")\ndef test_bad(evidence):\n    evidence.exact("p", True, figures={"x": math.nan})',
            "not a number",
        ),
        ('@checks("bad")\ndef test_bad(evidence):\n    evidence.exact("p", None)', "could not be decided"),
        (
            '@checks("bad")\ndef test_bad(evidence):\n    evidence.exact("p", True)\n    evidence.control("c", False)',
            "has no power",
        ),
    ],
)
def test_a_verdict_that_differs_from_the_record_fails(run, pytester, body, reason, workers) -> None:
    result = run(body, *workers)
    result.assert_outcomes(failed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"*- *{reason}*", "*replay: symgauge verify --from src src/bad*", "*DIFFERS from the record*"]
    )
    assert not ledger(pytester).agrees


def test_an_exception_leaves_the_claim_undecided(run, pytester) -> None:
    result = run('@checks("bad")\ndef test_bad(evidence):\n    evidence.proof("p", True)\n    assert 1 == 2')
    result.assert_outcomes(failed=1)
    entry = ledger(pytester).entries["src/bad"]
    assert (entry.verdict, entry.failure) == ("undecided", "the check stopped with AssertionError: assert 1 == 2")


@pytest.mark.parametrize(
    "body",
    [
        '@checks("bad")\ndef test_bad(evidence):\n    evidence.proof("p", True)\n    pytest.skip("no device")',
        '@checks("bad")\n@pytest.mark.skip(reason="no device")\ndef test_bad(evidence):\n    pass',
    ],
    ids=["inside", "mark"],
)
def test_a_skipped_check_is_loudly_undecided(run, pytester, body) -> None:
    result = run(body)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["src/bad * undecided *DIFFERS*skipped*no device*"])
    assert not ledger(pytester).agrees


def test_a_broken_fixture_leaves_the_claim_undecided(run, pytester) -> None:
    fixture = '@pytest.fixture\ndef broken():\n    raise OSError("x")\n'
    run(fixture + '@checks("bad")\ndef test_bad(evidence, broken):\n    pass')
    assert ledger(pytester).entries["src/bad"].failure == "the check stopped with OSError: x"


def test_a_fixture_that_breaks_after_the_check_leaves_the_claim_undecided(run, pytester) -> None:
    fixture = '@pytest.fixture\ndef broken():\n    yield\n    raise OSError("x")\n'
    result = run(fixture + '@checks("bad")\ndef test_bad(evidence, broken):\n    evidence.proof("p", True)')
    assert ledger(pytester).entries["src/bad"].failure == "the check stopped with OSError: x"
    result.stdout.fnmatch_lines(["1 claim: 1 undecided; 1 differ from the record; undecided: src/bad"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
@pytest.mark.parametrize("chosen", [(), ("--claims", "src/bad", "--claims", "src/good")], ids=["all", "chosen"])
@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import pytest\npytest.importorskip('no_such_module')\n", "was skipped: could not import 'no_such_module'*"),
    ],
    ids=["import", "skip"],
)
def test_the_claims_of_a_file_that_cannot_be_collected_are_undecided(run, pytester, first, said, chosen, workers):
    body = '@checks("good")\ndef test_good(evidence):\n    evidence.proof("p", True)\n# @checks("bad")'
    (pytester.path / "src").mkdir()
    other = HEAD + '@checks("bad")\ndef test_bad(evidence):\n    evidence.proof("p", True)'
    (pytester.path / "src" / "test_other.py").write_text(first + other)
    result = run(body, "--continue-on-collection-errors", *chosen, *workers)
    result.stdout.fnmatch_lines(
        [
            f"src/bad * undecided *DIFFERS from the record (holds): the file of its check {said}",
            "2 claims: 1 holds, 1 undecided; 1 differ from the record; undecided: src/bad",
        ]
    )
    assert ledger(pytester).entries["src/bad"].replay == "symgauge verify --from src src/bad"


def test_a_file_outside_of_the_root_is_found(run, pytester) -> None:
    root = pytester.mkdir("root")
    body = 'import no_such_module\n@checks("bad")\ndef test_bad(evidence):\n    pass'
    run(body, "--rootdir", str(root)).stdout.fnmatch_lines(["1 claim: 1 undecided; *undecided: src/bad"])


@pytest.mark.parametrize(("option", "reason"), [("-v", "was not run"), ("--continue-on-collection-errors", "")])
def test_a_class_that_cannot_be_collected_leaves_the_rest_of_its_file(run, pytester, option, reason) -> None:
    run(
        '@checks("good")\ndef test_good(evidence):\n    evidence.proof("p", True)\n'
        "class TestBad:\n    @pytest.mark.parametrize('nothing', [1])\n"
        '    @checks("bad")\n    def test_bad(self, evidence):\n        pass',
        option,
    )
    entries = ledger(pytester).entries
    assert reason in entries["src/good"].failure
    assert entries["src/good"].agrees == (not reason)
    assert "cannot be imported" in entries["src/bad"].failure


def test_stopping_early_leaves_the_rest_undecided(run, pytester) -> None:
    run('@checks("a")\ndef test_a(evidence):\n    pass\n@checks("b")\ndef test_b(evidence):\n    pass', "-x")
    assert ledger(pytester).entries["src/b"].failure == "the check was not run"


def test_a_claim_has_one_check(run) -> None:
    body = (
        '@checks("a")\n@pytest.mark.parametrize("n", [1, 2])\ndef test_a(evidence, n):\n    evidence.proof("p", True)'
    )
    result = run(body)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*claim src/a is decided by *1* and by *2*give it one check*"])


@pytest.mark.parametrize(
    ("names", "body", "said"),
    [
        ([], '@checks("a")\ndef test_a(evidence):\n    pass', "*decides 'a', which is not in *claims.toml"),
        (["a"], '@checks("src/a")\ndef test_a(evidence):\n    pass', "*claims are named without their source"),
        (["a", "b"], '@checks("a")\ndef test_a(evidence):\n    pass', "*no test in *src decides claim src/b: *"),
        (["a", "a"], '@checks("a")\ndef test_a(evidence):\n    pass', "*claim 'a' is there twice"),
    ],
)
def test_claims_and_checks_that_do_not_fit_are_refused(run, pytester, names, body, said) -> None:
    write(pytester.path / "src", names, body)
    plugins = ["-p", "symgauge_pytest_plugin", "-p", "no:cacheprovider"]
    result = pytester.runpytest_subprocess(*plugins)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {said}"])
    assert len(result.errlines) <= 2
    workers = pytester.runpytest_subprocess(*plugins, "-p", "xdist.plugin", "-n", "1")
    assert workers.ret == 4
    workers.stdout.fnmatch_lines([f"symgauge: {said}"])


def test_checks_outside_of_test_files_are_refused(run, pytester) -> None:
    write(pytester.path / "src", ["a"], '@checks("a")\ndef test_a(evidence):\n    pass')
    (pytester.path / "src" / "helper.py").write_text(HEAD + '@checks("a")\ndef test_other(evidence):\n    pass')
    (pytester.path / "src" / "test_it.py").rename(pytester.path / "src" / "it_test.py")
    result = pytester.runpytest_subprocess("-p", "symgauge_pytest_plugin", "src/it_test.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *no test in *src decides claim src/a*"])


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_claims_can_be_chosen(run, pytester, workers) -> None:
    result = run(GOOD, "--claims", "src/go*", *workers)
    result.assert_outcomes(passed=1, deselected=0 if workers else 2)
    assert list(ledger(pytester).entries) == ["src/good"]


def test_an_unknown_choice_is_refused(run) -> None:
    result = run(GOOD, "--claims", "src/god")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no claim is called 'src/god'; the nearest are src/good*"])


def test_claims_are_marked(run) -> None:
    run(GOOD, "-m", "claim", "--strict-markers").assert_outcomes(passed=2, deselected=1)


def test_the_profile_is_set_before_checks_run(run, pytester) -> None:
    body = '@checks("a")\ndef test_a(evidence):\n    evidence.exact("p", settings.default.max_examples == 5)'
    result = run(
        body + '\n    evidence.exact("q", os.environ.get("X") is None)', "--symgauge-profile", "dev", "-n", "1"
    )
    result.assert_outcomes(passed=1)
    assert ledger(pytester).profile == "dev"
    refused = run(body, "--symgauge-profile", "lazy")
    assert refused.ret == 4
    refused.stderr.fnmatch_lines(["*no sampling profile is called 'lazy'*"])


def test_a_ledger_that_cannot_be_written_is_an_error(run, pytester) -> None:
    pytester.makefile(".txt", blocked="")
    result = run(GOOD, "--ledger", "blocked.txt/l.json")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*cannot write *"])
    result = run(GOOD, "--claims-report", "")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--claims-report that of a folder; one is empty*"])


def test_sessions_without_claims_see_nothing_of_it(pytester, monkeypatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("def test_plain():\n    pass")
    result = pytester.runpytest_subprocess("-p", "symgauge_pytest_plugin")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= claims =*")


def test_the_plugin_imports_nothing_heavy() -> None:
    heavy = ["sympy", "torch", "numpy", "scipy", "hypothesis", "flint", "mpmath", "typer", "rich", "transformers"]
    code = "import sys, symgauge_pytest_plugin, symgauge.pytest_support, json; "
    code += f"print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
