"""Beads that build on each other's commits: what a repository that delivers nothing leaves impossible."""

from __future__ import annotations

from typing import Any

from bd import TYPE_CHECKING
from bd.core.code_repos import repos_of
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.core.model import Snapshot


def refuse_undelivered(specs: Sequence[Mapping[str, Any]], snapshot: Snapshot) -> None:
    """Refuse a plan in which a bead needs the commits of another one that stay on the machine where they were made.

    Raises BadInput.
    """
    repos, _ = repos_of(snapshot.config())
    kept = {name for name, repo in repos.items() if not repo.is_delivered}
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
