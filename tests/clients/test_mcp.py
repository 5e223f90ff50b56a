"""The MCP server, over its own protocol: every tool it has for issues, once."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Self

from tests.clients.conftest import installed
from tests.truth import tip_bead

if TYPE_CHECKING:
    from tests.clients.conftest import Workspace


class Server:
    """A running server; `call` is one tool call, its text read as JSON where it is some."""

    def __init__(self, workspace: Workspace) -> None:
        self._number = 0
        self._process = subprocess.Popen(
            [str(installed("mcp/bin/beads-mcp"))],
            cwd=workspace.path,
            env=workspace.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        client = {"name": "tests", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def call(self, tool: str, *, fails: bool = False, **arguments: Any) -> Any:
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        result = answer.get("result", {"isError": True, "content": [{"text": json.dumps(answer)}]})
        text = "".join(part.get("text", "") for part in result["content"])
        assert bool(result.get("isError")) is fails, f"{tool} {arguments}: {text}"
        return json.loads(text) if text[:1] in ("[", "{") else text

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number and "method" not in answer:
                return answer
        raise AssertionError(f"the server ended before it answered {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def test_every_tool_for_issues(workspace: Workspace) -> None:
    with Server(workspace) as server:
        call = server.call
        assert str(workspace.path) in call("context", workspace_root=str(workspace.path))
        epic = call("create", title="Epic", issue_type="epic", priority=1, description="d", labels=["x", "y"], assignee="al")[
            "id"
        ]
        task = call("create", title="A task", design="ds", acceptance="ac", external_ref="gh-9", brief=False)
        assert (task["design"], task["acceptance_criteria"], task["external_ref"]) == ("ds", "ac", "gh-9")
        child = call("create", title="Waits", deps=[task["id"]])["id"]
        call("dep", issue_id=task["id"], depends_on_id=epic, dep_type="parent-child")
        assert {bead["id"] for bead in call("ready")} == {epic, task["id"]}
        narrow = {"priority": 1, "assignee": "al", "labels": ["x"], "labels_any": ["y"], "sort_policy": "oldest"}
        assert [bead["id"] for bead in call("ready", limit=5, issue_type="epic", **narrow)] == [epic]
        assert len(call("list", status="open", query="task", unassigned=True, limit=3)) == 1
        assert [(bead["id"], bead["blocked_by"]) for bead in call("blocked")] == [(child, [task["id"]])]
        assert [entry["id"] for entry in call("show", issue_id=epic)["dependents"]] == [task["id"]]
        call("claim", issue_id=task["id"])
        texts = {"notes": "n", "title": "B", "description": "dd", "design": "e", "acceptance_criteria": "f"}
        changed = call("update", issue_id=task["id"], priority=0, assignee="bo", external_ref="gh-1", brief=False, **texts)
        assert {key: changed[key] for key in texts} == texts
        call("comment", issue_id=task["id"], text="hello")
        assert [entry["text"] for entry in call("comments", issue_id=task["id"])] == ["hello"]
        call("note", issue_id=task["id"], text="more")
        assert call("close", issue_id=task["id"], reason="done", brief=False)[0]["status"] == "closed"
        assert call("reopen", issue_ids=[task["id"]], reason="again", brief=False)[0]["status"] == "open"
        call("update", issue_id=task["id"], status="closed")
        call("update", issue_id=task["id"], status="open")
        assert call("stats")["summary"]["total_issues"] == 3
        assert "no issue found" in str(call("show", issue_id="nope-000", fails=True))
        for action in ("schema", "validate", "migration", "repair", "pollution"):
            call("admin", action=action)
    bead = tip_bead(workspace.path, task["id"], "beads" if "BEADS_DIR" in workspace.environment else "main")
    assert bead is not None
    assert bead.get("notes") == "n\nmore"
