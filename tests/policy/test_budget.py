"""What may be spent: reservations, budgets and ceilings; what an attempt cost; which model it should use."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.costs import amount_of
from bd.core.model import Change, Overlay
from bd.core.schema import CONFIG_PATH, agent_path
from bd.policy import budget as money
from bd.policy import spending
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

NOW = "2026-02-21T15:00:00Z"


def hub(*beads: Any, config: dict[str, Any] | None = None, **agent: Any) -> MemorySnapshot:
    return MemorySnapshot(beads, {CONFIG_PATH: config or {}, agent_path("coder"): {"name": "coder", **agent}})


def paid(bead_id: str, usd: float, at: str = NOW, agent: str = "coder", **fields: Any) -> Any:
    """A closed bead that an agent worked on."""
    entry = {"attempt": 1, "agent": agent, "at": at, "usd": usd}
    return make_bead(bead_id, status="closed", cost={"usd": usd, "attempts": [entry]}, **fields)


def reserving(bead_id: str, usd: float, agent: str = "coder", **fields: Any) -> Any:
    return held(bead_id, agent, f"t-{bead_id}", claim={"reserved_usd": usd}, **fields)


def code(bead: Any, snapshot: MemorySnapshot) -> str | None:
    found = money.Purse("coder", snapshot, START).reason(bead)
    return found.code if found else None


@pytest.mark.parametrize(
    ("fields", "usd"),
    [
        ({"spec": {"max_cost_usd": 2}}, 2),
        ({"spec": {"max_cost_usd": "0.5"}}, 0.5),
        ({"spec": {"max_cost_usd": 0}}, 0),
        ({"spec": {"max_cost_usd": "x"}}, 0),
        ({"max_cost_usd": 3}, 3),
        ({}, 1.5),
        ({"type": "code"}, 0),
    ],
)
def test_what_a_claim_reserves(fields: dict[str, Any], usd: float) -> None:
    config = {"defaults": {"max_cost_usd": {"task": 1.5, "code": "much"}}}
    assert money.reserve_of(make_bead(**fields), hub(config=config)) == usd
    assert money.reserve_of(make_bead(), hub(config={"defaults": "none"})) == 0


@pytest.mark.parametrize(
    ("agent", "left"),
    [
        ({}, None),
        ({"budget_usd": 10}, 10 - 1 - 2 - 4 - 0.5),
        ({"budget": {"usd": 10, "per": "total"}}, 10 - 1 - 2 - 4 - 0.5),
        ({"budget": {"usd": 10, "per": "month"}}, 10 - 2 - 4 - 0.5),
        ({"budget": {"usd": 10, "per": "day"}}, 10 - 4 - 0.5),
        ({"budget": {"usd": 3, "per": "day"}}, 3 - 4 - 0.5),
        ({"budget": {"usd": 10, "per": "fortnight"}}, 10 - 1 - 2 - 4 - 0.5),
        ({"budget": {"usd": "x"}}, 0 - 7.5),
    ],
)
def test_what_an_agent_has_left(agent: dict[str, Any], left: float | None) -> None:
    spent = [
        paid("hub-1", 1, "2026-01-31T23:59:59Z"),
        paid("hub-2", 2, "2026-02-01T00:00:00Z"),
        paid("hub-3", 4, "2026-02-21T00:00:00Z"),
    ]
    others = [paid("hub-4", 100, agent="reader"), reserving("hub-5", 100, "reader"), make_bead("hub-6", cost={"usd": 100})]
    snapshot = hub(*spent, *others, reserving("hub-7", 0.5), **agent)
    assert money.remaining("coder", snapshot, START) == left


@pytest.mark.parametrize(
    ("budget", "most", "short"),
    [(1, 1, None), (1, 1.01, "budget"), (1, 0, None), (0, 0, "budget"), (0, 1, "budget"), (None, 5, None)],
)
def test_a_bead_has_to_fit_what_the_agent_has_left(budget: float | None, most: float, short: str | None) -> None:
    bead = make_bead(spec={"max_cost_usd": most})
    assert code(bead, hub(bead, **({} if budget is None else {"budget_usd": budget}))) == short


def test_every_ceiling_above_a_bead_holds() -> None:
    root = make_bead("hub-r", budget_ceiling_usd=10)
    part = make_bead("hub-p", parent="hub-r", budget_ceiling_usd=3)
    bead = make_bead("hub-b", parent="hub-p", spec={"max_cost_usd": 1})
    assert code(bead, hub(root, part, bead)) is None
    assert code(bead, hub(root, part, bead, paid("hub-1", 2.5, parent="hub-p"))) == "ceiling"
    assert code(bead, hub(root, part, bead, paid("hub-1", 2.5, parent="hub-r"))) is None, "beside the part, not below it"
    assert code(bead, hub(root, part, bead, paid("hub-1", 9.5, parent="hub-r"))) == "ceiling"
    assert code(bead, hub(root, part, bead, reserving("hub-2", 2.5, parent="hub-p"))) == "ceiling"
    assert code(bead, hub(root, part, bead, make_bead("hub-3", parent="hub-p", cost={"usd": 2.5}))) == "ceiling", "nobody's too"
    archived = MemorySnapshot([root, part, bead, paid("hub-1", 2.5, parent="hub-p")], archived=["hub-1"])
    assert code(bead, archived) == "ceiling"


def test_what_stalled_counts_as_spent_until_its_cost_is_told_or_a_day_has_passed() -> None:
    stalled = spending.presumed(reserving("hub-a", 2), START).evolve(claim=None, status="open")
    assert stalled.get("cost")["attempts"] == [
        {"attempt": 1, "agent": "coder", "at": NOW, "reserved_usd": 2, "until": "2026-02-22T15:00:00Z"}
    ]
    snapshot = hub(stalled, budget_usd=5)
    assert money.remaining("coder", snapshot, START) == 3
    assert money.remaining("coder", snapshot, START + timedelta(hours=23)) == 3
    assert money.remaining("coder", snapshot, START + timedelta(hours=25)) == 5
    told = spending.charged(stalled, {"usd": 0.25}, START, whole=False)
    assert money.remaining("coder", hub(told, budget_usd=5), START) == 4.75
    assert told.get("cost") == {"usd": 0.25, "attempts": [{"attempt": 1, "agent": "coder", "at": NOW, "usd": 0.25}]}


def test_what_is_told_is_reserved_no_longer() -> None:
    bead = spending.charged(reserving("hub-a", 2), {"usd": 0.5}, START, whole=False)
    assert bead.get("claim")["reserved_usd"] == 1.5
    assert money.remaining("coder", hub(bead, budget_usd=5), START) == 3, "as before"
    bead = spending.charged(bead, {"usd": 3}, START, whole=False)
    assert "reserved_usd" not in bead.get("claim")
    assert money.remaining("coder", hub(bead, budget_usd=5), START) == 1.5


def test_costs_add_up_and_the_end_of_an_attempt_names_its_sum() -> None:
    bead = held(attempts=2, claim={"attempt": 2}, cost={"usd": 1, "tokens": {"input": 5}})
    bead = spending.charged(bead, {"usd": 0.1, "tokens": {"input": 10}, "model": "m"}, START, whole=False, uid="u1")
    bead = spending.charged(bead, {"usd": 0.2, "tokens": {"input": 10, "output": 1}}, START, whole=False, uid="u2")
    assert spending.is_told(bead, "u1")
    assert not spending.is_told(bead, "u3")
    bead = spending.charged(bead, {"usd": 0.25, "tokens": {"output": 4}}, START, whole=True)
    entry = {"attempt": 2, "agent": "coder", "at": NOW, "model": "m", "usd": 0.3, "tokens": {"input": 20, "output": 4}}
    assert bead.get("cost") == {
        "usd": 1.3,
        "tokens": {"input": 20, "output": 4},
        "attempts": [{**entry, "reports": ["u1", "u2"]}],
    }
    assert spending.cost_of_attempt(bead, 2) == 0.3
    assert spending.cost_of_attempt(bead, 1) is None


costs = st.one_of(
    st.none(),
    st.just("much"),
    st.fixed_dictionaries(
        {},
        optional={
            "usd": st.sampled_from([0, 0.5, 3, "x", -1, float("inf")]),
            "tokens": st.sampled_from([{"input": 3}, 7, "many"]),
            "attempts": st.lists(
                st.fixed_dictionaries(
                    {"attempt": st.integers(1, 3)},
                    optional={
                        "agent": st.sampled_from(["coder", "reader"]),
                        "at": st.sampled_from(["2026-01-01T00:00:00Z", NOW, "soon"]),
                        "usd": st.sampled_from([0.25, 2, None]),
                        "reserved_usd": st.just(4),
                        "until": st.just("2026-02-22T15:00:00Z"),
                        "tokens": st.just({"input": 2}),
                    },
                ),
                max_size=3,
            ),
        },
    ),
)


@given(costs, st.lists(st.sampled_from([0, 0.5, 2]), max_size=4), st.booleans())
def test_no_money_gets_lost(cost: Any, told: list[float], whole: bool) -> None:
    """Whatever stands in a file: what is told raises the sum by as much, and no sum ever falls."""
    bead = held(attempts=3, claim={"attempt": 3}, cost=cost)
    for usd in told:
        before = amount_of((bead.get("cost") if isinstance(bead.get("cost"), dict) else {}).get("usd"))
        was = spending.cost_of_attempt(bead, 3) or 0.0
        bead = spending.charged(bead, {"usd": usd}, START, whole=whole)
        raised = amount_of(bead.get("cost").get("usd")) - before
        assert raised >= -1e-9
        assert spending.cost_of_attempt(bead, 3) == pytest.approx(max(was, usd) if whole else was + usd)


@given(st.lists(costs, min_size=1, max_size=4), st.lists(costs, max_size=2))
def test_an_overlay_spends_what_its_beads_spend(before: list[Any], after: list[Any]) -> None:
    beads = [make_bead(f"hub-{n}", parent="hub-0" if n else None, cost=cost) for n, cost in enumerate(before)]
    changed = [make_bead(f"hub-{n}", parent="hub-0" if n else None, cost=cost) for n, cost in enumerate(after)]
    snapshot = MemorySnapshot(beads)
    change = Change({bead.id: bead for bead in changed}, "")
    over, fresh = Overlay(snapshot, change), snapshot.after(change)
    for agent in ("coder", "reader"):
        for since in ("", "2026-02"):
            assert over.spent_by(agent, since, NOW) == pytest.approx(fresh.spent_by(agent, since, NOW))
    assert over.spent_under("hub-0", NOW) == pytest.approx(fresh.spent_under("hub-0", NOW))
    assert sorted(over.costly()) == sorted(fresh.costly())


@pytest.mark.parametrize(
    ("available", "attempt", "model"),
    [
        ([], 1, "big"),
        ([], 2, "big"),
        ([], 3, "small"),
        (["other"], 1, "other"),
        (["small"], 1, "small"),
        (["big"], 3, "big"),
        (["none"], 1, ""),
    ],
)
def test_which_model_an_attempt_should_use(available: list[str], attempt: int, model: str) -> None:
    bead = make_bead(spec={"model_preferences": ["big", "other"], "fallback_models": ["small"]})
    assert money.model_of(bead, {"models_available": available}, attempt) == model
    assert money.model_of(make_bead(), None, attempt) == ""
