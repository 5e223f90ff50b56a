"""Gaps: the parts of its hub that a clone can't see. Every answer about the past, and every sum, names them."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import age_text
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store import Clone
    from bd.store.git.repository import GitRepo

# A clone that fetched within this time is not called old.
_OLD_S = 900.0


class Gap(Value):
    """One thing that is missing: a code for programs, and a sentence that says what to do about it."""

    code: str
    text: str

    def as_json(self) -> dict[str, str]:
        return self.as_dict()


def gaps(hub: Clone, *, reads_history: bool = True) -> Iterator[Gap]:
    """Yield the gaps of this clone; without `reads_history`, only those of its beads."""
    if reads_history and hub.repo.is_shallow:
        yield Gap("shallow", f"this clone is shallow: {_beginning(hub.repo)}; `git fetch --unshallow` brings the rest")
    if not hub.remote_name:
        return
    ago_s = hub.fetched_s()
    if ago_s is None:
        yield Gap("stale", "the time of this clone's last fetch is unknown; `--fetch` brings in what is new")
    elif ago_s > _OLD_S:
        yield Gap("stale", f"this clone last fetched {age_text(ago_s)} ago; `--fetch` brings in what is new")
    published, view = hub.published(), hub.view()
    if published and published != view:
        number = len(hub.repo.commits_between(published, view))
        what, them = ("1 write of this clone is", "it") if number == 1 else (f"{number} writes of this clone are", "them")
        yield Gap("unpublished", f"{what} not published; `bd sync` publishes {them}")


def _beginning(repo: GitRepo) -> str:
    """Describe where the history of a shallow clone begins."""
    first = repo.shallow_commits()
    if len(first) == 1:
        return f"nothing before {first[0][:7]} is known here, nor who made what existed then"
    return f"its history begins at {len(first)} commits; nothing before them is known here"
