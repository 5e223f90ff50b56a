"""Texts that are made for a terminal: they are shown, as what they are; on a terminal with colours too, and in git's own words."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.output import escaped, json_safe
from bd.store.yaml.editor import quoted
from tests.cli.test_globals import in_a_terminal
from tests.hostile.planting import FORBIDDEN, GOOD, GOOD_PATH, READS, everything_goes_on, harmless, plant
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones

# What an emulator obeys: clear, title, clipboard (OSC 52), a link (OSC 8), C1, device control; then what no eye sees.
EVIL = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\\x9b31m\x90q\x9c\x1bPq\x1b\\\x1b[8m\x1b[31m"
    "\r\x08\x0b\x0c\x7f\x85\u202etxt.exe\u2066\u2069\u200b\u200f\u061c\u2028\u2029\u2060\ufeff\u00ad\U000e0041"
)
IN_YAML = quoted(EVIL)
BEADS = {
    "texts": f"title: {IN_YAML}\n"
    + "".join(
        f"{key}: {IN_YAML}\n" for key in "type assignee owner description design acceptance_criteria notes external_ref".split()
    )
    + f"labels: [{IN_YAML}]\nneeds: [{IN_YAML}]\nexclusive: {IN_YAML}\nprefer_agent: {IN_YAML}\nprefer_until: 9999-12-31T23:59:59Z\n"
    + f"metadata: {{{IN_YAML}: {IN_YAML}, b: [{IN_YAML}]}}\noutput: {{data: {IN_YAML}, artifacts: [{IN_YAML}, {{a: {IN_YAML}}}]}}\n"
    + f"spec: {{prompt: {IN_YAML}}}\n{IN_YAML}: {IN_YAML}\ncreated_by: {IN_YAML}\nidempotency_key: {IN_YAML}\n",
    "edges": f"title: t\nparent: {IN_YAML}\ndepends_on: [{IN_YAML}, hub-edges, '', ../x, hub-good, hub-good]\n"
    f"links: [{{}}, {{type: {IN_YAML}, id: {IN_YAML}}}, {{id: hub-good}}]\n",
    "waits": f"title: t\nstatus: blocked\nwaiting_on: human\nwaiting_since: 9999-12-31T23:59:59Z\nstatus_reason: {IN_YAML}\n",
    "waits2": f"title: t\nstatus: blocked\nwaiting_on: {IN_YAML}\nwaiting_since: 0001-01-01T00:00:00Z\nstatus_reason: {IN_YAML}\n",
    "dead": f"title: t\nstatus: dead_letter\nattempts: 3\ndead_lettered_at: 9999-12-31T23:59:59Z\npoison_pill: yes\nresolution: {IN_YAML}\n"
    f"failures: [{{}}, {{attempt: {'9' * 300}, agent: {IN_YAML}, reason: {IN_YAML}, error: {IN_YAML}, at: 0001-01-01T00:00:00Z, duration_s: -1e308, cost_usd: 1e308}}]\n"
    f"progress: [{{}}, {{at: 9999-12-31T23:59:59Z, agent: {IN_YAML}, text: {IN_YAML}}}]\nnotified: {{by: {IN_YAML}}}\n"
    f"comments: [{{}}, {{id: {IN_YAML}, author: {IN_YAML}, at: 0001-01-01T00:00:00Z, text: {IN_YAML}}}]\n",
    "closed": f"title: t\nstatus: closed\nclosed_at: 0001-01-01T00:00:00Z\nclosed_by: {IN_YAML}\nclose_reason: {IN_YAML}\n",
    "status": f"title: t\nstatus: {IN_YAML}\n",
    "held": f"title: t\nstatus: in_progress\nowner: {IN_YAML}\nattempts: {'9' * 300}\nclaim: {{agent: bob, token: T1, attempt: {'9' * 300}, "
    f"host: {IN_YAML}, version: {IN_YAML}, work_ref: {IN_YAML}, routed: {IN_YAML}, heartbeat_by: {IN_YAML}, heartbeat_interval_s: 1e308}}\n",
    "held2": "title: t\nstatus: in_progress\nclaim: {agent: bob, token: T2, claimed_at: 0001-01-01T00:00:00Z, started_at: "
    "0001-01-01T00:00:00Z, heartbeat_at: 9999-12-31T23:59:59Z, heartbeat_interval_s: 1e-300, heartbeat_by: ref}\n",
    "held3": "title: t\nstatus: in_progress\nclaim: {agent: bob, token: T3, heartbeat_interval_s: -5, heartbeat_by: branch, attempt: -1}\n",
    "claims": "title: t\nclaim_mode: advisory\nstatus: in_progress\nclaims: [{agent: eve, token: t, expires_at: 9999-12-31T23:59:59Z, "
    f"heartbeat_interval_s: -1, attempt: {'9' * 300}}}]\n",
    "retry": "title: t\nattempts: 2\nretry: {strategy: [x], initial_delay: 99999999999d, backoff_multiplier: x, max_delay: nan, jitter: "
    "{a: b}, retry_on: 3, no_retry_on: {a: b}}\nretry_at: 9999-12-31T23:59:59Z\n",
    "retry2": "title: t\nretry: {initial_delay: 100y, backoff_multiplier: 1e300, max_delay: -1}\nattempts: 2000\nmax_attempts: 5000\n",
    "spec": "title: t\nspec: {prompt: {a: b}, max_cost_usd: x, max_duration: [x], model_preferences: {a: b}}\nexpected: 36525d\n",
    "numbers": f"title: t\nbase_priority: 1e308\npriority_boost_per_minute: -1e308\ntemperature: 1e308\nheated_at: 0001-01-01T00:00:00Z\n"
    f"attempts: -{'9' * 300}\nattempts_forgiven: {'9' * 300}\nmax_attempts: -{'9' * 300}\nestimated_minutes: 1e308\nbudget_ceiling_usd: 1e308\n"
    "cost: {usd: 1e308, tokens: [1]}\n",
    "times": "title: t\n"
    + "".join(
        f"{key}: 9999-12-31T23:59:59.999999999Z\n"
        for key in "deadline heated_at prefer_until defer_until created_at updated_at started_at".split()
    ),
    "times2": "title: t\n"
    + "".join(
        f"{key}: 0001-01-01T00:00:00Z\n"
        for key in "deadline heated_at prefer_until retry_at created_at updated_at started_at".split()
    ),
    "fraction": f"title: t\nupdated_at: 2026-01-01T00:00:00.{'1' * 3000}Z\n",
    "markup": "title: '[bold red]x[/] [/nothing] [link=http://x]y[/link] :skull: [@click=x]'\nassignee: '[/]'\nlabels: ['[red]']\ntype: '[/]'\n",
}
OTHERS: dict[str, Any] = {
    ".beads/agents/codemonkey.yaml": f"name: {IN_YAML}\nrole: {IN_YAML}\ninterval: 36525d\nmax_concurrent: {'9' * 300}\n"
    f"skills: {{title_words: {IN_YAML}, title_prefix: 3, labels: ['[', {IN_YAML}], {IN_YAML}: {IN_YAML}}}\ncapabilities: [{IN_YAML}]\n"
    f"models_available: [{IN_YAML}]\nbudget_usd: -1e308\ncool_down: 36525d\npool: {{check: {IN_YAML}, start: [{IN_YAML}]}}\n",
    ".beads/agents/kinds.yaml": "skills: {title_words: {a: b}, labels: [{a: b}], types: [[x]]}\n",
    ".beads/agents/markup.yaml": "role: '[/] [bold]x'\ncapabilities: ['[/]']\n",
    ".agent-status/codemonkey.yaml": f"agent: {IN_YAML}\nstatus: {IN_YAML}\nbeads: [{IN_YAML}, ../x]\ncurrent_tasks: -5\nmax_concurrent: {'9' * 300}\n"
    f"last_heartbeat: 9999-12-31T23:59:59Z\nnext_poll_at: 9999-12-31T23:59:59Z\noverloaded_at: 0001-01-01T00:00:00Z\nempty_cycles: {'9' * 300}\n"
    f"interval_s: 1e308\nrecent: [{IN_YAML}]\nprogress: [{{}}, {{at: 0001-01-01T00:00:00Z, text: {IN_YAML}}}]\nhost: {IN_YAML}\nversion: {IN_YAML}\n",
    ".agent-status/eve.yaml": f"last_heartbeat: 0001-01-01T00:00:00Z\ninterval_s: -1\nempty_cycles: -{'9' * 300}\nstatus: draining\n",
    ".beads/config.yaml": f"format: 1\nprefix: hub\ndomain: {IN_YAML}\ntypes: [{IN_YAML}]\nstatuses: [{IN_YAML}]\npaused: {{by: {IN_YAML}, reason: {IN_YAML}, {IN_YAML}: 1}}\n"
    f"validators: {{{IN_YAML}: {IN_YAML}}}\nschedules: [{{{IN_YAML}: {IN_YAML}}}]\n",
    ".beads/metadata.json": "[" * 100_000,
}
IDS = [f"hub-{name}" for name in BEADS]


@pytest.fixture
def alice(hub: Path, clone: Callable[[str], Clone]) -> Clone:
    """A clone of a hub whose every text is made to do harm."""
    plant(hub, {GOOD_PATH: GOOD})
    alice = clone("alice")
    plant(
        hub,
        {**{f"beads/hub-{name}.yaml": f"id: hub-{name}\n{text}" for name, text in BEADS.items()}, **OTHERS},
        message=f"{EVIL}\n\nBd-Op: {EVIL}",
    )
    alice.here("sync")
    assert alice.here("doctor", "--json", check=False).json["beads"] == len(BEADS) + 1
    return alice


def test_every_read_shows_them_as_what_they_are(alice: Clone) -> None:
    everything_goes_on(alice)
    for name in IDS:
        for args in (
            ("show",),
            ("why",),
            ("why", "--agent", "codemonkey"),
            ("history",),
            ("comments",),
            ("children",),
            ("dep", "list"),
            ("dep", "tree"),
        ):
            harmless(alice.here(*args, name, check=False))
            assert alice.here(*args, name, "--json", check=False).json is not None
    for args in (
        ("list", "--all", "--long"),
        ("list", "--label", EVIL),
        ("search", EVIL),
        ("show", EVIL),
        ("config", "get", "domain"),
        ("dlq", "show", "hub-dead"),
    ):
        harmless(alice.here(*args, check=False), 0, 2, 4)


def test_every_write_goes_on(alice: Clone, hub: Path) -> None:
    alice.here("resume")
    for args in (
        ("stalled", "--reassign"),
        ("poll", "--agent", "codemonkey"),
        ("claim", "--next", "--agent", "bob"),
        ("overseer", "--once"),
        ("archive",),
    ):
        harmless(alice.here(*args, check=False), 0, 3)
    for name in IDS:
        for words in (
            ("update", name, "--priority", "1"),
            ("comment", name, EVIL),
            ("note", name, EVIL),
            ("label", "add", name, EVIL),
            ("claim", name, "--agent", "eve", "--force", "--reason", EVIL),
            ("progress", name, EVIL, "--agent", "eve"),
            ("fail", name, "--reason", "crash", "--error", EVIL, "--agent", "eve"),
            ("reopen", name),
            ("dlq", "retry", name, "--reason", EVIL),
            ("close", name, "--reason", EVIL, "--force"),
            ("undo",),
        ):
            harmless(alice.here(*words, check=False), 0, 2, 3, 4, 5)
    work = alice.here(
        "work",
        "--agent",
        "frank",
        "--once",
        "--max-tasks",
        "1",
        "printf",
        EVIL.replace("\\", "\\\\").replace("%", "%%"),
        check=False,
    )
    harmless(work, 0, 3)
    for sign in "\x1b\x9b\u202e\u2028":
        assert sign not in git(hub, "log", "--format=%s", "-50").replace(EVIL.split("\r", maxsplit=1)[0], ""), (
            "in a subject of bd's own"
        )


def test_on_a_terminal(alice: Clone) -> None:
    """With colours, by rich where there is a table: only bd's own styles come through."""
    ours = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[ABCDGK]|2K)")
    some = [
        (),
        *(
            args
            for args in READS
            if args[:1] in {("list",), ("attention",), ("stats",), ("count",), ("agent",), ("trust",), ("doctor",)}
        ),
    ]
    for args in (*some, ("show", "hub-texts"), ("show", "hub-dead"), ("config", "show"), ("dlq", "show", "hub-dead")):
        shown = in_a_terminal(*args, cwd=alice.path, types="n\n")
        assert "a bug in bd" not in shown, (args, shown)
        left = ours.sub("", shown).replace("\r\n", "\n")
        assert not set(left) & set(FORBIDDEN), (args, left)
        assert "\x1b[8m" not in shown, "hidden text is none of bd's styles"
        assert not re.search(r"\x1b\[31m\s*\r", shown)
    listed = in_a_terminal("count", "--by-assignee", cwd=alice.path)
    assert "[/]" in listed, "markup is shown, not obeyed"


def test_what_git_and_a_server_say_is_escaped_too(alice: Clone, hub: Path) -> None:
    hook = hub / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nprintf '\\033[2J\\033]0;owned\\007 \\302\\233 \\342\\200\\256refused\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    refused = harmless(alice.here("create", "x", check=False), 5)
    assert "refused" in refused.err
    hub.rename(hub.with_name("\x1b[2J\u202egone.git"))
    git(alice.path, "config", "remote.origin.url", str(hub.with_name("\x1b[31mnowhere.git")))
    harmless(alice.here("sync", check=False), 6)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, äöü, 日本語, 🚀", "plain, äöü, 日本語, 🚀"),
        ("👩‍🚀 👨‍👩‍👧 ❤️", "👩‍🚀 👨‍👩‍👧 ❤️"),
        ("می‌خواهم", "می‌خواهم"),
        ("pay\u200dpal\u200c", "pay\\u200dpal\\u200c"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u200bb\ufeffc\u00add", "a\\u200bb\\ufeffc\\xadd"),
        ("a\U000e0041b", "a\\U000e0041b"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\udcff\ud800", "\\udcff\\ud800"),
    ],
)
def test_what_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_json_says_the_same_in_signs_that_are_seen() -> None:
    text = json.dumps({"a\u202e": "\x7f\x9b\U000e0041 🚀 é \ud800"}, ensure_ascii=False)
    safe = json_safe(text)
    assert json.loads(safe) == json.loads(text)
    assert not set(safe) & {"\u202e", "\x7f", "\x9b", "\U000e0041", "\ud800"}
    assert "🚀 é" in safe
    safe.encode()
    assert json_safe('{"a": 1}') == '{"a": 1}'


def test_json_of_a_process_is_utf_8_in_every_locale(alice: Clone) -> None:
    import os

    from tests.running import BD

    for locale in ("C", "C.UTF-8", "POSIX"):
        environment = {**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
        out = subprocess.run(
            [*BD, "list", "--all", "--json"], cwd=alice.path, capture_output=True, env=environment, check=True
        ).stdout
        assert {bead["id"] for bead in json.loads(out.decode("utf-8"))} >= set(IDS)
