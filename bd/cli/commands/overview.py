"""`bd` without arguments: where you are, and what to do next."""

from __future__ import annotations

from bd.cli.app import App
from bd.cli.output import sentence
from bd.policy.eligibility import pause_of, pause_words
from bd.policy.work_queue import phases


def overview(app: App) -> None:
    """Show the hub, who you are, the beads by phase, and the next thing to type."""
    error = app.no_hub()
    if error:
        app.out.line("bd: a git repository of YAML beads as the work queue of a fleet of agents.")
        app.out.line(f"Here: {error.message}.")
        app.out.line(
            "Next: `bd init` makes a hub, `bd clone URL` joins one, `bd demo` shows one at work, `bd --help` lists everything."
        )
        return
    snapshot = app.snapshot()
    found = phases(snapshot, app.now)
    counts = {phase: len(beads) for phase, beads in found.items() if beads}
    hub, who = app.hub, app.identity
    paused = pause_of(snapshot)
    if app.out.is_json:
        shown = {
            "branch": hub.branch,
            "remote": hub.remote_name or "",
            "commit": snapshot.commit,
            "identity": who.by,
            "phases": counts,
        }
        app.out.object({**shown, **({"paused": dict(paused)} if paused else {})})
        return
    where = f"{hub.branch.removeprefix('refs/heads/')}" + (f" on {hub.remote_name}" if hub.remote_name else ", no remote")
    app.out.line(f"Hub: {where}, at {snapshot.commit[:7]}. You are {who.by} ({who.source}).")
    app.out.line(", ".join(f"{number} {phase.replace('_', ' ')}" for phase, number in counts.items()) or "No live beads.")
    if paused:
        app.out.line(f"{sentence(pause_words(paused))} `bd resume` lets it claim again.")
    app.leave_out("what to do next")
    if app.flags.at:
        return
    if found["ready"]:
        app.out.line(f"Next: `bd ready` ({found['ready'][0].id} is first), `bd claim --next --agent NAME`.")
    else:
        app.out.line('Next: `bd create "TITLE"`, `bd blocked`, `bd --help`.')
