"""bd upgrade."""

from __future__ import annotations

from bd import TYPE_CHECKING, __version__
from bd.cli.spec import Command, Flag
from bd.core import versions
from bd.core.schema import CONFIG_PATH
from bd.core.times import age_text
from bd.operations.upgrade import Upgrade
from bd.policy.installations import installations

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.policy.installations import Installation

SPEC = Command(
    "upgrade",
    Flag("--dry-run", help="Only list the agents' versions, and say what would change."),
    Flag("--force", help="Even if live agents run an older bd: they can write nothing until they are updated."),
    help="""Require this version of bd of everyone who writes to the hub.

    It raises `min_version` in .beads/config.yaml to the version of this bd, and upgrades the hub to this bd's format, in one
    commit. An older bd still reads the hub, and is refused when it writes. Update bd on every machine first: the command
    lists the version that each agent runs, and refuses (exit 5, `older_agents`) while a live one is older. It updates no bd.
    """,
    examples=["bd upgrade --dry-run", "bd upgrade"],
)


def run(app: App, dry_run: bool, force: bool) -> None:
    """Require this version of bd of everyone who writes to the hub."""
    app.hub.fetch()
    agents = installations(app.snapshot(), app.now)
    operation = Upgrade(**app.asked(min_version=__version__, force=force))
    _list(app, agents)
    if dry_run:
        change = app.preview(Upgrade(**app.asked(min_version=__version__, force=True)))
        _show(app, agents, change.result, {"dry_run": True, "changed": not change.is_empty})
        return
    outcome = app.publish(operation)
    done = outcome.change
    _show(app, agents, done.result if done else {}, {"changed": bool(done and not done.is_empty), "published": outcome.published})


def _list(app: App, agents: list[Installation]) -> None:
    if app.out.is_json or not agents:
        return
    app.out.table(["agent", "bd", "last sign", ""], [_row(one) for one in agents])


def _row(one: Installation) -> list[str]:
    age = "never" if one.silence_s is None else f"{age_text(one.silence_s)} ago"
    words = ("older" if one.is_live else "older, not live") if one.is_older_than(__version__) else ""
    return [one.agent, one.version or "unknown", age, words]


def _show(app: App, agents: list[Installation], result: dict[str, Any], more: dict[str, bool]) -> None:
    if app.out.is_json:
        rows = [{**one._asdict(), "is_older": one.is_older_than(__version__)} for one in agents]
        app.out.object({**result, "agents": rows, **more})
        return
    now = f"bd {result.get('min_version')} or newer, format {result.get('format')}"
    if more.get("dry_run"):
        before = app.snapshot().record(CONFIG_PATH) or {}
        least = before.get("min_version") or "any bd that knows its format"
        app.out.line(f"The hub now requires {least}, and has format {before.get('format', versions.FORMAT)}.")
        app.out.line(f"It would require {now}." if more["changed"] else "There is nothing to change.")
    else:
        app.out.said(f"✓ The hub requires {now}" if more["changed"] else f"The hub requires {now} already.")
