"""What a clone can't see of its hub, for whoever reads history or sums in it: a partial answer has to say that it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.times import age_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store import Clone
    from bd.store.git.repository import GitRepo

# A clone that fetched within this time is not called old.
_OLD_S = 900.0


class Gap(NamedTuple):
    """One thing that is missing: a code for programs, and a sentence that says what to do about it."""

    code: str
    text: str

    def as_json(self) -> dict[str, str]:
        return self._asdict()


def gaps(hub: Clone, *, reads_history: bool = True) -> Iterator[Gap]:
    """What this clone lacks of the hub as it now is; without `reads_history`, of its beads alone."""
    if reads_history and hub.repo.is_shallow:
        yield Gap("shallow", f"this clone is shallow: {_beginning(hub.repo)}; `git fetch --unshallow` brings the rest")
    if not hub.remote_name:
        return
    ago_s = hub.fetched_s()
    if ago_s is None:
        yield Gap("stale", "nobody knows when this clone last fetched; `--fetch` brings in what is new")
    elif ago_s > _OLD_S:
        yield Gap("stale", f"this clone last fetched {age_text(ago_s)} ago; `--fetch` brings in what is new")
    published, view = hub.published(), hub.view()
    if published and published != view:
        number = len(hub.repo.commits_between(published, view))
        what = "1 write of this clone is" if number == 1 else f"{number} writes of this clone are"
        yield Gap("unpublished", f"{what} not published, so that the hub has nothing of it; `bd sync` publishes")


def _beginning(repo: GitRepo) -> str:
    """Where the history of a shallow clone begins, in words."""
    first = repo.shallow_commits()
    if len(first) == 1:
        return f"what was before {first[0][:7]}, and who made what was there by then, is not known"
    return f"its history begins at {len(first)} commits, and what was before them is not known"
