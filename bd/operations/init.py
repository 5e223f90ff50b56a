"""Creating a hub: the files that every hub starts with."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH, IGNORE_PATH, METADATA_PATH
from bd.operations.base import Operation, mint, register

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime

_IGNORED = (".stamp", "issues.jsonl")


def metadata(hub_id: str) -> str:
    """Return the metadata by which existing clients recognise a workspace, with the hub's id."""
    return json.dumps({"database": "beads", "backend": "git-yaml", "hub_id": hub_id}, indent=2) + "\n"


@register
class Init(Operation):
    """Create a hub's first files on a branch: `prefix`, `hub_id`, `fields` (more settings). An existing hub is left alone.

    `ignored` are the lines that `.beads/.gitignore` already has.
    """

    verb: ClassVar[str] = "init"
    takes: ClassVar[frozenset[str]] = frozenset({"fields", "hub_id", "ignored", "prefix"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "hub_id", runtime)

    @property
    def needs_remote(self) -> bool:
        return True

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        there = snapshot.record(CONFIG_PATH) or {}
        if "format" in there:
            return Change({}, "")
        # Settings without a format are the Go tool's: keep them, and add bd's.
        own = {"format": versions.FORMAT, "prefix": self.args["prefix"], **(self.args.get("fields") or {})}
        fields: dict[str, Any] = {**there, **own}
        ignored = self.args.get("ignored") or []
        lines = [*ignored, *(line for line in _IGNORED if line not in ignored)]
        files = {METADATA_PATH: metadata(self.args["hub_id"]).encode(), IGNORE_PATH: ("\n".join(lines) + "\n").encode()}
        return Change({}, f"init: a hub for {self.args['prefix']} by {self.agent}", records={CONFIG_PATH: fields}, files=files)
