"""Flags and commands of the Go tool that are ignored or refused here. Only data.

A flag that ends in `=` takes a value. Flags that have an effect are declared by their commands, global ones in global_options.py.
"""

from __future__ import annotations

# Accepted without effect, by command; for the commands of a group, by both words.
IGNORED_FLAGS = {
    "close": "--suggest-next --continue --no-auto --session=",
    "comments": "--local-time",
    "create": "--no-history --validate --spec-id= --skip-hooks",
    "dep tree": "--show-all-paths",
    "doctor": "--clean --deep --perf --check=",
    "export": "--include-memories --scrub",
    "hooks install": "--force --shared --chain --beads",
    "info": "--whats-new --thanks",
    "init": (
        "--server --skip-hooks --skip-agents --stealth --contributor --team --setup-exclude --force --reinit-local"
        " --non-interactive --server-host= --server-port= --server-user= --role= --backend= --database= --agents-template="
        " --agents-profile= --agents-file="
    ),
    "list": "--include-infra --include-gates --include-templates --long --pretty --tree --no-pinned",
    "ready": "--include-deferred --include-ephemeral --pretty --plain",
    "prime": "--full --mcp --stealth --export --hook-json",
    "repair-deps": "--fix --orphans --interactive",
    "setup": "--project --stealth --global",
    "show": "--include-dependents --include-comments --short --long --refs --local-time",
    "stats": "--no-activity",
    "sync": "--flush-only --import-only --no-push --no-pull --full --message=",
    "update": "--persistent --no-history --spec-id= --session=",
}

# Refused, because ignoring them would give a wrong answer. Each with an alternative.
_KEPT = "all beads are kept: omit it, and use bd delete ID --force afterwards"
_ELSEWHERE = "create it in that hub: bd -C FOLDER create"
_BY_DUE = "use bd list --json and due_at"
_BY_DEFERRED = "bd list --status deferred --json, and look at defer_until"
REFUSED_FLAGS = {
    "create": {
        "--rig=": _ELSEWHERE,
        "--ephemeral": _KEPT,
        "--wisp-type=": _KEPT,
        "--mol-type=": "there are no molecules here; bd create --file PLAN makes many beads at once",
    },
    "delete": {
        "--cascade": "bd children ID lists what is below it, bd delete ID... takes many",
        "--from-file=": "xargs bd delete --force < FILE",
        "--hard": "the history of a hub is its record and stays",
    },
    "init": {"--from-jsonl": "bd init, then bd import FILE; or bd migrate, which does both"},
    "list": {
        "--deferred": "bd list --status deferred",
        "--pinned": "bd list --status pinned",
        "--overdue": _BY_DUE,
        "--due-before=": _BY_DUE,
        "--due-after=": _BY_DUE,
        "--defer-before=": _BY_DEFERRED,
        "--defer-after=": _BY_DEFERRED,
        "--has-metadata-key=": "bd list --json | jq '.[] | select(.metadata.KEY)'",
        "--empty-description": "bd list --json | jq '.[] | select(.description == null)'",
        "--skip-labels": "leave it out: labels are cheap here",
        "--watch": "watch bd list",
    },
    "ready": {
        "--mol=": "there are no molecules here; --parent ID shows what is below a bead",
        "--gated": "there are no gates here",
    },
    "show": {"--as-of=": "bd show ID --at WHEN", "--children": "bd children ID", "--watch": "watch bd show ID"},
    "stats": {"--assigned": "bd count --assignee NAME --by-status"},
    "update": {
        "--await-id=": "there are no gates here; bd wait-human ID --reason TEXT waits for a person",
        "--ephemeral": _KEPT,
    },
}

_GATES = "bd wait-human waits for a person, bd dep add for a bead, bd defer for a time"
_PLANS = "bd create --file PLAN makes many beads with their dependencies in one commit"
_GIT = "the hub is a git repository: use git for this"
_TRACKERS = "bd create --external-ref REF keeps the reference to another tracker"
_HUBS = "bd export and bd import carry beads from hub to hub"
_EXCLUSIVE = "bd create --exclusive NAME: two beads with one name are never in work at once"

# Commands of the Go tool that do not exist here, with the closest alternative; for an existing group's commands, by both words.
REFUSED_COMMANDS = {
    "admin": "bd doctor, bd archive, bd delete",
    "ado": _TRACKERS,
    "backup": _GIT,
    "bootstrap": "bd clone URL joins a hub, bd init makes one",
    "branch": _GIT,
    "compact": "bd archive moves old beads out of the way; nothing is lost",
    "config validate": "bd doctor checks the settings too",
    "cook": _PLANS,
    "dep relate": "bd dep add ID OTHER --type relates-to; both show it",
    "dep unrelate": "bd dep remove ID OTHER, in the order it was added",
    "diff": _GIT,
    "duplicate": "bd dep add ID OTHER --type duplicates, then bd close ID",
    "duplicates": "bd search WORDS",
    "federation": "bd clone URL: every clone of a hub is a full member",
    "find-duplicates": "bd search WORDS",
    "flatten": "the history of a hub is its record and stays",
    "formula": _PLANS,
    "gate": _GATES,
    "gc": _GIT,
    "github": _TRACKERS,
    "gitlab": _TRACKERS,
    "graph": "bd dep tree ID",
    "jira": _TRACKERS,
    "kv": "bd update ID --set-metadata KEY=VALUE, or a file in the hub",
    "label propagate": "bd children ID lists them, bd label add ID... LABEL takes many",
    "linear": _TRACKERS,
    "lint": "bd doctor checks the hub",
    "mail": "bd comment ID TEXT",
    "merge-slot": _EXCLUSIVE,
    "mol": _PLANS,
    "move": _HUBS,
    "notion": _TRACKERS,
    "orphans": "bd doctor names edges that lead nowhere",
    "preflight": "bd doctor checks the hub",
    "promote": "bd update ID --type TYPE",
    "query": "bd list and bd search have filters; --json with jq asks anything else",
    "refile": _HUBS,
    "rename": "ids never change; bd update ID --title TEXT renames the bead",
    "rename-prefix": "bd config set prefix PREFIX: new ids start with it, old ones stay",
    "reparent": "bd update ID --parent OTHER",
    "restore": "bd undo, and git has every version",
    "set-state": "bd update ID --add-label LABEL",
    "ship": "bd close ID --reason TEXT",
    "slot": _EXCLUSIVE,
    "sql": "bd list --json with jq asks anything",
    "state": "bd show ID",
    "supersede": "bd dep add NEW OLD --type supersedes, then bd close OLD",
    "swarm": "bd work --agent NAME -- COMMAND runs a worker; start as many as you like",
    "todo": "bd q TITLE, bd list, bd close ID",
    "vc": _GIT,
    "worktree": "git worktree add: every worktree of a hub's clone is one to work in",
}
