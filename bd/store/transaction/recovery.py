"""Crash recovery: settle what killed processes of this clone left in its journal, as landed, lost, or still under way."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.store.contract import SideRef
from bd.store.group_commit import verdict_trailers
from bd.store.group_commit.requests import INTENTS, VALID_S
from bd.store.transaction import unpublished
from bd.store.transaction.findings import Findings, Recovered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import JournalEntry
    from bd.store.group_commit.member import Member
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot


def suspects(replica: Replica) -> Mapping[str, Mapping[str, Any]]:
    """Return the operations that dead processes may still bring to the hub, if nothing has been fetched yet."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in replica.journal.of_the_dead():
        found.update(_pushed(entry.data))
    return found


def settle_files(replica: Replica) -> None:
    """Without a remote: move back files that a killed process had moved ahead of the branch, before they look like edits."""
    tip = None if replica.remote_name else replica.repo.ref(replica.branch)
    if tip and not replica.journal.is_empty():
        settle(replica, tip, replica.snapshot(tip), [], Findings(), replica.on_note or (lambda _: None))


def settle(
    replica: Replica,
    tip: str,
    snapshot: CachedSnapshot,
    members: Sequence[Member],
    known: Findings,
    tell: Callable[[str], None],
    may_inherit: Callable[[Member, Mapping[str, Any]], bool] = lambda _, __: True,
) -> Recovered:
    """Find out, at this tip, how everything ended that dead processes of this clone had begun.

    One of `members` may take over the claim that such a process had won, if `may_inherit` says so: it then has the claim, by its
    journal entry, in the journal under its own name. `tell` gets notes about operations that never reached the hub. Raises
    TryAgain if this bd can't read an entry of the journal.
    """
    _refuse_unreadable(replica)
    look = _Look(replica, tip, snapshot, members, known, tell)
    if not replica.journal.is_empty():
        for entry in _abandoned(replica, members):
            look.settle(entry)
        # Only now: a member may turn out to be carried out already, and then takes nothing over.
        for entry in _abandoned(replica, members):
            if entry.data["state"] == "won":
                look.bequeath(entry, may_inherit)
        if not known.looks:  # later, whatever is marked as taken was taken by this write
            replica.journal.put_back()
    return look.result()


def _refuse_unreadable(replica: Replica) -> None:
    """Refuse to write if the journal has an unreadable entry: a newer bd may know whether its push landed."""
    unreadable = replica.journal.unreadable()
    if unreadable:
        hint = "update bd in this clone; if `bd doctor` calls the entry damaged, move it out of the folder"
        words = f"this clone's journal has an operation that this bd can't read: {unreadable[0]}"
        raise TryAgain(words, hint=hint, written="unknown")


def _abandoned(replica: Replica, members: Sequence[Member]) -> Iterator[JournalEntry]:
    """Return the entries of dead processes, without those of members: their authors died meanwhile, and this write carries them out."""
    own = {member.uid for member in members}
    return (entry for entry in replica.journal.of_the_dead() if entry.uid not in own)


class _Look:
    """One pass over the entries of dead processes."""

    def __init__(
        self,
        replica: Replica,
        tip: str,
        snapshot: CachedSnapshot,
        members: Sequence[Member],
        known: Findings,
        tell: Callable[[str], None],
    ) -> None:
        self._replica = replica
        self._tip = tip
        self._snapshot = snapshot
        self._members = list(members)
        self._tell = tell
        self._looks = known.looks
        self._landed = list(known.landed)
        self._heard = dict(known.heard)
        self._heirs = set(known.heirs)
        self._inherited = set(known.inherited)
        self._left: dict[str, SideRef] = {}
        self._asked_on: dict[str, str] = {}
        self._may_land: dict[str, Mapping[str, Any]] = {}
        self._is_unsure = False

    def result(self) -> Recovered:
        findings = Findings(
            tuple(self._landed),
            self._heard,
            self._left,
            self._asked_on,
            self._may_land,
            frozenset(self._heirs),
            frozenset(self._inherited),
            self._looks + 1,
        )
        return Recovered(findings, tuple(self._members), self._is_unsure)

    def settle(self, entry: JournalEntry) -> None:
        """Settle one operation."""
        data, files = entry.data, self._replica.worktree
        commits, tokens = data.get("commits") or [], data.get("tokens") or []
        held = any(token in bead.tokens for token in tokens for bead in self._snapshot.claimed(str(token)))
        if commits and data.get("base") and files:
            files.undo_half(data["base"], commits[-1])
        asked = self._asked(entry)
        landed = next(
            (push for push in unpublished.pushes_of(data) if self._replica.repo.is_ancestor(push["commits"][-1], self._tip)), None
        )
        if data["state"] == "won" or held or asked == "done" or landed:
            if landed:  # else its batch lost, and the verdicts have the result
                self._landed += landed["commits"][-1:]
                self._pass_on(landed["batch"], landed["commits"][-1])
            self._give_up(entry, is_settled=True)
            if held:
                if data["state"] != "won":
                    entry.write(state="won")
            elif not self._await_others(entry):
                entry.remove()
        elif asked == "waiting":
            return
        elif not commits or data.get("base") != self._tip:
            if entry.uid in self._may_land:  # pushed by a neighbour that had taken it over
                return
            self._give_up(entry)  # nothing was pushed, or another commit stands in its place
            entry.remove()
        elif not self._replica.remote_name:
            # Index and files were moved to a commit that was never published: its writer died first.
            if files:
                files.take_back(commits[-1], data.get("hand") or self._tip)
            entry.remove()
        else:
            self._may_land.update(_pushed(data))

    def _give_up(self, entry: JournalEntry, *, is_settled: bool = False) -> None:
        """Keep an operation whose refusal or loss its author never heard of, and tell the user."""
        answer = unpublished.answer_to(self._replica, entry, self._tip, self._heard)
        if answer is None and is_settled:
            return
        note = unpublished.give_up(self._replica, entry, answer)
        if note:
            self._tell(note)

    def _asked(self, entry: JournalEntry) -> str:
        """Return the state of the requests that a dead process left on the remote: "done", "waiting", or "" for none."""
        data = entry.data
        requests: Mapping[str, str] = data.get("intents") or {}
        if not requests:
            return ""
        listed = {uid: oid for uid, oid in self._replica.requests.items() if requests.get(uid) == oid}
        self._left.update({uid: SideRef(INTENTS + uid, None, oid) for uid, oid in listed.items()})
        self._asked_on.update(dict.fromkeys(listed, data.get("asked_on") or ""))
        found = verdict_trailers.since(self._replica.repo, [data.get("asked_on") or ""], self._tip)
        self._heard.update({uid: found[uid] for uid in requests if uid in found})
        if entry.uid in found:
            return "done"
        if listed or not data.get("gone"):
            # A missing request without a verdict proves nothing until the branch is fetched once more.
            entry.write(gone=not listed)
            self._is_unsure = self._is_unsure or not listed
            return "waiting"
        return "waiting" if self._await(data, requests) else ""

    def _await(self, data: Mapping[str, Any], requests: Mapping[str, str]) -> bool:
        """Note requests whose push got no answer as what may still land. Return whether there are any."""
        if not requests or not _may_arrive(data, self._replica.runtime):
            return False
        shared = {"asked_on": data.get("asked_on") or "", "unanswered_since_s": data["unanswered_since_s"]}
        self._may_land.update({uid: {**shared, "intents": {uid: oid}} for uid, oid in requests.items()})
        return True

    def _await_others(self, entry: JournalEntry) -> bool:
        """The same for those that a settled operation's author made for its neighbours: only its entry knows of them."""
        requests: Mapping[str, str] = entry.data.get("intents") or {}
        known = {entry.uid, *self._heard, *self._left}
        return self._await(entry.data, {uid: oid for uid, oid in requests.items() if uid not in known})

    def _pass_on(self, batch: Mapping[str, Any], commit: str) -> None:
        """Answer the processes whose operations a dead one had carried out."""
        for uid, told in batch.items():
            self._heard[uid] = verdict_trailers.Verdict(commit, told)
            self._replica.journal.answer_for_the_dead(uid, {"commit": commit, "answer": told})

    def bequeath(self, entry: JournalEntry, may_inherit: Callable[[Member, Mapping[str, Any]], bool]) -> None:
        """Hand a claim that a dead process had won to an operation of the same agent, which becomes another operation."""
        tokens = entry.data.get("tokens") or []
        if self._inherited.intersection(tokens):  # the entry of an heir that died as well
            entry.remove()
            return
        for place, member in enumerate(self._members):
            if member.is_settled or member.uid in self._heirs or member.uid in self._heard:
                continue
            heir = member.operation.inheriting(entry.data)
            if heir is not None and may_inherit(member, entry.data):
                self._members[place] = member.replace(operation=heir)
                self._heirs.add(member.uid)
                self._inherited.update(tokens)
                entry.remove()
                return


def _pushed(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what a push of a dead process may still bring to the hub, by the uids of its batch."""
    pushes = unpublished.pushes_of(data)
    pushed = {"base": data.get("base"), "commits": data.get("commits")}
    if pushes[1:]:
        pushed["earlier"] = pushes[1:]
    return dict.fromkeys((uid for push in pushes for uid in push["batch"]), pushed)


def _may_arrive(data: Mapping[str, Any], runtime: Runtime) -> bool:
    """Return whether an unanswered request may still reach the remote: git can outlive the bd that started it."""
    since_s = data.get("unanswered_since_s")
    return isinstance(since_s, int) and abs(runtime.now().timestamp() - since_s) < VALID_S
