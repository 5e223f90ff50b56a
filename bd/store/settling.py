"""Settling what killed processes of this clone left in its journal: landed, never to land, or still on its way."""

from __future__ import annotations

from bd.store import checkout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.store.chain import Decides
    from bd.store.hub import Hub
    from bd.store.snapshot import CachedSnapshot


class Settling:
    """One command's settling. `landed` are commits of the dead that are on the hub: the checkout may be half way there."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._repo = hub.repo
        self._inherited = False
        self.landed: list[str] = []

    def settle_files(self) -> None:
        """Without a remote: move files back that a killed process had moved ahead of the branch, before they look like edits."""
        tip = None if self._hub.remote else self._repo.ref(self._hub.branch)
        if tip and not self._hub.journal.is_empty():
            self.settle(tip, self._hub.snapshot(tip), None)

    def settle(self, tip: str, snapshot: CachedSnapshot, operation: Decides | None) -> None:
        """Find out what became of everything that dead processes of this clone had begun, as this tip shows it."""
        if self._hub.journal.is_empty():
            return
        current = {claim.get("token") for bead in snapshot.claimed() for claim in bead.claims}
        for entry in self._hub.journal.of_the_dead():
            data = entry.data
            commits, tokens = data.get("commits") or [], data.get("tokens") or []
            held = any(token in current for token in tokens)
            where = checkout.holder(self._repo, self._hub.branch)
            if commits and data.get("base") and where:
                checkout.undo_half(where, data["base"], commits[-1])
            if data["state"] == "begun":
                entry.remove()
            elif data["state"] == "won" or held or (commits and self._repo.is_ancestor(commits[-1], tip)):
                self.landed += commits[-1:]
                if not held or self._is_inherited(operation, data):
                    entry.remove()
                elif data["state"] != "won":
                    entry.write(state="won")
            elif data.get("base") != tip:
                entry.remove()  # somebody else's commit stands where ours had to: it can never land
            elif not self._hub.remote and commits:
                # Index and files were moved to a commit that its writer did not live to publish.
                checkout.take_back(self._repo, self._hub.branch, commits[-1], data.get("hand") or tip)
                entry.remove()

    def _is_inherited(self, operation: Decides | None, data: Mapping[str, Any]) -> bool:
        """Whether this operation takes over what a dead process of the same agent had won."""
        inherit = getattr(operation, "inherit", None)
        if self._inherited or inherit is None or not inherit(data):
            return False
        self._inherited = True
        return True
