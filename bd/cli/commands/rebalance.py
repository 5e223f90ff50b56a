"""bd rebalance."""

from __future__ import annotations

import gc

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import escaped
from bd.cli.spec import DURATION, Command, Flag, Group, Option
from bd.core.errors import BadInput
from bd.operations.work_stealing import Rebalance
from bd.policy.stealing import INTERVAL_S, cycle

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Snapshot
    from bd.policy.stealing import Cycle, Move


MOVE_BEADS = Command(
    "rebalance",
    Flag("--dry-run", help="Show what would move, and move nothing."),
    Flag("--loop", help="Again after every interval, until it is ended."),
    Option("--interval", kind=DURATION, default=INTERVAL_S, help="Between two rounds of --loop (5m)."),
    help="""Give idle agents work that waits in the queues of overloaded ones.

    An agent idle for 2 minutes, with a recent heartbeat, gets up to 3 ready beads from the queues of agents with more
    than 5, or that are away; the least urgent first, none with a base priority below 50, each only once, 10 in all.
    It has to have the skills; only beads of 80 and more without labels may go to anybody. Any number of rebalancers
    may run.
    """,
    examples=["bd rebalance --dry-run", "bd rebalance status"],
)


def move_beads(app: App, dry_run: bool, loop: bool, interval: float) -> None:
    """Give idle agents work that waits in the queues of overloaded ones."""
    if loop and (dry_run or app.out.is_json):
        raise BadInput("--loop runs until interrupted, and prints lines", hint="leave out --loop, or --dry-run and --json")
    if dry_run:
        snapshot = _looked_at(app)
        if not app.flags.at:  # a view of the past, not something that could be done
            app.preview(Rebalance(**app.asked()))
        _show_moves(app, cycle(snapshot, app.now), snapshot)
        return
    app.refuse_past()
    if loop:
        gc.enable()
    _round(app)
    while loop:
        app.runtime.sleep(interval)
        app.tolerate(lambda: _round(app))


def _looked_at(app: App) -> Snapshot:
    snapshot = app.look(required=True).snapshot
    app.leave_out(SIGNS)
    return snapshot


def _round(app: App) -> None:
    _looked_at(app)
    outcome = app.publish(Rebalance(**app.asked()))
    moved = app.written(outcome)
    if app.out.is_json:
        app.show_written(outcome, "Moved")
        return
    for bead in moved:
        source = (bead.get("metadata") or {}).get("stolen_from", "")
        words = f"✓ Moved {bead.id} from {escaped(source)} to {escaped(bead.assignee or '')} — {escaped(bead.title)}"
        app.out.line(bead.id if app.out.quiet else words)


def _move(move: Move, snapshot: Snapshot) -> dict[str, Any]:
    bead = snapshot.head(move.id)
    title = bead.title if bead else ""
    return {"id": move.id, "title": title, "from": move.source, "to": move.to, "base_priority": move.base}


def _show_moves(app: App, found: Cycle, snapshot: Snapshot) -> None:
    moves = [_move(move, snapshot) for move in found.moves]
    if app.out.is_json:
        app.out.json(moves)
    elif app.out.quiet:
        app.out.lines(move["id"] for move in moves)
    elif moves:
        rows = [(one["id"], one["from"], one["to"], f"{one['base_priority']:g}", one["title"]) for one in moves]
        app.out.table(["bead", "from", "to", "base", "title"], rows)
    else:
        app.out.line("Nothing would move; `bd rebalance status` says why.")


STATUS = Command(
    "status",
    help="Show who would receive what, and why others neither receive nor give.",
    examples=["bd rebalance status --json"],
)


def status(app: App) -> None:
    """Show who would receive what, and why others neither receive nor give."""
    snapshot = _looked_at(app)
    found = cycle(snapshot, app.now)
    agents = [_agent(name, found) for name in sorted({*found.idle, *found.not_idle, *found.pending})]
    if app.out.is_json:
        moves = [_move(move, snapshot) for move in found.moves]
        app.out.object({"agents": agents, "moves": moves, "kept": [{"id": one, "why": why} for one, why in found.kept.items()]})
        return
    if agents:
        app.out.table(["agent", "waiting", "gives", "gets", "why nothing"], [_row(one) for one in agents])
    _show_moves(app, found, snapshot)
    if found.kept:
        app.out.table(["stays", "why"], list(found.kept.items()))


def _agent(name: str, found: Cycle) -> dict[str, Any]:
    gets = [move.id for move in found.moves if move.to == name]
    gives = [move.id for move in found.moves if move.source == name]
    why = found.not_idle.get(name) or ("" if gets else "nothing fits it, or the caps of this cycle are reached")
    known = {"agent": name, "pending_count": found.pending.get(name, 0), "idle": name in found.idle}
    return {**known, "is_source": name in found.busy, "gets": gets, "gives": gives, **({"why": why} if why else {})}


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    gives = str(len(one["gives"])) if one["is_source"] else "-"
    gets = str(len(one["gets"])) if one["idle"] else "-"
    return one["agent"], str(one["pending_count"]), gives, gets, one.get("why", "")


SPEC = Group(
    "rebalance",
    {"status": (STATUS, status)},
    help=MOVE_BEADS.help,
    alone=(MOVE_BEADS, move_beads),
)
