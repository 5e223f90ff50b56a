"""A run as a picture: beads that wait, agents at work and pushes a minute over time, as SVG."""

from __future__ import annotations

from html import escape

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.simulation.table import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.simulation.tally import Sample

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 760, 120, 60, 46, 44
_PANELS = (("beads that wait", "#b5522c"), ("agents at work", "#2c6eb5"), ("pushes a minute", "#4a8a3a"))


def draw(path: str, title: str, samples: Sequence[Sample]) -> None:
    """Write the picture of a run to a file. Raises BadInput."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(chart(title, samples))
    except OSError as error:
        raise BadInput(f"{path} can't be written: {error.strerror}") from None


def chart(title: str, samples: Sequence[Sample]) -> str:
    """Return the picture of a run."""
    height = _TOP + len(_PANELS) * (_HEIGHT + _GAP)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH + _LEFT + 20} {height}" font-family="sans-serif">'
    parts = [head, '<rect width="100%" height="100%" fill="#fff"/>', _text(_LEFT, 24, title, size=14)]
    rows = [[sample.waiting, sample.working, sample.pushes_per_minute] for sample in samples]
    for number, (name, colour) in enumerate(_PANELS):
        values = [(sample.at_s, row[number]) for sample, row in zip(samples, rows, strict=True)]
        parts += _panel(name, colour, values, _TOP + number * (_HEIGHT + _GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(name: str, colour: str, values: Sequence[tuple[float, float]], top: int) -> list[str]:
    ends_s = max((at_s for at_s, _ in values), default=1.0) or 1.0
    most = max((value for _, value in values), default=0.0) or 1.0
    bottom = top + _HEIGHT
    points = " ".join(
        f"{_LEFT + _WIDTH * at_s / ends_s:.1f},{bottom - (_HEIGHT - 16) * value / most:.1f}" for at_s, value in values
    )
    ticks = [_text(_LEFT + _WIDTH * part / 4, bottom + 16, time_text(ends_s * part / 4), anchor="middle") for part in range(5)]
    return [
        f'<line x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + _WIDTH}" y2="{bottom}" stroke="#999"/>',
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>',
        _text(_LEFT - 8, top + 20, f"{most:.3g}", anchor="end"),
        _text(_LEFT - 8, bottom, "0", anchor="end"),
        _text(_LEFT, top + 10, name),
        *ticks,
    ]


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="#333">{escape(text)}</text>'
