"""bd ready."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.commands.listing import show_list, wanted_of
from bd.cli.context import App
from bd.cli.options import accept, filter_options, pass_app
from bd.output import escaped
from bd.policy import advisory, fit
from bd.policy.dag import awaited
from bd.policy.priority import Ranking
from bd.policy.ready import ready_beads, ready_since
from bd.report.selection import ordered, selected

EXAMPLE = """
\b
Examples:
  bd ready                          what anybody could take
  bd ready --agent codemonkey       what this agent may take, best first
  bd ready --json | jq length
"""


@click.command("ready", epilog=EXAMPLE)
@filter_options
@click.option("--limit", "-n", type=click.IntRange(min=0), help="At most this many; 0 is no limit.")
@click.option("--sort", default="priority", help="priority (default), oldest, created, updated, title ...")
@click.option("--all", "everybody", is_flag=True, help="Also what does not fit the agent.")
@accept("--include-deferred", "--include-ephemeral", "--pretty", "--plain")
@pass_app
def command(app: App, limit: int | None, sort: str, everybody: bool, **flags: Any) -> None:
    """List the beads that can be worked on now, best first.

    Ready means open, unblocked, due and held by nobody. With --agent: only what that agent may
    take, by the same rule that `bd claim --next` uses.
    """
    name = app.flags.agent
    snapshot = app.snapshot(fetch=name is not None)
    now = app.now
    ready = ready_beads(snapshot, now)
    fitting = list(fit.fitting(ready, name, snapshot, now)) if name and not everybody else ready
    wanted = wanted_of(app, snapshot, **flags)._replace(everything=True)
    if wanted != wanted.__class__(everything=True):
        passing = {bead.id for bead in selected(snapshot, wanted, now, app.settings())}
        fitting = [bead for bead in fitting if bead.id in passing]
    if sort != "priority":
        fitting = ordered(fitting, sort, Ranking(snapshot, now))
    waiting = {bead.id: 0 for bead in fitting}
    if not app.out.is_json:
        for bead in snapshot.live():
            for target in awaited(bead):
                if target in waiting:
                    waiting[target] += 1

    def tail(bead: Any) -> str:
        words = [f"ready {app.out.age(ready_since(bead, snapshot), now)}"]
        if waiting[bead.id]:
            words.append(f"unblocks {waiting[bead.id]}")
        shared = advisory.words(bead, now)
        return ", ".join([*words, *([escaped(shared)] if shared else [])])

    others = len(ready) - len(fitting)
    whom = f" for {name}" if name else ""
    left = f" ({others} more {'does' if others == 1 else 'do'} not fit: bd ready --all)" if name and others else ""
    idle = fit.no_claims_reason(name, snapshot, now) if name else None
    if idle and not app.out.is_json:
        app.out.note(f"{idle.text}: it may claim none of these now")
    footer = f"{len(fitting)} ready{whom}{left} · hub at {snapshot.commit[:7]}"
    empty = f"Nothing is ready{whom}{left}. `bd blocked` shows what waits. · hub at {snapshot.commit[:7]}"
    show_list(app, snapshot, fitting, limit=limit, default_limit=100, empty=empty, tail=tail, footer=footer)
