"""Plans and DAGs as they are typed: one commit or nothing, once, by whoever is first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.running import result_of
from tests.truth import all_beads, commits, git, log, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(4)

PLAN = """\
title: Build it
budget_ceiling_usd: 4
tasks:
  - {name: one, title: One "quoted"}
  - {name: two, title: "Two; <b>", depends_on: [one]}
"""


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return str(path)


def test_a_plan_is_one_commit(clone: Clones, hub: Path, plan: str) -> None:
    alice = clone("alice")
    before = len(commits(hub))
    made = alice.here("plan", "apply", plan, "--json").json
    assert len(commits(hub)) == before + 1
    assert made["published"] is True
    beads = {bead.id: bead for bead in all_beads(hub)}
    assert set(beads) == set(made["ids"].values())
    assert beads[made["root"]].depends_on == [made["ids"]["two"]]
    assert {beads[made["ids"][name]].parent for name in ("one", "two")} == {made["root"]}
    assert [row["id"] for row in alice.here("ready", "--json").json] == [made["ids"]["one"]], "the root is not offered"


GATHERING = "dag:\n  title: All of it\n  tasks: [hub-a, hub-b]\n"


def test_a_dag_of_beads_that_exist(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a")
    alice.here("create", "B", "--id", "hub-b", "--deps", "hub-a")
    (tmp_path / "dag.yaml").write_text(GATHERING)
    assert "bd plan apply" in alice.here("create", "--file", str(tmp_path / "dag.yaml"), code=2).err
    would = alice.here("plan", "apply", str(tmp_path / "dag.yaml"), "--dry-run", "--json").json
    assert (len(would["would_create"]), would["would_gather"]) == (1, ["hub-a", "hub-b"])
    before = len(commits(hub))
    root = alice.here("plan", "apply", str(tmp_path / "dag.yaml"), "--json").json["root"]
    assert len(commits(hub)) == before + 1
    shown = alice.here("dag", "show", root, "--json").json
    assert (shown["roots"], shown["leaves"], shown["total"]) == (["hub-a"], ["hub-b"], 2)
    beads = {bead.id: bead for bead in all_beads(hub)}
    assert (beads[root].depends_on, beads["hub-a"].parent, beads["hub-b"].parent) == (["hub-b"], root, root)

    for name, deps in (("hub-c", []), ("hub-d", ["--deps", "hub-c"])):
        alice.here("create", name, "--id", name, *deps)
    assert alice.here("dag", "add", root, "hub-c", "hub-d").out.startswith(f"✓ {root} now has hub-c, hub-d\n")
    assert {bead.id: bead for bead in all_beads(hub)}[root].depends_on == ["hub-b", "hub-d"]
    was = tip(hub)
    alice.here("dag", "add", root, "hub-c", "hub-d")
    for words, code in (((root, "hub-z"), 4), (("hub-c", root), 5), (("hub-c", "hub-d"), 5), ((root,), 2), ((root, root), 2)):
        alice.here("dag", "add", *words, code=code)
    assert tip(hub) == was


@pytest.mark.parametrize("wrong", ["depends_on: [three]", "colour: red", "depends_on: [two]"])
def test_a_bad_plan_makes_nothing(clone: Clones, hub: Path, plan: str, tmp_path: Path, wrong: str) -> None:
    alice = clone("alice")
    alice.here("sync")
    before = tip(hub)
    (tmp_path / "bad.yaml").write_text(PLAN.replace("depends_on: [one]", wrong))
    for args in ((), ("--dry-run",)):
        result = alice.here("plan", "apply", str(tmp_path / "bad.yaml"), *args, "--json", check=False)
        assert (result.code, result.json["line"]) == (5 if "two" in wrong else 2, 5)
    assert tip(hub) == before


def test_a_dry_run_checks_against_the_hub_and_writes_nothing(clone: Clones, hub: Path, plan: str, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("sync")
    before = tip(hub)
    assert [one["name"] for one in alice.here("plan", "apply", plan, "--dry-run", "--json").json["would_create"]] == [
        "root",
        "one",
        "two",
    ]
    (tmp_path / "far.yaml").write_text(PLAN.replace("[one]", "[one, hub-gone]"))
    assert "hub-gone" in alice.here("plan", "apply", str(tmp_path / "far.yaml"), "--dry-run", code=4).err
    assert tip(hub) == before


def test_a_plan_from_stdin_in_json(local_hub: Clone) -> None:
    text = json.dumps({"title": "A", "tasks": [{"name": "b", "title": "B"}]})
    assert set(local_hub.here("plan", "apply", "-", "--json", input=text).json["ids"]) == {"root", "b"}


def test_one_key_makes_one_plan_whoever_applies_it(clone: Clones, hub: Path, plan: str) -> None:
    clones = [clone("alice"), clone("bob")]
    for one in clones:
        one.here("sync")
    results = [
        result_of(process) for process in [one.start("plan", "apply", plan, "--idempotency-key", "k", "--json") for one in clones]
    ]
    assert [result.code for result in results] == [0, 0]
    assert results[0].json["ids"] == results[1].json["ids"]
    assert len([subject for subject in log(hub) if subject.startswith("plan-apply")]) == 1
    assert len(all_beads(hub)) == 3


def test_a_key_is_spent_also_when_beads_are_archived_or_deleted(clone: Clones, hub: Path, plan: str, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    made = alice.here("plan", "apply", plan, "--idempotency-key", "k", "--json").json
    alice.here("close", made["ids"]["one"])
    alice.here("archive", "--older-than", "0s")
    alice.here("delete", made["ids"]["two"], "--force")
    (tmp_path / "plan.yaml").write_text(PLAN + "  - {name: new, title: New}\n")
    again = bob.here("plan", "apply", plan, "--idempotency-key", "k", "--json")
    assert again.json["ids"] == made["ids"]
    assert "1 of its beads has been deleted since" in again.err
    assert len(all_beads(hub)) == 1


def test_create_with_the_key_of_a_deleted_bead_makes_nothing(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    first = alice.here("create", "Once", "--idempotency-key", "issue-9", "--json").json["id"]
    assert alice.here("create", "Twice", "--idempotency-key", "issue-9", "--json").json["id"] == first
    alice.here("delete", first, "--force")
    before = tip(hub)
    for args in ((), ("--json",), ("--quiet",)):
        result = bob.here("create", "Again", "--idempotency-key", "issue-9", *args)
        assert first in result.out
        assert "and deleted" in result.err
    assert tip(hub) == before
    assert b"spent_keys:\n  issue-9: " + first.encode() in (tip_file(hub, ".beads/config.yaml") or b"")


def test_a_file_removed_by_hand_spends_its_key_too(local_hub: Clone) -> None:
    first = local_hub.here("create", "Once", "--idempotency-key", "k", "--json").json["id"]
    (local_hub.path / "beads" / f"{first}.yaml").unlink()
    local_hub.here("sync")
    assert "and deleted" in local_hub.here("create", "Again", "--idempotency-key", "k").err
    assert all_beads(local_hub.path) == []


def test_a_dag_is_called_off_whole_or_not_at_all(clone: Clones, hub: Path, plan: str) -> None:
    alice, bob = clone("alice"), clone("bob")
    made = alice.here("plan", "apply", plan, "--json").json
    bob.here("claim", made["ids"]["one"], "--agent", "bob")
    before = tip(hub)
    assert "no token was given" in alice.here("dag", "cancel", made["root"], "--reason", "off", code=5).err
    assert tip(hub) == before
    alice.here("dag", "cancel", made["root"], "--reason", "off", "--force")
    assert {(bead.status, bead.get("close_reason")) for bead in all_beads(hub)} == {("cancelled", "off")}
    assert len(commits(hub)) == len(git(hub, "rev-list", before).splitlines()) + 1
    assert alice.here("dag", "show", made["root"], "--json").json["status"] == "cancelled"
    assert alice.here("dag", "list").out == "No unfinished DAGs; --all lists the others.\n"


def test_pictures_hold_whatever_a_title_says(local_hub: Clone, plan: str) -> None:
    made = local_hub.here("plan", "apply", plan, "--json").json
    root, one, two = (made["ids"][name] for name in ("root", "one", "two"))
    mermaid = local_hub.here("dag", "show", root, "--format", "mermaid").out
    assert "One #34;quoted#34;" in mermaid
    assert "Two#59; #60;b#62;" in mermaid
    assert "  n1 --> n2" in mermaid
    dot = local_hub.here("dag", "show", root, "--format", "dot").out
    assert f'"{one}" -> "{two}"' in dot
    assert 'One \\"quoted\\"' in dot


def test_a_dag_in_full(local_hub: Clone, plan: str) -> None:
    made = local_hub.here("plan", "apply", plan, "--json").json
    root, one, two = (made["ids"][name] for name in ("root", "one", "two"))
    local_hub.here("close", one)
    shown = local_hub.here("dag", "show", root, "--json").json
    assert (shown["status"], shown["done"], shown["total"]) == ("running", 1, 2)
    assert (shown["roots"], shown["leaves"], shown["critical_path"]) == ([one], [two], [two])
    assert (shown["cost_usd"], shown["budget_ceiling_usd"], shown["left_usd"]) == (0, 4, 4)
    assert "Cost:        $0.00 of $4.00, $4.00 left" in local_hub.here("dag", "show", root).out
    assert [bead["id"] for bead in shown["beads"]] == [root, one, two]
    local_hub.here("close", two)
    assert local_hub.here("dag", "list", "--all", "--json").json[0]["status"] == "completed"
    assert [row["id"] for row in local_hub.here("ready", "--json").json] == [root], "the root comes last"


def test_dags_are_listed_by_age_to_the_fraction_of_a_second(local_hub: Clone) -> None:
    made = {"web-a": "2026-02-20T09:00:00.5Z", "web-b": "2026-02-20T09:00:00Z"}
    issues = [
        {"id": bead_id, "title": bead_id, "created_at": at, "updated_at": at, "status": "open", **more}
        for root, at in made.items()
        for bead_id, more in (
            (root, {}),
            (f"{root}.1", {"dependencies": [{"issue_id": f"{root}.1", "depends_on_id": root, "type": "parent-child"}]}),
        )
    ]
    (local_hub.path / "issues.jsonl").write_text("\n".join(map(json.dumps, issues)))
    local_hub.here("import", "issues.jsonl")
    assert [dag["id"] for dag in local_hub.here("dag", "list", "--json").json] == ["web-b", "web-a"]
