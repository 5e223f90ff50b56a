"""bd heat."""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.cli.spec import NUMBER, Argument, Command, Option
from bd.core.errors import BadInput
from bd.operations.heat import Heat

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "heat",
    Argument("words", many=True, required=True, metavar="BEADS... [+N]"),
    Option("--by", name="degrees", kind=NUMBER, metavar="N", help="The amount, as +N; a negative one cools."),
    help="""Draw attention to beads: among equals, hotter ones come first.

    A temperature is 0 to 100 and cools by itself. Comments, links and reopenings heat a bead too.
    """,
    examples=[
        "bd heat hub-7k3q                  by 10",
        "bd heat hub-7k3q hub-m2v8 +25",
        "bd heat hub-7k3q --by -25         cools it",
    ],
)


def run(app: App, words: tuple[str, ...], degrees: float | None) -> None:
    """Draw attention to beads: among equals, hotter ones come first."""
    beads = list(words)
    if beads[-1].startswith("+"):
        if degrees is not None:
            raise BadInput(f"{beads[-1]} and --by together", hint="give one of them")
        degrees = _degrees(beads.pop())
    if not beads:
        raise BadInput("which bead?", hint="bd heat ID +25")
    asked = app.asked(ids=beads)
    outcome = app.publish(Heat(**asked) if degrees is None else Heat(degrees=degrees, **asked))
    verb = "Cooled" if degrees is not None and degrees < 0 else "Heated"
    now = outcome.change.result if outcome.change else {}
    app.show_written(outcome, {bead_id: f"{verb} to {temperature}:" for bead_id, temperature in now.items()})


def _degrees(text: str) -> float:
    if not re.fullmatch(r"\+\d+(\.\d+)?", text, re.ASCII):
        raise BadInput(f"{text!r} is not a number of degrees", hint="bd heat ID +25")
    return float(text)
