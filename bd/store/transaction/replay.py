"""Unpublished commits of this clone, read back as operations and decided again.

bd's own commits are read from their trailers, hand-made ones from their difference.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import CODES, BdError, NewerOperation
from bd.core.operation import UnknownOperation
from bd.store.contract import REWRITTEN
from bd.store.git import commit_message, shallow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.replica import Replica
    from bd.store.transaction.drafts import Chain


class Pending(NamedTuple):
    """An unpublished operation and the commit it comes from. `original` is the message that a person wrote."""

    operation: Operation
    commit: str
    author: str
    at_s: int
    original: str | None = None


class RefusedReplay(NamedTuple):
    """An unpublished commit that the newer hub refuses."""

    uid: str
    commit: str
    error: BdError


class Replay:
    """Finds what is unpublished. `revive` makes an operation from a commit's form, `by_difference` from a hand-made commit."""

    def __init__(
        self,
        replica: Replica,
        revive: Callable[[Mapping[str, Any]], Operation],
        by_difference: Callable[[str, str, str, str | None], Operation],
    ) -> None:
        self._replica = replica
        self._repo = replica.repo
        self._revive = revive
        self._by_difference = by_difference
        self._new_ids: dict[str, dict[str, str]] = {}  # by the uid of the operation that minted them

    def unpublished(self, base: str | None, view: str | None, hand: str | None) -> list[Pending]:
        """Return the pending operations in order: those in this clone's `view`, then the commits up to the branch tip `hand`."""
        tips = [tip for tip in (view, hand) if tip and tip != base]
        if base and self._replica.remote_name and tips and self._repo.is_shallow:
            for tip in tips:
                shallow.join(self._repo, self._replica.remote_name, self._replica.branch, base, tip)
        past = self._repo.refs(REWRITTEN).values() if tips else ()
        commits: list[str] = []
        for tip in tips:
            commits += [commit for commit in self._repo.commits_between(base, tip, without=past) if commit not in commits]
        if not commits:
            return []
        landed = self._landed(base, commits)
        by_bd = {*self._repo.commits_between(base, view, without=past)} if view and view != base else set()
        found: list[Pending] = []
        for commit in commits:
            item = self._pending(commit, base)
            if item is not None and item.operation.uid in landed:
                item = None if commit in by_bd else self._amended(item, landed[item.operation.uid], landed)
            if item is not None:
                found.append(item)
        return found

    def onto(
        self, chain: Chain, pending: list[Pending], declined: Mapping[str, BdError], tries: int
    ) -> tuple[list[RefusedReplay], dict[str, str]]:
        """Decide the pending operations again at the chain's end. Return the refused ones, and the ids minted again (old -> new).

        Operations that the server has declined (by uid) are left out. Those that have landed since the last call keep their new
        ids.
        """
        refused: list[RefusedReplay] = []
        again = {item.operation.uid for item in pending}
        self._new_ids = {uid: new for uid, new in self._new_ids.items() if uid not in again}
        renamed = {old: new for pairs in self._new_ids.values() for old, new in pairs.items()}
        for item in pending:
            uid = item.operation.uid
            if uid in declined:
                refused.append(RefusedReplay(uid, item.commit, declined[uid]))
                continue
            operation = item.operation.renamed(renamed) if renamed else item.operation
            try:
                change = chain.add(operation, item.author, item.at_s, tries=tries, original=item.original, was_kept=True)
            except BdError as error:
                refused.append(RefusedReplay(uid, item.commit, error))
                continue
            self._new_ids[uid] = item.operation.new_ids(change)  # the ids that its commit names, before any renaming
            renamed.update(self._new_ids[uid])
            errors = [*change.refusals, *map(_error_of, change.failures)]
            refused += [RefusedReplay(uid, item.commit, error) for error in errors]
        return refused, renamed

    def _landed(self, base: str | None, commits: list[str]) -> dict[str, str]:
        """Return the operations that reached the hub since this clone's unpublished commits diverged from it: uid -> commit."""
        if base is None:
            return {}
        outside = {parent for commit in commits for parent in self._parents(commit)} - {*commits}
        known = self._repo.messages(base, sorted(outside))
        return {uid: commit for commit, text in known for uid in commit_message.parse(text).get("Bd-Uid", ())}

    def _amended(self, item: Pending, twin: str, landed: Mapping[str, str]) -> Pending | None:
        """Return what a person changed in a commit of bd's that the hub has as `twin` (`git commit --amend`, a rebase).

        Its trailers still describe the old operation, so only the difference is new. None if there is none.
        """
        commit = item.commit
        if commit in landed:
            return None
        parents = self._parents(commit)
        parent = twin if parents == self._parents(twin) else (parents or [""])[0]
        same = not self._repo.diff(twin, commit) if parent == twin else self._patch(commit) == self._patch(twin)
        if same:
            return None
        operation = self._by_difference(commit, parent, item.author, commit)
        original = commit_message.split_commit(self._repo.objects.read(commit) or b"")[1].split("\n\nBd-Op:", maxsplit=1)[0]
        return item._replace(operation=operation, original=original)

    def _patch(self, commit: str) -> bytes:
        """Return the patch id: it identifies the lines that a commit changes, wherever it is in history."""
        _, patch, _ = self._repo.run("diff-tree", "-p", "--root", "--binary", "--no-renames", commit)
        return self._repo.run("patch-id", "--stable", data=patch)[1].partition(b" ")[0]

    def _parents(self, commit: str) -> list[str]:
        return commit_message.split_commit(self._repo.objects.read(commit) or b"")[0].get("parent", [])

    def _pending(self, commit: str, base: str | None) -> Pending | None:
        headers, text = commit_message.split_commit(self._repo.objects.read(commit) or b"")
        parents = headers.get("parent", [])
        author, _, stamp = (headers.get("author") or ["unknown <unknown> 0 +0000"])[0].rpartition("> ")
        author, at_s = f"{author}>", int(stamp.split()[0])
        form = commit_message.form_of(text)
        if form and not form.get("by_difference"):
            try:
                # A commit names beads by their whole ids: nothing is found by the beginning of an id.
                exact = {**form, "args": {**form["args"], "is_exact": True}}
                return Pending(self._revive(exact), commit, author, at_s)
            except UnknownOperation as error:
                raise NewerOperation(f"the unpublished commit {commit[:10]} was made by a newer bd: {error}") from None
        parent = parents[0] if parents else ""
        if len(parents) > 1:
            # A merge of the hub's commits (a plain `git pull`): only what the merge itself changed is new.
            parent = next((one for one in parents if base and self._repo.is_ancestor(one, base)), parent)
            if not self._repo.run("diff-tree", "-c", "--name-only", "-r", "--no-commit-id", commit)[1].strip():
                return None
        original = text.split("\n\nBd-Op:", maxsplit=1)[0]
        return Pending(self._by_difference(commit, parent, author, None), commit, author, at_s, original)


def _error_of(failure: Mapping[str, Any]) -> BdError:
    """Turn the failure of one of several beads into an error; the other beads went through."""
    error = BdError(f"{failure['id']}: {failure['error']}", id=failure["id"])
    error.code, error.exit_code = failure["code"], failure["exit_code"]
    error.transient = CODES.get(error.code, CODES["bug"])[1]
    return error
