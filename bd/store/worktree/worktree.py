"""The files of a checked-out hub branch, which follow what any clone publishes."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.store.contract import ZERO
from bd.store.git.repository import GitFailed, GitTimeout
from bd.store.worktree import checkout

if TYPE_CHECKING:
    from bd.core.runtime import Runtime
    from bd.store.git.repository import GitRepo


class Worktree:
    """The worktree of this clone that has the hub branch (a full ref) checked out. Methods do nothing if there is none."""

    def __init__(self, repo: GitRepo, branch: str, runtime: Runtime) -> None:
        self._repo = repo
        self._branch = branch
        self._runtime = runtime

    # --- moved ahead of the branch, without a remote ---

    def move_ahead(self, start: str | None, commit: str) -> bool:
        """Move the files to a commit that the branch is about to get. False if it is not checked out.

        Raises TryAgain if they can't be moved.
        """
        where = checkout.holder(self._repo, self._branch)
        if where is None:
            return False
        try:
            checkout.bring_along(where, start, commit, self._runtime)
        except checkout.InTheWay as error:
            words = f"the hub branch is checked out here and can't be moved: {error}"
            raise TryAgain(words, hint=error.hint) from error
        return True

    def take_back(self, commit: str, tip: str | None) -> None:
        """Move the files back from a commit that the branch did not get, as far as possible."""
        checkout.take_back(self._repo, self._branch, commit, tip, self._runtime)

    def undo_half(self, base: str, commit: str) -> None:
        """Restore the files that a killed bd had already written while moving from `base` to `commit`."""
        where = checkout.holder(self._repo, self._branch)
        if where:
            checkout.undo_half(where, base, commit)

    # --- following the branch ---

    def follow(self, base: str | None, tip: str, *, known: str | None, hand: str | None, half_way: list[str]) -> list[str]:
        """Bring a checked-out branch and its files to the published tip. Return notes about what could not be moved.

        `known` is the previously published tip, `hand` the local commit that was published with it, `half_way` the commits where
        a killed command may have left the files.
        """
        if not checkout.is_checked_out(self._repo, self._branch):
            return []
        here = self._repo.ref(self._branch)
        if here == tip and not hand:
            return []
        notes = self._bring_along(here, tip, (None, base, known), hand, half_way)
        return self._move_branch(here, tip, hand) if not notes and here != tip else notes

    def _move_branch(self, here: str | None, tip: str, hand: str | None) -> list[str]:
        """Move the checked-out branch after its files. If somebody else moves or locks it, move the files back."""
        checkout.remove_own_lock(self._repo, self._branch)
        try:
            self._repo.update_refs([(self._branch, tip, here or ZERO)])
        except (GitFailed, GitTimeout) as error:
            self.take_back(tip, hand or self._repo.ref(self._branch))
            words = str(error).splitlines()[0].rstrip(".")
            what_to_do = f"; {checkout.IF_STALE}" if ".lock'" in words else ""
            return [f"your branch stays where it was: {words}{what_to_do}"]
        return []

    def _bring_along(
        self, here: str | None, tip: str, expected: tuple[str | None, ...], hand: str | None, half_way: list[str]
    ) -> list[str]:
        if not hand and here not in expected and not self._repo.is_ancestor(here or "", tip):
            return ["your branch has commits of its own; `bd sync` publishes them"]
        # Index and files may be ahead of the ref, because of edits that sync staged or a command that was killed.
        starts = [hand, here] if hand else [here, *(one for one in half_way if checkout.has_come_to(self._repo, here, one))]
        words = ""
        for start in dict.fromkeys(starts):
            try:
                checkout.bring_along(self._repo, start, tip, self._runtime)
            except checkout.InTheWay as error:
                words = words or str(error)
            else:
                return []
        return [f"the files here were not updated: {words}"]
