"""What GitHub's rendering of formulas does not take, found in a Markdown page.

GitHub documents two ways to write a formula inline, ``$...$`` and ``$`...`$`` ("Writing mathematical expressions"); the
second leaves the formula alone where it has characters that are Markdown too. Its renderer is MathJax with limits of
its own, which are not documented; they were read off its script and off reports of pages that did not render:

- a formula with a macro of BANNED is refused ("The following macros are not allowed"), and macros of UNAVAILABLE belong
  to extensions of MathJax that are switched off;
- a page costs one for each formula and one for each opening brace in it; beyond 2,000 no further formula of the page is
  rendered, and none that costs more than 1,000;
- in ``$...$`` Markdown has its way first: a backslash before punctuation is lost (also of ``\\\\``, ``\\,``, ``\\{``),
  ``*``, ``_``, ``<`` and ``~`` can start markup;
- a dollar next to a space, or right behind a letter, digit or hyphen, opens no formula; nor does one in the text of a
  link; at the end of emphasised text a formula stays as it is;
- in a table, a pipe ends the cell even in a formula;
- ``%`` starts a comment, ``#`` is refused, and a backtick ends the formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BANNED = {
    "operatorname", "DeclareMathOperator", "DeclarePairedDelimiters", "renewtagform", "newtagform", "colorbox",
    "fcolorbox", "phantom", "hphantom", "vphantom", "Newextarrow", "definecolor", "mathchoice", "unicode", "mmlToken",
}  # fmt: skip
UNAVAILABLE = {
    "newcommand", "renewcommand", "providecommand", "def", "gdef", "edef", "let", "newenvironment", "bbox", "href",
    "class", "cssId", "style", "require", "toggle", "mathtip", "texttip", "columncolor", "rowcolor", "cellcolor",
    "footnotesize", "multicolumn", "label", "ref", "tag", "rlap", "llap", "mbox",
}  # fmt: skip
MOST_ON_A_PAGE, MOST_IN_A_FORMULA = 2000, 1000

FENCE = re.compile(r"^(```+).*?^\1`*\s*?$", re.DOTALL | re.MULTILINE)
TOKEN = re.compile(
    r"(?P<escaped>\\\$)"
    r"|\$(?P<ticks>`+)(?P<safe>[^`]+)(?P=ticks)\$"
    r"|(?P<code>(?P<fence>`+)(?!`).+?(?<!`)(?P=fence)(?!`))"
    r"|\$(?P<plain>[^$`]*)\$"
    r"|(?P<loose>\$)",
    re.DOTALL,
)
MACRO = re.compile(r"\\([A-Za-z]+)")
MARKUP = re.compile(r"\\[^A-Za-z0-9\s]|[*<>~&]|(?:^|[^A-Za-z0-9])_")


def refused(page: str) -> list[str]:
    """What of a page GitHub does not render, in words, with the formula; empty for a page that is all right."""
    text = FENCE.sub("", page)
    found, cost = [], 0
    for match in TOKEN.finditer(text):
        if match["loose"]:
            found.append(f"a dollar without its partner: …{text[max(0, match.start() - 40) : match.start() + 40]!r}")
        formula = match["safe"] or match["plain"]
        if formula is None:
            continue
        price = 1 + formula.count("{")
        cost += price
        complaints = [*_formula(formula, match["plain"] is not None), *_surroundings(text, match)]
        complaints += [f"costs {price}"] if price > MOST_IN_A_FORMULA else []
        found += [f"{complaint}: {match[0]}" for complaint in complaints]
    if cost > MOST_ON_A_PAGE:
        found.append(f"the formulas of the page cost {cost}, and GitHub renders no more than {MOST_ON_A_PAGE}")
    return found


def _formula(formula: str, plain: bool) -> Iterator[str]:
    macros = set(MACRO.findall(formula))
    for name in sorted(macros & BANNED):
        yield f"\\{name} is not allowed"
    for name in sorted(macros & UNAVAILABLE):
        yield f"\\{name} is not available"
    if not formula.strip() or (plain and formula != formula.strip()):
        yield "a dollar next to a space opens no formula"
    if plain and MARKUP.search(formula):
        yield "Markdown reads markup into it"
    bare = re.sub(r"\\[{}%#]", "", formula.replace(r"\\", ""))
    if not _balanced(bare):
        yield "braces do not match"
    if formula.count(r"\left") - formula.count(r"\leftarrow") != formula.count(r"\right") - formula.count(
        r"\rightarrow"
    ):
        yield r"\left and \right do not match"
    if sorted(re.findall(r"\\begin\{(\w+)", formula)) != sorted(re.findall(r"\\end\{(\w+)", formula)):
        yield r"\begin and \end do not match"
    if re.search(r"[%#]", bare):
        yield "% starts a comment and # is refused"
    if re.search(r"[_^]\s*$|[_^]\s*[_^]", bare):
        yield "an index is missing"


def _balanced(formula: str) -> bool:
    depth = 0
    for character in formula:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def _surroundings(text: str, match: re.Match[str]) -> Iterator[str]:
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if re.match(r"[A-Za-z0-9-]", before):
        yield f"behind {before!r} no formula opens"
    if re.match(r"[A-Za-z0-9]", after):
        yield f"before {after!r} no formula closes"
    line = text[text.rfind("\n", 0, match.start()) + 1 : (text.find("\n", match.end()) + 1 or len(text) + 1) - 1]
    if line.startswith("|") and re.search(r"(?<!\\)\|", match[0]):
        yield "in a table the pipe ends the cell"
    if after and after in "*_":
        yield "at the end of emphasised text it is not rendered"
    opened = text.rfind("[", 0, match.start())
    if opened >= 0 and "]" not in text[opened : match.start()] and re.match(r"[^\[\]\n]*\]\(", text[match.end() :]):
        yield "in the text of a link it is not rendered"
