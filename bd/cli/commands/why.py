"""bd why."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command
from bd.policy.priority import tier_of
from bd.report.why import why

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.core.model import Bead
    from bd.policy.ranking import Ranking
    from bd.policy.readiness import Reason, Standing

_SAID = {
    "ready": "is ready",
    "pending": "is blocked",
    "retrying": "waits for its next try",
    "claimed": "is claimed, and not started yet",
    "running": "is in work",
    "validating": "is being validated",
    "parked": "is parked",
    "dead_lettered": "was given up",
    "completed": "is done",
    "cancelled": "was cancelled",
}


SPEC = Command(
    "why",
    Argument("bead"),
    help="""Say why a bead is not ready, or why an agent may not take it.

    The whole chain of reasons; also says so when it is ready. With --agent, what keeps that
    agent from it.
    """,
    examples=["bd why hub-q9x1", "bd why hub-q9x1 --agent codemonkey"],
)


def run(app: App, bead: str) -> None:
    """Say why a bead is not ready, or why an agent may not take it."""
    snapshot = app.snapshot()
    found, name = bead_of(bead, snapshot), app.flags.agent
    answer = why(found, snapshot, app.now, name)
    if app.out.is_json:
        app.out.object(answer.as_json())
        return
    where = answer.standing
    said, *reasons = _said(found, where, list(answer.reasons))
    whom = f" — {name} may take it" if name and where.phase == "ready" and not reasons else ""
    app.out.line(f"{app.out.styled(found.id, 'bold')} {said}{whom}.")
    for reason in reasons:
        whose = f"{name}: it " if name and reason not in where.reasons and reason != answer.busy else ""
        app.out.line(f"  {whose}{escaped(reason.text)}")
    _tell_priority(app, found, answer.ranking)


def _tell_priority(app: App, bead: Bead, ranking: Ranking) -> None:
    """Print the effective priority and its terms, if anything but the base matters."""
    parts = {name: round(points, 1) for name, points in ranking.parts(bead).items()}
    if bead.is_done or not any(points for name, points in parts.items() if name != "base"):
        return
    told = ", ".join(f"{name.replace('_', ' ')} {points:g}" for name, points in parts.items() if points or name == "base")
    app.out.line(f"  priority {round(ranking.effective(bead), 1):g} ({tier_of(parts['base'])}): {told}")


def _said(bead: Bead, where: Standing, reasons: list[Reason]) -> tuple[str, *tuple[Reason, ...]]:
    """Return the words of the first line, and the reasons still to print."""
    first = where.reasons[0] if where.reasons else None
    if bead.is_done:
        ended = bead.get("close_reason")
        return (f"{_SAID[where.phase]}{f': {escaped(ended)}' if ended else ''}",)
    if first and ((first.code == "deferred" and first.by == bead.id) or where.phase == "dead_lettered"):
        return first.text, *reasons[1:]
    return _SAID[where.phase], *reasons
