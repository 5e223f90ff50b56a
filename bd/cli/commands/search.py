"""bd search."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.commands.bead_list import FILTERS, show_list, wanted_of
from bd.cli.spec import Argument, Command, Option, list_option, whole_number
from bd.core.errors import BadInput
from bd.core.queries import Lineup
from bd.policy.ranking import Ranking
from bd.report.selection import has_words, ordered, selected

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "search",
    Argument("words", many=True),
    Option("--query", narrows=True, hidden=True),
    list_option("--status", "-s", name="statuses", narrows=True, help="Also done beads: all, closed ..."),
    *FILTERS,
    Option("--limit", "-n", kind=whole_number(0), help="At most this many; 0 is no limit."),
    Option("--sort", default="priority", help="priority, created, updated, title ..."),
    help="""Find beads by words in their texts.

    Every word has to be somewhere in the bead: id, title, texts, comments, labels. Case does not matter.
    """,
    examples=["bd search webhook timeout"],
)


def run(app: App, words: tuple[str, ...], query: str | None, limit: int | None, sort: str, **flags: Any) -> None:
    """Find beads by words in their texts."""
    wanted_words = [word.casefold() for word in (*words, *(query or "").split()) if word.strip()]
    if not wanted_words:
        raise BadInput("nothing to search for", hint="bd search WORD ...")
    snapshot = app.snapshot()
    pool = selected(snapshot, wanted_of(app, snapshot, **flags), app.now, app.settings)
    whole = (snapshot.bead(bead.id) for bead in pool)
    found = [bead for bead in whole if bead and has_words(bead, wanted_words)]
    show_list(
        app,
        snapshot,
        Lineup(ordered(found, sort, Ranking(snapshot, app.now))),
        limit=limit,
        default_limit=50,
        empty="Nothing found. --status all searches done beads too.",
    )
