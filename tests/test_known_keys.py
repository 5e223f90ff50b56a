"""Keys that nothing reads: found at every depth of every file of a hub, with the known key that they resemble."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.known_keys import unknown_keys
from bd.core.schema import AGENT_FIELDS, BEAD_FIELDS, CONFIG_FIELDS, CONFIG_PATH, GO_COLUMNS, GO_KEYS
from bd.core.settings import KEYS
from bd.policy.eligibility import matches_skills
from bd.policy.roles import skills_of
from tests.memory import make_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

AGENT, TRIGGER, BEAD = ".beads/agents/coder.yaml", ".beads/triggers/red.yaml", "beads/hub-a.yaml"


@pytest.mark.parametrize(
    ("path", "fields", "key", "nearest"),
    [
        (AGENT, {"skils": {}}, "skils", "skills"),
        (AGENT, {"maxConcurrent": 2}, "maxConcurrent", "max_concurrent"),
        (AGENT, {"max_concurrent_tasks": 2}, "max_concurrent_tasks", "max_concurrent"),
        (AGENT, {"poll_interval_sec": 5}, "poll_interval_sec", "interval"),
        (AGENT, {"skills": {"title_word": ["fix"]}}, "skills.title_word", "skills.title_words"),
        (AGENT, {"budget": {"used": 1}}, "budget.used", "budget.usd"),
        (AGENT, {"hobby": "chess"}, "hobby", None),
        (AGENT, {"pool": {"drain_timout": "5m"}}, "pool.drain_timout", "pool.drain_timeout"),
        (AGENT, {"agent": {"id": "coder"}}, "agent", None),
        (CONFIG_PATH, {"clam_ttl": "5m"}, "clam_ttl", "claim_ttl"),
        (CONFIG_PATH, {"defaults": {"max_atempts": 3}}, "defaults.max_atempts", "defaults.max_attempts"),
        (CONFIG_PATH, {"defaults": {"retry": {"max_dely": "1m"}}}, "defaults.retry.max_dely", "defaults.retry.max_delay"),
        (
            CONFIG_PATH,
            {"retry": {"types": {"code": {"max_atempts": 2}}}},
            "retry.types.code.max_atempts",
            "retry.types.code.max_attempts",
        ),
        (CONFIG_PATH, {"stealing": {"pendin": 3}}, "stealing.pendin", "stealing.pending"),
        (CONFIG_PATH, {"friction": {"rat": 0.5}}, "friction.rat", "friction.rate"),
        (CONFIG_PATH, {"schedules": [{"name": "n", "crn": "* * * * *"}]}, "schedules.0.crn", "schedules.0.cron"),
        (CONFIG_PATH, {"defaults.expected.task": "5m"}, "defaults.expected.task", "defaults.expected.task"),
        (CONFIG_PATH, {"defaults": {"expected": {"rsearch": "5m"}}}, "defaults.expected.rsearch", "defaults.expected.research"),
        (CONFIG_PATH, {"types": ["survey"], "expected": {"servey": "5m"}}, "expected.servey", "expected.survey"),
        (CONFIG_PATH, {"max_cost_usd": {"reveiw": 1}}, "max_cost_usd.reveiw", "max_cost_usd.review"),
        (CONFIG_PATH, {"retry": {"types": {"deply": {}}}}, "retry.types.deply", "retry.types.deploy"),
        (TRIGGER, {"plann": []}, "plann", "plan"),
        (TRIGGER, {"plan": [{"titel": "x"}]}, "plan.0.titel", "plan.0.title"),
        (TRIGGER, {"plan": [{"title": "x", "spec": {"promt": "y"}}]}, "plan.0.spec.promt", "plan.0.spec.prompt"),
        (BEAD, {"lables": ["a"]}, "lables", "labels"),
        (BEAD, {"depends-on": ["a"]}, "depends-on", "depends_on"),
        (BEAD, {"retry": {"max_dely": "1m"}}, "retry.max_dely", "retry.max_delay"),
        (BEAD, {"spec": {"promt": "x"}}, "spec.promt", "spec.prompt"),
        (BEAD, {"output": {"validaton": "x"}}, "output.validaton", "output.validation"),
        (BEAD, {"links": [{"typ": "related", "id": "a"}]}, "links.0.typ", "links.0.type"),
        (BEAD, {"team_score": 1}, "team_score", None),
    ],
)
def test_an_unknown_key_is_found_with_the_known_one(path: str, fields: dict[str, Any], key: str, nearest: str | None) -> None:
    (found,) = unknown_keys(path, fields)
    assert (found.path, found.key, found.nearest) == (path, key, nearest)
    assert found.is_reported == (nearest is not None or path != BEAD)


def test_what_is_known_is_not_reported() -> None:
    assert unknown_keys(AGENT, dict.fromkeys(AGENT_FIELDS)) == []
    assert unknown_keys(BEAD, dict.fromkeys([*BEAD_FIELDS, *GO_KEYS, *GO_COLUMNS])) == []
    assert unknown_keys(CONFIG_PATH, {**dict.fromkeys([*CONFIG_FIELDS, *KEYS]), "issue-prefix": "x", "sync-branch": "y"}) == []
    assert unknown_keys("BOARD.md", {"anything": 1}) == []
    assert unknown_keys(BEAD, {"links": [{"type": "related", "id": "a", "hub": "x", "thread_id": 3}, "none"]}) == []
    assert unknown_keys(CONFIG_PATH, {"expected": {"molecule": "5m", "cod": "1h"}, "types": "cod, molecule"}) == []


@pytest.mark.parametrize(
    ("file", "takes_everything"),
    [
        ({}, True),
        ({"skills": {}}, True),
        ({"skils": {"labels": ["ui"]}}, False),
        ({"Skills": {"labels": ["ui"]}}, False),
        ({"skills": {"title_word": ["fix"]}}, False),
        ({"skills": {"note": ["fix"]}}, True),
        ({"hobby": 1}, True),
        ({"skils": {}, "skills": {}}, True),
        ({"agent": {"id": "coder", "capabilities": ["git"]}}, False),
    ],
)
def test_misspelt_skills_are_not_all_skills(file: dict[str, Any], takes_everything: bool) -> None:
    assert matches_skills(make_bead("hub-a", title="Fix it", labels=["ui"]), skills_of(file)) is takes_everything


def test_sync_doctor_and_every_read_name_them(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    agents = alice.path / ".beads" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "typo.yaml").write_text("skils: {labels: [ui]}\n", encoding="utf-8")
    bead = "id: hub-a\ntitle: A\nlables: [ui]\nteam_score: 1\n"
    (alice.path / "beads").mkdir(exist_ok=True)
    (alice.path / "beads" / "hub-a.yaml").write_text(bead, encoding="utf-8")
    wrong = [
        "warning: .beads/agents/typo.yaml has the unknown key skils: did you mean skills?",
        "warning: beads/hub-a.yaml has the unknown key lables: did you mean labels?",
    ]
    told = alice.here("sync", "--json")
    assert told.err.splitlines() == wrong
    assert [found["key"] for found in told.json["unknown_keys"]] == ["skils", "lables"]
    for words in ("list", "ready --json", "show hub-a"):
        assert alice.here(*words.split()).err.splitlines()[:2] == wrong
    shown = alice.here("agent", "show", "typo", "--json").json
    assert (shown["skills"], shown["misspelt_skills"]) == ({}, "skils")
    assert "nothing, since its file misspells them (skils)" in alice.here("agent", "show", "typo").out
    found = json.loads(alice.here("doctor", "--json").out)
    named = {(one["level"], one["where"]) for one in found["findings"] if one["code"] == "unknown_key"}
    assert named == {("warning", ".beads/agents/typo.yaml"), ("warning", "beads/hub-a.yaml"), ("note", "team_score")}
    why = alice.here("why", "hub-a", "--agent", "typo").out
    assert "which its file misspells (skils)" in why
    (agents / "typo.yaml").write_text("skills: {labels: [ui]}\n", encoding="utf-8")
    (alice.path / "beads" / "hub-a.yaml").write_text(bead.replace("lables", "labels"), encoding="utf-8")
    assert alice.here("sync").err == ""
    assert alice.here("list").err == ""


def test_the_clones_own_settings_are_looked_at_too(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("config", "set", "agent", "coder", "--clone")
    path = alice.path / ".git" / "bd" / "config.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "git_timout: 5m\n", encoding="utf-8")
    assert "has the unknown key git_timout: did you mean git_timeout?" in alice.here("list").err


_POOLS = """[workspace]
name = "city"

[[agent]]
name = "mayor"
prompt_template = "prompts/mayor.md"

[[agent]]
name = "worker"
provider = "claude"

[agent.pool]
min = 0
max = 10
check = "bd ready --json | jq length"
drain_timout = "5m"
"""
_REGISTRATION = """agent:
  id: "agent_coder_01"
  type: "coder"
  capabilities: ["git", "testing"]
  models_available: ["m1"]
  max_concurrent_tasks: 2
  current_tasks: 1
  budget_remaining_usd: 45.00
  status: "active"                # active | draining | offline
  last_heartbeat: "2026-02-08T09:15:00Z"
  poll_interval_sec: 5
  claim_ttl_sec: 60
"""


def test_pools_in_toml_become_agent_files(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    (tmp_path / "city.toml").write_text(_POOLS, encoding="utf-8")
    assert alice.here("import", str(tmp_path / "city.toml"), "--dry-run", "--json").json["agents"] == ["mayor", "worker"]
    assert alice.here("agent", "list", "--json").json == []
    answer = alice.here("import", str(tmp_path / "city.toml"), "--json").json
    assert answer["agents"] == ["mayor", "worker"]
    assert [line.partition(": ")[0] + ": " + line.split(": ")[1].split(":")[0] for line in answer["left_out"][1:]] == [
        "mayor: prompt_template",
        "worker: provider",
        "worker: pool.drain_timout",
    ]
    pools = {pool["name"]: pool for pool in alice.here("pool", "status", "--json").json}
    assert [pools[name][key] for name in ("mayor", "worker") for key in ("min", "max")] == [1, 1, 0, 10]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "a"\nmax_concurrent = "x"', "a: max_concurrent"),
        ('name = "a"\nskills = 5', "a: skills: a mapping was expected"),
        ('name = "a"\nbudget_usd = "much"', "a: budget_usd"),
        ('name = "a"\nbudget_usd = nan', "a: nan is not a number"),
        ('name = "a"\n[[agent]]\nname = "A"', "the agent a is there twice"),
    ],
)
def test_no_agent_file_is_written_that_a_clone_could_not_read(local_hub: Clone, text: str, words: str) -> None:
    (local_hub.path / "city.toml").write_text(f"[[agent]]\n{text}\n", encoding="utf-8")
    assert f"city.toml: {words}" in local_hub.here("import", "city.toml", code=2).err
    assert local_hub.here("agent", "list", "--json").json == []


def test_a_registration_becomes_an_agent_file(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    (tmp_path / "agent.yaml").write_text(_REGISTRATION, encoding="utf-8")
    told = alice.here("import", str(tmp_path / "agent.yaml"))
    for key in ("current_tasks", "status", "last_heartbeat"):
        assert f"not taken over: agent-coder-01: {key}: " in told.err
    agent = alice.here("agent", "show", "agent-coder-01", "--json").json
    wanted = {"role": "coder", "capabilities": ["git", "testing"], "models_available": ["m1"], "max_concurrent": 2}
    assert {key: agent[key] for key in wanted} == wanted
    assert (agent["interval"], agent["budget_usd"], agent["claim_ttl"]) == ("5s", 45, "1m")
    assert alice.here("list").err == ""
