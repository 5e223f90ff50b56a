"""bd friction."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import DURATION, Command, Flag, Option, real_number, whole_number
from bd.operations.friction_beads import TellFriction
from bd.policy.friction import Rules, causes, rules_of

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "friction",
    Flag("--create", "-c", help="Create a bead about each cause that has no open one."),
    Option("--window", kind=DURATION, help="Attempts that ended within this time (7d)."),
    Option("--rate", kind=real_number(0, 1), help="The minimum failure rate (0.4)."),
    Option("--least", "--min", kind=whole_number(1), help="The minimum number of attempts (5)."),
    help="""List the labels and types whose attempts fail too often.

    With --create, each gets a bead, unless one is open; attempts that it counted do not count again. The default
    thresholds are the hub's (`friction` in its configuration).
    """,
    examples=["bd friction", "bd friction --create --window 7d --rate 0.4 --least 5"],
)


def run(app: App, create: bool, window: float | None, rate: float | None, least: int | None) -> None:
    """List the labels and types whose attempts fail too often."""
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
            app.out.said("No bead was created: nothing new fails too often.")
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
