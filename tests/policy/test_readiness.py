"""Phases: which beads are ready, which are not, and why. Tables of cases."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.model import Bead
from bd.policy.readiness import PHASES, Readiness, status_now
from bd.policy.work_queue import phases, ready_beads
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

PAST, FUTURE = "2026-02-21T14:59:59Z", "2026-02-21T15:00:01Z"
NOW_TEXT = "2026-02-21T15:00:00Z"


def where(bead: Bead, *others: Bead) -> tuple[str, list[str]]:
    """The bead's phase and the codes of its reasons."""
    found = Readiness(MemorySnapshot([bead, *others]), START).standing(bead)
    return found.phase, [reason.code for reason in found.reasons]


@pytest.mark.parametrize(
    ("fields", "phase"),
    [
        ({}, "ready"),
        ({"status": "in_progress"}, "running"),
        ({"status": "validating"}, "validating"),
        ({"status": "blocked"}, "parked"),
        ({"status": "blocked", "waiting_on": "human"}, "parked"),
        ({"status": "pinned"}, "parked"),
        ({"status": "hooked"}, "parked"),
        ({"status": "on_ice"}, "parked"),
        ({"status": "closed"}, "completed"),
        ({"status": "cancelled"}, "cancelled"),
        ({"status": "dead_letter"}, "dead_lettered"),
        ({"status": "deferred"}, "pending"),
        ({"status": "deferred", "defer_until": FUTURE}, "pending"),
        ({"status": "deferred", "defer_until": NOW_TEXT}, "ready"),
        ({"status": "deferred", "defer_until": PAST}, "ready"),
        ({"defer_until": FUTURE}, "pending"),
        ({"defer_until": PAST}, "ready"),
        ({"retry_at": FUTURE}, "retrying"),
        ({"retry_at": NOW_TEXT}, "ready"),
        ({"retry_at": PAST}, "ready"),
        ({"retry_at": FUTURE, "depends_on": ["hub-b"]}, "pending"),
        ({"type": "gate"}, "parked"),
        ({"type": "merge-request"}, "parked"),
        ({"type": "epic"}, "ready"),
        ({"assignee": "somebody"}, "ready"),
    ],
)
def test_the_phase_of_one_bead(fields: dict[str, Any], phase: str) -> None:
    other = make_bead("hub-b")
    found, codes = where(make_bead(**fields), other)
    assert found == phase
    assert bool(codes) == (phase != "ready")


def test_a_claim_runs_once_it_is_started() -> None:
    assert where(held())[0] == "running"
    assert where(held(claim={"started_at": None}))[0] == "claimed"
    assert where(make_bead(claim=held().get("claim")))[0] == "running", "a claim counts whatever the status says"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("open", "waits_on"),
        ("in_progress", "waits_on"),
        ("blocked", "waits_on"),
        ("deferred", "waits_on"),
        ("validating", "waits_on"),
        ("on_ice", "waits_on"),
        ("cancelled", "dependency_ended"),
        ("dead_letter", "dependency_ended"),
        ("closed", None),
        ("pinned", None),
    ],
)
@pytest.mark.parametrize("edge", ["depends_on", "conditional-blocks", "waits-for"])
def test_a_dependency_blocks_until_it_is_closed(status: str, code: str | None, edge: str) -> None:
    fields: dict[str, Any] = {edge: ["hub-b"]} if edge == "depends_on" else {"links": [{"type": edge, "id": "hub-b"}]}
    phase, codes = where(make_bead(**fields), make_bead("hub-b", status=status))
    assert (phase, codes) == (("pending", [code]) if code else ("ready", []))


@pytest.mark.parametrize("kind", ["related", "discovered-from", "duplicates", "supersedes", "caused-by"])
def test_other_links_only_inform(kind: str) -> None:
    assert where(make_bead(links=[{"type": kind, "id": "hub-b"}]), make_bead("hub-b"))[0] == "ready"


def test_an_archived_dependency_is_closed() -> None:
    bead, old = make_bead(depends_on=["hub-old"]), make_bead("hub-old", status="closed")
    assert Readiness(MemorySnapshot([bead, old], archived=["hub-old"]), START).standing(bead).phase == "ready"


def test_a_dependency_that_does_not_exist_blocks_and_is_named() -> None:
    bead = make_bead(depends_on=["hub-gone"])
    found = Readiness(MemorySnapshot([bead]), START).standing(bead)
    assert found.phase == "pending"
    assert [(reason.code, reason.by) for reason in found.reasons] == [("unknown_dependency", "hub-gone")]


def test_every_dependency_that_holds_back_is_a_reason() -> None:
    bead = make_bead(depends_on=["hub-b", "hub-c", "hub-d"], defer_until=FUTURE)
    others = [make_bead("hub-b"), make_bead("hub-c", status="closed"), make_bead("hub-d", status="cancelled")]
    assert where(bead, *others) == ("pending", ["deferred", "waits_on", "dependency_ended"])


# --- what parents hand down -----------------------------------------------------------------

PARENTS: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"status": "in_progress"}, None),
    ({"status": "validating"}, None),
    ({"status": "pinned"}, None),
    ({"status": "closed"}, None),
    ({"status": "dead_letter"}, None),
    ({"retry_at": FUTURE}, None),
    ({"status": "blocked"}, "parent_blocked"),
    ({"status": "cancelled"}, "parent_cancelled"),
    ({"status": "deferred"}, "deferred"),
    ({"status": "deferred", "defer_until": FUTURE}, "deferred"),
    ({"status": "deferred", "defer_until": PAST}, None),
    ({"defer_until": FUTURE}, "deferred"),
    ({"defer_until": FUTURE, "status": "closed"}, None),
    ({"depends_on": ["hub-open"]}, "parent_waits"),
    ({"depends_on": ["hub-done"]}, None),
    ({"depends_on": ["hub-ended"]}, "parent_waits"),
    ({"depends_on": ["hub-none"]}, "parent_waits"),
    ({"links": [{"type": "waits-for", "id": "hub-open"}]}, "parent_waits"),
    ({"links": [{"type": "related", "id": "hub-open"}]}, None),
]


@pytest.mark.parametrize(("fields", "code"), PARENTS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_a_parent_hands_down(fields: dict[str, Any], code: str | None, depth: int) -> None:
    """The truth table of inheritance: the same for a child, a grandchild and below."""
    top = make_bead("hub-top", type="epic", **fields)
    between = [make_bead(f"hub-m{level}", parent=f"hub-m{level - 1}" if level > 1 else "hub-top") for level in range(1, depth)]
    child = make_bead(parent=between[-1].id if between else "hub-top")
    others = [make_bead("hub-open"), make_bead("hub-done", status="closed"), make_bead("hub-ended", status="cancelled")]
    phase, codes = where(child, top, *between, *others)
    assert (phase, codes) == (("pending", [code]) if code else ("ready", []))


def test_a_parent_that_does_not_exist_holds_nothing_back() -> None:
    assert where(make_bead(parent="hub-gone"))[0] == "ready"


def test_the_reason_names_the_parent_and_what_it_waits_on() -> None:
    task = make_bead("hub-t", parent="hub-epic2")
    epics = [make_bead("hub-epic1", type="epic"), make_bead("hub-epic2", type="epic", depends_on=["hub-epic1"])]
    found = Readiness(MemorySnapshot([task, *epics]), START).standing(task)
    assert [(reason.code, reason.by) for reason in found.reasons] == [("parent_waits", "hub-epic1")]
    assert "hub-epic2" in found.reasons[0].text
    assert "hub-epic1" in found.reasons[0].text


def test_closing_what_the_parent_waits_on_frees_the_child() -> None:
    task = make_bead("hub-t", parent="hub-epic2")
    epics = [make_bead("hub-epic1", status="closed"), make_bead("hub-epic2", depends_on=["hub-epic1"])]
    assert where(task, *epics)[0] == "ready"


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked"])
def test_an_epic_that_waits_for_its_own_children_never_blocks_them(status: str) -> None:
    epic = make_bead("hub-epic", type="epic", depends_on=["hub-one", "hub-deep"])
    one = make_bead("hub-one", parent="hub-epic", status=status)
    two = make_bead("hub-two", parent="hub-epic")
    deep = make_bead("hub-deep", parent="hub-two")
    snapshot = MemorySnapshot([epic, one, two, deep])
    ready = {bead.id for bead in ready_beads(snapshot, START)}
    assert {"hub-two", "hub-deep"} <= ready
    assert "hub-epic" not in ready


def test_an_epic_that_waits_for_the_whole_tree_above_it_blocks_its_children() -> None:
    """Only a wait for one's own tree is not handed down; a wait for a bead elsewhere is."""
    root = make_bead("hub-root", type="epic")
    side = make_bead("hub-side", parent="hub-root")
    epic = make_bead("hub-epic", parent="hub-root", depends_on=["hub-side"])
    task = make_bead("hub-task", parent="hub-epic")
    assert where(task, root, side, epic) == ("pending", ["parent_waits"])


def test_a_loop_of_parents_ends() -> None:
    one, two = make_bead("hub-a", parent="hub-b"), make_bead("hub-b", parent="hub-a")
    assert where(one, two)[0] == "ready"


# --- lists ----------------------------------------------------------------------------------


def test_every_live_bead_is_in_one_phase_in_the_order_of_work() -> None:
    beads = [
        make_bead("hub-late", created_at="2026-02-21T10:00:00Z"),
        make_bead("hub-early", created_at="2026-02-20T10:00:00Z"),
        make_bead("hub-urgent", priority=0),
        make_bead("hub-waits", depends_on=["hub-late"]),
        make_bead("hub-done", status="closed"),
        held("hub-held"),
    ]
    found = phases(MemorySnapshot(beads), START)
    assert tuple(found) == PHASES
    assert [bead.id for bead in found["ready"]] == ["hub-urgent", "hub-early", "hub-late"]
    assert [bead.id for bead in found["pending"]] == ["hub-waits"]
    assert [bead.id for bead in found["running"]] == ["hub-held"]
    assert not found["completed"], "what is done is not live"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": "deferred"}, "deferred"),
        ({"status": "deferred", "defer_until": FUTURE}, "deferred"),
        ({"status": "deferred", "defer_until": PAST}, "open"),
        ({"status": "blocked", "defer_until": PAST}, "blocked"),
        ({"status": "open", "defer_until": FUTURE}, "open"),
    ],
)
def test_the_status_in_every_view(fields: dict[str, Any], status: str) -> None:
    assert status_now(make_bead(**fields), START) == status


@pytest.mark.parametrize(
    ("fields", "blockers"),
    [
        ({}, []),
        ({"depends_on": ["hub-b"]}, ["hub-b"]),
        ({"depends_on": ["hub-done"]}, []),
        ({"depends_on": ["hub-none"]}, ["hub-none"]),
        ({"depends_on": ["hub-b"], "parent": "hub-p"}, ["hub-b", "hub-c"]),
        ({"depends_on": ["hub-c"], "parent": "hub-p"}, ["hub-c"]),
        ({"defer_until": FUTURE}, []),
        ({"depends_on": ["hub-b"], "status": "closed"}, []),
        ({"depends_on": ["hub-b"], "status": "in_progress"}, ["hub-b"]),
    ],
)
def test_blockers(fields: dict[str, Any], blockers: list[str]) -> None:
    bead = make_bead(**fields)
    others = [
        make_bead("hub-b"),
        make_bead("hub-c"),
        make_bead("hub-done", status="closed"),
        make_bead("hub-p", depends_on=["hub-c"]),
    ]
    assert Readiness(MemorySnapshot([bead, *others]), START).blockers(bead) == blockers


@pytest.mark.parametrize(
    ("fields", "since"),
    [
        ({}, "2026-02-20T09:00:00Z"),
        ({"retry_at": "2026-02-20T10:00:00Z"}, "2026-02-20T10:00:00Z"),
        ({"defer_until": "2026-02-21T08:00:00Z"}, "2026-02-21T08:00:00Z"),
        ({"depends_on": ["hub-done"]}, "2026-02-20T12:00:00.5Z"),
    ],
)
def test_since_when_a_bead_is_ready(fields: dict[str, Any], since: str) -> None:
    bead = make_bead(**fields)
    done = make_bead("hub-done", status="closed", closed_at="2026-02-20T12:00:00.5Z")
    assert Readiness(MemorySnapshot([bead, done]), START).since(bead) == since
