"""Whatever operations do, in whatever order and by whomever: their history audits clean."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BdError
from bd.core.schema import agent_path
from bd.core.times import time_text
from bd.operations.agents import RemoveAgent, RenameAgent
from bd.operations.archive import Archive
from bd.operations.beads import Comment, Delete, Update
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Cancel, Close, Reopen
from bd.operations.create import Create
from bd.operations.fail import DlqRetry, Fail
from bd.operations.hand_edits import Edit
from bd.operations.handoff import Handoff
from bd.operations.heartbeat import Heartbeat, Reassign
from bd.operations.human_wait import Answer, WaitHuman
from bd.operations.spawn import Spawn
from bd.operations.take import Take
from bd.operations.undo import Undo
from bd.report.audit.audit import judge
from bd.report.audit.bead_versions import version_of
from bd.report.audit.rules import BeadChange
from bd.report.audit.steps import Step
from bd.report.commits import Commit
from bd.store.git import commit_message
from tests.memory import MemorySnapshot, MemoryStore, make_bead
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from bd.core.model import Bead, Change
    from bd.operations.base import Operation

BEADS = ("hub-a", "hub-b", "hub-c")
AGENTS = ("ann", "ben")
DRAWN = st.tuples(
    st.sampled_from(
        "claim next reserve resume take start release fail close close-next cancel reopen update assign comment delete "
        "dlq wait answer handoff heartbeat reassign archive undo edit spawn spawn-wait create remove rename mode".split()
    ),
    st.sampled_from(BEADS),
    st.sampled_from(AGENTS),
    st.sampled_from(["own", "own", "none", "stale"]),
    st.booleans(),
    st.integers(0, 3),
)


def a_hub() -> MemoryStore:
    agents = {agent_path(name): {"name": name} for name in AGENTS}
    exclusive = {"exclusive": "repo:site"}
    return MemoryStore(
        make_bead("hub-a", uid="U-a", **exclusive),
        make_bead("hub-b", uid="U-b", **exclusive),
        make_bead("hub-c", uid="U-c", max_attempts=2, claim_mode="advisory"),
        records=agents,
    )


class Chronicle:
    """A hub in memory and its history, as the commits would tell it."""

    def __init__(self) -> None:
        self.store = a_hub()
        self.steps: list[Step] = []
        self.used: list[str] = ["T-old"]
        self._last: dict[str, Any] = {}

    def run(self, operation: Operation) -> None:
        """Carry an operation out; what it refuses leaves no commit."""
        before = self.store.tip
        self.store.now += timedelta(minutes=7)
        try:
            change = self.store.publish(operation)
        except BdError:
            return
        if change.is_empty:
            return
        self.used += [token for token, _ in change.tokens]
        touched = {*change.beads, *change.moves}
        self._last = {name: {"before": fields(before.bead(name)), "after": fields(self.store.tip.bead(name))} for name in touched}
        self.steps.append(self._step(operation, change, before))

    def _step(self, operation: Operation, change: Change, before: MemorySnapshot) -> Step:
        text = commit_message.compose(change, operation.pinned(change, before), tries=1)
        number = len(self.steps)
        parents = (f"c{number}",)
        at = time_text(self.store.now)
        form, trailers = commit_message.form_of(text) or {}, commit_message.parse(text)
        commit = Commit(f"c{number + 1}", parents, at, "Test", text, form, trailers, ((),), at)
        found = tuple(
            BeadChange(name, *(version_of(one.fields) if one else None for one in (before.bead(name), self.store.tip.bead(name))))
            for name in sorted({*change.beads, *change.moves})
        )
        return Step(commit, found)

    def undo(self, asked: dict[str, Any]) -> Operation | None:
        return Undo(words="w", beads=self._last, **asked) if self._last else None

    def tokens(self, bead: str, agent: str, whose: str) -> dict[str, str]:
        """What an asker presents: the token of its own claim, none, or any that was ever used."""
        if whose == "none":
            return {}
        if whose == "stale":
            return {bead: self.used[len(self.steps) % len(self.used)]}
        there = self.store.tip.bead(bead)
        own = [claim["token"] for claim in (there.claims if there else []) if claim["agent"] == agent]
        return {bead: own[0]} if own else {}


def fields(bead: Bead | None) -> dict[str, Any] | None:
    return dict(bead.fields) if bead else None


def operation_of(story: Chronicle, drawn: tuple[str, str, str, str, bool, int]) -> Operation | None:
    """An operation as somebody might ask for it, whether it makes sense or not."""
    kind, bead, agent, whose, force, number = drawn
    asked: dict[str, Any] = {"by": f"agent:{agent}", "at": time_text(story.store.now, exact=True), "runtime": RUNTIME}
    asked["tokens"] = story.tokens(bead, agent, whose)
    forced: dict[str, Any] = {"force": True, "reason": "I say so"} if force else {}
    one = {"ids": [bead], **asked}
    there = story.store.tip.bead(bead)
    if kind in ("edit", "reassign", "mode") and there is None:
        return None
    other = BEADS[(BEADS.index(bead) + 1) % len(BEADS)]
    makers: dict[str, Any] = {
        "claim": lambda: Claim(agent=agent, held_tokens=asked["tokens"], **one),
        "next": lambda: Claim(agent=agent, next=True, count=1 + number % 2, **asked),
        "reserve": lambda: Claim(agent=agent, reserve=True, **one),
        "resume": lambda: Claim(agent=agent, resume=True, **one),
        "take": lambda: Take(agent=agent, reason="mine now", held_tokens=asked["tokens"], **one),
        "start": lambda: Start(**one),
        "release": lambda: Release(**one, **forced),
        "fail": lambda: Fail(**one, **forced | {"reason": "crash", "error": "It broke."}),
        "close": lambda: Close(**one, **forced, output={"data": number}),
        "close-next": lambda: Close(**one, next={"agent": agent}),
        "cancel": lambda: Cancel(**one, **forced, cascade=number > 1),
        "reopen": lambda: Reopen(**one),
        "update": lambda: Update(**one, **forced, status=("blocked", "deferred", "in_progress", "closed")[number]),
        "assign": lambda: Update(**one, **forced, set={"assignee": ("ann", "ben", "ada", None)[number]}),
        "comment": lambda: Comment(**one, text=f"words {number}"),
        "delete": lambda: Delete(**one),
        "dlq": lambda: DlqRetry(**one),
        "wait": lambda: WaitHuman(**one, **forced | {"reason": "Which?"}),
        "answer": lambda: Answer(**one, text="That one."),
        "handoff": lambda: Handoff(**{**one, "ids": [bead, other]}, artifacts=[], note="Go on.", force=force),
        "spawn": lambda: Spawn(**one, new={"title": "More"}),
        "spawn-wait": lambda: Spawn(**one, new={"title": "More"}, wait=True),
        "heartbeat": lambda: Heartbeat(**one),
        "reassign": lambda: Reassign(stalls=[stall_of(there)], **asked),
        "archive": lambda: Archive(older_than_s=60, **asked),
        "undo": lambda: story.undo(asked),
        "edit": lambda: Edit(old=fields(there), new=edited(there, number), **one, **forced),
        "create": lambda: Create(beads=[{"title": "New", "id": bead}], **asked),
        "remove": lambda: RemoveAgent(agent=agent, release=force, **asked),
        "rename": lambda: RenameAgent(agent=agent, to=f"{agent}-{number}", release=force, **asked),
        "mode": lambda: Update(**one, set={"claim_mode": ("advisory", "exclusive")[number % 2]}),
    }
    made: Operation | None = makers[kind]()
    return made


def stall_of(bead: Bead | None) -> dict[str, Any]:
    assert bead is not None
    claim = bead.get("claim") or {}
    since = claim.get("heartbeat_at") or claim.get("started_at") or claim.get("claimed_at") or bead.get("started_at")
    known = {"token": claim.get("token"), "attempt": claim.get("attempt", bead.attempts), "since": since}
    return {"id": bead.id, "why": "silent", "text": "is silent", "beat": None, **known}


def edited(bead: Bead | None, number: int) -> dict[str, Any]:
    """A bead as a person may have typed it."""
    assert bead is not None
    changes = ({"status": "closed"}, {"status": "open", "claim": None}, {"attempts": bead.attempts + 1}, {"owner": "ada@hub"})
    return dict(bead.evolve(**changes[number]).fields)


@given(st.lists(DRAWN, min_size=5, max_size=40))
def test_what_operations_do_audits_clean(drawn: list[tuple[str, str, str, str, bool, int]]) -> None:
    story = Chronicle()
    for one in drawn:
        operation = operation_of(story, one)
        if operation is not None:
            story.run(operation)
    audit = judge(story.steps)
    assert audit.violations == (), [(step.commit.subject, step.commit.form) for step in story.steps]
    assert audit.commits == len(story.steps)
    assert audit.hand_made == ()
