"""An emitted file is a set of families that accounts for the module, and a test of them that can fail."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.linalg import expm

import symgauge
from symgauge.discovery.family import DiscoveredFamily
from symgauge.discovery.writing import lines, parsed
from symgauge.errors import InvalidInput


def emitted(command, tmp_path, target: str):
    done = command("discover", f"mine.py:{target}", "--emit", f"made/{target}.py")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "made" / f"{target}.py"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_families_account_for_the_module(command, tmp_path) -> None:
    made = loaded(emitted(command, tmp_path, "product"))
    subject = symgauge.subject_of("mine.py:product")
    found = symgauge.account(subject, extra=made.families)
    assert found.complete
    assert [(f.name, f.new_directions, f.violations) for f in found.families] == [("ideal-1", 4, 0)]
    assert made.families[0].found.startswith("discovered on Sequential (16 parameters), seed 0, primes 2147483579")
    made.test_every_family_is_a_symmetry_and_nothing_is_left()


@pytest.mark.parametrize(
    ("target", "before", "after", "sentence"),
    [
        ("product", "1.weight[:, 0] +=", "1.weight[:, 0] -=", "generators lie outside the kernel"),
        ("product", "nullity=4", "nullity=5", "the fibre has dimension 4, not 5"),
        ("normed", 'HELD: list[str] = ["gain"]', "HELD: list[str] = []", "generators lie outside the kernel"),
        ("normed", '["gain"]', '["gain", "reader.bias"]', "5 entries are held, but not all of them are pure gauge"),
        ("normed", "families = [Ideal1(), Ideal2()]", "families = [Ideal1()]", "1 directions are unexplained, not 0"),
    ],
)
def test_a_tampered_file_fails(command, tmp_path, target, before, after, sentence) -> None:
    path = emitted(command, tmp_path, target)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    made = loaded(path)
    with pytest.raises(AssertionError, match=sentence):
        made.test_every_family_is_a_symmetry_and_nothing_is_left()


def test_pytest_runs_the_file(command, tmp_path) -> None:
    path = emitted(command, tmp_path, "normed")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_what_is_left_is_part_of_the_file(command, tmp_path) -> None:
    made = loaded(emitted(command, tmp_path, "cubed"))
    assert made.families == []
    made.test_every_family_is_a_symmetry_and_as_much_is_left()


class Mixed(DiscoveredFamily):
    """A rotation, a shift, and a vector that takes in a column."""

    name, title = "mixed", "for a test"
    generators = (
        ("w[0] += 2 * w[1]", "w[1] -= 2 * w[0]"),
        ("b += 1", "c += w[:, 0]"),
    )


def test_the_action_is_the_exponential() -> None:
    shapes = {"w": (2, 3), "b": (1,), "c": (2,)}
    roles = {name: torch.randn(shape, dtype=torch.float64) for name, shape in shapes.items()}
    x = torch.tensor([0.7, -0.4], dtype=torch.float64)
    moved = Mixed().sites(None, None)[0].act(roles, x)
    fields = Mixed().fields(shapes)
    matrix = sum(float(t) * m.toarray() for t, m in zip(x, fields.matrices(), strict=True))
    start = np.concatenate([[1.0], *(roles[name].reshape(-1).numpy() for name in shapes)])
    expected = (expm(matrix) @ start)[1:]
    found = torch.cat([{**roles, **moved}[name].reshape(-1) for name in shapes]).numpy()
    assert np.abs(found - expected).max() < 1e-13
    assert np.abs(found - start[1:]).max() > 0.1


def test_a_field_is_what_its_lines_say() -> None:
    found = symgauge.discover(*_shared(), discrete=False)
    shapes = {block.name: block.shape for block in found.attempt.blocks}
    for ideal in found.ideals:
        for number in range(ideal.fields.count):
            family = type("One", (Mixed,), {"generators": (lines(ideal.fields, number, found.attempt.blocks),)})()
            again = family.fields(shapes).matrices()[0]
            assert (again - ideal.fields.matrices()[number]).nnz == 0


def _shared():
    class Shared(torch.nn.Module):
        """Two maps of one latent, whose biases take in what moves it."""

        def __init__(self):
            super().__init__()
            self.down, self.up, self.other = (torch.nn.Linear(*s) for s in ((3, 2), (2, 2), (2, 1)))

        def forward(self, x):
            x = self.down(x)
            return torch.cat([self.up(x), self.other(x)], -1)

    return Shared(), symgauge.Vectors(1, 3)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("w[0] = w[1]", "is not understood"),
        ("v[0] += w[1]", "there is no tensor"),
        ("w[2] += w[1]", "is no slice of a tensor"),
        ("w[0] += w[:, 1]", "have 3 and 2 entries"),
    ],
)
def test_lines_that_are_none_are_refused(line, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parsed(line, {"w": torch.arange(1, 7).reshape(2, 3)})


@pytest.mark.parametrize("name", ["1", "two words", "w[0]", 'a"""', "a\\b"])
def test_a_name_that_no_line_can_have_is_refused(name) -> None:
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_parameter(name, torch.nn.Parameter(torch.randn(1)))
            self.other = torch.nn.Parameter(torch.randn(1))

        def forward(self, x):
            return x * self.other * getattr(self, name)

    found = symgauge.discover(Odd(), symgauge.Vectors(1, 1), discrete=False)
    with pytest.raises(InvalidInput, match="cannot be written in a line"):
        lines(found.ideals[0].fields, 0, found.attempt.blocks)


def test_the_file_that_makes_the_module_is_not_overwritten(command, tmp_path) -> None:
    before = (tmp_path / "mine.py").read_text()
    done = command("discover", "mine.py:product", "--emit", "./mine.py")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "would be replaced; name another file" in done.stderr
    assert (tmp_path / "mine.py").read_text() == before
