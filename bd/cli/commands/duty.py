"""bd drain, bd undrain, bd offline, bd online."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import AGENT, Argument, Command
from bd.operations.switches import SetDuty

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


def _set(app: App, agent: str, duty: str, **more: Any) -> None:
    outcome = app.publish(SetDuty(**app.asked(agent=agent, duty=duty, known=True, **more)))
    result = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({**result, "published": outcome.published})
    else:
        app.out.said(f"✓ {agent} is {result.get('status', duty)}")


DRAIN = Command(
    "drain",
    Argument("agent", kind=AGENT),
    help="""Let an agent finish what it has and take nothing new.

    Beads assigned to it keep waiting for it.
    """,
    examples=["bd drain codemonkey"],
)


def drain(app: App, agent: str) -> None:
    """Let an agent finish what it has and take nothing new."""
    _set(app, agent, "draining")


UNDRAIN = Command(
    "undrain",
    Argument("agent", kind=AGENT),
    help="Let a draining agent take work again.",
    examples=["bd undrain codemonkey"],
)


def undrain(app: App, agent: str) -> None:
    """Let a draining agent take work again."""
    _set(app, agent, "available", ends="draining")


OFFLINE = Command(
    "offline",
    Argument("agent", kind=AGENT),
    help="""Set an agent offline.

    It gets no work and can't be assigned any, and its assigned beads are open to everyone.
    """,
    examples=["bd offline codemonkey"],
)


def offline(app: App, agent: str) -> None:
    """Set an agent offline."""
    _set(app, agent, "offline")


ONLINE = Command(
    "online",
    Argument("agent", kind=AGENT),
    help="Set an agent online.",
    examples=["bd online codemonkey"],
)


def online(app: App, agent: str) -> None:
    """Set an agent online."""
    _set(app, agent, "available", ends="offline")
