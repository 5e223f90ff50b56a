"""Publishing everything local: unpublished writes, hand-made commits, and edited files."""

from __future__ import annotations

import os
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.core.identity import git_author
from bd.core.model import Damage
from bd.store.contract import Draft
from bd.store.hub_files import is_wanted, parse_file
from bd.store.transaction import recovery
from bd.store.worktree import checkout

if TYPE_CHECKING:
    from bd.store.replica import Replica
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.queue import Writing

_UNTRACKED = "??"
FOLDERS = ("beads", ".beads", ".agent-status", "artifacts")


class Edits(NamedTuple):
    """Hub files that were edited here and not committed: the readable ones by path, and those that can't be read.

    `requested` are untracked files that aren't bd's own: they are published only after `git add`.
    """

    files: dict[str, bytes | None]
    damages: list[Damage]
    requested: list[str]


def edited(replica: Replica) -> Edits:
    """Return the hand edits in the checkout of the hub branch; nothing if it is not checked out."""
    if not checkout.is_checked_out(replica.repo, replica.branch) or replica.repo.work_tree is None:
        return Edits({}, [], [])
    files: dict[str, bytes | None] = {}
    damages: list[Damage] = []
    found = checkout.edited_files(replica.repo, *FOLDERS)
    requested = [path for status, path in found if status == _UNTRACKED and not is_wanted(path)]
    paths = [path for _, path in found if path not in requested]
    blobs = checkout.as_committed(replica.repo, paths)
    for path in paths:
        full = os.path.join(replica.repo.work_tree, path)
        if os.path.islink(full):
            damages.append(Damage(path, "is a symbolic link"))
            continue
        data = replica.repo.objects.read(blobs[path]) if path in blobs else None
        if data is not None and is_wanted(path):
            row = parse_file(path, "", data)
            if row.reason is not None:
                damages.append(Damage(path, row.reason))
                continue
        files[path] = data
    return Edits(files, damages, requested)


def sync(replica: Replica, writing: Writing, by: str) -> tuple[Outcome, Edits]:
    """Publish everything local and fetch. Return the outcome, and what was edited by hand.

    Raises RemoteUnreachable, ServerRefused, Damaged; what a newer hub refuses is kept and reported.
    """
    settings = replica.settings(replica.snapshot())
    author = git_author(by, settings, replica.place.user_name, replica.place.user_mail)
    replica.begin_write()  # else another sync could move the branch between reading the files and committing them
    try:
        recovery.settle_files(replica)
        edits = edited(replica)
        hand = replica.repo.ref(replica.branch)
        if edits.files:
            hand = _staged(replica, edits, hand, by, author, settings.commit_prefix)
        outcome = writing.run(None, hand=hand)
        return outcome.replace(notes=(*outcome.notes, *_left_out(edits.requested))), edits
    finally:
        replica.end_write()


def _left_out(requested: list[str]) -> list[str]:
    if not requested:
        return []
    named = ", ".join(requested[:5]) + (f" and {len(requested) - 5} more" if len(requested) > 5 else "")
    return [f"not published, because git does not track it: {named} (`git add` it to publish it)"]


def _staged(replica: Replica, edits: Edits, parent: str | None, by: str, author: str, prefix: str) -> str:
    """Commit the edited files on top of the local branch, and put them into the index. The branch does not move."""
    names = [os.path.basename(path).removesuffix(".yaml") for path in edits.files]
    what = " ".join(names) if len(names) <= 3 else f"{len(names)} files"
    message = f"{prefix}edit: {what} by {by.split(':', 1)[-1]}\n"
    draft = Draft(message, author, int(replica.runtime.now().timestamp()), edits.files)
    commit = replica.repo.write_commits(parent, [draft])[0]
    try:
        checkout.stage(replica.repo, list(edits.files), replica.runtime)
    except checkout.InTheWay as error:
        raise TryAgain(f"the edited files can't be committed: {error}", hint=error.hint) from error
    return commit
