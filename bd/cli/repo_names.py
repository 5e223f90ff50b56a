"""A warning about a name of a code repository that the hub doesn't have: most likely a slip of the finger."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.nearest import nearest
from bd.core.schema import REPOS

if TYPE_CHECKING:
    from bd.cli.app import App


def warn_of_unknown_repo(app: App, name: str | None) -> None:
    """Warn if the hub has code repositories, and none of this name. A hub without any may use names of its own."""
    known = app.hub.snapshot().config().get(REPOS) if name else None
    if name and isinstance(known, dict) and known and name not in known:
        close = nearest(name, known)
        meant = f"did you mean {close}?" if close else "`bd repo list` shows those that it has"
        app.out.note(f"warning: the hub has no repository {name}, so bd makes no workspace for it; {meant}")
