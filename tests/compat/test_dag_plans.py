"""Whole DAGs as plans: the line of every mistake, what waits for what, and the way back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.compat.dag_plans import graph_of, plan_of, plan_text
from bd.core.errors import BadInput, BdError, WouldCycle
from bd.core.operation import DecisionContext
from bd.core.settings import merge
from bd.operations.plan import ApplyPlan
from tests.clocks import START
from tests.memory import MemoryStore, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Bead


CONTEXT = DecisionContext(START, merge([]))


def graph(text: str) -> list[dict[str, Any]]:
    return graph_of(text.encode(), "plan.yaml", CONTEXT)


def applied(specs: list[dict[str, Any]], *there: Bead) -> tuple[MemoryStore, dict[str, str]]:
    store = MemoryStore(*there)
    change = store.publish(ApplyPlan(beads=specs, **by()))
    return store, change.result


PLAN = """\
title: Build it
tasks:
  - name: one
    title: One
  - name: two
    title: Two
    depends_on: [one]
  - name: three
    title: Three
    depends_on:
      - one
      - two
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("      - two", "      - tow", 12, "tasks[3] (three): depends_on: 'tow' is neither a name in this plan"),
        ("    depends_on: [one]", "    depends_on: [one, tow]", 7, "'tow' is neither a name"),
        ("  - name: one\n    title: One", "  - name: one\n    titel: One", 4, "'titel' is not a field of a bead"),
        ("    title: Two", "    priority: urgent", 6, "tasks[2] (two): "),
        ("  - name: two\n    title: Two", "  - name: two", 5, "a bead needs a title"),
        ("  - name: two", "  - name: one", 5, "another bead of the plan has this name"),
        ("  - name: one\n", "  - name: one\n    depends_on: [three]\n", 4, "one waits for three, which waits for "),
        ("  - name: one\n", "  - name: one\n    depends_on: [one]\n", 3, "one waits for one"),
        ("title: Build it", "title: Build it\nbudget_ceiling_usd: much", 2, "budget_ceiling_usd"),
        ("tasks:", "tasks:\n  - just words", 3, "a bead is a mapping"),
        ("    title: Two", "    title: Two\n    deadline: someday", 7, "tasks[2] (two): 'someday' is not a time"),
        ("    title: Two", "    title: Two\n    type: zzz", 7, "'zzz' is not a bead type here"),
        ("    title: Two", "    title: Two\n    status: wild", 7, "'wild' is not a status here"),
        ("    title: Two", "    title: Two\n    max_attempts: -1", 7, "max_attempts: -1 is not a number from 1 on"),
        ("    title: Two", "    title: Two\n    spec: {max_cost_usd: lots}", 7, "spec.max_cost_usd: 'lots' is not a number"),
        ("    title: Two", "    title: Two\n    spec: {max_duration: soon}", 7, "'soon' is not a duration"),
        ("    title: Two", "    title: Two\n    retry: {strategy: magic}", 7, "retry.strategy: 'magic' is not one of"),
        ("    title: Two", "    title: Two\n    retry: {max_delay: soon}", 7, "'soon' is not a duration"),
        ("    title: Two", "    title: Two\n    output: {validation: wish}", 7, "output.validation: 'wish' is not one of"),
        ("    title: Two", "    title: Two\n    base_priority: -3", 7, "not between 0 and 100"),
    ],
)
def test_a_mistake_is_told_with_its_line(old: str, new: str, line: int, says: str) -> None:
    with pytest.raises(BdError) as raised:
        graph(PLAN.replace(old, new, 1))
    assert f"plan.yaml, line {line}: " in str(raised.value)
    assert says in str(raised.value)
    assert raised.value.as_json()["line"] == line
    assert isinstance(raised.value, WouldCycle if "waits for" in says or "each other" in says else BadInput)


def test_a_parent_may_stand_behind_its_children() -> None:
    specs = graph("title: A\ntasks: [{name: b, title: B, parent: c}, {name: c, title: C, parent: d}, {name: d, title: D}]")
    store, ids = applied(specs)
    assert [spec["name"] for spec in specs] == ["root", "d", "c", "b"]
    assert [store.bead(ids[name]).parent for name in "bcd"] == [ids["c"], ids["d"], ids["root"]]


def test_json_has_lines_too() -> None:
    text = json.dumps({"title": "A", "tasks": [{"name": "a", "title": "A", "depends_on": ["b"]}]}, indent=1)
    with pytest.raises(BadInput, match=r"line \d+: tasks\[1\] \(a\): depends_on: 'b' is neither a name") as raised:
        graph(text)
    line = raised.value.as_json()["line"]
    assert '"b"' in text.splitlines()[line - 1]


def test_the_root_waits_for_what_nothing_else_waits_for() -> None:
    root, *_ = graph(PLAN)
    assert (root["name"], root["deps"], root["type"]) == ("root", ["three"], "epic")


def test_tasks_below_a_task_are_done_before_it() -> None:
    nested = PLAN + "    tasks:\n      - title: Nobody names me\n      - {name: x, title: X}\n"
    specs = {spec["name"]: spec for spec in graph(nested)}
    assert specs["three"]["deps"] == ["one", "two", "task-4", "x"]
    assert specs["root"]["deps"] == ["three"]


def test_an_explicit_wait_stays_once() -> None:
    root, *_ = graph(PLAN.replace("tasks:", "depends_on: [three, hub-x]\ntasks:"))
    assert root["deps"] == ["three", "hub-x"]


@pytest.mark.parametrize("text", ["- title: A\n- title: B\n", '{"title": "A"}\n{"title": "B"}\n'])
def test_a_plan_has_one_root(text: str) -> None:
    with pytest.raises(BadInput, match="a plan has one root"):
        graph(text)


def test_a_plan_of_one_bead() -> None:
    assert graph("title: Alone\n") == [{"title": "Alone", "name": "task-0"}]


def test_a_circle_through_beads_that_are_there_names_the_plans_names() -> None:
    text = PLAN.replace("title: Build it", "title: Build it\nparent: hub-p")
    text = text.replace("    title: One", "    title: One\n    deps: ['blocks:hub-q']")
    with pytest.raises(WouldCycle, match="hub-p, which waits for hub-q, which waits for one, which is a child of root"):
        applied(graph(text), make_bead("hub-p", depends_on=["hub-q"]), make_bead("hub-q"))


# --- the way back ---------------------------------------------------------------------------


def shape(store: MemoryStore, ids: dict[str, str]) -> dict[str, tuple[Any, ...]]:
    """What a plan says of each bead, by title: ids say nothing."""
    titles = {bead.id: bead.title for bead in store.tip.every()}

    def facts(bead: Bead) -> tuple[Any, ...]:
        spec = json.dumps(bead.get("spec", {}), sort_keys=True)
        return (
            bead.type,
            bead.priority,
            bead.labels,
            titles.get(bead.parent or ""),
            sorted(titles[one] for one in bead.depends_on),
            spec,
        )

    return {bead.title: facts(bead) for bead in (store.bead(bead_id) for bead_id in ids.values())}


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=12)


@given(st.lists(st.tuples(WORDS, st.lists(st.integers(0, 6), max_size=3), st.integers(0, 6)), max_size=7))
def test_a_plan_that_was_exported_makes_the_same_again(rows: list[tuple[str, list[int], int]]) -> None:
    tasks = [
        {
            "name": f"t{i}",
            "title": f"{words} {i}",
            "depends_on": [f"t{j}" for j in waits if j < i],
            "spec": {"prompt": words, "context_refs": [words]},
            "labels": ["x"],
            **({"parent": f"t{above}"} if above < i and above not in waits and not waits else {}),
        }
        for i, (words, waits, above) in enumerate(rows)
    ]
    try:
        specs = graph(json.dumps({"title": "Root", "tasks": tasks}))
    except WouldCycle:
        return
    store, ids = applied(specs)
    root = store.bead(ids[specs[0]["name"]])
    plan = plan_of(root, store.tip)
    for text in (plan_text(plan), json.dumps(plan)):
        again, new_ids = applied(graph(text))
        assert shape(again, new_ids) == shape(store, ids)


def test_what_became_of_a_bead_is_not_exported() -> None:
    store, ids = applied(graph(PLAN), make_bead("hub-x"))
    done = store.bead(ids["one"]).evolve(status="closed", closed_by="agent:a", output={"data": "x", "type": "json"}, attempts=2)
    store.put(done, store.bead(ids["two"]).evolve(depends_on=[ids["one"], "hub-x"]))
    plan = plan_of(store.bead(ids["root"]), store.tip)
    one, two, _ = plan["tasks"]
    assert one == {"name": "one", "title": "One", "type": "task", "priority": 2, "output": {"type": "json"}}
    assert two["depends_on"] == ["one", "hub-x"]
