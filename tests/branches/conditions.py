"""The conditions of a module, and the module with each of them wrapped."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMPORT = "from __future__ import annotations\n"


class Condition(NamedTuple):
    """A condition by its function and its text; `start` and `end` are offsets in the module's bytes."""

    function: str
    text: str
    number: int  # of the same text in the same function
    start: int
    end: int

    @property
    def key(self) -> str:
        return f"{self.function} | {self.text}" + (f" ({self.number})" if self.number else "")


def conditions(source: str) -> list[Condition]:
    """Every condition of a module that can be true or false at run time, in the order of their places."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Condition] = []
    seen: dict[tuple[str, str], int] = {}
    for function, node in _walk(ast.parse(source), "module"):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = " ".join(ast.unparse(node).split())
        number = seen.get((function, text), 0)
        seen[function, text] = number + 1
        found.append(Condition(function, text, number, start, end))
    return sorted(found, key=lambda condition: (condition.start, -condition.end))


def wrapped(source: str, module: str) -> str:
    """The module with every condition passed through `switch.check`, under the module's and its own name."""
    data = source.encode()
    opened: dict[int, str] = {}
    closed: dict[int, str] = {}
    for condition in conditions(source):  # the outer ones come first
        key = f"{module} | {condition.key}"
        opened[condition.start] = opened.get(condition.start, "") + f"_check({key!r}, ("
        closed[condition.end] = closed.get(condition.end, "") + "))"
    parts, last = [], 0
    for place in sorted({*opened, *closed}):
        parts += [data[last:place], closed.get(place, "").encode(), opened.get(place, "").encode()]
        last = place
    text = b"".join([*parts, data[last:]]).decode()
    return text.replace(_IMPORT, f"{_IMPORT}from tests.branches.switch import check as _check\n", 1)


def _walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        function = node.name if function == "module" else f"{function}.{node.name}"
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    tests: list[ast.expr] = []
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    elif isinstance(node, ast.BoolOp):  # each operand by itself; the last one of a value is no condition
        yield from ((function, operand) for operand in node.values[: -1 if isinstance(node.op, ast.Or) else None])
    for test in tests:
        if not isinstance(test, ast.BoolOp) and not isinstance(test, ast.Constant):
            yield function, test
        elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            yield function, test.values[-1]
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, function)
