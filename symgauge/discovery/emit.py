"""A discovery as a Python file: each ideal a family of symmetries, and a test that proves them on the module anew."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from symgauge.atomic import write_text
from symgauge.discovery.discovery import Discovery
from symgauge.discovery.ideals import Ideal
from symgauge.discovery.writing import lines

_HEAD = '''"""Symmetries {found}.

Written by `symgauge discover --emit`. symgauge.account(..., extra=families) takes them as they are, and pytest on this
file proves them on the module anew.
"""

import symgauge
from symgauge.discovery.family import DiscoveredFamily
from symgauge.discovery.recheck import recheck

TARGET = {target}
SIZES: dict[str, int] = {sizes}
INPUTS = symgauge.{inputs!r}
HELD: list[str] = {held}  # at plain values, for they are pure gauge; the families act beside them
FOUND = {citation}
'''
_FAMILY = '''

class {kind}(DiscoveredFamily):
    """{algebra}: {action}."""

    name = {name}
    title = {title}
    found = FOUND
    generators = (
{generators}
    )
'''
_TAIL = """

families = [{kinds}]


def test_every_family_is_a_symmetry_and_{what}() -> None:
    recheck(
        __file__, TARGET, INPUTS, families, sizes=SIZES, held=HELD, nullity={nullity}, unexplained={unexplained},
        output={output},
    )
"""


def emit(path: Path, found: Discovery, target: str, sizes: Mapping[str, int] | None = None) -> None:
    """Write the file, in one step. ``target`` names the module, ``sizes`` are the arguments of its factory.

    Raises InvalidInput where it cannot be written.
    """
    write_text(path, text(found, _seen_from(path, target), sizes or {}))


def text(found: Discovery, target: str, sizes: Mapping[str, int]) -> str:
    """The file's content; ``target`` as seen from the folder in which it will lie."""
    citation = cited(found, sizes)
    parts = [
        _HEAD.format(
            found=citation, citation=_quoted(citation), target=_quoted(target), sizes=_quoted(dict(sizes)),
            inputs=found.subject.inputs, held=_quoted(list(found.frozen)),
        )
    ]  # fmt: skip
    kinds = [f"Ideal{number}" for number in range(1, len(found.ideals) + 1)]
    parts += [_family(found, ideal, number) for number, ideal in enumerate(found.ideals, 1)]
    what = "nothing_is_left" if not found.unexplained else "as_much_is_left"
    tail = _TAIL.format(
        kinds=_wrapped([f"{kind}()" for kind in kinds]), what=what, nullity=found.nullity,
        unexplained=found.unexplained, output=_quoted(found.fibre.output),
    )  # fmt: skip
    return "".join([*parts, tail])


def cited(found: Discovery, sizes: Mapping[str, int]) -> str:
    """The module and its sizes, seed and primes: what stands in place of a paper."""
    arguments = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return (
        f"discovered on {found.subject.name} ({f'{arguments}, ' if arguments else ''}{found.fibre.parameters} "
        f"parameters), seed {found.seed}, primes {' and '.join(map(str, found.fibre.primes))}"
    )


def _family(found: Discovery, ideal: Ideal, number: int) -> str:
    generators = [
        "".join(
            f"            {_quoted(line)},\n"
            for line in lines(ideal.fields, which, (*found.attempt.blocks, *ideal.derived))
        )
        for which in range(ideal.fields.count)
    ]
    return _FAMILY.format(
        kind=f"Ideal{number}", algebra=ideal.algebra, action=ideal.action, name=_quoted(f"ideal-{number}"),
        title=_quoted(f"{ideal.algebra} on {', '.join(ideal.tensors)}"),
        generators="\n".join(f"        (\n{body}        )," for body in generators),
    )  # fmt: skip


def _quoted(value: object) -> str:
    """As Python writes it, with double quotes."""
    return json.dumps(value, ensure_ascii=False)


def _wrapped(names: list[str]) -> str:
    """On one line where they fit."""
    joined = ", ".join(names)
    return joined if len(joined) < 90 else "\n" + "".join(f"    {name},\n" for name in names)


def _seen_from(path: Path, target: str) -> str:
    """A target that is a file or folder, as the folder of ``path`` sees it; others as they are."""
    file, colon, factory = _parted(target)
    return os.path.relpath(file, path.parent) + colon + factory if Path(file).exists() else target


def _parted(target: str) -> tuple[str, str, str]:
    """A file or folder (or a name that is none), a colon, and the factory in the file."""
    return target.rpartition(":") if ".py:" in target else (target, "", "")
