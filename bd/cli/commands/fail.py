"""bd fail."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.cli.output import escaped
from bd.cli.values import text_argument
from bd.operations.fail import Fail
from bd.policy.retry import KINDS, outlook

EXAMPLE = """
\b
Examples:
  bd fail hub-7k3q --reason crash --error "the build host ran out of memory"
  bd fail hub-7k3q --reason auth_failure --error "the key is revoked"     given up at once
"""


@click.command("fail", epilog=EXAMPLE)
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", "kind", default="", metavar="KIND", help=f"What kind of failure: {', '.join(KINDS)}.")
@click.option("--error", "-e", help="What went wrong, in words; - reads stdin.")
@click.option("--cost", "cost_usd", type=click.FloatRange(min=0), metavar="USD", help="What the attempt cost.")
@click.option(
    "--duration", "duration_s", type=click.FloatRange(min=0), metavar="SECONDS", help="How long it took; unset: since its start."
)
@click.option("--force", is_flag=True, help="Although another holds it.")
@pass_app
def command(app: App, beads: tuple[str, ...], kind: str, error: str | None, force: bool, **measured: float | None) -> None:
    """Say that an attempt failed; it is tried again, or given up.

    It is open again after a delay that grows with each attempt. After the last one
    (max_attempts), or at once for some kinds, it is a dead letter: see bd dlq.
    """
    error = text_argument(error, None, "error")
    known = {key: value for key, value in measured.items() if value is not None}
    outcome = app.publish(Fail(**app.asked(beads, ids=list(beads), reason=kind, error=error, force=force, **known)))
    app.show_written(outcome, "Failed")
    if any(bead.status == "dead_letter" for bead in app.written(outcome)):
        from bd.notify.hooks import tell

        for line in tell(app.hub, app.identity.by):
            app.out.note(escaped(line))
    if app.out.is_json:
        return
    settings = app.hub.settings(app.hub.snapshot(outcome.commit))
    for bead in app.written(outcome):
        app.out.said(f"  {bead.id}: {escaped(outlook(bead, settings, app.now))}")
