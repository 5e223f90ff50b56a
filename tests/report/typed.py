"""Hub histories that are typed: each commit is made with real git, says whatever a test wants it to say."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from bd.core.schema import BEAD_FIELDS
from bd.store.yaml import editor
from tests.auditing import audited
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

    from bd.report.audit.audit import Audit

AT = "2026-02-21T15:00:00Z"
MADE_AT = "2026-02-21T12:00:00Z"


def said(verb: str, by: str = "agent:ann", *, tokens: tuple[str, ...] = (), uid: str = "", **args: Any) -> str:
    """The message of a commit of bd's: its operation, and the tokens it names."""
    form = {"verb": verb, "uid": uid, "by": by, "at": AT, "args": args}
    name = by.split(":", 1)[-1]
    lines = [f"{verb}: a bead by {name}", "", f"Bd-Op: {json.dumps(form)}", f"Bd-Agent: {name}"]
    return "\n".join([*lines, *(f"Bd-Token: {token}" for token in tokens), f"Bd-Uid: {uid}"])


def claim(agent: str, token: str, attempt: int = 1, **more: Any) -> dict[str, Any]:
    return {"agent": agent, "token": token, "attempt": attempt, **more}


def held(agent: str, token: str, attempt: int = 1, **more: Any) -> dict[str, Any]:
    """The fields that a claim sets."""
    fields = {"status": "in_progress", "assignee": agent, "owner": f"{agent}@hub", "attempts": attempt}
    return {**fields, "claim": claim(agent, token, attempt), **more}


class Typed:
    """A hub whose history is typed, with two open beads to begin with."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self._uids = (f"U{number}" for number in itertools.count())
        git(path, "init", "--quiet", "--initial-branch=main")
        self.put("hub-a")
        self.put("hub-b")
        self.commit("make them", MADE_AT)

    def put(self, bead_id: str, folder: str = "beads", **fields: Any) -> None:
        """Write a bead's file and let git know, as it is before a commit."""
        given = {"id": bead_id, "uid": f"UID-{bead_id}", "title": f"Do {bead_id}", "status": "open", **fields}
        self.put_text(f"{folder}/{bead_id}.yaml", editor.document(given, BEAD_FIELDS))

    def put_text(self, path: str, text: str) -> None:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        git(self.path, "add", "--", path)

    def commit(self, message: str, at: str = "") -> str:
        """Commit what was put, dated `at`; an operation without a uid gets one."""
        text = message.replace('"uid": ""', f'"uid": "{next(self._uids)}"') if '"uid": ""' in message else message
        if text.endswith("Bd-Uid: "):
            text += text.split('"uid": "')[1].split('"')[0]
        dated = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
        git(self.path, "commit", "--quiet", "-m", text, env=dated)
        return git(self.path, "rev-parse", "HEAD")

    def write(self, message: str, bead_id: str = "hub-a", /, *, at: str = "", **fields: Any) -> str:
        """A commit of one bead as it now is, dated `at`."""
        self.put(bead_id, **fields)
        return self.commit(message, at)

    def remove(self, message: str, bead_id: str = "hub-a") -> str:
        git(self.path, "rm", "--quiet", f"beads/{bead_id}.yaml")
        return self.commit(message)

    def claim(self, agent: str = "ann", token: str = "T1", attempt: int = 1, bead_id: str = "hub-a", **more: Any) -> str:  # noqa: S107
        return self.write(said("claim", f"agent:{agent}", tokens=(token,)), bead_id, **held(agent, token, attempt, **more))

    def side(self) -> None:
        """Go on, on a branch beside; `back` returns to the hub's."""
        git(self.path, "switch", "--quiet", "-c", "side")

    def back(self) -> None:
        git(self.path, "switch", "--quiet", "main")

    def merge(self, *options: str) -> str:
        git(self.path, "merge", "--quiet", "--no-ff", "-m", "merge", *options, "side")
        return git(self.path, "rev-parse", "HEAD")

    def audit(self, since: str | None = None) -> Audit:
        return audited(self.path, since)
