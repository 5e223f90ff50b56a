"""bd pool."""

from __future__ import annotations

import gc
import os

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import escaped
from bd.cli.spec import AGENT, Argument, Command, Flag, Group, Option
from bd.core.errors import BadInput
from bd.core.pools import Pool, pools_of
from bd.core.times import time_text
from bd.operations.pools import ScalePool
from bd.pool.controller import Controller
from bd.pool.state import Quarters
from bd.report.pools import status_of, told_by_files
from bd.store import locate

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


LIST_POOLS = Command(
    "list",
    help="""List the pools, their limits, and what decides their size.

    An agent file with `pool` is a pool of 0 to 1 members, unless it says otherwise, and wants as many as beads are ready
    for them and in work, or what its `check` prints. One without `pool` is exactly one member: always on if it has a
    `start`, else started elsewhere, by cron, say.
    """,
    examples=["bd pool list"],
)


def list_pools(app: App) -> None:
    """List the pools; an agent file without `pool` is one of exactly one member."""
    pools = pools_of(app.snapshot()).values()
    if app.out.is_json:
        app.out.json([_settings(pool) for pool in pools])
        return
    rows = [(pool.name, f"{pool.min}..{pool.max}", _by(pool), _names(pool)) for pool in pools]
    if rows:
        app.out.table(["pool", "size", "by", "members"], rows)
    else:
        app.out.line("No agents yet, and no pools. `bd agent add NAME` makes one.")


def _settings(pool: Pool) -> dict[str, Any]:
    shown = {key: value for key, value in pool.as_dict().items() if value not in (None, "", ())}
    return {**shown, "members": pool.members}


def _by(pool: Pool) -> str:
    if pool.size is not None:
        return f"scaled to {pool.size}"
    if not pool.is_explicit:
        return "always on" if pool.is_run else "started elsewhere"
    return pool.check or "ready and in work"


def _names(pool: Pool) -> str:
    names = pool.members
    return " ".join(names) if len(names) <= 3 else f"{names[0]} ... {names[-1]}"


STATUS = Command(
    "status",
    help="""Show each pool's desired size, and which members run on this host.

    A pool that wants no members says why.
    With --at: the members at that time by their capacity files, on any host.
    """,
    examples=["bd pool status --json"],
)


def status(app: App) -> None:
    """Show each pool's desired size, and which members run on this host."""
    app.leave_out(SIGNS, "what runs on this host and what its checks said")
    pools = pools_of(app.snapshot()).values()
    if app.flags.at:
        shown = [status_of(pool, *told_by_files(pool, app.snapshot(), app.now)) for pool in pools]
    else:
        quarters = Quarters(app.hub)
        members = list(quarters.members())
        shown = [status_of(pool, members, quarters.read(f"pool-{pool.name}.json")) for pool in pools]
    if app.out.is_json:
        app.out.json(shown)
        return
    rows = [
        (
            one["name"],
            f"{one['min']}..{one['max']}",
            str(one.get("desired", "-")),
            str(len(one["running"])),
            str(len(one["draining"])),
            app.out.age(one.get("last_check"), app.now) or ("-" if app.flags.at else "never"),
        )
        for one in shown
    ]
    if rows:
        app.out.table(["pool", "size", "wants", "runs", "drains", "checked"], rows)
    else:
        app.out.line("No pools.")
    for one in shown:
        why = f"wants none: {one['why']}" if one.get("why") else ""
        for words in (one.get("last_error"), why, one.get("waits"), *one.get("flaws", [])):
            if words:
                app.out.line(escaped(f"{one['name']}: {words}"))


SCALE = Command(
    "scale",
    Argument("name", kind=AGENT),
    Argument("size", metavar="N|up|down|auto"),
    help="Set a pool's size, which overrides its check; auto returns to the check.",
    examples=["bd pool scale codemonkey 2", "bd pool scale codemonkey auto"],
)


def scale(app: App, name: str, size: str) -> None:
    """Request a size for a pool, which overrides its check; auto goes back to the check."""
    outcome = app.publish(ScalePool(**app.asked(pool=name, to=_size(app, name, size))))
    result = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({**result, "published": outcome.published})
    else:
        said = "by its check" if result.get("size") == "auto" else f"of {result.get('size')}"
        app.out.said(f"✓ {name} is a pool {said}")


def _size(app: App, name: str, size: str) -> str:
    if size == "auto" or (size.isascii() and size.isdigit()):
        return size
    if size not in ("up", "down"):
        raise BadInput(f"{size!r} is not a size", hint="a number, up, down or auto")
    pool = pools_of(app.snapshot(fetch=True)).get(name, Pool(name))
    running = sum(one.get("pool") == name and not one.get("drained_at") for _, one in Quarters(app.hub).members())
    base = running if pool.size is None else pool.size
    return str(pool.clamped(base + (1 if size == "up" else -1)))


EVENTS = Command(
    "events",
    Option("--pool", name="name", kind=AGENT, help="Only of this pool."),
    help="List what happened to the pools on this host, the latest last.",
    examples=["bd pool events"],
)


def events(app: App, name: str | None) -> None:
    """List the events of the pools on this host, the latest last."""
    found = [one for one in Quarters(app.hub).events() if name in (None, one.get("pool"))]
    if app.flags.at:
        found = [one for one in found if str(one.get("at")) <= time_text(app.now)]
    if app.out.is_json:
        app.out.json(found)
        return
    for one in found:
        app.out.line(_line(one))
    if not found:
        app.out.line("Nothing has happened yet.")


def _line(one: dict[str, Any]) -> str:
    code = f" with exit code {one['exit_code']}" if one.get("exit_code") else ""
    pool = f"{one['pool']}:" if one.get("pool") else ""
    words = f"{one.get('at', '')} {pool} {one.get('member', '')} {one.get('event', '')}{code}"
    whys = "; ".join(str(one[key]) for key in ("why", "log") if one.get(key))
    return escaped(f"{' '.join(words.split())}{': ' + whys if whys else ''}")


RUN = Command(
    "run",
    Flag("--once", help="Only one round, instead of running until interrupted."),
    help="""Start and drain members until every pool has its size; one controller for each hub and host.

    An agent without a `pool` map that has a `start` is kept on, and started again whenever it ends.
    Members live on when it ends, and are found again by the next. Only commands that `bd trust` has pinned are run.
    """,
    examples=["bd pool run --once"],
)


def run(app: App, once: bool) -> None:
    """Start and drain members until every pool has its size; one controller for each hub and host."""
    if app.out.is_json and not once:
        raise BadInput("--json is one document, but this runs until interrupted", hint="add --once")
    if os.name != "posix":
        raise BadInput("pools need a POSIX system", hint="start `bd work` on each agent instead")
    quarters, told = Quarters(app.hub), []

    def tell(event: dict[str, Any]) -> None:
        told.append(event)
        if not app.out.is_json:
            app.out.line(_line(event))

    app.refuse_past()
    directory = app.flags.directory
    with quarters.alone():
        controller = Controller(lambda: app.open_clone(locate(directory)), quarters, app.identity.by, tell, app.runtime)
        if once:
            controller.round()
        gc.enable()
        while not once:
            app.runtime.sleep(controller.tolerant_round())
    if app.out.is_json:
        app.out.json(told)


SPEC = Group(
    "pool",
    {
        "list": (LIST_POOLS, list_pools),
        "status": (STATUS, status),
        "scale": (SCALE, scale),
        "events": (EVENTS, events),
        "run": (RUN, run),
    },
    help="Run as many members of an agent as there is work for.",
)
