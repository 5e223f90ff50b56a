"""bd import."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Flag, Option, one_of
from bd.compat import agent_files
from bd.compat.go_workspace import read
from bd.compat.jsonl_import import bytes_of
from bd.compat.spellings import Words
from bd.core.errors import BadInput, NotFound
from bd.core.schema import WAITING_LINKS, agent_path
from bd.operations.beads import Write
from bd.operations.import_beads import CONFLICT_RULES, Import

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.cli.app import App
    from bd.compat.jsonl_import import Batch

_SHOWN = 50
_SMALL = 200
_AGENT_FILES = (".yaml", ".yml", ".toml")


SPEC = Command(
    "import",
    Argument("source", required=False),
    Option("--input", "-i", name="given", help="The same as the argument."),
    Flag("--dry-run", help="Only show what would be imported."),
    Flag("--dedup", help="Skip beads with the title of an open bead."),
    Option(
        "--on-conflict",
        kind=one_of(*CONFLICT_RULES),
        default="newer",
        help="If a bead exists and differs: newer (default) keeps the newer one, skip keeps the existing one, fail stops.",
    ),
    help="""Import beads from JSONL, table dumps, or another tracker.

    All in one commit. A bead that somebody works on is never touched. An edge to a bead that is not here yet is kept, and waits
    for it. Reads task-master, Taskwarrior, Backlog.md, ticket and beans, too.
    """,
    examples=[
        "bd import                                 .beads/issues.jsonl of this checkout",
        "bd import ../old-hub/.beads/backup        a folder of table dumps",
        "bd import beads.jsonl --dry-run           only show what would happen",
        "bd import .taskmaster/tasks/tasks.json    the tasks of task-master; or give the project's folder",
        "task export | bd import -                 the tasks of Taskwarrior",
        "bd import city.toml                       pools or an agent's registration, as agent files",
        "ssh build-3 bd export | bd import -",
    ],
)


def run(app: App, source: str | None, given: str | None, dry_run: bool, dedup: bool, on_conflict: str) -> None:
    """Import beads from JSONL, table dumps, or another tracker."""
    source = source or given or _default(app)
    if source.endswith(_AGENT_FILES) and (agents := agent_files.read(bytes_of(source), source)):
        _bring_in_agents(app, agents, source, dry_run=dry_run)
        return
    progress = progress_of(app)
    batch = read(source, progress, words_of(app))
    progress(len(batch.beads), len(batch.beads), "writing")
    operation = Import(**app.asked(beads=batch.beads, on_conflict=on_conflict, dedup=dedup))
    if dry_run:
        result, published = app.preview(operation).result, False
    else:
        outcome = app.publish(operation)
        result, published = outcome.change.result if outcome.change else {}, outcome.published
    progress(len(batch.beads) + 1, len(batch.beads), "done")
    if batch.unread:
        app.out.exit_code = 7
    tell(app, batch, result, dry_run=dry_run, published=published)


def _bring_in_agents(app: App, agents: list[agent_files.Agent], source: str, *, dry_run: bool) -> None:
    """Write the agent files that a registration or a list of pools stands for, in one commit."""
    names = [agent.name for agent in agents]
    records = {agent_path(agent.name): agent.fields for agent in agents}
    operation = Write(**app.asked(records=records, words=f"agents {', '.join(names)}"))
    published = False
    if dry_run:
        app.preview(operation)
    else:
        published = app.publish(operation).published
    left = [line for agent in agents for line in agent.left]
    if app.out.is_json:
        app.out.object({"source": source, "agents": names, "left_out": left, "dry_run": dry_run, "published": published})
    else:
        app.out.said(f"{'Would import' if dry_run else '✓ Imported'} {source}: agents {', '.join(names)}")
    _list(app, "not taken over", left)
    if any(agent.fields.get("pool") for agent in agents):
        app.out.note("note: commands of a pool run where they are trusted: `bd trust` shows them")


def words_of(app: App) -> Words:
    """The statuses and types that this hub has beside the usual ones."""
    settings = app.settings()
    return Words(settings.statuses, settings.types)


def progress_of(app: App) -> Callable[[int, int, str], None]:
    """Return a callback that shows the progress of a large import on a terminal; the bar ends with the command."""

    def show(done: int, of: int, words: str) -> None:
        if of > _SMALL and app.hub.on_progress:
            app.hub.on_progress(done, of + 1, words)

    return show


def _default(app: App) -> str:
    """Return the file that the Go tool reads if none is named."""
    for folder in (os.path.join(app.hub.repo.work_tree or "", ".beads"), app.hub.client_folder()):
        path = os.path.join(folder, "issues.jsonl")
        if os.path.islink(folder) or os.path.islink(path):  # a hub could contain one that leads anywhere
            raise BadInput(f"{path} is a symbolic link", hint="name the file that is meant: bd import FILE")
        if os.path.isfile(path):
            return path
    raise NotFound("no file was given, and there is no .beads/issues.jsonl here", hint="bd import FILE, FOLDER, or - for stdin")


def tell(app: App, batch: Batch, result: dict[str, list[Any]], *, dry_run: bool, published: bool) -> None:
    """Report what was imported, what was not, and why."""
    skipped = [*batch.skipped, *({"id": entry["id"], "reason": entry["reason"]} for entry in result["skipped"])]
    lost = batch.lost_edges
    notes = [*batch.notes, *([] if dry_run else _prefix_note(app, batch))]
    if app.out.is_json:
        app.out.object(_document(batch, result, skipped, lost, notes, dry_run=dry_run, published=published))
    else:
        counts = {key: len(result[key]) for key in ("created", "updated", "unchanged")}
        counts = {**counts, "skipped": len(skipped), "unreadable": len(batch.unread)}
        words = ", ".join(f"{number} {word}" for word, number in counts.items() if number or word == "created")
        done = "Imported" if batch.unread else "✓ Imported"
        app.out.said(f"{'Would import' if dry_run else done} {batch.source}: {words}")
    _list(app, "can't be read", [f"{batch.source}, {where}: {why}" for where, why in batch.unread])
    _list(app, "skipped", [f"{entry['id'] or 'a bead without id'}: {entry['reason']}" for entry in skipped])
    _list(app, "edge left out", lost)
    _list(app, "waits for a bead that is not here", [edge for edge in result["dangling_dependencies"] if _waits(edge)])
    _list(app, "leads to a bead that is not here", [edge for edge in result["dangling_dependencies"] if not _waits(edge)])
    _list(app, "edge kept as a link", result["kept_as_links"])
    _list(app, "note", notes + ([f"{batch.memories} memories were skipped: they are not beads"] if batch.memories else []))


def _waits(edge: str) -> bool:
    return edge.rpartition("(")[2].rstrip(")") in ("blocks", *WAITING_LINKS)


def _document(
    batch: Batch,
    result: dict[str, list[Any]],
    skipped: list[dict[str, str]],
    lost: list[str],
    notes: list[str],
    *,
    dry_run: bool,
    published: bool,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "source": batch.source,
        "created": len(result["created"]),
        "updated": len(result["updated"]),
        "unchanged": len(result["unchanged"]),
        "skipped": len(skipped),
        "memories": batch.memories,
        "ids": [*result["created"], *result["updated"]],
        "skipped_dependencies": lost,
        "dangling_dependencies": result["dangling_dependencies"],
        "kept_as_links": result["kept_as_links"],
        "stale_skipped_ids": [entry["id"] for entry in result["skipped"] if entry["kind"] == "stale"],
        "dedup_skipped": sum(entry["kind"] == "dedup" for entry in result["skipped"]),
        "skipped_reasons": skipped,
        "unreadable": [{"where": where, "error": why} for where, why in batch.unread],
        "notes": notes,
        "published": published,
    }
    return {**document, "dry_run": True} if dry_run else document


def _prefix_note(app: App, batch: Batch) -> list[str]:
    ours = app.settings().prefix
    if batch.prefix in (None, ours):
        return []
    return [f"the dump's ids start with {batch.prefix}-, new beads here with {ours}- (`bd config set prefix {batch.prefix}`)"]


def _list(app: App, what: str, lines: list[str]) -> None:
    for line in lines[:_SHOWN]:
        app.out.note(f"{what}: {line}")
    if len(lines) > _SHOWN:
        app.out.note(f"{what}: ... and {len(lines) - _SHOWN} more (--json lists them all)")
