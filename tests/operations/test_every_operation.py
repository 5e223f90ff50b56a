"""What holds for every operation: pure, the same after its way through a commit, and never twice."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bd.core import versions
from bd.core.errors import BdError, NewerFormat, NoSuchBead, OlderAgents
from bd.core.schema import CONFIG_PATH, SIGNERS_PATH, agent_path, capacity_path, trigger_path
from bd.operations.agents import AddAgent, ClearAgent, RemoveAgent, RenameAgent, WakeAgent
from bd.operations.archive import Archive
from bd.operations.base import REGISTRY, Operation
from bd.operations.beads import Comment, Delete, Update, Write
from bd.operations.board import PublishBoard
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Cancel, Close, Reopen
from bd.operations.costs import Cost
from bd.operations.create import Create
from bd.operations.dags import DagAdd
from bd.operations.dependencies import DepAdd, DepRemove
from bd.operations.fail import DlqRetry, DlqReview, Fail
from bd.operations.friction_beads import TellFriction
from bd.operations.hand_edits import Edit, HandCommit
from bd.operations.handoff import Handoff
from bd.operations.heartbeat import Heartbeat, Reassign
from bd.operations.heat import Heat
from bd.operations.human_wait import Answer, WaitHuman
from bd.operations.init import Init
from bd.operations.memories import Forget, Remember
from bd.operations.notify import Notified, Notify
from bd.operations.plan import ApplyPlan
from bd.operations.pools import Retire, ScalePool
from bd.operations.schedules import AddSchedule, RemoveSchedule, RunSchedule
from bd.operations.settings import SetSetting
from bd.operations.signers import Allow, Revoke
from bd.operations.spawn import Spawn
from bd.operations.switches import Pause, SetDuty
from bd.operations.take import Take
from bd.operations.triggers import AddTrigger, RemoveTrigger
from bd.operations.undo import Undo
from bd.operations.upgrade import Upgrade
from bd.operations.validate import Validate
from bd.operations.work_stealing import Rebalance
from tests.memory import CREATED_AT, MemoryStore, held, make_bead
from tests.operations.asking import AT, by, revived

if TYPE_CHECKING:
    from collections.abc import Callable

UIDS = {name: f"01ARZ3NDEKTSV4RRFFQ69G5F{name.upper()}{name.upper()}" for name in "abcdeghkqw"}


BROKE = {"attempt": 3, "agent": "coder", "reason": "crash", "error": "It broke.", "at": CREATED_AT}
DAILY = {"name": "daily", "uid": "u", "cron": "0 9 * * *", "tz": "UTC", "title": "Look", "last_tick": "2026-02-20T09:00:00Z"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMPtnXqCtLQCs/Fp/vzPtTTeZm7u4gp/iLsqGYGJQD3E"


MEMORY = {"text": "Tabs.", "by": "human:Ada", "at": CREATED_AT}
REST = {"until": "2026-02-21T15:01:00Z", "reason": "rate_limit", "account": "agent:tired", "since": "2026-02-21T15:00:00Z"}


def a_hub() -> MemoryStore:
    """Some beads in different states, and the agents coder and other."""
    return MemoryStore(
        make_bead("hub-a", uid=UIDS["a"], labels=["x"], title="Fix a"),
        make_bead("hub-b", uid=UIDS["b"], depends_on=["hub-a"], title="Fix b"),
        make_bead("hub-c", uid=UIDS["c"], parent="hub-b", title="Fix c", notes="first"),
        make_bead("hub-d", uid=UIDS["d"], status="closed", closed_by="human:Ada", title="Fix d"),
        make_bead("hub-e", uid=UIDS["e"], status="deferred", title="Fix e"),
        make_bead("hub-w", uid=UIDS["w"], status="blocked", waiting_on="human", prefer_agent="coder", title="Fix w"),
        make_bead("hub-k", uid=UIDS["k"], idempotency_key="spent", title="Fix k"),
        make_bead("hub-q", uid=UIDS["q"], assignee="failing", title="Fix q"),
        make_bead("hub-g", uid=UIDS["g"], status="dead_letter", attempts=3, title="Fix g", notified=NOTIFIED, failures=[BROKE]),
        held("hub-h", "coder", "t-h", uid=UIDS["h"], title="Fix h", claim={"started_at": None}),
        records={
            CONFIG_PATH: {"format": versions.FORMAT, "prefix": "hub", "schedules": [DAILY], "memories": {"tabs": MEMORY}},
            trigger_path("old"): {"name": "old", "on": "file:x", "plan": [{"name": "root", "title": "Look"}]},
            agent_path("swarm"): {"name": "swarm", "pool": {"max": 3}},
            agent_path("coder"): {"name": "coder", "role": "coding", "max_concurrent": 5, "may": ["remember"]},
            SIGNERS_PATH: {"lines": [f"other {KEY[:-4]}AAAA their key"]},
            capacity_path("coder"): {"agent": "coder", "status": "available", "current_tasks": 1, "max_concurrent": 5},
            capacity_path("tired"): {"agent": "tired", "rest": REST},
            capacity_path("failing"): {"agent": "failing", "status": "offline", "recent": ["failed", "failed"]},
            capacity_path("resting"): {"agent": "resting", "idle": True, "idle_since": CREATED_AT, "last_heartbeat": AT},
        },
    )


class Case(NamedTuple):
    """An operation and what it needs of its kind."""

    make: Callable[[], Operation]
    # Whether deciding again on its own result has to say "done"; a change without a name of its own may be refused then.
    has_name: bool = True


ARTIFACTS = [{"name": "report.md", "ref": "artifacts/a/report.md"}, {"name": "site", "ref": "https://x.org"}]
STALL = {"id": "hub-h", "token": "t-h", "attempt": 1, "why": "silent", "text": "is silent", "since": CREATED_AT, "beat": None}
NOTIFIED = {"key": "U/hub-g", "by": "agent:reader", "at": CREATED_AT, "right": "R", "tries": 1}
BEFORE = dict(make_bead("hub-a", uid=UIDS["a"], labels=["x"], title="Fix a").fields)
CASES: dict[str, Case] = {
    "heartbeat": Case(lambda: Heartbeat(ids=["hub-h"], **by("coder", hub_h="t-h"))),
    "reassign": Case(lambda: Reassign(stalls=[STALL], **by("coder"))),
    "create": Case(lambda: Create(beads=[{"title": "New", "type": "bug", "labels": ["y"]}], **by())),
    "create below a parent": Case(lambda: Create(beads=[{"title": "New", "parent": "hub-a"}], **by())),
    "create a plan": Case(
        lambda: Create(
            beads=[
                {"name": "one", "title": "One", "deps": ["two", "blocks:hub-c", "discovered-from:hub-a"]},
                {"name": "two", "title": "Two", "deps": ["parent-child:hub-a"]},
                {"name": "three", "title": "Three", "parent": "two"},
            ],
            **by(),
        )
    ),
    "plan": Case(
        lambda: ApplyPlan(
            beads=[
                {"name": "root", "title": "All", "type": "epic", "deps": ["last"], "idempotency_key": "k"},
                {"name": "last", "title": "Last", "deps": ["first", "hub-a"], "parent": "root"},
                {"name": "first", "title": "First", "parent": "root"},
            ],
            **by(),
        )
    ),
    "plan around beads": Case(
        lambda: ApplyPlan(beads=[{"name": "root", "title": "All", "type": "epic"}], gathers=["a", "hub-b", "hub-c"], **by())
    ),
    "dag add": Case(lambda: DagAdd(ids=["hub-e", "a", "hub-b", "hub-c"], **by())),
    "cancel a tree": Case(lambda: Cancel(ids=["hub-b"], reason="no", tree=True, **by()), has_name=False),
    "delete what has a key": Case(lambda: Delete(ids=["hub-k"], **by()), has_name=False),
    "create with an id": Case(lambda: Create(beads=[{"title": "New", "id": "hub-mine"}], **by())),
    "create with a key": Case(lambda: Create(beads=[{"title": "New", "idempotency_key": "k"}], **by())),
    "update": Case(lambda: Update(ids=["a"], set={"title": "Other", "assignee": "reader", "deadline": "2h"}, add={"labels": ["z"]}, **by())),
    "update a parent": Case(lambda: Update(ids=["hub-e"], set={"parent": "hub-a"}, **by())),
    "update a status": Case(lambda: Update(ids=["hub-a", "hub-b"], status="blocked", reason="why", **by())),
    "update metadata": Case(lambda: Update(ids=["hub-a"], metadata={"k": {"deep": [1]}, "gone": None}, **by())),
    "append": Case(lambda: Update(ids=["hub-c"], append={"notes": "second"}, **by()), has_name=False),
    "comment": Case(lambda: Comment(ids=["hub-a"], text=" Hello. ", **by())),
    "heat": Case(lambda: Heat(ids=["a", "hub-d", "hub-h"], degrees=25, **by())),
    "heat by default": Case(lambda: Heat(ids=["hub-a"], **by())),
    "delete": Case(lambda: Delete(ids=["hub-a"], **by()), has_name=False),
    "config-set": Case(lambda: SetSetting(path=["defaults", "expected", "code"], value="3h", **by())),
    "write": Case(lambda: Write(records={agent_path("new"): {"name": "new", "role": "research"}}, files={".beads/x": "y"}, **by())),
    "claim": Case(lambda: Claim(agent="coder", ids=["a"], host="h1", **by())),
    "claim the next": Case(lambda: Claim(agent="coder", next=True, count=2, **by())),
    "reserve": Case(lambda: Claim(agent="coder", ids=["hub-a"], reserve=True, **by())),
    "resume": Case(lambda: Claim(agent="coder", ids=["hub-h"], resume=True, **by())),
    "take": Case(lambda: Take(agent="reader", ids=["a", "hub-h"], reason="late", **by("reader"))),
    "start": Case(lambda: Start(ids=["hub-h"], **by(hub_h="t-h"))),
    "release": Case(lambda: Release(ids=["hub-h"], reason="broken", **by(hub_h="t-h")), has_name=False),
    "fail": Case(lambda: Fail(ids=["hub-h"], reason="crash", error="It broke.", cost_usd=0.5, **by(hub_h="t-h"))),
    "cost": Case(lambda: Cost(ids=["hub-h"], usd=0.5, token_counts={"input": 9, "output": 1}, model="m", **by(hub_h="t-h"))),
    "fail for good": Case(lambda: Fail(ids=["hub-h"], reason="cancelled", error="No.", **by(hub_h="t-h"))),
    "dlq retry": Case(lambda: DlqRetry(ids=["hub-g"], reason="mended", **by())),
    "validate": Case(lambda: Validate(ids=["hub-h"], output={"data": 1}, **by(hub_h="t-h"))),
    "dlq review": Case(lambda: DlqReview(ids=["hub-g"], note="seen", **by())),
    "dlq cancel": Case(lambda: Cancel(ids=["hub-g"], reason="no", resolution="cancel", **by()), has_name=False),
    "notify": Case(lambda: Notify(ids=["hub-g"], **by(at="2026-02-21T16:00:00Z"))),
    "notified": Case(lambda: Notified(ids=["hub-g"], right="R", **by(at="2026-02-21T16:00:00Z"))),
    "close": Case(lambda: Close(ids=["hub-a", "hub-h"], reason="Done", **by(hub_h="t-h"))),
    "close and next": Case(lambda: Close(ids=["hub-h"], next={"agent": "coder"}, **by(hub_h="t-h"))),
    "reopen": Case(lambda: Reopen(ids=["hub-d"], reason="not done", **by())),
    "cancel": Case(lambda: Cancel(ids=["hub-a"], reason="no", cascade=True, **by()), has_name=False),
    "cancel and unblock": Case(lambda: Cancel(ids=["hub-a"], unblock=True, **by()), has_name=False),
    "wait-human": Case(lambda: WaitHuman(ids=["hub-h"], reason="Which?", **by(hub_h="t-h"))),
    "wait-human on an open one": Case(lambda: WaitHuman(ids=["a"], reason="Which?", **by())),
    "answer": Case(lambda: Answer(ids=["w"], text="That one.", **by())),
    "handoff": Case(lambda: Handoff(ids=["hub-h", "a"], artifacts=ARTIFACTS, note="Go on.", **by(hub_h="t-h"))),
    "archive": Case(lambda: Archive(older_than_s=3600, **by())),
    "trigger add": Case(
        lambda: AddTrigger(trigger={"name": "new", "on": "dag:a", "plan": [{"name": "root", "title": "{event.title}"}]}, **by())
    ),
    "trigger remove": Case(lambda: RemoveTrigger(name="old", **by()), has_name=False),
    "schedule add": Case(lambda: AddSchedule(schedule={"name": "new", "cron": "0 9 * * 1", "title": "Look", "type": "bug"}, **by())),
    "schedule remove": Case(lambda: RemoveSchedule(name="daily", **by()), has_name=False),
    "schedule run": Case(lambda: RunSchedule(name="daily", **by())),
    "friction": Case(lambda: TellFriction(window_s=1e9, rate=0.1, least=1, **by())),
    "spawn": Case(lambda: Spawn(ids=["hub-h"], new={"title": "More", "type": "bug"}, **by("coder", hub_h="t-h"))),
    "spawn and wait": Case(
        lambda: Spawn(ids=["hub-h"], new={"title": "More", "deps": ["a"]}, wait=True, **by("coder", hub_h="t-h"))
    ),
    "handoff to a new one": Case(lambda: Handoff(ids=["hub-a"], new={"title": "More", "assignee": "other"}, artifacts=ARTIFACTS, **by())),
    "dep add": Case(lambda: DepAdd(ids=["hub-e", "hub-a"], kind="blocks", **by())),
    "dep add a link": Case(lambda: DepAdd(ids=["hub-e", "hub-a"], kind="related", **by())),
    "dep remove": Case(lambda: DepRemove(ids=["hub-b", "hub-a"], **by())),
    "agent add": Case(lambda: AddAgent(agent="new", fields={"role": "coding"}, skills={"labels": ["x/*"]}, **by())),
    "agent add to one": Case(lambda: AddAgent(agent="coder", fields={"interval": "5m"}, **by())),
    "agent remove": Case(lambda: RemoveAgent(agent="coder", release=True, **by()), has_name=False),
    "agent rename": Case(lambda: RenameAgent(agent="coder", to="gibbon", release=True, **by()), has_name=False),
    "agent clear": Case(lambda: ClearAgent(agent="failing", **by())),
    "agent wake": Case(lambda: WakeAgent(agent="tired", **by())),
    "remember": Case(lambda: Remember(text="The tests need port 80", **by())),
    "forget": Case(lambda: Forget(key="tabs", **by()), has_name=False),
    "drain": Case(lambda: SetDuty(agent="coder", duty="draining", known=True, **by())),
    "online": Case(lambda: SetDuty(agent="failing", duty="available", ends="offline", **by())),
    "board": Case(lambda: PublishBoard(path="BOARD.md", text="# hub", **by())),
    "pause": Case(lambda: Pause(reason="moving", **by())),
    "undo": Case(lambda: Undo(words="w", beads={"hub-a": {"before": {**BEFORE, "title": "Was"}, "after": BEFORE}}, **by()), has_name=False),
    "pool scale": Case(lambda: ScalePool(pool="swarm", to="2", **by())),
    "pool retire": Case(lambda: Retire(agent="coder", reason="drained", **by(hub_h="t-h"))),
    "rebalance": Case(lambda: Rebalance(**by())),
    "init": Case(lambda: Init(prefix="hub", **by())),
    "let in": Case(lambda: Allow(agent="coder", key=KEY, **by())),
    "let out": Case(lambda: Revoke(agent="other", **by())),
    "upgrade": Case(lambda: Upgrade(**by())),
}  # fmt: skip
# Their commits name no arguments: a replay reads them off the difference.
BY_DIFFERENCE: dict[str, Case] = {
    "edit": Case(lambda: Edit(ids=["hub-a"], old=BEFORE, new={**BEFORE, "title": "Other", "labels": ["x", "y"]}, **by())),
    "edit a new one": Case(
        lambda: Edit(
            ids=["hub-n"], old=None, new={"id": "hub-n", "title": "N", "type": "task", "status": "open"}, new_uid="u", **by()
        )
    ),
    "a commit by hand": Case(
        lambda: HandCommit(edits=[{"id": "hub-a", "old": BEFORE, "new": {**BEFORE, "notes": "n"}}], files={}, **by())
    ),
}


def test_every_verb_is_tried() -> None:
    import bd.operations.registry

    assert bd.operations.registry
    tried = {case.make().verb for case in [*CASES.values(), *BY_DIFFERENCE.values()]}
    assert REGISTRY.keys() - tried <= {"import", "resume"}, "they have tests of their own"


def test_who_may_end_the_claim_of_another_knows_the_notes_on_it() -> None:
    harmless = {verb for verb, kind in REGISTRY.items() if "force" in kind.takes and not kind.force_ends_claims}
    assert harmless == {"claim", "create", "plan-apply", "upgrade"}, "their `force` overrules other rules"


@pytest.mark.parametrize("name", [*CASES, *BY_DIFFERENCE])
def test_deciding_does_not_change_the_snapshot(name: str) -> None:
    """Nor the operation: test_frozen.py."""
    store, operation = a_hub(), {**CASES, **BY_DIFFERENCE}[name].make()
    beads = deepcopy({bead.id: dict(store.bead(bead.id).fields) for bead in store.tip.every()})
    first = store.decide(operation)
    assert store.decide(operation) == first, "the second decision is the first"
    assert {bead.id: dict(store.bead(bead.id).fields) for bead in store.tip.every()} == beads


@pytest.mark.parametrize("name", CASES)
def test_every_verb_can_be_asked_for_a_bead_by_its_uid(name: str) -> None:
    store, operation = a_hub(), CASES[name].make()
    assert operation.known_by_uid("hub-a", store.tip) is None


@pytest.mark.parametrize("name", [*CASES, *BY_DIFFERENCE])
def test_a_change_is_told_in_words(name: str) -> None:
    store, operation = a_hub(), {**CASES, **BY_DIFFERENCE}[name].make()
    change = store.decide(operation)
    if name in ("init", "upgrade"):
        assert change.is_empty, "the hub is there, and of this format"
        return
    assert not change.is_empty
    assert change.subject.startswith(f"{operation.verb}: ")
    assert f" by {operation.agent}" in change.subject
    assert "\n" not in change.subject
    for bead_id, bead in change.beads.items():
        assert bead is None or bead.id == bead_id
        before = store.tip.bead(bead_id)
        assert bead != before, "only what differs is written"
        if bead is not None and before is not None:
            assert bead.updated_at > before.updated_at, "updated_at moves with every visible change"


@pytest.mark.parametrize("name", CASES)
def test_revived_from_its_commit_it_decides_the_same(name: str) -> None:
    store, operation = a_hub(), CASES[name].make()
    change = store.decide(operation)
    again = revived(operation.pinned(change, store.tip))
    assert type(again) is type(operation)
    assert (again.uid, again.by, again.at) == (operation.uid, operation.by, operation.at)
    second = store.decide(again)
    assert second.beads == change.beads
    assert second.records == change.records
    assert (second.files, second.moves) == (change.files, change.moves)
    assert (second.subject, second.touched, second.tokens) == (change.subject, change.touched, change.tokens)


@pytest.mark.parametrize("name", CASES)
def test_revived_twice_is_revived_once(name: str) -> None:
    """A replay's commit can be replayed again."""
    store, operation = a_hub(), CASES[name].make()
    form = operation.pinned(store.decide(operation), store.tip)
    for _ in range(2):
        again = revived(form)
        before, form = form, again.pinned(store.decide(again), store.tip)
    assert form == before


@pytest.mark.parametrize("name", [*CASES, *BY_DIFFERENCE])
def test_nothing_takes_effect_twice(name: str) -> None:
    """Decided again where its result already lies: done, or refused; never a second effect."""
    case = {**CASES, **BY_DIFFERENCE}[name]
    store, operation = a_hub(), case.make()
    change = store.publish(operation)
    if not case.has_name:
        if name == "append":
            return  # has no name; the transaction knows it by the operation's uid in the log
        with pytest.raises(BdError):
            store.decide(operation)
        return
    again = store.decide(operation)
    assert again.is_empty or all(store.tip.bead(bead_id) == bead for bead_id, bead in again.beads.items())
    if name in CASES and name not in ("archive", "pool retire"):  # which only say what they do now
        assert again.touched == change.touched
    assert again.tokens == change.tokens, "what was won is handed out again"


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CASES
        if name not in ("wait-human", "board")
        and not name.startswith(
            (
                "create",
                "claim the",
                "dep remove",
                "resume",
                "start",
                "release",
                "close and",
                "append",
                "reopen",
                "undo",
                "init",
                "upgrade",
                "let ",
                "write",
                "config-set",
                "update a parent",
                "agent",
                "drain",
                "online",
                "pause",
                "answer",
                "archive",
                "fail",
                "dlq",
                "cost",
                "notify",
                "notified",
                "validate",
                "heartbeat",
                "reassign",
                "rebalance",
                "pool",
                "plan",
                "friction",
                "trigger",
                "schedule",
                "spawn",
                "cancel a tree",
                "delete what",
                "remember",
                "forget",
            )
        )
    ],
)
def test_a_bead_whose_id_was_minted_anew_is_found_by_its_uid(name: str) -> None:
    """Two clones made hub-a at once; this one's became hub-a9, and its later operations follow it."""
    store, operation = a_hub(), CASES[name].make()
    form = operation.pinned(store.decide(operation), store.tip)
    assert form["args"]["uids"]["hub-a"] == UIDS["a"]
    minted_anew(store)
    change = store.decide(revived(form))
    assert "hub-a9" in change.touched
    assert "hub-a" not in change.beads


def minted_anew(store: MemoryStore) -> None:
    """Our hub-a is now hub-a9, because somebody else's bead has its id."""
    ours = store.bead("hub-a").evolve(id="hub-a9")
    store.put(make_bead("hub-a", uid="01BX5ZZKBKACTAV9WEVGEMMVRZ", title="Somebody else's"), ours)


@pytest.mark.parametrize(
    ("operation", "edge"),
    [
        (Create(beads=[{"title": "New", "parent": "a"}], **by()), "parent"),
        (Create(beads=[{"title": "New", "depends_on": ["hub-a"]}], **by()), "depends_on"),
        (Create(beads=[{"title": "New", "deps": ["a"]}], **by()), "depends_on"),
        (Create(beads=[{"title": "New", "deps": ["discovered-from:hub-a"]}], **by()), "links"),
        (Create(beads=[{"title": "New", "deps": ["parent-child:hub-a"]}], **by()), "parent"),
        (Update(ids=["hub-e"], set={"parent": "hub-a"}, **by()), "parent"),
        (DepAdd(ids=["hub-e", "hub-a"], **by()), "depends_on"),
        (DepAdd(ids=["hub-e", "hub-a"], kind="related", **by()), "links"),
    ],
)  # fmt: skip
def test_edges_follow_a_bead_whose_id_was_minted_anew(operation: Operation, edge: str) -> None:
    store = a_hub()
    form = operation.pinned(store.decide(operation), store.tip)
    minted_anew(store)
    again = revived(form).renamed({"hub-a": "hub-a9"})
    change = store.decide(again)
    (bead,) = change.beads.values()
    assert bead is not None
    named = {"parent": [bead.parent], "depends_on": bead.depends_on, "links": [link.id for link in bead.links]}[edge]
    assert named == ["hub-a9"]


NAMING = {
    "parent": Create(beads=[{"title": "New", "parent": "a"}], **by()),
    "depends_on": Create(beads=[{"title": "New", "depends_on": ["hub-a"]}], **by()),
    "deps": Create(beads=[{"title": "New", "deps": ["discovered-from:a"]}], **by()),
    "links": Create(beads=[{"title": "New", "links": [{"type": "related", "id": "hub-a"}]}], **by()),
    "references": Create(beads=[{"title": "New", "spec": {"context_refs": ["task:hub-a:output"]}}], **by()),
    "a plan": ApplyPlan(beads=[{"title": "Root", "name": "root"}, {"title": "Task", "name": "t", "depends_on": ["a"]}], **by()),
    "update": Update(ids=["hub-e"], set={"parent": "a"}, **by()),
    "dep add": DepAdd(ids=["hub-e", "a"], **by()),
    "a schedule": AddSchedule(schedule={"name": "s", "cron": "0 * * * *", "title": "x", "parent": "a"}, **by()),
    "a trigger": AddTrigger(trigger={"name": "t", "on": "dag:a", "plan": [{"title": "x", "name": "x"}]}, **by()),
}


@pytest.mark.parametrize("others", ["a child alone", "another one of the id"])
@pytest.mark.parametrize("name", NAMING)
def test_what_names_a_bead_that_is_gone_means_no_other(name: str, others: str) -> None:
    """Neither the bead whose id begins so, nor the one that has the id by now."""
    store, operation = a_hub(), NAMING[name]
    form = operation.pinned(store.decide(operation), store.tip)
    store.publish(Delete(ids=["hub-a"], **by()))
    kid = make_bead("hub-a.kid", uid="01BX5ZZKBKACTAV9WEVGEMMVRZ", title="A child")
    store.put(kid if others == "a child alone" else make_bead("hub-a", uid="01BX5ZZKBKACTAV9WEVGEMMVRZ", title="Another"))
    with pytest.raises(NoSuchBead):
        store.decide(revived(form))
    if others == "a child alone" and name not in ("links", "references"):  # nothing is looked up there without a uid
        older = {**form, "args": {**{key: value for key, value in form["args"].items() if key != "uids"}, "is_exact": True}}
        with pytest.raises(NoSuchBead):  # a commit of a bd that named none
            store.decide(revived(older))


@pytest.mark.parametrize("name", CASES)
def test_every_bead_that_is_named_is_named_by_its_uid(name: str) -> None:
    store, operation = a_hub(), CASES[name].make()
    form = operation.pinned(store.decide(operation), store.tip)
    for bead_id in operation.named_in(form["args"]):
        bead = store.tip.bead(bead_id)
        assert bead is None or bead.uid is None or form["args"]["uids"][bead_id] == bead.uid


def test_removing_an_edge_follows_too() -> None:
    store, operation = a_hub(), DepRemove(ids=["hub-b", "hub-a"], **by())
    form = operation.pinned(store.decide(operation), store.tip)
    minted_anew(store)
    store.put(store.bead("hub-b").evolve(depends_on=["hub-a9", "hub-a"]))
    again = revived(form).renamed({"hub-a": "hub-a9"})
    change = store.decide(again)
    assert [bead and bead.depends_on for bead in change.beads.values()] == [["hub-a"]]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "ids" in case.make().args])
def test_what_is_not_there_is_said_so(name: str) -> None:
    operation = CASES[name].make()
    store = MemoryStore()
    with pytest.raises(BdError) as refusal:
        store.decide(operation)
    assert refusal.value.exit_code == 4
    assert not store.subjects


def test_at_is_when_it_was_asked_for_however_late_it_is_decided() -> None:
    store = a_hub()
    store.now = store.now.replace(hour=20)
    change = store.decide(Create(beads=[{"title": "New"}], **by()))
    (bead,) = change.beads.values()
    assert bead is not None
    assert (bead.created_at, bead.updated_at) == (AT, AT)


def test_a_hub_is_made_once() -> None:
    store = MemoryStore()
    made = Init(prefix="hub", fields={"domain": "d"}, **by())
    assert store.decide(made).is_empty
    from bd.store.empty_snapshot import EMPTY

    change = made.decide(EMPTY, store.context)
    assert change.records == {CONFIG_PATH: {"format": versions.FORMAT, "prefix": "hub", "domain": "d"}}
    assert made.decide(EMPTY, store.context) == change


def test_one_failure_of_many_is_told_and_the_rest_is_done() -> None:
    store = a_hub()
    change = store.publish(Update(ids=["hub-a", "hub-none", "hub-c"], set={"priority": 1}, **by()))
    assert change.touched == ("hub-a", "hub-c")
    assert [failure["id"] for failure in change.failures] == ["hub-none"]
    assert change.failures[0]["exit_code"] == 4


def test_when_all_fail_the_first_failure_is_the_answer() -> None:
    with pytest.raises(BdError) as refusal:
        a_hub().decide(Close(ids=["hub-none", "hub-h"], **by("other")))
    assert refusal.value.exit_code == 4


def test_a_bead_named_twice_is_done_once() -> None:
    change = a_hub().decide(Update(ids=["hub-a", "a", "hub-a"], append={"notes": "x"}, **by()))
    assert change.touched == ("hub-a",)
    bead: Any = change.beads["hub-a"]
    assert bead.get("notes") == "x"


def test_an_older_hub_is_brought_forward_with_all_its_settings() -> None:
    store = MemoryStore(records={CONFIG_PATH: {"format": versions.FORMAT - 1, "prefix": "hub", "owner": "x"}})
    change = store.publish(Upgrade(**by()))
    assert change.records == {CONFIG_PATH: {"format": versions.FORMAT, "prefix": "hub", "owner": "x"}}
    assert change.subject == f"upgrade: the hub from format {versions.FORMAT - 1} to {versions.FORMAT} by coder"
    assert store.decide(Upgrade(**by())).is_empty, "two of them upgrade once"


@pytest.mark.parametrize("required", ["0.9.0", "odd", None])
def test_a_format_shuts_out_no_live_agent_whatever_the_hub_required(required: str | None) -> None:
    old = {"agent": "old", "version": "0.9.0", "last_heartbeat": AT}
    config = {"format": versions.FORMAT - 1, "prefix": "hub", **({"min_version": required} if required else {})}
    store = MemoryStore(records={CONFIG_PATH: config, capacity_path("old"): old})
    with pytest.raises(OlderAgents) as refusal:
        store.decide(Upgrade(**by()))
    assert refusal.value.data["agents"] == {"old": "0.9.0"}


def test_a_newer_hub_is_not_brought_back() -> None:
    store = MemoryStore(records={CONFIG_PATH: {"format": versions.FORMAT + 1, "prefix": "hub"}})
    with pytest.raises(NewerFormat):
        store.decide(Upgrade(**by()))
