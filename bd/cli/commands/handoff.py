"""bd handoff."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.validation import seals_of
from bd.core.errors import BadInput
from bd.core.ids import check_agent
from bd.operations.handoff import Handoff, parse_artifact, with_artifacts
from bd.store.artifacts import reference

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "handoff",
    Argument("bead"),
    Option("--to", name="target", required=True, help="A bead's id; new:TITLE makes one; agent:NAME makes one for that agent."),
    Option("--title", help="With agent:NAME: the new bead's title."),
    Option("--type", "-t", name="bead_type", help="With new: and agent: task, bug, feature ... (task)"),
    Option("--artifact", name="artifacts", multiple=True, metavar="[NAME=]REF", help="A file, a URL, or REPOSITORY@COMMIT:PATH."),
    Option("--note", "--reason", "-r", help="A note for the next one."),
    Flag("--force", help="As of close: even if it is blocked, or somebody else's (then needs --note)."),
    help="""Close a bead and hand its results to the next.

    One commit. The next bead gets the references, the note as a comment, and a link back. A new one
    gets the same parent and priority. Referenced files are not copied.
    """,
    examples=[
        "bd handoff hub-7k3q --to hub-q9x1 --artifact report=https://example.org/report.pdf",
        'bd handoff hub-7k3q --to agent:writer --title "Write it up" --artifact site@3f2a91c:notes.md',
        'bd handoff hub-7k3q --to "new:Try it on staging" --note "built, not tried yet"',
    ],
)


def run(app: App, bead: str, target: str, title: str | None, bead_type: str | None, **flags: Any) -> None:
    """Close a bead and pass its results to the next."""
    note = (flags["note"] or "").strip()
    if not flags["artifacts"] and not note:
        raise BadInput("there is nothing to hand over", hint="--artifact REF, or --note TEXT; `bd close` only closes")
    artifacts = [_artifact(app, text) for text in flags["artifacts"]]
    names = [one["name"] for one in artifacts]
    if len(names) != len(set(names)):
        raise BadInput("two artifacts with the same name", hint="name them: --artifact one=REF --artifact two=REF")
    named, new = _next(target, title, bead_type)
    extra: dict[str, Any] = {
        "artifacts": artifacts,
        "note": note or None,
        "force": flags["force"],
        **({"new": new} if new else {}),
    }
    if not flags["force"] and (seals := seals_of(app, [bead], lambda found: with_artifacts(found, artifacts))):
        extra["seals"] = seals
    outcome = app.publish(Handoff(**app.asked_to_end([bead], ids=[bead, *named], **extra)))
    touched = outcome.change.touched if outcome.change else ()
    app.show_written(outcome, dict(zip(touched, ("Closed", "Handed over to"), strict=False)))


def _artifact(app: App, text: str) -> dict[str, str]:
    name, typed = parse_artifact(text)
    return {"name": name, "ref": reference(app.hub, typed)}


def _next(target: str, title: str | None, bead_type: str | None) -> tuple[list[str], dict[str, Any] | None]:
    """Return the id of the next bead, or the fields of a new one."""
    kind, _, rest = target.partition(":")
    if kind not in ("new", "agent") or ":" not in target:
        if title or bead_type:
            raise BadInput("--title and --type are a new bead's", hint="--to new:TITLE, or --to agent:NAME --title TITLE")
        return [target], None
    words = (rest if kind == "new" else title or "").strip()
    if not words or (kind == "new" and title):
        raise BadInput("a new bead needs one title", hint="--to new:TITLE, or --to agent:NAME --title TITLE")
    new = {"title": words, "type": bead_type, "assignee": check_agent(rest) if kind == "agent" else None}
    return [], {key: value for key, value in new.items() if value}
