"""bd claim, bd start. A claim starts the fetch before it imports anything that can wait."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.claim_attempts import claim_best
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Option, whole_number
from bd.core.errors import BadInput, StaleToken
from bd.operations.claims import Claim, Start
from bd.policy import advisory_claims, claims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.cli.app import App
    from bd.core.model import Bead
    from bd.store import Outcome


SPEC = Command(
    "claim",
    Argument("beads", many=True),
    Flag("--next", name="take_next", help="The best bead that fits, chosen at the moment of the push."),
    Option("--count", kind=whole_number(1, 100), default=1, help="With --next: up to this many."),
    Flag("--reserve", help="Reserve it; it has to be started within claim_ttl (15m)."),
    Flag("--resume", help="Take over what this agent already holds, with a new token."),
    Flag("--force", help="Also beads that are routed to others or do not fit."),
    help="""Take a bead, or the best one that fits.

    A reported claim is on the hub, and no other agent has the bead. After a lost race, --next takes the
    next best bead; a named bead ends with exit 5. Exit 3: nothing fits now.
    """,
    examples=[
        "bd claim --next --agent codemonkey",
        "bd claim hub-7k3q --agent codemonkey",
        "bd claim --next --count 3 --agent codemonkey     one started, two reserved",
        "bd claim hub-7k3q --agent codemonkey --resume    take over your own claim",
    ],
)


def run(app: App, beads: Sequence[str], *, take_next: bool, count: int, reserve: bool, resume: bool, force: bool) -> None:
    """Claim, and print the result. Raises BadInput, NoIdentity, and the claim's refusals."""
    if bool(beads) == take_next and not (resume and not beads):
        words = "ids and --next can't be combined" if beads else "which bead?"
        raise BadInput(words, hint="give ids, or --next for the best one that fits, not both")
    who = app.claimant()  # without the right to claim, nothing is fetched
    app.hub.try_write()
    asked = app.asked(agent=who.agent, host=os.uname().nodename if hasattr(os, "uname") else "", force=force)
    asked["by"] = who.by
    if beads:
        asked.update({"ids": list(beads), "held_tokens": app.held_tokens(beads)})
    else:
        asked.update({"next": take_next, "count": count})
    if reserve:
        asked["reserve"] = True
    if resume:
        asked.update({"resume": True, "also_me": [name for name in (app.hub.place.user_name, app.hub.place.user_mail) if name]})
    outcome = claim_best(app, asked) if take_next else app.publish(Claim(**asked))
    _refuse_ended(app, outcome)
    if app.out.is_json or app.out.quiet:
        app.show_written(outcome, "Claimed")
    else:
        _tell(app, outcome, resumed=resume)


START = Command(
    "start",
    Argument("beads", many=True, required=True),
    help="Start the work on a reserved bead.",
    examples=["bd start hub-7k3q --agent codemonkey"],
)


def start(app: App, beads: tuple[str, ...]) -> None:
    """Start the work on a reserved bead."""
    outcome = app.publish(Start(**app.asked(beads, ids=list(beads))))
    app.show_written(outcome, "Started")


def _refuse_ended(app: App, outcome: Outcome) -> None:
    """Report won claims that another command ended in the same push. Raises StaleToken if none is left."""
    won = outcome.change.tokens if outcome.change else ()
    ended = claims.ended(won, app.hub.snapshot(outcome.commit))
    if not ended:
        return
    words = f"the claim of {', '.join(ended)} was won, and another command has ended it in the same push"
    if len(ended) < len(won):
        app.out.note(words)
        return
    outcome.acknowledge()
    raise StaleToken(words, hint=f"`bd history {ended[0]}` shows who; `bd claim --next` takes other work", id=ended[0])


def _tell(app: App, outcome: Outcome, *, resumed: bool) -> None:
    settings = app.hub.settings(app.hub.snapshot(outcome.commit))
    for bead in app.written(outcome):
        held = bead.claim
        if held is None:
            _tell_shared(app, outcome, bead)
            continue
        verb = "Resumed" if resumed else "Claimed" if held.started_at else "Reserved"
        limit = settings.attempt_limit(bead.type, bead.get("max_attempts"))
        name = app.out.styled(bead.id, "bold")
        app.out.line(f"✓ {verb} {name} — {escaped(bead.title)} (attempt {bead.attempts_counted} of {limit})")
        then = "Close it when it is done." if held.started_at else f"Start it before {held.expires_at}: `bd start {bead.id}`."
        app.out.line(f"  Published as {outcome.commit[:7]}. {then}")
        if app.hub.tokens.count(bead.id) > 1:
            app.out.line(f"  This clone has held it before: export BD_TOKEN={held.token}")
    app.out.failures(outcome.change.failures if outcome.change else ())


def _tell_shared(app: App, outcome: Outcome, bead: Bead) -> None:
    """Report what an advisory claim has won, and who else works on the bead."""
    tokens = {token for token, bead_id in (outcome.change.tokens if outcome.change else ()) if bead_id == bead.id}
    own = next((claim for claim in bead.claims if claim.get("token") in tokens), {})
    others = advisory_claims.at_it(bead, app.now, but=own.get("agent"))
    beside = f"also working on it: {', '.join(others)}" if others else "nobody else works on it"
    name = app.out.styled(bead.id, "bold")
    app.out.line(f"✓ Claimed {name} — {escaped(bead.title)} (advisory; {escaped(beside)})")
    app.out.line(f"  Published as {outcome.commit[:7]}. It expires at {own.get('expires_at')}; claiming it again renews it.")
