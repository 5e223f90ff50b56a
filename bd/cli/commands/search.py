"""bd search."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.commands.bead_list import show_list, wanted_of
from bd.cli.options import filter_options, list_option, pass_app
from bd.core.errors import BadInput
from bd.core.queries import Lineup
from bd.policy.ranking import Ranking
from bd.report.selection import has_words, ordered, selected


@click.command("search", epilog="\b\nExample:\n  bd search webhook timeout")
@click.argument("words", nargs=-1)
@click.option("--query", hidden=True)
@list_option("--status", "-s", "statuses", help="Also done beads: all, closed ...")
@filter_options
@click.option("--limit", "-n", type=click.IntRange(min=0), help="At most this many; 0 is no limit.")
@click.option("--sort", default="priority", help="priority, created, updated, title ...")
@pass_app
def command(app: App, words: tuple[str, ...], query: str | None, limit: int | None, sort: str, **flags: Any) -> None:
    """Find beads by words in their texts.

    Every word has to be somewhere in the bead: id, title, texts, comments, labels. Case does not matter.
    """
    wanted_words = [word.casefold() for word in (*words, *(query or "").split())]
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
