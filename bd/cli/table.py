"""The command table: every command's name, module, audience, and its line of help.

Static, so that `bd --help` and a mistyped command import nothing. A test compares it with the commands.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Sequence


class Row(Value):
    """`module` below bd.cli.commands; its function `run` runs the command that `SPEC` declares.

    In a module with several commands, `attribute` names the function, and its declaration in capitals. `beside` names the command
    whose line in `bd --help` this one shares; `line` is the text of a shared line.
    """

    module: str
    section: str
    help: str
    attribute: str = "run"
    beside: str = ""
    line: str = ""


# The commands that `--at` applies to: they answer for the past. All others concern the present, or change things.
PAST = frozenset(
    """
    agent attention audit blocked board brief children comments config context cost count dag dep dlq epic export friction history
    identity info label list log memories metrics plan pool prime ready rebalance recall repair-deps schedule search show stale stalled stats
    trigger why
    """.split()
)

# Commands whose effect, or exit code, is not a write to the hub, and stands even if no output can be written.
DEEDS = frozenset(
    (
        *"clone heartbeat init mcp overseer poll progress serve setup wait work".split(),
        *(
            "config set",
            "config unset",
            "cron install",
            "cron remove",
            "identity init",
            "pool run",
            "workspace enter",
            "workspace prune",
        ),
    )
)
_NO_DEED = frozenset(("--dry-run", "--help", "-h"))


def is_deed(words: Sequence[str]) -> bool:
    """Return whether a command line that ended well has done something, even if nobody can read its output."""
    return not _NO_DEED.intersection(words) and not DEEDS.isdisjoint((" ".join(words[:1]), " ".join(words[:2])))


SECTIONS = ("agents", "people", "overseers", "set-up", "clients")
# `bd --help` leaves these out: existing clients use them, people don't. `bd help --all` shows them.
HIDDEN = "clients"

COMMANDS: dict[str, Row] = {
    # agents
    "ready": Row(
        "ready",
        "agents",
        "List the beads that can be worked on now, best first.",
        line="List what can be worked on now, best first.",
    ),
    "claim": Row("claim", "agents", "Take a bead, or the best one that fits."),
    "start": Row("claim", "agents", "Start the work on a reserved bead.", "start", beside="claim"),
    "release": Row(
        "release", "agents", "Give a bead back; it costs no attempt.", line="Give a bead back, or park it for a person."
    ),
    "close": Row(
        "close",
        "agents",
        "Finish beads, and with --next claim the next one.",
        line="Finish beads, claim the next; hand results over.",
    ),
    "fail": Row(
        "fail",
        "agents",
        "Record a failed attempt; the bead is tried again, or given up.",
        line="Record a failed attempt, or what one cost.",
    ),
    "wait-human": Row("wait_human", "agents", "Park a bead until a person answers; it costs no attempt.", beside="release"),
    "handoff": Row("handoff", "agents", "Close a bead and hand its results to the next.", beside="close"),
    "why": Row(
        "why",
        "agents",
        "Say why a bead is not ready, or why an agent may not take it.",
        line="Say why a bead is not ready, or not for an agent.",
    ),
    "work": Row(
        "work",
        "agents",
        "Claim beads one after another and run a command on each.",
        line="Run a command on one bead after another.",
    ),
    "poll": Row("poll", "agents", "Say whether an agent should look for work now, and keep its pace.", beside="work"),
    "wait": Row("wait", "agents", "Wait until something is ready for an agent.", beside="work"),
    "heartbeat": Row(
        "heartbeat",
        "agents",
        "Send heartbeats for an agent's beads, without a commit.",
        line="Send heartbeats; post a note while working.",
    ),
    "progress": Row("heartbeat", "agents", "Post a note on a bead while working on it.", "progress", beside="heartbeat"),
    "cost": Row("cost", "agents", "Report what an attempt cost while working, or show what was spent.", beside="fail"),
    "whoami": Row("whoami", "agents", "Show who writes and claims here.", line="Show who writes, and the context of a bead."),
    "context": Row(
        "info", "agents", "Print a bead's context; without a bead: repository, branch and remote.", "context", beside="whoami"
    ),
    "prime": Row("prime", "agents", "Print what an agent needs to know: who it is, the loop, the rules.", beside="whoami"),
    # people
    "create": Row("create", "people", "Create a bead, or many from a file in one commit."),
    "q": Row("create", "people", "Create a bead and print only its id.", "quick", beside="create"),
    "plan": Row(
        "plan",
        "people",
        "Create a DAG from a plan file, or write one.",
        line="Create a whole DAG at once; show it; add to it.",
    ),
    "dag": Row("dag", "people", "Show, list and cancel DAGs, and add beads to one.", beside="plan"),
    "spawn": Row(
        "spawn", "people", "Create a subtask of a bead in progress, which continues or waits for the subtask.", beside="plan"
    ),
    "list": Row(
        "list",
        "people",
        "List beads by status, label, type and more.",
        line="List or count beads by status, label; find words.",
    ),
    "brief": Row("brief", "people", "Print all that is known about a bead, for whoever works on it.", beside="show"),
    "show": Row("show", "people", "Show beads in full.", line="Show beads in full, or all that is known."),
    "search": Row("search", "people", "Find beads by words in their texts.", beside="list"),
    "count": Row("count", "people", "Count beads, also by group.", beside="list"),
    "children": Row("children", "people", "List the beads below a bead.", beside="show"),
    "update": Row("update", "people", "Change fields of beads.", line="Change fields of beads, by flags or in an editor."),
    "edit": Row("edit", "people", "Edit a bead's YAML in your editor, checked before it is published.", beside="update"),
    "comment": Row("comments", "people", "Comment on a bead.", "comment"),
    "comments": Row("comments", "people", "List a bead's comments, or add one.", "comments", beside="comment"),
    "note": Row("comments", "people", "Append to a bead's notes.", "note", beside="comment"),
    "remember": Row(
        "memories", "people", "Remember a text that every agent should know.", line="Keep what every agent should know."
    ),
    "recall": Row("memories", "people", "Print what is remembered, or what of it has a word in it.", "recall", beside="remember"),
    "forget": Row("memories", "people", "Forget what is remembered under a key.", "forget", beside="remember"),
    "answer": Row(
        "wait_human",
        "people",
        "Answer a bead's question, and reopen it.",
        "answer",
        line="Answer a question; take a bead over from an agent.",
    ),
    "take": Row("take", "people", "Take a bead over from the agent that works on it.", beside="answer"),
    "give": Row("take", "people", "Hand a bead that you have taken over back to the agents.", "give", beside="answer"),
    "label": Row("label", "people", "Add, remove and list labels.", line="Add, remove and list labels or dependencies."),
    "dep": Row("dep", "people", "Add, remove and show dependencies.", beside="label"),
    "schedule": Row(
        "schedule",
        "people",
        "Create beads on a schedule.",
        line="Create beads on a schedule, and for events.",
    ),
    "trigger": Row("trigger", "people", "Create beads when something happens.", beside="schedule"),
    "assign": Row(
        "assign",
        "people",
        "Route a bead to an agent or a person.",
        line="Route a bead to somebody; draw attention to beads.",
    ),
    "defer": Row("defer", "people", "Hide a bead until a time.", line="Hide a bead until a time, and bring it back."),
    "undefer": Row("defer", "people", "Bring a deferred bead back.", "undefer", beside="defer"),
    "heat": Row("heat", "people", "Draw attention to beads: among equals, hotter ones come first.", beside="assign"),
    "reopen": Row("reopen", "people", "Reopen beads.", line="Reopen beads, cancel them, remove them."),
    "cancel": Row("cancel", "people", "Cancel beads.", beside="reopen"),
    "delete": Row("delete", "people", "Remove beads for good.", beside="reopen"),
    "undo": Row("undo", "people", "Undo this clone's last write.", line="Undo the last write; see who changed what."),
    "history": Row("history", "people", "Show who changed a bead, when, and what.", beside="undo"),
    # overseers
    "attention": Row(
        "attention", "overseers", "List what needs a person.", line="List what needs a person, or waits for others."
    ),
    "blocked": Row("blocked", "overseers", "List blocked beads, and what they wait for.", beside="attention"),
    "stalled": Row(
        "stalled",
        "overseers",
        "List the beads whose holders are gone, and free them.",
        line="List and free stalled claims; chores; pools.",
    ),
    "overseer": Row("overseer", "overseers", "Look after the fleet, once or continuously.", beside="stalled"),
    "stats": Row("stats", "overseers", "Show the hub in numbers.", line="Show the hub in numbers; show progress of epics."),
    "metrics": Row("metrics", "overseers", "Show how the fleet is doing in numbers, read from git's history.", beside="stats"),
    "epic": Row("epic", "overseers", "Show the progress of epics.", beside="stats"),
    "dlq": Row(
        "dlq",
        "overseers",
        "List, show, retry, edit, cancel and review dead letters.",
        line="Handle dead letters, and what fails too often.",
    ),
    "friction": Row("friction", "overseers", "List the labels and types whose attempts fail too often.", beside="dlq"),
    "agent": Row(
        "agent",
        "overseers",
        "Add agents, change them, and see how each is doing.",
        line="See agents, or all on one page; balance queues.",
    ),
    "board": Row("board", "overseers", "Show the fleet on one page, and publish it.", beside="agent"),
    "pause": Row(
        "pause",
        "overseers",
        "Pause the fleet: nobody can claim until `bd resume`.",
        line="Stop the fleet from claiming; let it claim again.",
    ),
    "resume": Row("pause", "overseers", "Let the fleet claim again.", "resume", beside="pause"),
    "pool": Row("pool", "overseers", "Run as many members of an agent as there is work for.", beside="stalled"),
    "rebalance": Row(
        "rebalance",
        "overseers",
        "Give idle agents work that waits in the queues of overloaded ones.",
        beside="agent",
    ),
    "drain": Row(
        "duty",
        "overseers",
        "Let an agent finish what it has and take nothing new.",
        "drain",
        line="Let an agent take nothing new, or again.",
    ),
    "undrain": Row("duty", "overseers", "Let a draining agent take work again.", "undrain", beside="drain"),
    "offline": Row("duty", "overseers", "Set an agent offline.", "offline", line="Set an agent offline or online."),
    "online": Row("duty", "overseers", "Set an agent online.", "online", beside="offline"),
    "doctor": Row(
        "doctor",
        "overseers",
        "Check the hub and this clone; changes nothing.",
        line="Check the hub and this clone; move old beads away.",
    ),
    "archive": Row("archive", "overseers", "Archive beads that were done long ago.", beside="doctor"),
    "upgrade": Row("upgrade", "overseers", "Require this version of bd of everyone who writes to the hub.", beside="doctor"),
    "audit": Row(
        "audit",
        "overseers",
        "Prove from the hub's history that every change kept the rules.",
        line="Prove that rules were kept; watch; pin commands.",
    ),
    "log": Row("log", "overseers", "Show what happened in the fleet, a line for each transition.", beside="audit"),
    "serve": Row(
        "serve",
        "overseers",
        "Show the hub as live web pages, and answer agents without git.",
        line="Serve pages, an API, MCP; whom they let in.",
    ),
    "mcp": Row("mcp", "overseers", "Serve the hub to agents over MCP.", beside="serve"),
    "token": Row("token", "overseers", "Make, list and revoke the tokens that a server accepts.", beside="serve"),
    "trust": Row("trust", "overseers", "Show the commands a hub asks to run, and pin them.", beside="audit"),
    # set-up
    "init": Row(
        "init",
        "set-up",
        "Create a hub here, or join the existing one.",
        line="Create a hub here, or join one; set who may sign.",
    ),
    "identity": Row("identity", "set-up", "Create signing keys, and decide whose keys a hub trusts.", beside="init"),
    "clone": Row("clone", "set-up", "Clone a hub.", line="Clone a hub; tell coding agents about it."),
    "setup": Row("setup", "set-up", "Tell a coding agent about bd, in the files that it reads.", beside="clone"),
    "onboard": Row("prime", "set-up", "Print the section for a repository's AGENTS.md.", "onboard", beside="clone"),
    "sync": Row("sync", "set-up", "Publish local changes, and fetch new ones."),
    "config": Row(
        "config",
        "set-up",
        "Show and change settings, each with its source.",
        line="Show and change settings; print file schemas.",
    ),
    "schema": Row("schema", "set-up", "Print the JSON Schema of a hub's files, for editors.", beside="config"),
    "repo": Row(
        "repo",
        "set-up",
        "Add and show the code repositories that beads are about.",
        line="Add code repositories; find their workspaces.",
    ),
    "workspace": Row("workspace", "set-up", "Find, enter and remove the workspaces of this machine.", beside="repo"),
    "cron": Row(
        "cron",
        "set-up",
        "Start an agent on a schedule: with a cron line, or a systemd timer.",
        line="Start agents on a schedule; simulate a fleet.",
    ),
    "simulate": Row("simulate", "set-up", "Simulate a fleet: waits, lost pushes, pushes per minute.", beside="cron"),
    "import": Row(
        "import_",
        "set-up",
        "Import beads from JSONL, table dumps, or another tracker.",
        line="Import and export beads; migrate a workspace.",
    ),
    "migrate": Row(
        "migrate", "set-up", "Migrate a workspace of the Go tool: create the hub, and import every bead.", beside="import"
    ),
    "export": Row("export", "set-up", "Write every bead as JSONL.", beside="import"),
    "demo": Row(
        "demo",
        "set-up",
        "Watch four agents race for the work in a temporary hub.",
        line="See four agents at work; shell completion.",
    ),
    "completion": Row("completion", "set-up", "Print a shell completion script.", beside="demo"),
    "version": Row("version", "set-up", "Print the version.", beside="demo"),
    # clients
    "hooks": Row("hooks", "clients", "For git hooks that call bd; bd needs none."),
    "dolt": Row("dolt", "clients", "Pull and push for the Go tool's scripts: `bd sync` does it."),
    "info": Row("info", "clients", "Show where the hub is, and what is in it."),
    "where": Row("info", "clients", "Show the folder that clients work in.", "where"),
    "ping": Row("info", "clients", "Check that the hub can be read, and how fast.", "ping"),
    "types": Row("words", "clients", "List the types a bead may have.", "types"),
    "statuses": Row("words", "clients", "List the statuses a bead may have.", "statuses"),
    "stale": Row("stale", "clients", "List beads that nobody has changed for a long time."),
    "priority": Row("assign", "clients", "Give a bead a priority.", "prioritise"),
    "tag": Row("assign", "clients", "Put a label on a bead.", "tag"),
    "memories": Row("memories", "clients", "List what is remembered, as recall does.", "memories"),
    "purge": Row("purge", "clients", "Does nothing: hubs have no temporary beads."),
    "repair-deps": Row("purge", "clients", "List edges to missing beads.", "repair_deps"),
    "quickstart": Row("quickstart", "clients", "Show the first steps."),
    "human": Row("quickstart", "clients", "Show the commands that people use most.", "human"),
    "help": Row("help", "clients", "Show every command, for people or as JSON."),
}

ALIASES = {
    "new": "create",
    "done": "close",
    "view": "show",
    "unpause": "resume",
    "status": "stats",
}
