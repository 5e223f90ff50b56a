"""bd dlq."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.columns import cut
from bd.cli.commands.edit import edited
from bd.cli.lookup import bead_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Group, Option
from bd.compat import bead_json
from bd.core.costs import amount_of
from bd.core.errors import WrongState
from bd.operations.close import Cancel
from bd.operations.fail import DlqRetry, DlqReview
from bd.policy import notification
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness
from bd.report.costs import entries
from bd.report.selection import dead_letters

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot


ERROR_WIDTH = 40
_TITLE_WIDTH = 60


LIST_LETTERS = Command(
    "list",
    Flag("--unreviewed", help="Only unreviewed ones."),
    help="List the beads that were given up, the longest ago first.",
    examples=["bd dlq list --unreviewed", "bd dlq list --json | jq -r '.[].id'"],
)


def list_letters(app: App, unreviewed: bool) -> None:
    """List the beads that were given up, the longest ago first."""
    snapshot = app.snapshot()
    found = [bead for bead in dead_letters(snapshot) if not (unreviewed and bead.get("reviewed"))]
    if app.out.is_json:
        ranking = Ranking(snapshot, app.now)
        app.out.json([_with_failures(bead, ranking) for bead in found])
    elif app.out.quiet:
        for bead in found:
            app.out.line(bead.id)
    elif found:
        app.out.table(["id", "age", "attempts", "cost", "last error", "title"], [_row(app, bead) for bead in found])
    else:
        app.out.line("No dead letters." if not unreviewed else "No unreviewed dead letters.")


def _row(app: App, bead: Bead) -> list[str]:
    last = (bead.get("failures") or [{}])[-1]
    words = f"{last.get('reason', '')}: {last.get('error', '')}".strip(": ")
    age = app.out.age(bead.get("dead_lettered_at"), app.now)
    spent = _cost(bead)
    cost = f"${spent:.2f}" if spent else "-"
    words, title = (" ".join(text.split()) for text in (words, bead.title))
    if app.out.is_plain:  # a terminal's table gives them what room there is
        words, title = cut(words, ERROR_WIDTH), cut(title, _TITLE_WIDTH)
    return [bead.id, age, str(bead.attempts_counted), cost, words, title]


def _cost(bead: Bead) -> float:
    """Return the cost of all attempts, from the failures if nothing else has it."""
    told = sum(one.usd for one in entries(bead))
    return round(told or sum(amount_of(failure.get("cost_usd")) for failure in bead.get("failures", [])), 6)


def _with_failures(bead: Bead, ranking: Ranking) -> dict[str, Any]:
    shown = bead_json.issue(bead, ranking)
    known = {"failures": bead.get("failures", []), "poison_pill": bool(bead.get("poison_pill")), "total_cost_usd": _cost(bead)}
    return {
        **shown,
        **known,
        "reviewed": bool(bead.get("reviewed")),
        **({"notified": dict(told)} if (told := notification.noted(bead)) else {}),
    }


SHOW = Command(
    "show",
    Argument("beads", many=True, required=True),
    help="Show every failed attempt of a bead.",
    examples=["bd dlq show hub-7k3q"],
)


def show(app: App, beads: tuple[str, ...]) -> None:
    """Show every failed attempt of a bead."""
    snapshot = app.snapshot()
    found = [bead_of(typed, snapshot) for typed in beads]
    if app.out.is_json:
        ranking = Ranking(snapshot, app.now)
        app.out.json([_with_failures(bead, ranking) for bead in found])
        return
    for place, bead in enumerate(found):
        if place:
            app.out.line()
        _show(app, bead, snapshot)


def _show(app: App, bead: Bead, snapshot: Snapshot) -> None:
    out, readiness = app.out, Readiness(snapshot, app.now)
    out.line(out.bead_line(bead, readiness, with_state=True))
    if bead.status == "dead_letter":
        why = ", because it fails for every agent" if bead.get("poison_pill") else ""
        since = out.age(bead.get("dead_lettered_at"), app.now)
        out.line(f"  given up{f' {since} ago' if since else ''}{why}; `bd dlq retry {bead.id}` opens it again")
        out.line(f"  {_state(bead)}")
    failures = bead.get("failures", [])
    if not failures:
        out.line("  It has not failed yet.")
    for failure in failures:
        facts = [str(failure[key]) for key in ("agent", "at") if failure.get(key)]
        facts += [f"{failure['duration_s']:g}s"] if failure.get("duration_s") is not None else []
        facts += [f"${failure['cost_usd']:g}"] if failure.get("cost_usd") is not None else []
        head = f"attempt {failure.get('attempt', '?')}: {failure.get('reason', 'other')}"
        out.line(f"\n{out.styled(escaped(head), 'bold')} ({escaped(', '.join(facts))})")
        out.line(f"  {escaped(failure.get('error', ''), one_line=False)}".rstrip())


def _state(bead: Bead) -> str:
    """Describe whether it was reviewed, whether people were notified, and what it cost."""
    known = notification.noted(bead)
    words = ["reviewed" if bead.get("reviewed") else "not reviewed"]
    if known.get("done"):
        words.append(f"people were notified by {escaped(str(known.get('by', 'somebody')).split(':', 1)[-1])}")
    elif known.get("by"):
        words.append(
            f"{escaped(str(known['by']).split(':', 1)[-1])} started to notify people at {escaped(str(known.get('at', '')))}"
        )
    spent = _cost(bead)
    return ", ".join([*words, *([f"cost ${spent:.2f} in all"] if spent else [])])


RETRY = Command(
    "retry",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", help="What has changed; kept as a comment."),
    help="Reopen dead letters; their attempts count from zero, their failures stay.",
    examples=['bd dlq retry hub-7k3q --reason "the key is renewed"'],
)


def retry(app: App, beads: tuple[str, ...], reason: str | None) -> None:
    """Reopen dead letters; their attempts count from zero, their failures stay."""
    outcome = app.publish(DlqRetry(**app.asked(beads, ids=list(beads), reason=reason)))
    app.show_written(outcome, "Open again:")


EDIT = Command(
    "edit",
    Argument("bead"),
    Option("--reason", "-r", help="What has changed; kept as a comment."),
    help="""Edit a dead letter in your editor, and reopen it.

    Without an editor: `bd update` it, then `bd dlq retry` it.
    """,
    examples=['EDITOR=vim bd dlq edit hub-7k3q --reason "it names the branch now"'],
)


def edit(app: App, bead: str, reason: str | None) -> None:
    """Edit a dead letter in an editor, and reopen it."""
    if bead_of(bead, app.snapshot()).status != "dead_letter":
        raise WrongState(f"{bead} is not a dead letter", hint=f"`bd edit {bead}` edits any bead", id=bead)
    if edited(app, bead) is None:
        app.out.note("nothing was changed, and nothing is tried again; `bd dlq retry` does that")
        if app.out.is_json:
            app.out.json([])
        return
    again = DlqRetry(**app.asked([bead], ids=[bead], reason=reason, resolution="modify_and_retry"))
    app.show_written(app.publish(again), "Edited and open again:")


CANCEL = Command(
    "cancel",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", help="Why it is cancelled."),
    Flag("--cascade", help="Also cancel its children and the beads that wait for it."),
    Flag("--unblock", help="Unblock the beads that wait for it."),
    help="Cancel dead letters: they are never tried again.",
    examples=['bd dlq cancel hub-7k3q --reason "nobody needs it any more"'],
)


def cancel(app: App, beads: tuple[str, ...], **given: Any) -> None:
    """Cancel dead letters: nobody will try them again."""
    app.show_written(app.publish(Cancel(**app.asked(beads, ids=list(beads), resolution="cancel", **given))), "Cancelled")


REVIEW = Command(
    "review",
    Argument("beads", many=True, required=True),
    Option("--note", "-n", help="What was found; kept as a comment."),
    Flag("--undo", name="undone", help="Mark it as unreviewed again."),
    help="Mark dead letters as reviewed.",
    examples=['bd dlq review hub-7k3q --note "waiting for the vendor"'],
)


def review(app: App, beads: tuple[str, ...], note: str | None, undone: bool) -> None:
    """Mark dead letters as reviewed; they stay where they are."""
    outcome = app.publish(DlqReview(**app.asked(beads, ids=list(beads), note=note, undone=undone)))
    app.show_written(outcome, "Unreviewed:" if undone else "Reviewed:")


SPEC = Group(
    "dlq",
    {
        "list": (LIST_LETTERS, list_letters),
        "show": (SHOW, show),
        "retry": (RETRY, retry),
        "edit": (EDIT, edit),
        "cancel": (CANCEL, cancel),
        "review": (REVIEW, review),
    },
    help="List, show, retry, edit, cancel and review dead letters.",
)
