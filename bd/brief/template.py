"""Prompt templates: a text with `{{.Name}}` and `{{if .Draining}} ... {{else}} ... {{end}}`, as in Go's templates.

Only the values below exist; nothing is run. `bd prime --template FILE` prints a rendered one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAG = re.compile(r"(?P<trim_left>\s*\{\{-|\{\{)\s*(?P<words>.*?)\s*(?P<trim_right>-\}\}\s*|\}\})", re.DOTALL)
_VALUE = re.compile(r"\.(\w+)")
_CONDITION = re.compile(r"if\s+(not\s+)?\.(\w+)")


class _Block(NamedTuple):
    """An open `if`: where it began, whether its text is printed, and whether the text of its `else` is."""

    line: int
    shows: bool
    otherwise: bool


def rendered(text: str, values: Mapping[str, str | bool]) -> str:
    """Return the text with its tags replaced. Raises BadInput naming the line of a tag that can't be."""
    shown: list[str] = []
    blocks = [_Block(0, shows=True, otherwise=True)]
    done = 0
    for tag in _TAG.finditer(text):
        line = text.count("\n", 0, tag.start("words")) + 1
        shown.append(text[done : tag.start()] if blocks[-1].shows else "")
        done = tag.end()
        words = tag["words"]
        if found := _VALUE.fullmatch(words):
            value = _value(found[1], values, line)  # also where it is not shown: a mistake is told before it matters
            shown.append(str(value) if blocks[-1].shows else "")
        elif found := _CONDITION.fullmatch(words):
            holds = bool(_value(found[2], values, line)) != bool(found[1])
            outer = blocks[-1].shows
            blocks.append(_Block(line, shows=outer and holds, otherwise=outer and not holds))
        elif words in ("else", "end") and len(blocks) > 1:
            block = blocks.pop()
            blocks += [block._replace(shows=block.otherwise)] if words == "else" else []
        elif not words.startswith("/*"):  # a comment
            raise BadInput(f"line {line}: can't read {{{{{words}}}}}", hint="{{.Name}}, {{if .Draining}}, {{else}}, {{end}}")
    if len(blocks) > 1:
        raise BadInput(f"line {blocks[-1].line}: an {{{{if}}}} without {{{{end}}}}")
    return "".join([*shown, text[done:]])


def _value(name: str, values: Mapping[str, str | bool], line: int) -> str | bool:
    if name not in values:
        raise BadInput(f"line {line}: no value .{name}", hint=f"one of {', '.join(f'.{known}' for known in values)}")
    return values[name]
