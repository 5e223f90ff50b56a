"""Self-contained web pages: one file, no script, nothing loaded; light and dark as the reader prefers.

The frame, the style, and escaping; the callers fill in the content.
"""

from __future__ import annotations

import html

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

STYLE = """
:root { color-scheme: light dark; --paper: #f6f5f1; --ink: #1c1d20; --dim: #6b6d75; --line: #d9d7cf; --board: #17181c;
  --flap: #f4c95d; --go: #1a7f4b; --busy: #2363b5; --wait: #b4620a; --stop: #b3261e; --person: #8a3fa8; }
@media (prefers-color-scheme: dark) { :root { --paper: #101114; --ink: #e8e6df; --dim: #9a9ca5; --line: #2b2d33;
  --board: #050506; --go: #57c48a; --busy: #79adf0; --wait: #f0a050; --stop: #f07a70; --person: #cf95e8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 16px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
header { background: var(--board); color: var(--flap); padding: .8rem 1rem; border-radius: .4rem;
  display: flex; flex-wrap: wrap; gap: .2rem 1rem; align-items: baseline; justify-content: space-between; }
h1 { font: 600 1.4rem/1.2 ui-monospace, monospace; margin: 0; letter-spacing: .08em; text-transform: uppercase; }
header p { margin: 0; font: .85rem ui-monospace, monospace; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
p.none { color: var(--dim); margin: .2rem 0; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: .75rem; font-weight: 500; color: var(--dim); text-transform: uppercase; }
th, td { padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.id, td.time, td.number { font-family: ui-monospace, monospace; font-size: .9em; }
td.id { white-space: nowrap; } td.bar { width: 30%; } time { white-space: nowrap; }
.state { font: 600 .8rem ui-monospace, monospace; letter-spacing: .04em; text-transform: uppercase; white-space: nowrap; }
.go { color: var(--go); } .busy { color: var(--busy); } .wait { color: var(--wait); }
.stop { color: var(--stop); } .person { color: var(--person); } .past { color: var(--dim); }
td, h1, h2, li, p, pre { unicode-bidi: isolate; }
.chart { display: block; width: 100%; height: 8rem; border-bottom: 1px solid var(--line); }
.chart .one { fill: var(--busy); } .chart .two { fill: var(--flap); } .chart .most { stroke: var(--dim); }
.share { display: block; width: 100%; height: .6rem; } .share .one { fill: var(--go); }
.scale { display: flex; justify-content: space-between; margin: .2rem 0; color: var(--dim);
  font: .75rem ui-monospace, monospace; }
@media (min-width: 40rem) { td.id { width: 9rem; } td.time { width: 8rem; } td.title + td.time:last-child { width: 60%; } }
footer { color: var(--dim); font-size: .8rem; margin-top: 2rem; }
@media (max-width: 40rem) {
  thead { position: absolute; left: -100vw; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .45rem 0; }
  td { display: inline; border: 0; padding: 0 .6rem 0 0; }
  td.title { display: block; } td.number[data-head]::before { content: attr(data-head) " "; color: var(--dim); }
}
"""


class Cell(str):
    """Markup made here, which is not escaped; any other text is."""

    __slots__ = ()


def text(value: str) -> Cell:
    """Escape a text: markup becomes text, and invisible characters become a box."""
    if isinstance(value, Cell):
        return value
    return Cell(html.escape("".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in value)))


def lines(value: str) -> Cell:
    """Escape a text of several lines, keeping the lines."""
    return Cell("\n".join(text(line) for line in value.replace("\r\n", "\n").split("\n")))


def state(word: str, kind: str) -> Cell:
    """Return a state in its colour."""
    return Cell(f'<span class="state {kind}">{text(word)}</span>')


def table(columns: Iterable[tuple[str, str]], rows: Iterable[Iterable[str]], none: str) -> str:
    """Return a table. `columns` are headings with the class of their cells; `none` replaces an empty table."""
    heads = list(columns)
    body = ["".join(_cell(*head, cell) for head, cell in zip(heads, row, strict=True)) for row in rows]
    if not body:
        return f'<p class="none">{text(none)}</p>\n'
    head = "".join(f"<th>{text(name)}</th>" for name, _ in heads)
    lines = "\n".join(f"<tr>{row}</tr>" for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{lines}\n</tbody></table>\n"


def _cell(head: str, kind: str, cell: str) -> str:
    """Return a cell. Numbers carry their heading, for narrow pages without a head."""
    told = f' data-head="{text(head)}"' if kind == "number" and head else ""
    return f'<td class="{kind}"{told}>{text(cell)}</td>'


def section(title: str, body: str) -> str:
    return f"<section><h2>{text(title)}</h2>\n{body}</section>\n"


def page(title: str, stamp: str, body: str) -> str:
    """Return the whole document."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{text(title)}</h1><p>{text(stamp)}</p></header>\n{body}</body>\n</html>\n"
    )
