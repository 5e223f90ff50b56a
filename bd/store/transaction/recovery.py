"""Settling what killed processes of this clone left in its journal: landed, never to land, or still on its way."""

from __future__ import annotations

from bd.core.errors import TryAgain
from bd.store.contract import SideRef
from bd.store.group_commit import verdict_trailers
from bd.store.group_commit.requests import INTENTS, VALID_S
from bd.store.transaction import unpublished

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import JournalEntry, Repository
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.verdict_trailers import Verdict
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot


class Settling:
    """One command's settling.

    `landed` are commits of the dead that are on the hub: the checkout may be half way there. `heard` says what became
    of operations that a process which has died since had carried out for others of this clone, by uid. `left` are
    the intents of the dead: nobody waits for them. `may_land` are the operations that a push of theirs may still bring to
    the hub, each with what was pushed. `inherited` are the tokens that this command's operations have taken over from the
    dead. `is_unsure` while one is gone and only another look can tell why. `notes` tell of what never reached the hub.
    """

    def __init__(self, hub: Replica, notes: list[str] | None = None) -> None:
        self._hub = hub
        self._repo: Repository = hub.repo
        self._inheritors: set[str] = set()
        self._has_put_back = False
        self.landed: list[str] = []
        self.heard: dict[str, Verdict] = {}
        self.left: dict[str, SideRef] = {}
        self.asked_on: dict[str, str] = {}
        self.may_land: dict[str, dict[str, Any]] = {}
        self.inherited: set[str] = set()
        self.is_unsure = False
        self.notes = [] if notes is None else notes

    def doubts(self, member: Member) -> bool:
        """Whether an operation may come to the hub although it was not seen there: by its own ask, or by a push of the dead."""
        if not self._has_put_back:  # not even one look has gone well
            for entry in self._hub.journal.of_the_dead():
                self._suspect(entry.data)
        return member.in_doubt or member.uid in self.may_land

    def tell(self, members: Iterable[Member], snapshot: CachedSnapshot) -> None:
        """What the dead have done for these, whose authors live: carried them out, or asked for them."""
        for member in members:
            if member.uid in self.heard:
                member.hear(self.heard[member.uid].answer, snapshot)
                continue
            side = self.left.pop(member.uid, None)
            if side is not None and member.intent is None:  # from now on it is their author who has asked
                member.intent, member.asked_on, member.missed = side.old, self.asked_on[member.uid], False

    def _suspect(self, data: Mapping[str, Any]) -> None:
        pushed = {"base": data.get("base"), "commits": data.get("commits")}
        self.may_land.update(dict.fromkeys(data.get("batch") or (), pushed))

    def settle_files(self) -> None:
        """Without a remote: move files back that a killed process had moved ahead of the branch, before they look like edits."""
        tip = None if self._hub.remote_name else self._repo.ref(self._hub.branch)
        if tip and not self._hub.journal.is_empty():
            self.settle(tip, self._hub.snapshot(tip), [])

    def settle(self, tip: str, snapshot: CachedSnapshot, members: Sequence[Member]) -> None:
        """Find out what became of everything that dead processes of this clone had begun, as this tip shows it.

        One of these may take over what such a process had won.
        """
        self.left, self.asked_on, self.may_land, self.is_unsure = {}, {}, {}, False
        is_first, self._has_put_back = not self._has_put_back, True
        self._refuse_unreadable()
        if self._hub.journal.is_empty():
            return
        current = {claim.get("token") for bead in snapshot.claimed() for claim in bead.claims}
        own = {member.uid for member in members}
        for entry in self._hub.journal.of_the_dead():
            if entry.uid in own:  # its author may have died meanwhile: this very transaction carries it out
                continue
            self._settle_one(entry, tip, current, members)
        if is_first:  # later on, what is taken was taken by this very transaction
            self._hub.journal.put_back()

    def _refuse_unreadable(self) -> None:
        """Write nothing beside an entry that this version can't read: a newer one may know what became of its push."""
        unreadable = self._hub.journal.unreadable()
        if unreadable:
            hint = "update bd in this clone; if `bd doctor` calls the entry damaged, move it out of the folder"
            words = f"this clone's journal has an operation that this bd can't read: {unreadable[0]}"
            raise TryAgain(words, hint=hint, written="unknown")

    def _settle_one(self, entry: JournalEntry, tip: str, current: set[Any], members: Sequence[Member]) -> None:
        data = entry.data
        commits, tokens = data.get("commits") or [], data.get("tokens") or []
        held = any(token in current for token in tokens)
        files = self._hub.worktree
        if commits and data.get("base") and files:
            files.undo_half(data["base"], commits[-1])
        asked = self._asked(entry, tip)
        has_landed = bool(commits) and self._repo.is_ancestor(commits[-1], tip)
        if data["state"] == "won" or held or asked == "done" or has_landed:
            if has_landed:  # else its batch is of a round that lost, and the verdicts tell
                self.landed += commits[-1:]
                self._pass_on(data, commits)
            self._give_up(entry, tip, is_settled=True)
            if not held or self._is_inherited(members, data):
                entry.remove()
            elif data["state"] != "won":
                entry.write(state="won")
        elif asked == "waiting":
            return
        elif not commits or data.get("base") != tip:
            if entry.uid in self.may_land:  # by the push of a neighbour that had taken it over
                return
            self._give_up(entry, tip)  # nothing was pushed; or somebody else's commit stands where ours had to
            entry.remove()
        elif not self._hub.remote_name and commits:
            # Index and files were moved to a commit that its writer did not live to publish.
            if files:
                files.take_back(commits[-1], data.get("hand") or tip)
            entry.remove()
        else:
            self._suspect(data)

    def _give_up(self, entry: JournalEntry, tip: str, *, is_settled: bool = False) -> None:
        """Keep what its author was not told of, and name it: what the hub or a neighbour refused, and what never arrived."""
        answer = unpublished.answer_to(self._hub, entry, tip, self.heard)
        if answer is None and is_settled:
            return
        note = unpublished.give_up(self._hub, entry, answer)
        if note:
            self.notes.append(note)

    def _asked(self, entry: JournalEntry, tip: str) -> str:
        """What became of the intents that the dead one had left on the remote: done, waiting, or empty for nothing."""
        data = entry.data
        intents: Mapping[str, str] = data.get("intents") or {}
        if not intents:
            return ""
        listed = {uid: oid for uid, oid in self._hub.requests.items() if intents.get(uid) == oid}
        self.left.update({uid: SideRef(INTENTS + uid, None, oid) for uid, oid in listed.items()})
        self.asked_on.update(dict.fromkeys(listed, data.get("asked_on") or ""))
        found = verdict_trailers.since(self._repo, [data.get("asked_on") or ""], tip)
        self.heard.update({uid: found[uid] for uid in intents if uid in found})
        if entry.uid in found:
            return "done"
        if listed or not data.get("gone"):
            # Gone without a verdict proves nothing before the branch was fetched once more.
            entry.write(gone=not listed)
            self.is_unsure = self.is_unsure or not listed
            return "waiting"
        if _may_arrive(data, self._hub.runtime):
            for uid, oid in intents.items():
                asked = {
                    "asked_on": data.get("asked_on") or "",
                    "intents": {uid: oid},
                    "unanswered_since_s": data["unanswered_since_s"],
                }
                self.may_land[uid] = asked
            return "waiting"
        return ""

    def _pass_on(self, data: Mapping[str, Any], commits: list[str]) -> None:
        """Its author died before it could answer those whose operations it had carried out."""
        for uid, told in (data.get("batch") or {}).items():
            self.heard[uid] = verdict_trailers.Verdict(commits[-1] if commits else "", told)
            self._hub.journal.answer_for_the_dead(uid, {"commit": commits[-1] if commits else "", "answer": told})

    def _is_inherited(self, members: Iterable[Member], data: Mapping[str, Any]) -> bool:
        """Whether one of these takes over what a dead process of the same agent had won: it goes on with another operation."""
        for member in members:
            heir = None if member.uid in self._inheritors else member.operation.inheriting(data)
            if heir is not None:
                member.operation = heir
                self._inheritors.add(member.uid)
                self.inherited.update(data.get("tokens") or [])
                return True
        return False


def _may_arrive(data: Mapping[str, Any], runtime: Runtime) -> bool:
    """Whether an ask that got no answer may still be on its way: a git whose bd has died can go on for a while."""
    since_s = data.get("unanswered_since_s")
    return isinstance(since_s, int) and abs(runtime.now().timestamp() - since_s) < VALID_S
