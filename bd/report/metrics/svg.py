"""Charts as SVG, using attributes and classes only, so that a page can forbid inline styles and scripts. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.report import html_page
from bd.report.html_page import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The drawing's size; it is stretched to its place.
WIDTH, HEIGHT = 960, 120
_GAP = 2.0
_LEAST = 1.5


def columns(values: Sequence[tuple[str, float]], inner: Sequence[float] = ()) -> Cell:
    """Draw columns, each with a label; `inner` are smaller columns in front of them."""
    most = max((value for _, value in values), default=0) or 1
    width = WIDTH / max(1, len(values))
    made = [_column(place * width, width, value / most, "one", words) for place, (words, value) in enumerate(values)]
    made += [_column(place * width, width, value / most, "two") for place, value in enumerate(inner)]
    return chart(made)


def steps(points: Sequence[tuple[float, int]], limit: int | None, words: str, kind: str = "") -> Cell:
    """Draw a number over time as steps: `points` are (share of the time, number), in order; `limit` is a line."""
    most = max([1, limit or 0, *(number for _, number in points)])
    made = []
    for place, (start, number) in enumerate(points):
        end = points[place + 1][0] if place + 1 < len(points) else 1.0
        made.append(_column(start * WIDTH, (end - start) * WIDTH + _GAP, number / most, "one", f"{number}: {words}"))
    if limit:
        y = round(HEIGHT - HEIGHT * limit / most + 1, 1)
        made.append(f'<line class="most" x1="0" x2="{WIDTH}" y1="{y}" y2="{y}" stroke-dasharray="6 4"/>')
    return chart(made, kind)


def share(part: float) -> Cell:
    """Draw a share as a bar."""
    width = round(100 * max(0.0, min(1.0, part)), 1)
    bar = f'<rect class="one" width="{max(1.0, width)}" height="10"/>'
    return Cell(f'<svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none">{bar}</svg>')


def chart(shapes: Iterable[str], kind: str = "") -> Cell:
    """Put shapes into the frame of a chart, with a further class if the page has one."""
    frame = f'<svg class="{f"chart {kind}".strip()}" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img">'
    return Cell(f"{frame}{''.join(shapes)}</svg>\n")


def _column(x: float, width: float, part: float, kind: str, words: str = "") -> str:
    if part <= 0:
        return ""
    height = max(_LEAST, part * HEIGHT)
    told = f"<title>{html_page.text(words)}</title>" if words else ""
    room = max(0.5, width - _GAP)
    return f'<rect class="{kind}" x="{x:.1f}" y="{HEIGHT - height:.1f}" width="{room:.1f}" height="{height:.1f}">{told}</rect>'
