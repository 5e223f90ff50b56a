"""The checker finds what is broken: each rule is given a history that breaks it, and one that does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.memory import make_bead
from tests.torture.calls import Told
from tests.torture.checker import RULES, Lived, Seen, violations
from tests.torture.reading import Commit

if TYPE_CHECKING:
    from bd.core.model import Bead


def told(number: int = 1, **more: Any) -> Told:
    """A call that went well, unless told otherwise."""
    base: dict[str, Any] = {
        "clone": "north.0",
        "agent": "ann",
        "kind": "comment",
        "words": ("comment",),
        "code": 0,
        "out": "",
        "err": "",
    }
    return Told(number=number, **{**base, **more})


def commit(number: int, *beads: Bead, uids: tuple[str, ...] = (), **more: Any) -> Commit:
    return Commit(f"{number:040x}", more.pop("subject", "update: x"), uids, {bead.id: bead for bead in beads}, **more)


def held(agent: str = "ann", token: str = "T1", attempt: int = 1, **more: Any) -> Bead:  # noqa: S107  no secret
    claim = {"agent": agent, "token": token, "attempt": attempt, "claimed_at": "2026-02-20T09:00:00Z"}
    return make_bead("hub-a", status="in_progress", attempts=attempt, claim=claim, **more)


FREE = make_bead("hub-a")
CLAIMED = json.dumps([{"id": "hub-a", "claim": {"token": "T1"}}])
NOT_KNOWN = json.dumps({"error": "x", "written": "unknown"})
NOT_WRITTEN = json.dumps({"error": "x", "written": "no"})
SAID = make_bead("hub-a", comments=[{"id": "C1", "author": "ann", "at": "2026-02-20T09:00:00Z", "text": "mark1"}])
BROKEN: dict[str, list[Lived]] = {
    "only_added_to": [Lived([], [], backward=["from a to b"])],
    "one_owner": [
        Lived([commit(1, held()), commit(2, held("ben", "T2", 2))], []),
        Lived([commit(1, FREE), commit(2, held().evolve(status="open"))], []),
    ],
    "fenced": [Lived([commit(1, held()), commit(2, FREE, subject="close: hub-a by ben", tokens=frozenset({"T0"}))], [])],
    "unknown_is_settled": [Lived([commit(1, FREE)], [told(code=6, out=NOT_KNOWN, uids=("U1",))])],
    "tokens_are_new": [Lived([commit(1, held()), commit(2, FREE), commit(3, held())], [])],
    "attempts_count": [
        Lived([commit(1, FREE.evolve(attempts=2)), commit(2, FREE.evolve(attempts=1))], []),
        Lived([commit(1, FREE), commit(2, held(attempt=2))], []),
    ],
    "nothing_lost": [Lived([commit(1, FREE), commit(2)], []), Lived([commit(1, SAID), commit(2, FREE)], [])],
    "nothing_torn": [Lived([commit(1, torn=("beads/hub-a.yaml",))], [])],
    "nothing_twice": [Lived([commit(1, FREE, uids=("U1",)), commit(2, FREE, uids=("U1",))], [])],
    "no_idle_push": [Lived([], [], idle=["north pushed what was there"])],
    "no_stall_without_cause": [
        Lived([], [], claimed_s={"T1": 10.0}, beaten_s={"T1": [200.0, 400.0]}, stalls=[Seen("T1", 250.0, 90.0)]),
        Lived([], [], claimed_s={"T1": 10.0}, stalls=[Seen("T1", 50.0, 120.0, is_blind=True)]),
    ],
    "audit_agrees": [Lived([], [], audit=["two_owners: hub-a"])],
    "no_acknowledged_write_lost": [
        Lived([commit(1, FREE)], [told(uids=("U1",), mark="mark1", out="mark1")]),
        Lived([commit(1, FREE)], [told(kind="claim", out=CLAIMED)]),
        Lived([commit(1, FREE)], [told(mark="mark1", err="kept in this clone: x")]),
    ],
    "nothing_denied_is_there": [
        Lived([commit(1, FREE, uids=("U1",))], [told(code=6, out=NOT_WRITTEN, uids=("U1",))]),
        Lived([commit(1, FREE, uids=("U1",))], [told(code=5, uids=("U1",))]),
    ],
    "in_order": [
        Lived(
            [commit(1, FREE, uids=("U2",)), commit(2, FREE, uids=("U1",))],
            [told(1, uids=("U1",), began=0.0, ended=1.0), told(2, uids=("U2",), began=2.0, ended=3.0)],
        )
    ],
    "each_claim_told_once": [
        Lived([commit(1, held())], [told(n, kind="claim", words=("claim", "--next"), out=CLAIMED) for n in (1, 2)])
    ],
    "all_end_well": [
        Lived([], [told(code=1, err="a bug in bd")]),
        Lived([], [told(is_hung=True)]),
        Lived([], [told(code=-11)]),
    ],
    "clones_stay_usable": [Lived([], [], peace=[told(kind="create", code=6)])],
    "nothing_left_behind": [
        Lived([], [], leftovers=["index.lock is left"]),
        Lived([commit(1, FREE)], [], intents=["U1"]),
        Lived([commit(1, FREE)], [], beats=["T1"]),
    ],
}
SOUND = Lived(
    [
        commit(1, FREE),
        commit(2, held(), uids=("U1",)),
        commit(3, held(comments=SAID.comments), uids=("U2",)),
        commit(4, SAID.evolve(attempts=1), uids=("U3",)),
        commit(5, held("ben", "T2", 2, comments=SAID.comments), uids=("U4",)),
    ],
    [
        told(1, kind="claim", words=("claim", "--next"), out=CLAIMED, uids=("U1",), began=0.0, ended=1.0),
        told(2, mark="mark1", out="mark1", uids=("U2",), began=2.0, ended=3.0),
        told(3, code=6, out=NOT_WRITTEN, uids=("U9",)),
        told(4, code=-9, faults=("kill -9 at push",)),
        told(5, mark="mark2", err="kept in this clone: x", clone="west.0"),
    ],
    lost_clones=frozenset({"west.0"}),
    beats=["T2"],
    claimed_s={"T2": 10.0},
    beaten_s={"T2": [200.0]},
    stalls=[Seen("T2", 300.0, 90.0), Seen("T2", 210.0, 120.0, is_blind=True)],
    leftovers=['the journal of north still has U7.json: {"state": "won", "tokens": ["T2"]}'],
)


@pytest.mark.parametrize(("name", "lived"), [(name, lived) for name, broken in BROKEN.items() for lived in broken])
def test_a_broken_history_is_found_out(name: str, lived: Lived) -> None:
    assert [text for text in violations(lived) if text.startswith(f"{name}: ")] != []


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_sound_history_is_sound(name: str) -> None:
    assert list(RULES[name](SOUND)) == []


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert set(BROKEN) == set(RULES)


def test_what_is_kept_as_refused_is_not_lost() -> None:
    lived = Lived([commit(1, FREE)], [told(mark="mark1", err="kept in this clone: x")], kept="note mark1")
    assert violations(lived) == []
