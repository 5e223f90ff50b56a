"""How a bead is to be worked on, as flags of create and update and as keys of a plan: all three write the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.bead_options import FIELDS
from bd.cli.commands.create import SPEC as CREATE
from bd.cli.commands.create import spec_of
from bd.cli.commands.update import SPEC as UPDATE
from bd.cli.work_options import WORK_OPTIONS
from bd.compat.plan_files import read_specs
from bd.core.operation import DecisionContext
from bd.core.settings import merge
from tests.clocks import START
from tests.truth import tip_bead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

CASES: list[tuple[list[str], str, dict[str, Any]]] = [
    (["--prompt", "Do it"], "prompt: Do it", {"spec": {"prompt": "Do it"}}),
    (
        ["--context", "task:hub-x:output,a"],
        'context: "task:hub-x:output, a"',
        {"spec": {"context_refs": ["task:hub-x:output", "a"]}},
    ),
    (["--models", "m1", "--models", "m2"], "models: [m1, m2]", {"spec": {"model_preferences": ["m1", "m2"]}}),
    (["--fallback-models", "m3"], "fallback_models: m3", {"spec": {"fallback_models": ["m3"]}}),
    (["--max-duration", "30m"], "max_duration: 30m", {"spec": {"max_duration": "30m"}}),
    (["--max-cost", "2.5"], "max_cost: 2.5", {"spec": {"max_cost_usd": 2.5}}),
    (["--retry", "fixed"], "retry: fixed", {"retry": {"strategy": "fixed"}}),
    (
        ["--retry", "max_delay=1m", "--retry", "jitter=no", "--retry", "retry_on=timeout,crash"],
        "retry: {max_delay: 1m, jitter: false, retry_on: [timeout, crash]}",
        {"retry": {"max_delay": "1m", "jitter": False, "retry_on": ["timeout", "crash"]}},
    ),
    (
        ["--validation", "regex:^ok: fine"],
        'validation: "regex:^ok: fine"',
        {"output": {"validation": "regex", "validation_schema": "^ok: fine"}},
    ),
    (["--validation", "test-pass"], "validation: test-pass", {"output": {"validation": "test-pass"}}),
    (["--validation", "tests"], "validation: tests", {"output": {"validation": "test-pass"}}),
    (["--repo", "site"], "repo: site", {"repo": "site"}),
    (["--acceptance", "It works"], "acceptance: It works", {"acceptance_criteria": "It works"}),
]
KEYS = ("spec", "retry", "output", "repo", "acceptance_criteria")
# A value for each field of the table, as it is typed.
TYPED = {
    "type": "bug",
    "priority": "1",
    "base_priority": "12.5",
    "description": "What it is",
    "design": "How",
    "acceptance_criteria": "When",
    "notes": "Else",
    "assignee": "ann",
    "labels": "a,b",
    "deps": "hub-x,related:hub-y",
    "needs": "git,gpu",
    "parent": "hub-x",
    "id": "hub-new",
    "external_ref": "gh-9",
    "deadline": "2027-01-02",
    "defer_until": "2027-01-03",
    "expected": "45m",
    "estimated_minutes": "30",
    "exclusive": "repo:site",
    "max_attempts": "5",
    "repo": "site",
    "budget_ceiling_usd": "2.5",
    "claim_mode": "advisory",
}


@pytest.mark.parametrize("key", FIELDS)
def test_every_flag_of_create_is_a_key_of_a_plan(key: str) -> None:
    """The flag without its dashes, `--budget-ceiling` as `budget_ceiling`, with the value as it is typed."""
    field = FIELDS[key]
    flag = field.option()
    read = [flag.kind.read(TYPED[key])] if flag.multiple else flag.kind.read(TYPED[key])
    wanted = spec_of("Do it", **{flag.name: read})
    name = field.flags[0].removeprefix("--").replace("-", "_")
    (found,) = read_specs(f"title: Do it\n{name}: {TYPED[key]}\n".encode(), "plan.yaml", DecisionContext(START, merge([])))
    made = found.value()
    assert made.pop("name", None) in (None, TYPED[key])
    assert made == wanted


def test_every_flag_about_the_work_has_a_case() -> None:
    assert {option.flags[0] for option in WORK_OPTIONS} <= {word for flags, _, _ in CASES for word in flags}
    shared = {option.flags for option in (*CREATE.options, *UPDATE.options)}
    for field in FIELDS.values():
        assert field.flags in shared


def _said(hub: Clone, bead_id: str) -> dict[str, Any]:
    bead = tip_bead(hub.path, bead_id)
    assert bead is not None
    return {key: bead.get(key) for key in KEYS if bead.get(key) is not None}


def test_flags_and_plans_write_the_same(local_hub: Clone) -> None:
    for number, (flags, _, wanted) in enumerate(CASES):
        local_hub.here("create", "Do it", "--id", f"hub-c{number}", *flags)
        assert _said(local_hub, f"hub-c{number}") == wanted
    entries = "".join(f"- id: hub-p{number}\n  title: Do it\n  {line}\n" for number, (_, line, _) in enumerate(CASES))
    (local_hub.path / "plan.yaml").write_text(entries, encoding="utf-8")
    local_hub.here("create", "--file", "plan.yaml")
    for number, (_, _, wanted) in enumerate(CASES):
        assert _said(local_hub, f"hub-p{number}") == wanted


def test_an_update_changes_its_key_alone_and_nothing_takes_it_away(local_hub: Clone) -> None:
    local_hub.here("create", "Do it", "--id", "hub-a")
    everything: dict[str, Any] = {}
    for flags, _, wanted in CASES[:8]:
        local_hub.here("update", "hub-a", *flags)
        for key, value in wanted.items():
            everything[key] = {**everything.get(key, {}), **value}
        assert _said(local_hub, "hub-a") == everything
    local_hub.here("update", "hub-a", "--validation", "regex:x", "--repo", "site", "--needs", "gpu")
    assert local_hub.here("list", "--json").json[0]["repo"] == "site"
    assert "site" in local_hub.here("show", "hub-a").out
    flags = "--prompt --context --models --fallback-models --max-duration --retry --validation --repo --needs".split()
    local_hub.here("update", "hub-a", *(word for flag in flags for word in (flag, "")))
    assert _said(local_hub, "hub-a") == {"spec": {"max_cost_usd": 2.5}}


def test_two_people_change_different_keys_of_one_map(local_hub: Clone, tmp_path: Path) -> None:
    local_hub.here("create", "Do it", "--id", "hub-a", "--prompt", "old")
    local_hub.here("update", "hub-a", "--max-duration", "1h")
    local_hub.here("update", "hub-a", "--prompt", "new")
    assert _said(local_hub, "hub-a") == {"spec": {"prompt": "new", "max_duration": "1h"}}
    (tmp_path / "schema.json").write_text('{"type": "object"}', encoding="utf-8")
    local_hub.here("update", "hub-a", "--validation", f"json-schema:@{tmp_path / 'schema.json'}")
    assert _said(local_hub, "hub-a")["output"] == {"validation": "json-schema", "validation_schema": '{"type": "object"}'}


@pytest.mark.parametrize(
    ("flags", "line", "hint"),
    [
        (["--retry", "quick"], "retry: quick", None),
        (["--retry", "max_dely=1m"], "retry: {max_dely: 1m}", "max_delay"),
        (["--retry", "exponentail"], "retry: exponentail", None),
        (["--retry", "max_delay=soon"], "retry: {max_delay: soon}", None),
        (["--retry", "jitter=maybe"], None, None),
        (["--retry", "retry_on=boredom"], None, None),
        (["--validation", "tesst-pass"], "validation: tesst-pass", "test-pass"),
        (["--validation", ":^ok"], 'validation: ":^ok"', "has a rule and no kind"),
        (["--validation", "none:^ok"], 'validation: "none:^ok"', "has a rule and no kind"),
        (["--max-duration", "long"], "max_duration: long", None),
        (["--max-cost", "-1"], "max_cost: -1", None),
        (["--validation", "regex:@no-such-file"], None, None),
    ],
)
def test_what_nothing_could_go_by_is_refused(local_hub: Clone, flags: list[str], line: str | None, hint: str | None) -> None:
    told = [local_hub.here("create", "Do it", *flags, code=2).err]
    if line:
        (local_hub.path / "plan.yaml").write_text(f"title: Do it\n{line}\n", encoding="utf-8")
        told.append(local_hub.here("create", "--file", "plan.yaml", code=2).err)
    assert all((hint or "") in text for text in told)
    assert local_hub.here("list", "--json").json == []
