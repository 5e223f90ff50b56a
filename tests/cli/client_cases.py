"""The cases of the commands that only clients of the Go tool use, and the kind of case itself."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A call that goes well: its arguments, the JSON it answers with, a word of its text, and calls that come before.

    `shape`: "issues" (an array of beads), "array", "issue" (an object that is a bead), "object".
    """

    args: str
    shape: str
    says: str
    before: tuple[str, ...] = ()


CLIENT_CASES = {
    "hooks": [
        Case("hooks run pre-push origin https://x.org/hub.git", "object", ""),
        Case("hooks install --force", "object", "bd has no git hooks"),
        Case("hooks uninstall", "object", "bd has no git hooks"),
        Case("hooks list", "object", "bd has no git hooks"),
    ],
    "dolt": [
        Case("dolt pull", "object", "✓ Up to date with the hub"),
        Case("dolt push", "object", "✓ Up to date with the hub"),
        Case("dolt status", "object", "There is no database server"),
    ],
    "info": [
        Case("info", "object", "9 beads, prefix hub"),
        Case("info --schema --whats-new", "object", "Hub: main, no remote"),
    ],
    "where": [Case("where", "object", ".beads")],
    "context": [Case("context", "object", "backend: git-yaml")],
    "ping": [Case("ping", "object", "ok: hub at ")],
    "types": [
        Case("types", "object", "epic       A large piece"),
        Case("types", "object", "defined by this hub", ("config set types.custom convoy",)),
    ],
    "statuses": [
        Case("statuses", "object", "in_progress  Somebody works on it"),
        Case("statuses", "object", "   reviewing  ", ("config set status.custom reviewing:wip",)),
    ],
    "stale": [
        Case("stale", "issues", "Nothing is older than 30 days."),
        Case("stale --days 0 --status open,deferred", "issues", "hub-res"),
    ],
    "priority": [Case("priority hub-bug P3", "issue", "✓ P3: hub-bug")],
    "tag": [Case("tag hub-bug seen", "issue", "✓ Label seen added: hub-bug")],
    "purge": [Case("purge", "object", "Nothing to purge"), Case("purge --dry-run", "object", "Nothing to purge")],
    "repair-deps": [Case("repair-deps --fix", "object", "Every edge leads to a bead.")],
    "quickstart": [Case("quickstart", "object", "bd claim --next")],
    "human": [Case("human", "object", "bd attention")],
    "help": [Case("help --all", "object", "  hooks ")],
}
