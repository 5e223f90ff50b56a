"""bd fail."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Option, real_number
from bd.cli.values import text_argument
from bd.notify.hooks import tell
from bd.operations.fail import Fail
from bd.policy.failure_kinds import KINDS
from bd.policy.retry import outlook

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "fail",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", name="kind", default="", metavar="KIND", help=f"The kind of failure: {', '.join(KINDS)}."),
    Option("--error", "-e", help="What went wrong, in words; - reads stdin."),
    Option("--cost", name="cost_usd", kind=real_number(0), metavar="USD", help="What the attempt cost."),
    Option(
        "--duration", name="duration_s", kind=real_number(0), metavar="SECONDS", help="How long it took; unset: since its start."
    ),
    Flag("--force", help="Even if somebody else holds it."),
    help="""Record a failed attempt; the bead is tried again, or given up.

    It is open again after a delay that grows with each attempt. After the last one
    (max_attempts), or at once for some kinds, it is a dead letter: see bd dlq. A failure
    that is not the bead's, such as rate_limit, uses no attempt: the agent's account rests.
    """,
    examples=[
        'bd fail hub-7k3q --reason crash --error "the build host ran out of memory"',
        'bd fail hub-7k3q --reason rate_limit --error "429"     no attempt is used',
    ],
)


def run(app: App, beads: tuple[str, ...], kind: str, error: str | None, force: bool, **measured: float | None) -> None:
    """Record a failed attempt; the bead is tried again, or given up."""
    error = text_argument(error, None, "error")
    known = {key: value for key, value in measured.items() if value is not None}
    outcome = app.publish(Fail(**app.asked_to_end(beads, ids=list(beads), reason=kind, error=error, force=force, **known)))
    app.show_written(outcome, "Failed")
    if any(bead.status == "dead_letter" for bead in app.written(outcome)):
        for line in tell(app.hub, app.identity.by):
            app.out.note(escaped(line))
    if app.out.is_json:
        return
    settings = app.hub.settings(app.hub.snapshot(outcome.commit))
    for bead in app.written(outcome):
        app.out.said(f"  {bead.id}: {escaped(outlook(bead, settings, app.now))}")
