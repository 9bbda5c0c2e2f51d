"""Mutants of a source file: one small change each, made at one node of the syntax tree.

Changed are comparisons, arithmetic, ``and``/``or``, conditions, ``not`` and signs, numbers and truth values, returned
values, and statements, which are left out one at a time. Nothing is changed in annotations, decorators, assertions,
texts, what only a type checker runs, and examples, as another example is as good.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: (r"is\s+not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"), ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "+"),
    ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "+"), ast.Pow: (r"\*\*", "*"),
    ast.MatMult: ("@", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"), ast.BitXor: (r"\^", "&"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
"""Operator → how it is found in the text, and what takes its place."""


_EXAMPLES = ("example", "beside")
"""Names under which the library holds architectures to be tried."""


@dataclass(frozen=True)
class Mutant:
    """One change to a file. ``before`` and ``after`` are the lines it touches, and with ``place`` its name."""

    file: str
    place: str
    """The function or class that the change is in, or ``module``."""
    function: str | None
    """The outermost function that the change is in; None if it is in what runs when the module is imported."""
    statement: int
    first: int
    last: int
    """Numbers of lines, from 1: where the statement begins, and those touched."""
    before: str
    after: str
    source: str
    """The whole file with the change."""
    number: int = 0
    """Which one it is of those that read the same."""

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.file, self.place, self.before, self.after, self.number


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a file, in the order of its text."""
    text = source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []
    seen: dict[tuple[str, ...], int] = {}
    visitor = _Places(text, starts)
    visitor.visit(ast.parse(source))
    for place, function, statement, begin, end, new in visitor.changes:
        first = _line(starts, begin)
        last = max(first, _line(starts, max(begin, end - 1)))
        top, bottom = starts[first - 1], starts[last]
        before, after = text[top:bottom], text[top:begin] + new.encode() + text[end:bottom]
        whole = (text[:begin] + new.encode() + text[end:]).decode()
        mutant = Mutant(file, place, function, statement, first, last, _short(before), _short(after), whole)
        number = seen.setdefault(mutant.key[:4], 0)
        seen[mutant.key[:4]] += 1
        found.append(replace(mutant, number=number))
    return sorted(found, key=lambda m: m.first)


def _line(starts: list[int], position: int) -> int:
    return next(i for i in range(len(starts) - 1, -1, -1) if starts[i] <= position) + 1


def _short(lines: bytes) -> str:
    return " ".join(lines.decode().split())


Change = tuple[str, str | None, int, int, int, str]
"""(place, outermost function, line of the statement, begin, end, new text), from begin to end in bytes."""


class _Places(ast.NodeVisitor):
    """Collects changes; knows in which function it is."""

    def __init__(self, text: bytes, starts: list[int]) -> None:
        self.text, self.starts = text, starts
        self.names: list[str] = []
        self.function: str | None = None
        self.statement = 1
        self.changes: list[Change] = []

    def span(self, node: ast.AST) -> tuple[int, int]:
        begin = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def change(self, begin: int, end: int, new: str) -> None:
        place = ".".join(self.names) or "module"
        self.changes.append((place, self.function, self.statement, begin, end, new))

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self.statement = node.lineno
        super().visit(node)

    def swap(self, operator: ast.AST, left: ast.AST, right: ast.AST) -> None:
        """Another operator between two nodes; brackets around them may stand there too."""
        pattern, new = _SWAPS[type(operator)]
        begin, end = self.span(left)[1], self.span(right)[0]
        found = re.search(pattern, self.text[begin:end].decode())
        assert found is not None
        self.change(begin + found.start(), begin + found.end(), new)

    def negate(self, test: ast.expr) -> None:
        """``not`` before a condition that no other change turns round."""
        if not isinstance(test, ast.Compare | ast.UnaryOp | ast.BoolOp | ast.Constant):
            begin, end = self.span(test)
            self.change(begin, end, f"(not ({self.text[begin:end].decode()}))")

    def drop(self, statement: ast.stmt) -> None:
        self.change(*self.span(statement), "pass")

    # ----- what is left as it is

    def visit_Assert(self, node: ast.Assert) -> None: ...

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _EXAMPLES:
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arguments(self, node: ast.arguments) -> None:
        for default in (*node.defaults, *node.kw_defaults):
            if default is not None:
                self.visit(default)

    # ----- statements

    def _named(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        if isinstance(node, ast.FunctionDef):
            self.visit(node.args)
        self.names.append(node.name)
        outer = self.function
        if isinstance(node, ast.FunctionDef):
            self.function = outer or ".".join(self.names)
        for statement in node.body:
            self.visit(statement)
        self.function = outer
        self.names.pop()

    visit_FunctionDef = _named
    visit_ClassDef = _named

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.drop(node)
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id in _EXAMPLES for target in node.targets):
            return
        # A plain name left out would be missed at once.
        if not all(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
            self.drop(node)
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.drop(node)
        self.swap(node.op, node.target, node.value)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.drop(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.drop(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.drop(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.change(*self.span(node.value), "None")
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self.negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.negate(node.test)
        # An endless loop says nothing.
        if not isinstance(node.test, ast.Constant):
            self.visit(node.test)
        for statement in node.body:
            self.visit(statement)

    # ----- expressions

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for operator, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators, strict=False):
            self.swap(operator, left, right)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not isinstance(node.left, ast.JoinedStr) and not isinstance(node.right, ast.JoinedStr):
            self.swap(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.swap(node.op, left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        begin = self.span(node)[0]
        self.change(begin, begin + (len("not") if isinstance(node.op, ast.Not) else 1), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.change(*self.span(node), str(not value))
        elif isinstance(value, int | float):
            for other in (value + 1, value - 1):
                self.change(*self.span(node), f"({other!r})" if other < 0 else repr(other))
