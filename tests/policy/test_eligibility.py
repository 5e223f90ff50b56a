"""May this agent take this bead: tables of cases for every rule."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.model import Bead
from bd.core.schema import agent_path, capacity_path
from bd.policy.capacity import room
from bd.policy.eligibility import Eligibility, matches_skills
from bd.policy.roles import interval_of, is_fallback, skills_of
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead

CODER: dict[str, Any] = {"name": "coder", "role": "coding", "interval": "30m"}


def snapshot_of(*beads: Bead, **agents: dict[str, Any]) -> MemorySnapshot:
    """Beads, and agents by name."""
    return MemorySnapshot(beads, {agent_path(name): {"name": name, **fields} for name, fields in agents.items()})


def codes(bead: Bead, name: str, *others: Bead, **agents: dict[str, Any]) -> list[str]:
    """Why the agent may not take the bead."""
    return [reason.code for reason in Eligibility(snapshot_of(bead, *others, **agents), name, START).reasons(bead)]


# --- words in titles --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "title", "matches"),
    [
        # four letters and more: at the start of a word
        ("code", "Code the parser", True),
        ("code", "Fix the codec", True),
        ("code", "Decode the stream", False),
        ("monitor", "Monitoring for the cluster", True),
        ("monitor", "Fix the cluster-monitor", True),
        ("implement", "Implementing webhooks", True),
        ("deploy", "Redeploy the site", False),
        # shorter: the whole word
        ("fix", "Fix the login", True),
        ("fix", "fix: the login", True),
        ("fix", "Fixes for the login", True),
        ("fix", "A fixture for the login", False),
        ("PR", "Two PRs", True),
        ("fix", "Prefix the ids", False),
        ("PR", "Review the PR", True),
        ("PR", "Review PR #12", True),
        ("PR", "Approve the budget", False),
        ("PR", "Improve the docs", False),
        ("PR", "Sprint planning", False),
        ("pr", "Review the PR", True),
        # what is no letter
        ("CI/CD", "Repair CI/CD", True),
        ("c++", "Port to C++", True),
        (".net", "Port to .NET", True),
        # an underscore joins a word
        ("code", "the_code", False),
        # the examples of the pages
        ("monitor", "Monitoring the backups", True),
        ("code", "Codes for the doors", True),
        ("deploy", "DEPLOYS fail", True),
        ("fix", "FIX the login", True),
        # other alphabets
        ("Übung", "übung macht den Meister", True),
        ("STRASSE", "Die Straße", True),
    ],
)
def test_words(word: str, title: str, matches: bool) -> None:
    assert matches_skills(make_bead(title=title), {"title_words": [word]}) is matches


@pytest.mark.parametrize(
    ("prefix", "title", "matches"),
    [
        ("Research:", "Research: which queue", True),
        ("Research:", "research: which queue", True),
        ("Research:", "  Research: which queue", True),
        ("Research:", "GH#35: Research: which queue", True),
        ("Research:", "[web] Research: which queue", True),
        ("Research:", "[web][p1] GH#7: Research: which queue", True),
        ("Research:", "GH#35: [web] Research: which queue", True),
        ("Research:", "On Research: which queue", False),
        ("Research:", "Research the queue", False),
        ("Research:", "GH35: Research: which queue", False),
        ("Research:", "", False),
        ("Research:", "[web]", False),
        ("Research:", "GH#35:", False),
    ],
)
def test_prefixes_skip_tags(prefix: str, title: str, matches: bool) -> None:
    assert matches_skills(make_bead(title=title), {"title_prefix": [prefix]}) is matches


@pytest.mark.parametrize(
    ("pattern", "labels", "matches"),
    [
        ("infra", ["infra"], True),
        ("infra", ["Infra"], True),
        ("infra", ["infrastructure"], False),
        ("infra/*", ["infra/auth"], True),
        ("infra/*", ["Infra/Auth"], True),
        ("INFRA/*", ["infra/auth/keys"], True),
        ("infra/*", ["infra"], False),
        ("infra/*", ["site", "infra/auth"], True),
        ("infra*", ["infrastructure"], True),
        ("repo:*", ["repo:site"], True),
        ("repo:*", ["site"], False),
        ("p[01]", ["p1"], True),
        ("p?", ["p12"], False),
        ("a.b", ["axb"], False),
        ("*", [], False),
    ],
)
def test_labels_are_globs(pattern: str, labels: list[str], matches: bool) -> None:
    assert matches_skills(make_bead(labels=labels), {"labels": [pattern]}) is matches


@pytest.mark.parametrize(
    ("skills", "matches"),
    [
        ({}, True),
        ({"title_words": [], "types": []}, True),
        ({"types": ["bug"]}, True),
        ({"types": ["task"]}, False),
        ({"types": ["task"], "labels": ["urgent"]}, True),
        ({"types": ["task"], "title_words": ["login"]}, True),
        ({"types": ["task"], "title_prefix": ["Fix"]}, True),
        ({"types": ["task"], "labels": ["other"], "title_words": ["parser"], "title_prefix": ["Research:"]}, False),
    ],
)
def test_any_rule_may_match_and_none_matches_everything(skills: dict[str, Any], matches: bool) -> None:
    bead = make_bead(title="Fix the login", type="bug", labels=["urgent"])
    assert matches_skills(bead, skills) is matches


@pytest.mark.parametrize(
    ("agent", "title", "matches"),
    [
        ({"role": "coding"}, "Refactor the parser", True),
        ({"role": "coding"}, "Water the plants", False),
        ({"role": "infrastructure"}, "Repair the CI/CD pipeline", True),
        ({"role": "infrastructure"}, "Set up monitoring", True),
        ({"role": "research"}, "Research: which queue", True),
        ({"role": "publisher"}, "Publish: the post", True),
        ({"role": "overseer"}, "Water the plants", True),
        ({"role": "gardener"}, "Water the plants", True),
        ({"role": "coding", "skills": {"title_words": ["plants"]}}, "Water the plants", True),
        ({"role": "coding", "skills": {"title_words": ["plants"]}}, "Refactor the parser", False),
        ({"role": "coding", "skills": {}}, "Water the plants", True),
        ({}, "Water the plants", True),
    ],
)
def test_roles_bring_skills_and_own_ones_win(agent: dict[str, Any], title: str, matches: bool) -> None:
    assert matches_skills(make_bead(title=title), skills_of(agent)) is matches


# --- one agent and one bead -------------------------------------------------------------------


def test_an_agent_without_a_file_may_take_anything_that_asks_for_nothing() -> None:
    assert codes(make_bead(title="Anything"), "stranger") == []
    assert codes(make_bead(needs=["git"]), "stranger") == ["needs"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"assignee": "coder"}, []),
        ({"assignee": "other"}, ["routed"]),
        ({"assignee": "coder", "title": "Water the plants"}, []),
        ({"title": "Water the plants"}, ["skills"]),
        ({"assignee": "other", "title": "Water the plants"}, ["routed", "skills"]),
        ({"needs": ["git"]}, []),
        ({"needs": ["git", "testing"]}, []),
        ({"needs": ["gpu"]}, ["needs"]),
        ({"needs": ["git", "gpu"], "assignee": "coder"}, ["needs"]),
        ({"prefer_agent": "other", "prefer_until": "2026-02-21T15:00:01Z"}, ["preferred"]),
        ({"prefer_agent": "other", "prefer_until": "2026-02-21T15:00:00Z"}, []),
        ({"prefer_agent": "other"}, []),
        ({"prefer_agent": "coder", "prefer_until": "2026-02-21T15:00:01Z"}, []),
    ],
)
def test_routing_skills_needs_and_preference(fields: dict[str, Any], expected: list[str]) -> None:
    agent = {**CODER, "capabilities": ["git", "testing"]}
    assert codes(make_bead(**{"title": "Fix it", **fields}), "coder", coder=agent) == expected


def test_the_reasons_name_what_is_missing() -> None:
    bead = make_bead(title="Fix it", needs=["git", "gpu"])
    found = Eligibility(snapshot_of(bead, coder={**CODER, "capabilities": ["git"]}), "coder", START).reasons(bead)
    assert found[0].text == "needs gpu, which coder does not have"


@pytest.mark.parametrize(
    ("rival", "expected"),
    [
        (held("hub-b", exclusive="repo:site"), ["exclusive"]),
        (held("hub-b", exclusive="repo:docs"), []),
        (held("hub-b"), []),
        (make_bead("hub-b", exclusive="repo:site"), []),
        (make_bead("hub-b", exclusive="repo:site", status="closed"), []),
    ],
)
def test_two_beads_of_one_exclusive_name_are_never_in_work_together(rival: Bead, expected: list[str]) -> None:
    bead = make_bead(title="Fix it", exclusive="repo:site", assignee="coder")
    assert codes(bead, "coder", rival, coder=CODER) == expected


def test_a_prefix_beats_a_word() -> None:
    """`Research: fix ...` is the researcher's, although the coder's words match it."""
    agents: dict[str, dict[str, Any]] = {"coder": CODER, "reader": {"role": "research"}}
    for title in ("Research: how to implement X", "GH#35: research: how to implement X", "[web] RESEARCH: fix or replace it"):
        bead = make_bead(title=title)
        assert codes(bead, "coder", **agents) == ["prefix"]
        assert codes(bead, "reader", **agents) == []
    assert codes(bead, "coder", coder=CODER) == [], "without a researcher it is anyone's who fits"


def test_a_prefix_of_ones_own_is_not_taken_away_by_another_with_the_same() -> None:
    bead = make_bead(title="Research: fix or replace the parser")
    agents: dict[str, dict[str, Any]] = {"one": {"role": "research"}, "two": {"role": "research"}}
    assert codes(bead, "one", **agents) == codes(bead, "two", **agents) == []


# --- the fallback agent -----------------------------------------------------------------------

FALLBACK: dict[str, Any] = {"role": "overseer", "fallback": True, "interval": "15m"}


@pytest.mark.parametrize(
    ("created_at", "agents", "expected"),
    [
        # the coder (30m) fits: two of its cycles are an hour
        ("2026-02-21T14:00:01Z", {"coder": CODER}, ["fallback"]),
        ("2026-02-21T14:00:00Z", {"coder": CODER}, []),
        # the slowest that fits counts
        ("2026-02-21T13:00:01Z", {"coder": CODER, "slow": {**CODER, "interval": "1h"}}, ["fallback"]),
        ("2026-02-21T13:00:00Z", {"coder": CODER, "slow": {**CODER, "interval": "1h"}}, []),
        # nobody fits: two cycles of its own
        ("2026-02-21T14:30:01Z", {"reader": {"role": "research"}}, ["fallback"]),
        ("2026-02-21T14:30:00Z", {"reader": {"role": "research"}}, []),
        ("2026-02-21T14:30:00Z", {}, []),
        # another fallback agent is no reason to wait longer
        ("2026-02-21T14:30:00Z", {"second": {**FALLBACK, "interval": "4h"}}, []),
        # who lacks a capability does not fit
        ("2026-02-21T14:30:00Z", {"coder": {**CODER, "capabilities": []}}, []),
    ],
)
def test_a_fallback_agent_leaves_two_cycles_to_the_others(
    created_at: str, agents: dict[str, dict[str, Any]], expected: list[str]
) -> None:
    needs = ["git"] if agents.get("coder", {}).get("capabilities") == [] else []
    bead = make_bead(title="Fix it", created_at=created_at, needs=needs)
    chief = {**FALLBACK, "capabilities": needs}
    assert codes(bead, "chief", **{"chief": chief, **agents}) == expected


@pytest.mark.parametrize(
    ("record", "waits_for_it"),
    [
        (None, True),
        ({"last_heartbeat": "2026-02-21T14:00:00Z"}, True),
        ({"status": "busy"}, True),
        ({"status": "draining"}, False),
        ({"status": "offline"}, False),
        ({"last_heartbeat": "2026-02-21T06:00:00Z"}, False),
        # it polls every two hours by now, and has not been silent for three of them
        ({"last_heartbeat": "2026-02-21T11:00:00Z", "interval_s": 7200}, True),
    ],
)
def test_a_fallback_agent_waits_for_live_agents_only(record: dict[str, Any] | None, waits_for_it: bool) -> None:
    bead = make_bead(title="Fix it", created_at="2026-02-21T14:20:00Z")
    records = {agent_path("chief"): FALLBACK, agent_path("coder"): CODER}
    if record:
        records[capacity_path("coder")] = {"agent": "coder", **record}
    reasons = [reason.code for reason in Eligibility(MemorySnapshot([bead], records), "chief", START).reasons(bead)]
    assert reasons == (["fallback"] if waits_for_it else [])


def test_two_cycles_are_as_long_as_the_agent_now_makes_them() -> None:
    """The coder has been idle and looks every two hours; the fallback agent leaves it two looks."""
    paced = {"agent": "coder", "last_heartbeat": "2026-02-21T14:50:00Z", "interval_s": 7200}
    records = {agent_path("chief"): FALLBACK, agent_path("coder"): CODER, capacity_path("coder"): paced}
    for created_at, expected in (("2026-02-21T11:00:01Z", ["fallback"]), ("2026-02-21T11:00:00Z", [])):
        bead = make_bead(title="Fix it", created_at=created_at)
        assert [reason.code for reason in Eligibility(MemorySnapshot([bead], records), "chief", START).reasons(bead)] == expected


@pytest.mark.parametrize(
    ("agent", "expected"),
    [({"role": "overseer"}, True), ({"role": "overseer", "fallback": False}, False), ({"role": "coding"}, False), ({}, False)],
)
def test_an_overseer_is_a_fallback_agent_unless_it_says_no(agent: dict[str, Any], expected: bool) -> None:
    assert is_fallback(agent) is expected


def test_a_fallback_agent_takes_what_is_routed_to_it_at_once() -> None:
    bead = make_bead(title="Fix it", created_at="2026-02-21T14:59:59Z", assignee="chief")
    assert codes(bead, "chief", chief=FALLBACK, coder=CODER) == []


def test_the_fallback_waits_from_when_a_bead_became_ready() -> None:
    done = make_bead("hub-done", status="closed", closed_at="2026-02-21T14:40:00Z")
    bead = make_bead(title="Water the plants", created_at="2026-02-01T00:00:00Z", depends_on=["hub-done"])
    assert codes(bead, "chief", done, chief=FALLBACK) == ["fallback"]


@pytest.mark.parametrize(
    ("agent", "seconds"),
    [({"interval": "45m"}, 2700), ({"role": "research"}, 3600), ({"role": "coding"}, 1800), ({"role": "?"}, 1800), ({}, 1800)],
)
def test_intervals(agent: dict[str, Any], seconds: float) -> None:
    assert interval_of(agent) == seconds


# --- capacity ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "holds", "left"),
    [
        ({}, 0, None),
        ({}, 3, None),
        ({"coder": {}}, 0, 1),
        ({"coder": {}}, 1, 0),
        ({"coder": {"max_concurrent": 3}}, 1, 2),
        ({"coder": {"max_concurrent": 1}}, 3, 0),
        ({"coder": {"max_concurrent": 0}}, 0, 0),
    ],
)
def test_room_counts_live_claims(agents: dict[str, dict[str, Any]], holds: int, left: int | None) -> None:
    claims = [held(f"hub-{number}", "coder") for number in range(holds)]
    assert room("coder", snapshot_of(*claims, held("hub-x", "other"), **agents), START) == left


@pytest.mark.parametrize(
    ("status", "code"), [(None, None), ("available", None), ("busy", None), ("draining", "draining"), ("offline", "offline")]
)
def test_a_draining_or_offline_agent_gets_no_work(status: str | None, code: str | None) -> None:
    records: dict[str, dict[str, Any]] = {agent_path("coder"): {**CODER, "max_concurrent": 2}}
    if status:
        records[capacity_path("coder")] = {"agent": "coder", "status": status}
    reason = Eligibility(MemorySnapshot([], records), "coder", START).idle()
    assert (reason.code if reason else None) == code


def test_a_full_agent_is_told_what_it_holds() -> None:
    snapshot = snapshot_of(held("hub-x", "coder"), held("hub-y", "coder"), coder={"max_concurrent": 2})
    reason = Eligibility(snapshot, "coder", START).idle()
    assert reason is not None
    assert reason.code == "busy"
    assert reason.text == "coder holds 2 of 2 beads: hub-x, hub-y"


def test_a_file_that_says_busy_decides_nothing() -> None:
    """current_tasks and status are computed from the claims; the file only repeats them."""
    records: dict[str, dict[str, Any]] = {
        agent_path("coder"): CODER,
        capacity_path("coder"): {"agent": "coder", "status": "busy", "current_tasks": 9},
    }
    assert Eligibility(MemorySnapshot([], records), "coder", START).idle() is None


def test_why_there_is_nothing_is_known_whoever_has_looked_before() -> None:
    needy = [make_bead(f"hub-{need}", needs=[need]) for need in ("gpu", "tpu")]
    snapshot = snapshot_of(*needy, make_bead("hub-routed", assignee="other"), coder=CODER)
    fresh, asked = Eligibility(snapshot, "coder", START), Eligibility(snapshot, "coder", START)
    assert list(asked.beads()) == []
    assert [reason.code for reason in fresh.why_none()] == ["nothing_fits", "needs", "skills", "routed"]
    assert fresh.why_none() == asked.why_none()
    assert [reason.code for reason in Eligibility(snapshot_of(coder=CODER), "coder", START).why_none()] == ["nothing_ready"]


def test_the_offer_is_in_the_order_of_work_and_holds_only_what_fits() -> None:
    beads = [
        make_bead("hub-1", title="Fix the footer", priority=3),
        make_bead("hub-2", title="Fix the header", priority=1),
        make_bead("hub-3", title="Water the plants", priority=0),
        make_bead("hub-4", title="Fix the menu", priority=0, depends_on=["hub-1"]),
        make_bead("hub-5", title="Water the roses", priority=2, assignee="coder"),
    ]
    assert [bead.id for bead in Eligibility(snapshot_of(*beads, coder=CODER), "coder", START).beads()] == [
        "hub-2",
        "hub-5",
        "hub-1",
    ]


# --- the root of a plan -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "has_children", "offered"),
    [
        ({"type": "epic"}, True, False),
        ({"type": "epic"}, False, True),
        ({"type": "epic", "spec": {"prompt": "Sum it up"}}, True, True),
        ({"type": "epic", "spec": {"max_cost_usd": 1}}, True, False),
        ({"type": "epic", "assignee": "coder"}, True, True),
        ({"type": "task"}, True, True),
        ({"type": "feature", "attempts": 1}, True, True),
    ],
)
def test_the_root_of_a_plan_is_offered_only_if_it_says_that_it_is_work(
    fields: dict[str, Any], has_children: bool, offered: bool
) -> None:
    root, below = (
        make_bead("hub-root", **fields),
        make_bead("hub-a", status="closed", **({"parent": "hub-root"} if has_children else {})),
    )
    answer = Eligibility(MemorySnapshot([root, below]), "coder", START)
    assert [bead.id for bead in answer.beads()] == (["hub-root"] if offered else [])
    assert [reason.code for reason in answer.reasons(root)] == ([] if offered else ["root"])
