"""Beads to race for, put on a hub with plain git: one commit however many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.runtime import RUNTIME
from tests.truth import git

if TYPE_CHECKING:
    from tests.running import Clone


def seed(writer: Clone, *bead_ids: str, **fields: str) -> list[str]:
    """Put open beads with these ids on the hub (and bring the writer's checkout along); the ids."""
    folder = writer.path / "beads"
    folder.mkdir(exist_ok=True)
    for bead_id in bead_ids:
        lines = {"id": bead_id, "uid": RUNTIME.new_id(), "title": f"Do {bead_id}", "type": "task", "status": "open", **fields}
        stamps = {"created_at": "2026-02-20T09:00:00Z", "created_by": "human:Ada", "updated_at": "2026-02-20T09:00:00Z"}
        text = "".join(f"{key}: {value}\n" for key, value in {**lines, **stamps}.items())
        (folder / f"{bead_id}.yaml").write_text(text, encoding="utf-8")
    put(writer, "beads", "seed")
    return list(bead_ids)


def put(writer: Clone, path: str, message: str) -> None:
    """Commit a path with plain git, and push it where there is a remote."""
    git(writer.path, "add", "--", path)
    git(writer.path, "commit", "--quiet", "-m", message)
    if "[remote " in (writer.path / ".git" / "config").read_text(encoding="utf-8"):
        git(writer.path, "push", "--quiet", "origin", "HEAD")


def limit(writer: Clone, name: str, max_concurrent: int) -> None:
    """An agent that may hold so many beads at once, and fits everything."""
    file = writer.path / ".beads" / "agents" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"name: {name}\nmax_concurrent: {max_concurrent}\nskills: {{}}\n", encoding="utf-8")
    put(writer, ".beads/agents", "agents")


def write_field(clone: Clone, bead_id: str, line: str) -> None:
    """Type a line at the end of a bead's file."""
    file = clone.path / "beads" / f"{bead_id}.yaml"
    file.write_text(file.read_text() + line + "\n")
