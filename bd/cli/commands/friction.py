"""bd friction."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import DURATION, pass_app
from bd.operations.friction_beads import TellFriction
from bd.policy.friction import Rules, causes, rules_of


@click.command("friction", epilog="\b\nExamples:\n  bd friction\n  bd friction --create --window 7d --rate 0.4 --least 5")
@click.option("--create", "-c", is_flag=True, help="Make a bead about each cause that has none open.")
@click.option("--window", type=DURATION, help="Attempts that ended within this time (7d).")
@click.option("--rate", type=click.FloatRange(0, 1), help="The part of the attempts that failed (0.4).")
@click.option("--least", "--min", type=click.IntRange(min=1), help="The least number of attempts (5).")
@pass_app
def command(app: App, create: bool, window: float | None, rate: float | None, least: int | None) -> None:
    """List the labels and types whose attempts fail too often.

    With --create each gets a bead that says so, one at a time: none while that is open, and what it counted does not
    count again. The figures are the hub's (`friction` in its configuration), where nothing else is said.
    """
    own = rules_of(app.snapshot())
    rules = Rules(
        own.window_s if window is None else window,
        own.rate if rate is None else rate,
        own.least if least is None else least,
    )
    if create:
        outcome = app.publish(TellFriction(**app.asked(**rules._asdict())))
        app.show_written(outcome, "Made")
        if not (outcome.change and outcome.change.touched) and not app.out.is_json:
            app.out.said("Nothing fails too often that has no bead yet.")
        return
    found = causes(app.snapshot(), app.now, rules)
    if app.out.is_json:
        app.out.json(
            [
                {
                    "kind": one.kind,
                    "name": one.name,
                    "failed": one.failed,
                    "done": one.done,
                    "rate": round(one.rate, 3),
                    "beads": list(one.beads),
                    **({"about": one.about} if one.about else {}),
                }
                for one in found
            ]
        )
    elif found:
        rows = [
            [one.kind, one.name, f"{one.failed}/{one.failed + one.done}", f"{one.rate:.0%}", one.about or ""] for one in found
        ]
        app.out.table(["", "name", "failed", "rate", "bead"], rows)
    else:
        app.out.said("Nothing fails too often.")
