"""bd show."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import beads_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Option
from bd.compat import bead_json
from bd.core.errors import BadInput, NotFound
from bd.policy import advisory_claims
from bd.policy.dag import awaited
from bd.policy.live_notes import notes_of
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot


_TEXTS = ("description", "design", "acceptance_criteria", "notes")


SPEC = Command(
    "show",
    Argument("beads", many=True),
    Option("--id", name="flagged", multiple=True, needs_text=True, hidden=True),
    help="""Show beads in full.

    An id may be shortened to any unique beginning, with or without its prefix.
    """,
    examples=["bd show hub-7k3q", "bd show 7k3q --json"],
)


def run(app: App, beads: tuple[str, ...], flagged: tuple[str, ...]) -> None:
    """Show beads in full."""
    beads = (*beads, *flagged)
    if not beads:
        raise BadInput("Missing argument: which bead?", hint="bd show ID")
    snapshot = app.snapshot()
    found, missing = beads_of(beads, snapshot)
    if not found:
        if len(missing) == 1:
            raise missing[0]
        raise NotFound("no issues found matching the provided IDs", hint="`bd list --all` shows every bead")
    if app.out.is_json:
        app.out.json([bead_json.detailed(bead, snapshot, app.now) for bead in found])
    else:
        for place, bead in enumerate(found):
            if place:
                app.out.line()
            _show(app, bead, snapshot)
    for one in missing:
        app.out.note(f"Error: {one.message}")
        app.out.exit_code = one.exit_code


def _show(app: App, bead: Bead, snapshot: Snapshot) -> None:
    out, readiness = app.out, Readiness(snapshot, app.now)
    out.line(out.bead_line(bead, readiness))
    out.line("  " + " · ".join([out.state(bead, readiness), *map(escaped, _facts(app, bead, snapshot))]))
    out.line(f"  {_when(app, bead)}")
    for word, key in (
        ("due", "deadline"),
        ("deferred until", "defer_until"),
        ("needs", "needs"),
        ("expected", "expected"),
        ("exclusive", "exclusive"),
        ("repo", "repo"),
        ("external", "external_ref"),
        ("metadata", "metadata"),
        ("closed because", "close_reason"),
        ("reason", "status_reason"),
    ):
        value = bead.get(key)
        if value:
            out.line(f"  {word}: {escaped(_in_words(value))}")
    for reason in readiness.standing(bead).reasons:
        if not bead.is_done and bead.status != "in_progress":
            out.line(f"  {escaped(reason.text)}")
    for failure in bead.get("failures", [])[-1:]:
        words = f"{failure.get('reason', 'other')}, {failure.get('agent', 'somebody')}: {str(failure.get('error', '')).partition(chr(10))[0]}"
        out.line(f"  last failure: {escaped(words)} (`bd dlq show {bead.id}` shows all)")
    _progress(app, bead, snapshot)
    for key in _TEXTS:
        if bead.get(key):
            out.line(f"\n{out.styled(key.replace('_', ' '), 'bold')}\n{escaped(bead.get(key), one_line=False).rstrip()}")
    _references(app, bead)
    _relations(app, bead, readiness)
    _comments(app, bead)


def _facts(app: App, bead: Bead, snapshot: Snapshot) -> list[str]:
    """Return its holder, its labels, and its temperature."""
    facts: list[str] = []
    if bead.owner or bead.assignee:
        facts.append(f"owner {bead.owner}" if bead.owner else f"assignee {bead.assignee}")
    if bead.claim:
        facts.append(f"attempt {bead.claim.attempt}, claimed {app.out.age(bead.claim.claimed_at, app.now)} ago")
    if bead.get("claims"):
        facts += filter(None, [advisory_claims.words(bead, app.now)])
    if bead.labels:
        facts.append(f"labels {', '.join(bead.labels)}")
    temperature = Ranking(snapshot, app.now).temperature(bead)
    if temperature >= 1:
        facts.append(f"temperature {temperature:.0f}")
    return facts


def _when(app: App, bead: Bead) -> str:
    """Describe when it was created, updated and closed, and by whom."""
    by = {"created": bead.get("created_by"), "closed": bead.get("closed_by")}
    return ", ".join(
        f"{word} {app.out.age(bead.get(key), app.now)} ago{f' by {escaped(by[word])}' if by.get(word) else ''}"
        for word, key in (("created", "created_at"), ("updated", "updated_at"), ("closed", "closed_at"))
        if bead.get(key)
    )


def _progress(app: App, bead: Bead, snapshot: Snapshot) -> None:
    """Print the latest notes: from side refs while somebody works, from the bead after the attempt."""
    for note in notes_of(bead, snapshot)[-3:]:
        app.out.line(f"  progress, {app.out.age(note.get('at'), app.now)} ago: {escaped(str(note.get('text', '')))}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)


def _references(app: App, bead: Bead) -> None:
    """Print what the bead starts from, and its results."""
    spec, output = bead.get("spec") or {}, bead.get("output") or {}
    context, artifacts = spec.get("context_refs"), output.get("artifacts")
    groups = {
        "context": [str(ref) for ref in context] if isinstance(context, list) else [],
        "artifacts": [_artifact(one) for one in artifacts] if isinstance(artifacts, list) else [],
    }
    for word, lines in groups.items():
        if lines:
            app.out.line(f"\n{app.out.styled(word, 'bold')}")
        for line in lines:
            app.out.line(f"  {escaped(line)}")


def _artifact(one: Any) -> str:
    return f"{one.get('name', '')}  {one.get('ref', '')}".strip() if isinstance(one, dict) else str(one)


def _comments(app: App, bead: Bead) -> None:
    for comment in bead_json.comments(bead):
        head = app.out.styled(f"{escaped(comment['author'])}, {app.out.age(comment['created_at'], app.now)} ago", "dim")
        app.out.line(f"\n{head}\n{escaped(comment['text'], one_line=False).rstrip()}")


def _relations(app: App, bead: Bead, readiness: Readiness) -> None:
    snapshot = readiness.snapshot
    groups = {
        "parent": [bead.parent] if bead.parent else [],
        "waits on": list(awaited(bead)),
        "children": [child.id for child in snapshot.children_of(bead.id)],
        "unblocks": [other.id for other in snapshot.dependents_of(bead.id)],
    }
    for link in bead.links:
        groups.setdefault(link.type, []).append(link.id)
    for word, members in groups.items():
        if not members:
            continue
        app.out.line(f"\n{app.out.styled(word, 'bold')}")
        for member in members:
            other = snapshot.head(member)
            app.out.line(app.out.bead_line(other, readiness, lead="  ") if other else f"  {member} (does not exist)")
