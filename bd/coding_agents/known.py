"""The coding agents that bd knows: one entry of data for each. A new one is an entry here, and a reader of its lines.

The flags are those of Claude Code 2.1, Codex CLI 0.155 and Gemini CLI 0.65. The brief is always on stdin.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.coding_agents.claude import ClaudeReader
from bd.coding_agents.codex import CodexReader
from bd.coding_agents.gemini import GeminiReader
from bd.coding_agents.spending import Meaning
from bd.core.errors import BadInput
from bd.core.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.coding_agents.reader import Reader

EDIT, FULL = "edit", "full"


class KnownAgent(NamedTuple):
    """How one program is started, and how its output is read.

    Its words are `start`, those of the permissions, `model` and the name of one, what was typed, `resume` and the session, `end`.
    `edit` lets it change files, `full` do anything; `commits` are more words for `edit` in a clone that bd has made for the bead,
    with the path of its .git folder in quotes for `{git}`. `by_hand` and a session let a person go on with that. `totals` says what
    its totals cover; `has_dollars`: dollars are among them.
    """

    name: str
    start: Sequence[str]
    edit: Sequence[str]
    full: Sequence[str]
    model: str
    resume: Sequence[str]
    end: Sequence[str]
    by_hand: Sequence[str]
    reader: Callable[[], Reader]
    totals: Meaning
    has_dollars: bool = False
    commits: Sequence[str] = ()
    environment: Sequence[tuple[str, str]] = ()

    def words(
        self, permissions: str, model: str = "", session: str = "", extra: Sequence[str] = (), workspace: str = ""
    ) -> list[str]:
        """Return the words to start it with; `workspace` is the folder of a clone that bd has made for the bead."""
        git = json.dumps(os.path.join(workspace, ".git"))
        commits = [word.replace("{git}", git) for word in self.commits] if workspace else []
        return [
            *self.start,
            *(self.full if permissions == FULL else [*self.edit, *commits]),
            *((self.model, model) if model else ()),
            *extra,
            *((*self.resume, session) if session else ()),
            *self.end,
        ]


_COMMITS = "Bash(git add:*),Bash(git commit:*),Bash(git status:*),Bash(git diff:*),Bash(git log:*),Bash(bd:*),Bash(bd-api:*)"

KNOWN: dict[str, KnownAgent] = {
    known.name: known
    for known in (
        KnownAgent(
            "claude",
            start=("claude", "-p", "--output-format", "stream-json", "--verbose"),
            edit=("--permission-mode", "acceptEdits", "--allowedTools", _COMMITS),
            full=("--permission-mode", "bypassPermissions"),
            model="--model",
            resume=("--resume",),
            end=(),
            by_hand=("claude", "--resume"),
            reader=ClaudeReader,
            # Since 2.1.277 a process that resumes a session begins with the totals that the session had.
            totals=Meaning((("0", "process"), ("2.1.277", "session")), "process"),
            has_dollars=True,
        ),
        KnownAgent(
            "codex",
            start=("codex", "exec", "--json", "--skip-git-repo-check"),
            edit=("--sandbox", "workspace-write"),
            # Its sandbox keeps the .git folder read-only. That of a workspace is a clone's own, and nobody else's.
            commits=("-c", "sandbox_workspace_write.writable_roots=[{git}]"),
            full=("--dangerously-bypass-approvals-and-sandbox",),
            model="--model",
            resume=("resume",),
            end=("-",),
            by_hand=("codex", "resume"),
            reader=CodexReader,
            totals=Meaning((("0", "session"),), "session"),
        ),
        KnownAgent(
            "gemini",
            start=("gemini", "--output-format", "json"),
            edit=("--approval-mode", "auto_edit"),
            full=("--approval-mode", "yolo"),
            model="--model",
            resume=("--resume",),
            end=(),
            by_hand=("gemini", "--resume"),
            reader=GeminiReader,
            totals=Meaning((("0", "process"),), "process"),
            # In a folder that nobody has trusted it would ask before every change, and nobody is there to answer.
            environment=(("GEMINI_CLI_TRUST_WORKSPACE", "true"),),
        ),
    )
}


def known_agent(name: str) -> KnownAgent:
    """Return the entry of a program. Raises BadInput, naming the nearest."""
    found = KNOWN.get(name)
    if found is not None:
        return found
    near = nearest(name, KNOWN)
    others = "any other command goes after --: bd work --agent NAME -- CMD ARGS"
    hint = f"did you mean {near}? {others}" if near else f"one of {', '.join(KNOWN)}; {others}"
    raise BadInput(f"bd knows no coding agent {name}", hint=hint)
