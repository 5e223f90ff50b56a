"""Friction: what fails too often, told once for each cause."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bd.core.schema import CONFIG_PATH, agent_path
from bd.core.times import time_text
from bd.operations.close import Close
from bd.operations.friction_beads import TellFriction
from bd.policy.eligibility import matches_skills
from bd.policy.friction import Cause, Rules, causes, is_told_by_itself, rules_of
from bd.policy.roles import ROLES, skills_of
from tests.clocks import START
from tests.memory import MemorySnapshot, MemoryStore, make_bead
from tests.operations.asking import by

DAY = 86400.0


def ago(days: float) -> str:
    return time_text(START - timedelta(days=days))


def tried(bead_id: str, *failed: float, done: float | None = None, **fields: Any) -> Any:
    """A bead whose attempts failed so many days ago, and that was closed `done` days ago."""
    failures = [
        {"attempt": n, "agent": "a", "reason": "crash", "error": "x", "at": ago(days)} for n, days in enumerate(failed, 1)
    ]
    ended = {"status": "closed", "closed_at": ago(done)} if done is not None else {}
    return make_bead(bead_id, attempts=len(failed) + (done is not None), failures=failures or None, **ended, **fields)


def found(store: MemoryStore, *, rate: float = 0.4, least: int = 3) -> list[tuple[str, str, int, int]]:
    return [(one.kind, one.name, one.failed, one.done) for one in causes(store.tip, store.now, Rules(7 * DAY, rate, least))]


def test_attempts_are_counted_by_type_and_label_within_the_window() -> None:
    store = MemoryStore(
        tried("hub-a", 1, 2, done=1, labels=["auth"], type="bug"),
        tried("hub-b", 3, 30, labels=["auth"], type="code"),
        tried("hub-c", done=2, type="bug"),
        tried("hub-d", done=40, labels=["auth"]),
        make_bead("hub-e", status="closed", closed_at=ago(1), labels=["auth"]),  # closed by hand: no attempt
    )
    assert found(store) == [("label", "auth", 3, 1), ("type", "bug", 2, 2)]
    assert found(store, rate=0.6) == [("label", "auth", 3, 1)]
    assert found(store, least=5) == []


def test_a_cause_has_one_open_bead_and_what_it_counted_counts_no_more() -> None:
    store = MemoryStore(tried("hub-a", 1, 2, 3, labels=["auth"]))

    def tell(at: str) -> list[str]:
        return list(store.publish(TellFriction(window_s=7 * DAY, rate=0.4, least=3, **by(at=at))).touched)

    first = tell("2026-02-21T15:00:00Z")
    assert [store.bead(one).title for one in first] == [
        "100 % of the attempts on label auth fail",
        "100 % of the attempts on type task fail",
    ]
    assert store.bead(first[0]).labels == ["friction", "friction/label/auth"]
    assert "hub-a" in store.bead(first[0]).get("description")
    assert tell("2026-02-21T15:10:00Z") == [], "they are open"
    store.publish(Close(ids=first, **by(at="2026-02-21T16:00:00Z")))
    assert tell("2026-02-21T16:10:00Z") == [], "nothing has failed since"
    failures = [{"attempt": n, "reason": "crash", "error": "x", "at": f"2026-02-21T17:0{n}:00Z"} for n in range(4)]
    store.put(store.bead("hub-a").evolve(failures=failures, attempts=9))
    assert len(tell("2026-02-21T18:00:00Z")) == 2


def test_a_bead_about_friction_causes_none() -> None:
    store = MemoryStore(tried("hub-f", 1, 2, 3, labels=["friction", "friction/type/task"], type="chore"))
    assert found(store) == []


def test_the_rate_of_nothing_is_none() -> None:
    assert Cause("type", "bug", 0, ()).rate == 0


def test_a_bead_about_friction_has_the_evidence() -> None:
    store = MemoryStore(tried("hub-a", 1, 2, 3, labels=["auth"], type="bug"))
    (made, _) = store.publish(TellFriction(window_s=7 * DAY, rate=0.4, least=3, **by())).touched
    bead = store.bead(made)
    assert bead.get("description").splitlines()[2:] == [
        f"- hub-a, attempt {n}, {ago(n)}: crash: x".replace(", 2026", " by a, 2026") for n in (1, 2, 3)
    ]
    assert [(link.type, link.id) for link in bead.links] == [("caused-by", "hub-a")]


@pytest.mark.parametrize("role", [*ROLES, "gardening"])
@pytest.mark.parametrize(
    "skills",
    [
        None,
        {},
        {"labels": ["site/*"]},
        {"labels": ["ui"]},
        {"types": ["review"]},
        {"title_prefix": ["Mend:"]},
        {"title_words": ["fix"]},
    ],
)
def test_a_bead_about_friction_fits_the_role_that_the_hub_names(role: str, skills: dict[str, Any] | None) -> None:
    agent = {"name": "mender", "role": role, **({} if skills is None else {"skills": skills})}
    config = {"friction": {"role": role}, "prefix": "hub"}
    store = MemoryStore(tried("hub-a", 1, 2, 3), records={CONFIG_PATH: config, agent_path("mender"): agent})
    (made,) = store.publish(TellFriction(window_s=7 * DAY, rate=0.4, least=3, **by())).touched
    assert matches_skills(store.bead(made), skills_of(agent))
    assert is_told_by_itself(store.tip)


@pytest.mark.parametrize(
    ("given", "rules", "by_itself"),
    [
        (None, Rules(), False),
        (False, Rules(), False),
        (True, Rules(), True),
        ({"window": "1d", "rate": 0.7, "least": 9}, Rules(DAY, 0.7, 9), True),
        ({"window": "often", "rate": "x", "least": [], "more": 1}, Rules(), True),
        ({"window": "0s", "rate": -1, "least": 0}, Rules(), True),
    ],
)
def test_the_hub_says_when_it_is_too_often(given: Any, rules: Rules, by_itself: bool) -> None:
    snapshot = MemorySnapshot([], {CONFIG_PATH: {"friction": given}})
    assert (rules_of(snapshot), is_told_by_itself(snapshot)) == (rules, by_itself)
