"""Settling what killed processes of this clone left in its journal: landed, never to land, or still on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import TryAgain
from bd.store.contract import SideRef
from bd.store.group_commit import verdict_trailers
from bd.store.group_commit.requests import INTENTS, VALID_S
from bd.store.transaction import unpublished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store.contract import JournalEntry
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.verdict_trailers import Verdict
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot


class Findings(NamedTuple):
    """What the looks of one write have shown of the dead.

    `landed` are commits of theirs that are on the hub: the checkout may be half way there. `heard` says what became of
    operations that they had carried out for others of this clone, by uid. `left` are their requests: nobody waits for
    them; they were made at the tips `asked_on`. `may_land` are the operations that a push of theirs may still bring to the
    hub, each with what was pushed. `heirs` are this write's operations that have taken over claims of the dead, and
    `inherited` the tokens of these. `looks` counts the looks behind all this.
    """

    landed: tuple[str, ...] = ()
    heard: Mapping[str, Verdict] = {}
    left: Mapping[str, SideRef] = {}
    asked_on: Mapping[str, str] = {}
    may_land: Mapping[str, Mapping[str, Any]] = {}
    heirs: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    looks: int = 0


class Recovered(NamedTuple):
    """What one look has shown. `members` are those it was asked for, with what they have inherited.

    `is_unsure` while a request is gone and only another look can tell why.
    """

    findings: Findings
    members: tuple[Member, ...]
    is_unsure: bool


def suspects(replica: Replica) -> Mapping[str, Mapping[str, Any]]:
    """The operations that the dead may still bring to the hub, for who has not had a single look at it."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in replica.journal.of_the_dead():
        found.update(_pushed(entry.data))
    return found


def settle_files(replica: Replica) -> None:
    """Without a remote: move files back that a killed process had moved ahead of the branch, before they look like edits."""
    tip = None if replica.remote_name else replica.repo.ref(replica.branch)
    if tip and not replica.journal.is_empty():
        settle(replica, tip, replica.snapshot(tip), [], Findings(), lambda _: None)


def settle(
    replica: Replica,
    tip: str,
    snapshot: CachedSnapshot,
    members: Sequence[Member],
    known: Findings,
    tell: Callable[[str], None],
) -> Recovered:
    """Find out what became of everything that dead processes of this clone had begun, as this tip shows it.

    One of `members` may take over what such a process had won. `tell` hears of what never reached the hub. Raises TryAgain
    where the journal holds what this bd can't read.
    """
    _refuse_unreadable(replica)
    look = _Look(replica, tip, members, known, tell)
    if not replica.journal.is_empty():
        current = {claim.get("token") for bead in snapshot.claimed() for claim in bead.claims}
        own = {member.uid for member in members}
        for entry in replica.journal.of_the_dead():
            if entry.uid not in own:  # else its author died meanwhile: this very write carries it out
                look.settle(entry, current)
        if not known.looks:  # later on, what is taken was taken by this very write
            replica.journal.put_back()
    return look.result()


def _refuse_unreadable(replica: Replica) -> None:
    """Write nothing beside an entry that this version can't read: a newer one may know what became of its push."""
    unreadable = replica.journal.unreadable()
    if unreadable:
        hint = "update bd in this clone; if `bd doctor` calls the entry damaged, move it out of the folder"
        words = f"this clone's journal has an operation that this bd can't read: {unreadable[0]}"
        raise TryAgain(words, hint=hint, written="unknown")


class _Look:
    """One look at the entries of the dead."""

    def __init__(
        self, replica: Replica, tip: str, members: Sequence[Member], known: Findings, tell: Callable[[str], None]
    ) -> None:
        self._replica = replica
        self._tip = tip
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

    def settle(self, entry: JournalEntry, current: set[Any]) -> None:
        """Find out what became of one operation; `current` are the tokens of the claims that hold at this tip."""
        data, files = entry.data, self._replica.worktree
        commits, tokens = data.get("commits") or [], data.get("tokens") or []
        held = any(token in current for token in tokens)
        if commits and data.get("base") and files:
            files.undo_half(data["base"], commits[-1])
        asked = self._asked(entry)
        has_landed = bool(commits) and self._replica.repo.is_ancestor(commits[-1], self._tip)
        if data["state"] == "won" or held or asked == "done" or has_landed:
            if has_landed:  # else its batch lost, and the verdicts tell
                self._landed += commits[-1:]
                self._pass_on(data, commits)
            self._give_up(entry, is_settled=True)
            if not held or self._is_inherited(data):
                entry.remove()
            elif data["state"] != "won":
                entry.write(state="won")
        elif asked == "waiting":
            return
        elif not commits or data.get("base") != self._tip:
            if entry.uid in self._may_land:  # by the push of a neighbour that had taken it over
                return
            self._give_up(entry)  # nothing was pushed; or somebody else's commit stands where ours had to
            entry.remove()
        elif not self._replica.remote_name:
            # Index and files were moved to a commit that its writer did not live to publish.
            if files:
                files.take_back(commits[-1], data.get("hand") or self._tip)
            entry.remove()
        else:
            self._may_land.update(_pushed(data))

    def _give_up(self, entry: JournalEntry, *, is_settled: bool = False) -> None:
        """Keep what its author was not told of, and name it: what the hub or a neighbour refused, and what never arrived."""
        answer = unpublished.answer_to(self._replica, entry, self._tip, self._heard)
        if answer is None and is_settled:
            return
        note = unpublished.give_up(self._replica, entry, answer)
        if note:
            self._tell(note)

    def _asked(self, entry: JournalEntry) -> str:
        """What became of the requests that the dead one had left on the remote: done, waiting, or empty for nothing."""
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
            # Gone without a verdict proves nothing before the branch was fetched once more.
            entry.write(gone=not listed)
            self._is_unsure = self._is_unsure or not listed
            return "waiting"
        if _may_arrive(data, self._replica.runtime):
            for uid, oid in requests.items():
                self._may_land[uid] = {
                    "asked_on": data.get("asked_on") or "",
                    "intents": {uid: oid},
                    "unanswered_since_s": data["unanswered_since_s"],
                }
            return "waiting"
        return ""

    def _pass_on(self, data: Mapping[str, Any], commits: list[str]) -> None:
        """Its author died before it could answer those whose operations it had carried out."""
        for uid, told in (data.get("batch") or {}).items():
            self._heard[uid] = verdict_trailers.Verdict(commits[-1] if commits else "", told)
            self._replica.journal.answer_for_the_dead(uid, {"commit": commits[-1] if commits else "", "answer": told})

    def _is_inherited(self, data: Mapping[str, Any]) -> bool:
        """Whether an operation takes over what a dead process of the same agent had won: it goes on as another operation."""
        for place, member in enumerate(self._members):
            heir = None if member.uid in self._heirs else member.operation.inheriting(data)
            if heir is not None:
                self._members[place] = member._replace(operation=heir)
                self._heirs.add(member.uid)
                self._inherited.update(data.get("tokens") or [])
                return True
        return False


def _pushed(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What a push of the dead may still bring, by the uids of its batch."""
    pushed = {"base": data.get("base"), "commits": data.get("commits")}
    return dict.fromkeys(data.get("batch") or (), pushed)


def _may_arrive(data: Mapping[str, Any], runtime: Runtime) -> bool:
    """Whether a request that got no answer may still be on its way: a git whose bd has died can go on for a while."""
    since_s = data.get("unanswered_since_s")
    return isinstance(since_s, int) and abs(runtime.now().timestamp() - since_s) < VALID_S


def tell(members: Iterable[Member], findings: Findings) -> tuple[tuple[Member, ...], Findings]:
    """What the dead had asked other clones for, for operations whose authors live: from now on it is these who have asked."""
    left = dict(findings.left)

    def take_over(member: Member) -> Member:
        side = None if member.is_settled else left.pop(member.uid, None)
        if side is None or member.request is not None:
            return member
        return member._replace(request=side.old, asked_on=findings.asked_on[member.uid], misses=0)

    taken = tuple(map(take_over, members))
    return taken, findings._replace(left=left)
