"""The command table: every command's name, where it is, who it is for, and its one line of help.

Static, so that `bd --help` and a mistyped command import nothing. A test holds it against the
commands themselves.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """`module` below bd.cli.commands; the click command in it is named `command`, or as `attribute` says."""

    module: str
    section: str
    help: str
    attribute: str = "command"


SECTIONS = ("agents", "people", "overseers", "set-up")

COMMANDS: dict[str, Row] = {
    # agents
    "ready": Row("ready", "agents", "List the beads that can be worked on now, best first."),
    "claim": Row("claim", "agents", "Take a bead, or the best one that fits; published before it is said."),
    "start": Row("claim", "agents", "Begin the work on a reserved bead.", "start"),
    "release": Row("release", "agents", "Give a bead back; it costs no attempt."),
    "close": Row("close", "agents", "Finish beads; --next also claims the next one in the same commit."),
    "why": Row("why", "agents", "Say why a bead is not ready, or why an agent may not take it."),
    "whoami": Row("whoami", "agents", "Show the identity that writes and claims, and where it comes from."),
    # people
    "create": Row("create", "people", "Make a bead, or many from a file in one commit."),
    "q": Row("create", "people", "Make a bead and print only its id.", "quick"),
    "list": Row("list", "people", "List beads by status, label, type, assignee and more."),
    "show": Row("show", "people", "Show beads in full."),
    "search": Row("search", "people", "Find beads by words in their texts."),
    "count": Row("count", "people", "Count beads, also by group."),
    "children": Row("children", "people", "List the beads below a bead."),
    "update": Row("update", "people", "Change fields of beads."),
    "edit": Row("edit", "people", "Edit a bead's YAML in your editor, checked before it is published."),
    "comment": Row("comments", "people", "Comment on a bead.", "comment"),
    "comments": Row("comments", "people", "List a bead's comments, or add one.", "comments"),
    "note": Row("comments", "people", "Append to a bead's notes.", "note"),
    "label": Row("label", "people", "Add, remove and list labels."),
    "dep": Row("dep", "people", "Add, remove and look at dependencies."),
    "assign": Row("assign", "people", "Route a bead to an agent or a person."),
    "defer": Row("defer", "people", "Hide a bead until a time."),
    "undefer": Row("defer", "people", "Bring a deferred bead back.", "undefer"),
    "reopen": Row("reopen", "people", "Open beads again."),
    "cancel": Row("cancel", "people", "Call beads off."),
    "delete": Row("delete", "people", "Remove beads for good."),
    "undo": Row("undo", "people", "Take back this clone's last write."),
    "history": Row("history", "people", "Show who changed a bead, when, and what."),
    # overseers
    "blocked": Row("blocked", "overseers", "List what waits, and on what."),
    "stats": Row("stats", "overseers", "Show the hub in numbers."),
    "epic": Row("epic", "overseers", "Show how far epics are."),
    "doctor": Row("doctor", "overseers", "Check everything in the hub and this clone; changes nothing."),
    "trust": Row("trust", "overseers", "Show the commands a hub asks to run, and pin them."),
    # set-up
    "init": Row("init", "set-up", "Make a hub here, or join the one that is there."),
    "clone": Row("clone", "set-up", "Clone a hub."),
    "sync": Row("sync", "set-up", "Publish what is local, bring in what is new."),
    "config": Row("config", "set-up", "Read and change settings, and see where each comes from."),
    "import": Row("import", "set-up", "Bring in beads from JSONL or table dumps."),
    "export": Row("export", "set-up", "Write every bead as JSONL."),
    "demo": Row("demo", "set-up", "Watch four agents race through a hub made for the occasion."),
    "version": Row("version", "set-up", "Print the version."),
}

ALIASES = {
    "new": "create",
    "done": "close",
    "view": "show",
    "status": "stats",
}
