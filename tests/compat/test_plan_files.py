"""Plan files: every form that is read, and every mistake by the name of its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.compat.plan_files import read_plan, read_specs
from bd.core.errors import BadInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

SEEDS = Path(__file__).parents[2] / "examples" / "seeds"

PLAN = """\
# what a person writes
title: Build the landing page
budget_ceiling_usd: 12.5
labels: client-x, web
tasks:
  - name: research
    title: 1.10
    type: research
    priority: 35
    needs: [web-search]
  - name: write
    title: "no"
    depends_on: [research, hub-7k3q]
    deadline: tomorrow
    priority: P1
    description: |
      two
      lines
  - name: ship
    title: Ship it
    depends_on: write
    deps: ["discovered-from:research", "blocks:party"]
    tasks:
      - {name: announce, title: Announce it}
  - name: party
    title: Party
    parent: party-plan
  - {name: party-plan, title: Plan the party}
"""


def plan(tmp_path: Path, text: str, name: str = "plan.yaml") -> list[dict[str, Any]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_plan(str(path))


def test_a_yaml_plan_is_a_root_and_its_tasks(tmp_path: Path) -> None:
    root, research, write, ship, announce, planned, party = plan(tmp_path, PLAN)
    assert root == {
        "title": "Build the landing page",
        "type": "epic",
        "budget_ceiling_usd": 12.5,
        "labels": ["client-x", "web"],
        "name": "root",
    }
    assert research == {
        "title": "1.10",
        "type": "research",
        "base_priority": 35,
        "needs": ["web-search"],
        "name": "research",
        "parent": "root",
    }
    assert (write["title"], write["deps"], write["deadline"]) == ("no", ["research", "hub-7k3q"], "tomorrow")
    assert (write["priority"], write["description"]) == (1, "two\nlines\n")
    assert ship["deps"] == ["write", "discovered-from:research"]
    assert (announce["parent"], party["parent"], party["deps"], planned["name"]) == ("ship", "party-plan", ["ship"], "party-plan")


def test_a_plan_becomes_beads_in_one_commit(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "There already", "--id", "hub-7k3q")
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    ids = alice.here("create", "--file", str(tmp_path / "plan.yaml"), "--json").json["ids"]
    assert set(ids) == {"root", "research", "write", "ship", "announce", "party-plan", "party"}
    rows = {row["id"]: row for row in alice.here("list", "--all", "--json").json}
    edges = {name: {(e["type"], e["depends_on_id"]) for e in rows[ids[name]].get("dependencies", [])} for name in ids}
    assert edges["write"] == {("blocks", ids["research"]), ("blocks", "hub-7k3q"), ("parent-child", ids["root"])}
    assert ("blocks", ids["ship"]) in edges["party"]
    assert rows[ids["research"]]["title"] == "1.10"
    assert (rows[ids["research"]]["priority"], rows[ids["research"]]["base_priority"]) == (2, 35)
    assert rows[ids["root"]]["issue_type"] == "epic"


def test_json_lines_json_plans_and_lists(tmp_path: Path) -> None:
    lines = plan(
        tmp_path, '{"title":"One"}\n\n{"title":"Two","issue_type":"bug","depends_on":["hub-a1"],"id":"hub-b2"}\n', "p.jsonl"
    )
    assert lines == [{"title": "One"}, {"title": "Two", "type": "bug", "deps": ["hub-a1"], "id": "hub-b2", "name": "hub-b2"}]
    as_json = json.dumps(
        {"title": "Root", "tasks": [{"name": "a", "title": "A", "estimate": 5}, {"title": "B", "blocked_by": ["a"]}]}
    )
    assert plan(tmp_path, as_json) == [
        {"title": "Root", "type": "epic", "name": "root"},
        {"name": "a", "title": "A", "estimated_minutes": 5, "parent": "root"},
        {"title": "B", "deps": ["a"], "parent": "root"},
    ]
    for text in ("- title: A\n- title: B\n", "# two\n---\n- title: A\n- title: B\n", "[{title: A},\n{title: B}]\n"):
        assert plan(tmp_path, text) == [{"title": "A"}, {"title": "B"}]
    assert plan(tmp_path, "title: Alone\nspec: {prompt: Do it}\n") == [{"title": "Alone", "spec": {"prompt": "Do it"}}]


def test_graphs_of_the_go_tool(tmp_path: Path) -> None:
    graph = {
        "commit_message": "x",
        "nodes": [
            {"key": "a", "title": "A", "type": "epic", "metadata": {"k": "", "n": "1"}, "ephemeral": True},
            {"key": "b", "title": "B", "parent_key": "a", "priority": 0, "assign_after_create": True, "assignee": "coder"},
            {"key": "c", "title": "C", "deps": [{"type": "blocks", "target": "b"}, {"type": "related", "target": "hub-z9"}]},
        ],
        "edges": [
            {"from_key": "b", "to_key": "c", "type": "discovered-from"},
            {"from_id": "hub-y8", "to_key": "c"},
            {"from_key": "c", "to_key": "a", "type": "parent-child"},
        ],
    }
    a, b, c = plan(tmp_path, json.dumps(graph))
    assert a["metadata"] == {"k": "", "n": "1", "ephemeral": True}
    assert (b["parent"], b["priority"], b["assignee"], b["deps"]) == ("a", 0, "coder", ["discovered-from:c"])
    assert (c["parent"], c["deps"]) == ("a", ["b", "related:hub-z9", "blocks:hub-y8"])
    other = plan(tmp_path, json.dumps({"issues": [{"id": "x", "title": "X"}, {"id": "y", "title": "Y", "depends_on": ["x"]}]}))
    assert other == [{"title": "X", "name": "x"}, {"title": "Y", "name": "y", "deps": ["x"]}]


def test_names_from_elsewhere_for_the_same_things(tmp_path: Path) -> None:
    text = """\
title: One
due: 2026-03-01
acceptance: it runs
tags: [a]
expected_sec: 5400
cost_usd: 0.5
tokens_used: {input: 10, output: 0}
max_cost_usd: 2
retry: {strategy: fixed, max_delay_sec: 90}
inherit_labels: no
metadata: {empty: "", none: null}
links: [{type: related, id: hub-a1}]
status: pending
"""
    assert plan(tmp_path, text) == [
        {
            "title": "One",
            "deadline": "2026-03-01",
            "acceptance_criteria": "it runs",
            "labels": ["a"],
            "expected": "90m",
            "cost": {"usd": 0.5, "tokens": {"input": 10, "output": 0}},
            "spec": {"max_cost_usd": 2},
            "retry": {"strategy": "fixed", "max_delay": "90s"},
            "inherit_labels": False,
            "metadata": {"empty": "", "none": None},
            "deps": ["related:hub-a1"],
            "status": "open",
        }
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("title: x\ntasks:\n- name: a\n  titel: q\n", "tasks[1] (a): 'titel' is not a field of a bead", "did you mean title?"),
        (
            "title: x\ntasks:\n- {name: a, title: q}\n- {title: r, depends_on: [b]}\n",
            "tasks[2]: depends_on: 'b' is neither a name",
            "",
        ),
        (
            "title: x\ntasks:\n- {name: research, title: q, depends_on: [reserch]}\n",
            "'reserch' is neither a name",
            "did you mean research?",
        ),
        ("title: x\ntasks:\n- {title: q, parent: other}\n", "tasks[1]: parent: 'other' is neither a name", ""),
        ("title: x\ntasks:\n- name: a\n", "tasks[1] (a): a bead needs a title", ""),
        (
            "title: x\ntasks:\n- {name: a, title: q}\n- {name: a, title: r}\n",
            "tasks[2] (a): another bead of the plan has this name",
            "",
        ),
        ("title: x\n  bad: [\n", "is not YAML: mapping values are not allowed in this context (line 2)", ""),
        ("- a: [\n- b\n", "(line 2)", ""),
        ("- title: a\n- title: b\n  foo: 1\n", "entry 2: 'foo' is not a field of a bead", "metadata"),
        ("- title: a\n- just words\n", "entry 2: a bead is a mapping with a title", ""),
        ('{"title":"a"}\n{"title":\n', "line 2: not JSON", "one JSON object a line"),
        ('{"title":"a"}\n{"titl":"b"}\n', "line 2: 'titl' is not a field of a bead", "did you mean title?"),
        ("title: x\npriority: 101\n", "priority 101 is not within", ""),
        ("title: x\nexpected: soon\n", "expected: 'soon' is not a duration", ""),
        ("title: x\nclaim: {agent: me}\n", "'claim' can only be set by bd", "bd claim"),
        ("title: x\nuid: 01H\n", "'uid' can only be set by bd", ""),
        ("title: x\ntitle: y\n", "has the key 'title' twice (line 2)", ""),
        ("agent:\n  id: a\n", "describes an agent", ".beads/agents"),
        ('{"nodes":[{"key":"a","title":"A"}],"edges":[{"from":"b","to":"a"}]}', "edges[1]: 'b' is not a name in this plan", ""),
        ('{"nodes":[{"key":"a","title":"A","metadata_refs":{"x":"a"}}]}', "'metadata_refs' is not a field", ""),
        ('{"nodes":[{"key":"a","title":"A"}],"edges":[{"from":"a"}]}', "edges[1]: an edge needs from and to", ""),
        ('{"nodes":[{"key":"a","title":"A"}],"edges":["a"]}', "edges[1]: an edge is a mapping", ""),
        ("title: x\nspec: words\n", "spec: a mapping was expected", ""),
        ("title: x\nspec: {constraints: [1]}\n", "spec.constraints: a mapping was expected", ""),
        ("title: x\ndepends_on: {a: b}\n", "depends_on: a list was expected", ""),
        ("title: x\nlinks: [{type: related}]\n", "an edge without a target", ""),
        ("title: x\nretry: often\n", "retry: a mapping was expected", ""),
        ("- {title: x, name: 'a:b'}\n", "a name has no colon in it", ""),
        ("'x': {}\n\0", "has a NUL byte", ""),
        ("7", "is not a mapping", ""),
        ("", "is empty", ""),
        ("just words\n", "is not a mapping", ""),
        ("tasks: []\n", "contains no beads", ""),
    ],
)
def test_mistakes_are_named_by_their_place(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(BadInput) as error:
        plan(tmp_path, text)
    assert message in str(error.value)
    assert hint in (error.value.hint or "")


def test_a_mistake_makes_nothing(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    (tmp_path / "plan.yaml").write_text("- title: A\n- titel: B\n", encoding="utf-8")
    assert "entry 2" in alice.here("create", "--file", str(tmp_path / "plan.yaml"), code=2).err
    assert alice.here("count", "--json").json["count"] == 0
    alice.here("create", "--file", str(tmp_path / "missing.yaml"), code=4)
    with pytest.raises(NotFound):
        read_plan(str(tmp_path / "missing.yaml"))


def test_stdin_is_a_plan_too(clone: Callable[[str], Clone]) -> None:
    ended = clone("alice").bd("create", "--file", "-", "--silent", input="- title: A\n- title: B\n")
    assert len(ended.lines) == 2


# --- the examples of the source papers, as they are printed ---------------------------------


def test_the_task_example_is_a_bead(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    ids = alice.here("create", "--file", str(SEEDS / "task.yaml"), "--json").json["created"]
    (row,) = alice.here("show", ids[0], "--json").json
    assert (row["title"], row["issue_type"], row["status"]) == ("Fix auth middleware CORS handling", "code", "open")
    assert (row["base_priority"], row["priority"]) == (50, 2)
    assert row["spec"] == {
        "prompt": "...",
        "context_refs": ["artifact:abc", "task:xyz:output"],
        "max_cost_usd": 0.5,
        "max_duration": "5m",
        "model_preferences": ["claude-sonnet-4", "gpt-4o"],
        "fallback_models": ["claude-haiku"],
    }
    assert row["needs"] == ["code-execution", "web-search"]
    assert row["retry"]["initial_delay"] == "10s"
    assert row["retry"]["no_retry_on"] == ["auth_failure", "budget_exceeded", "cancelled"]
    assert (row["created_by"], row["created_at"], row["due_at"]) == (
        "agent:orchestrator",
        "2026-02-08T09:00:00Z",
        "2026-02-09T12:00:00Z",
    )
    assert (row["labels"], row["idempotency_key"]) == (["repo:myapp", "sprint:12"], "pr-123-lint")
    assert row["metadata"]["depends_on"] == ["task_01J8K1...", "task_01J8K0..."]
    assert "placeholders" in row["notes"]
    assert alice.here("create", "--file", str(SEEDS / "task.yaml"), "--json").json["created"] == ids  # its key is known


def test_the_dag_example_is_a_root(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    ids = alice.here("create", "--file", str(SEEDS / "dag.yaml"), "--json").json["created"]
    (row,) = alice.here("show", ids[0], "--json").json
    assert (row["title"], row["issue_type"], row["status"]) == ("Build landing page for client X", "epic", "open")
    assert row["created_by"] == "human:adam"
    assert row["metadata"]["tasks"] == ["task_01...", "task_02...", "task_03..."]
    assert row["metadata"]["leaves"] == ["task_05..."]


def test_a_dag_with_its_tasks_written_out_is_a_tree(tmp_path: Path) -> None:
    text = """\
dag:
  id: dag_1
  title: Page
  tasks:
    - {id: "task_01...", title: A, dag_id: dag_1}
    - {id: task_2, title: B, depends_on: ["task_01...", "task_09..."], parent_id: "task_01...", status: running}
"""
    root, a, b = plan(tmp_path, text)
    assert (root["name"], a["parent"], b["deps"], b["status"]) == ("dag_1", "dag_1", ["task_01..."], "in_progress")
    # As a child it would wait for its parent, which closes after its children.
    assert (b["parent"], b["metadata"]) == ("dag_1", {"parent_id": "task_01...", "depends_on": ["task_09..."]})


@pytest.mark.parametrize(
    ("keys", "gathers", "metadata"),
    [
        ("tasks: [u-c1, u-c2]", ["u-c1", "u-c2"], None),
        ("tasks: [u-c1]\n  roots: [u-c1]\n  leaves: [u-c1]", ["u-c1"], None),
        ("tasks: [u-c1]\n  roots:\n  leaves: null", ["u-c1"], None),
        ("tasks: None\n  roots: None\n  leaves: {}", None, None),
        (
            'tasks: [u-c1, "task_01...", ...]\n  roots: ["task_01..."]',
            ["u-c1"],
            {"tasks": ["task_01..."], "roots": ["task_01..."]},
        ),
        ("tasks: [b, u-c1, {id: b, title: B}]", ["u-c1"], None),
    ],
)
def test_a_dag_gathers_the_beads_that_it_names(keys: str, gathers: list[str] | None, metadata: dict[str, Any] | None) -> None:
    root = read_specs(f"dag:\n  id: dag_1\n  title: Page\n  {keys}\n".encode(), "plan.yaml")[0].value()
    assert (root.get("gathers"), root.get("metadata")) == (gathers, metadata)


@pytest.mark.parametrize(("dag_id", "parent"), [("hub-dag", "hub-dag"), ("dag_01J8K", None), ('"dag_01J8K..."', None)])
def test_a_task_is_in_its_dag_or_alone(tmp_path: Path, dag_id: str, parent: str | None) -> None:
    (alone,) = plan(tmp_path, f"task:\n  title: Alone\n  dag_id: {dag_id}\n")
    assert alone.get("parent") == parent
    assert (alone.get("metadata") is None) == (parent is not None)
    assert ("placeholder" in alone.get("notes", "")) == ("..." in dag_id)
