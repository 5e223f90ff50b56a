"""Beads that build on each other's commits: what a repository that delivers nothing leaves impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bd.core.code_repos import NONE
from bd.core.errors import BadInput
from bd.core.schema import REPOS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.core.model import Snapshot


def refuse_undelivered(specs: Sequence[Mapping[str, Any]], snapshot: Snapshot) -> None:
    """Refuse a plan in which a bead needs the commits of another one that stay on the machine where they were made.

    Raises BadInput.
    """
    given = snapshot.config().get(REPOS)
    entries = given if isinstance(given, dict) else {}
    kept = {name for name, entry in entries.items() if isinstance(entry, dict) and entry.get("deliver") == NONE}
    by_name = {spec["name"]: spec for spec in specs if spec.get("name")}
    for spec in specs if kept else ():
        for edge in (*(spec.get("depends_on") or ()), *(spec.get("deps") or ())):
            needed = by_name.get(str(edge).rpartition(":")[2])
            repo = spec.get("repo")
            if needed is not None and repo in kept and needed.get("repo") == repo:
                raise BadInput(
                    f"{spec.get('name')} depends on {needed.get('name')}, whose commits no other machine gets: "
                    f"{repo} has deliver: none",
                    hint=f"`bd repo add {repo} URL --deliver push`, or leave the dependency out",
                )
