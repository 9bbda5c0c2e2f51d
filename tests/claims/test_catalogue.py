"""Claims as data: what claims.toml says, and the check of each, found without importing any."""

from __future__ import annotations

from pathlib import Path

import pytest

from symgauge.claims.catalogue import catalogue, checks_folder
from symgauge.claims.declared import read, source_folder
from symgauge.claims.source_text import fingerprint
from symgauge.errors import InvalidInput

CLAIM = """[[claim]]
id = '{}'
place = 'Lemma 1'
statement = 's'
verdict = 'holds'
"""
CHECK = '@checks("{}")\ndef test_{}(evidence): ...\n'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of checks with one source, "one-two"."""
    folder = tmp_path / "checks"
    (folder / "one_two").mkdir(parents=True)
    return folder


def write(package: Path, claims: str, checks: str) -> Path:
    source = package / "one_two"
    (source / "claims.toml").write_text(claims)
    (source / "test_theme.py").write_text(checks)
    return source


def test_claims_and_their_checks_are_read_and_not_imported(package: Path) -> None:
    claims = r"""# a heading
[[claim]]
id = 'thm-10'
place = 'Theorem 10'
statement = '''
Every $g\in G$ keeps
the function.'''
verdict = 'holds-if'
condition = '$n\ge3$'
correction = '''Its own "words" and 'marks'.'''
"""
    checks = """import does_not_exist
@claims.checks("thm-10", "thm-9")
@other("thm-11")
def test_it(evidence): ...
"""
    write(package, claims + CLAIM.format("thm-9"), checks)
    found = catalogue(package)
    assert list(found.claims) == ["one-two/thm-10", "one-two/thm-9"]  # in the order of claims.toml
    claim = found.claims["one-two/thm-10"]
    assert (claim.name, claim.source, claim.verdict) == ("thm-10", "one-two", "holds-if")
    assert claim.statement == r"Every $g\in G$ keeps the function."
    assert (claim.condition, claim.correction) == (r"$n\ge3$", """Its own "words" and 'marks'.""")
    assert claim.check == "checks/one_two/test_theme.py::test_it"
    assert found.files["one-two/thm-9"] == package / "one_two" / "test_theme.py"


def test_a_folder_of_ones_own_is_a_source(package: Path) -> None:
    source = write(package, CLAIM.format("a"), "")
    (source / "test_theme.py").unlink()
    (source / "deeper").mkdir()
    (source / "deeper" / "test_more.py").write_text(CHECK.format("a", "a"))
    assert list(catalogue(source).claims) == ["one-two/a"]
    assert source_folder(source / "deeper" / "test_more.py") == source


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        (CHECK.format("a", "a") + CHECK.format("a", "b"), "one-two/a is decided by .*::test_a and by .*::test_b"),
        (CHECK.format("a", "a") + CHECK.format("b", "b"), r"test_b \(line 3\) decides 'b', which is not in .*claims.t"),
        (CHECK.format("one-two/a", "a"), "named without their source"),
        ("def test_a(evidence): ...", r"no test in .*one_two decides claim one-two/a: write @checks\('a'\)"),
        ("@checks(NAME)\ndef test_a(evidence): ...", "test_theme.py:1: @checks takes the names of claims, as literal"),
        ("@checks\ndef test_a(evidence): ...", "as literal strings"),
        ("@checks()\ndef test_a(evidence): ...", "as literal strings"),
        ("def", "test_theme.py is not Python"),
    ],
)
def test_checks_that_do_not_fit_their_claims_are_refused(package: Path, checks: str, message: str) -> None:
    write(package, CLAIM.format("a"), checks)
    with pytest.raises(InvalidInput, match=message) as caught:
        catalogue(package)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_nearly_right_is_told_the_right_one(package: Path) -> None:
    write(package, CLAIM.format("thm-3.6"), CHECK.format("thm-36", "a"))
    with pytest.raises(InvalidInput, match=r"decides 'thm-36'.*; 'thm-3.6' is$"):
        catalogue(package)


def test_a_check_without_a_source_is_refused(package: Path) -> None:
    (package / "one_two" / "test_theme.py").write_text(CHECK.format("a", "a"))
    with pytest.raises(InvalidInput, match=r"decides 'a', but there is no claims.toml in its folder or above it"):
        catalogue(package)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[claim]", "is no TOML"),
        ("claims = []", "has claims where only"),
        ("[claim]\nid = 'a'", "has one claim where only"),
        ("claim = ['a']", "claim 1 must be a table"),
        (CLAIM.format("a") + "source = 's'", "claim 'a' has the unknown field 'source'; it may have id, place"),
        (CLAIM.format("a") + "remark = 3", "claim 'a': remark must be text, not 3"),
        (CLAIM.format("a") + "quote = ['a', 3]", "claim 'a': quote must be a text or a list of texts"),
        (CLAIM.format("a") + "quote = []", "claim 'a': quote must be a text or a list of texts"),
        (CLAIM.format("a") + "own = 'yes'", "claim 'a': own must be true or false"),
        (CLAIM.format("a") + "own = true\nquote = 'nobody'", "quoted, or unseen, or our own"),
        (
            CLAIM.format("a") + "quote = 'nobody said this'",
            "does not say 'nobody said this'; it does say 'nobody said'",
        ),
        (CLAIM.format("a").replace("place = 'Lemma 1'\n", ""), "claim 'a' has no place"),
        (CLAIM.format("a").replace("id = 'a'\n", ""), "claim 1 has no id"),
        (CLAIM.format("a") * 2, "claim 'a' is there twice"),
        (CLAIM.format("a").replace("holds", "true"), "the verdict of claim one-two/a is 'true'; expected one of holds"),
        (CLAIM.format("a").replace("holds", "holds-if"), "has to state its condition"),
        (CLAIM.format("a b"), "claim id 'one-two/a b' must have the form"),
    ],
)
def test_malformed_claims_are_refused_in_a_sentence(package: Path, text: str, message: str) -> None:
    source = write(package, text, "")
    (source / "text.words").write_text(fingerprint("Nobody said that."))
    with pytest.raises(InvalidInput, match=message) as caught:
        read(source / "claims.toml")
    assert str(source / "claims.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_quotations_know_their_lines(package: Path) -> None:
    quoted = CLAIM.format("a") + "quote = ['one … meaning', '''all is\nwell''']"
    source = write(package, f"{quoted}\n{CLAIM.format('b')}own = true", "")
    assert [claim.lines for claim in read(source / "claims.toml").values()] == [(), ()]
    (source / "text.words").write_text(fingerprint("Now all is well.\nEach has one clear meaning."))
    claims = read(source / "claims.toml")
    assert (claims["a"].quote, claims["a"].lines) == (("one … meaning", "all is well"), (2, 1))
    assert (claims["b"].own, claims["b"].quote) == (True, ())


def test_the_installed_checks_can_be_listed() -> None:
    found = catalogue(checks_folder())
    assert "gauge/cor-3.7" in found.claims
    assert all(path.is_file() for path in found.files.values())
