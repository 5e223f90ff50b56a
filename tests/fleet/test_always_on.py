"""Agents without a pool that `bd pool run` keeps on, how drained members end, and why a pool wants no members."""

from __future__ import annotations

import os
import shlex
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.fleet.poolhost import WAITS, Host
from tests.race.seeds import seed
from tests.running import BD

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.one_in(4)


def always_on(host: Host, start: str, name: str = "mayor") -> None:
    """Make an agent that has no pool map, and trust its command here."""
    file = host.clone.path / ".beads" / "agents" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"name: {name}\nstart: {start!r}\n", encoding="utf-8")
    host.clone.here("sync")
    host.clone.here("trust", "--yes")


def status_of(host: Host, name: str) -> dict[str, Any]:
    return next(one for one in host.clone.here("pool", "status", "--json").json if one["name"] == name)


def test_an_agent_without_a_pool_is_kept_on(host: Host, hub: Path) -> None:
    """It is one member under its own name; when it dies it is started again, and its queue waits for it meanwhile."""
    always_on(host, WAITS)
    seed(host.clone, "hub-a", assignee="mayor")
    assert host.round() == [("started", "mayor")]
    assert host.round() == [], "nobody is started twice"
    status = status_of(host, "mayor")
    assert (status["min"], status["max"], status["desired"], status["running"]) == (1, 1, 1, ["mayor"])
    os.killpg(host.leader("mayor"), signal.SIGKILL)
    host.until_ended("mayor")
    told = host.round()
    assert host.clone.here("show", "hub-a", "--json").json[0]["assignee"] == "mayor"
    if len(told) == 1:  # it lived for less than 10 s, so it has to wait
        host.quarters.write("pool-mayor.json", {**host.quarters.read("pool-mayor.json"), "failed_s": 0})
        told += host.round()
    assert told == [("ended", "mayor"), ("started", "mayor")]
    always_on(host, "")
    assert host.round() == [("draining", "mayor")], "it is no longer looked after"


def test_an_agent_that_nobody_starts_says_so(host: Host) -> None:
    host.clone.here("agent", "add", "cronjob")
    assert host.round() == []
    assert "started elsewhere" in host.clone.here("pool", "list").out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{shlex.join(BD)} work --interval 1s -- true", "ended: it was drained"),
        (f"{WAITS}; exit 3", "ended: it was drained"),
        (f"{WAITS}; exit 1", "ended with exit code 1"),
    ],
)
def test_a_drained_members_exit_is_no_crash(host: Host, command: str, words: str) -> None:
    host.pool(min=1, max=1, start=command)
    assert host.round() == [("started", "worker")]
    host.pool(min=0, max=1, start=command, check="echo 0", cooldown_down="0s")
    assert host.round() == [("draining", "worker")]
    host.until_ended("worker")
    assert host.round() == [("ended", "worker")]
    assert words in host.clone.here("pool", "events").lines[-1]
    assert "fails" not in host.quarters.read("pool-worker.json") or not host.quarters.read("pool-worker.json")["fails"]


@pytest.mark.parametrize(
    ("settings", "steps", "why"),
    [
        ({}, [], "nothing is ready"),
        ({}, [("create", "Do it", "--needs", "gpu")], "needs gpu"),
        ({}, [("create", "Do it"), ("pause", "--reason", "lunch")], "the fleet is paused by"),
        ({"check": "echo 0"}, [("create", "Do it")], "its check printed 0"),
        ({"size": 0}, [("create", "Do it")], "`bd pool scale worker auto`"),
        ({"max_claims": 0}, [("create", "Do it")], "holds as many beads as it may"),
    ],
)
def test_a_pool_that_wants_no_members_says_why(
    host: Host, settings: dict[str, Any], steps: list[tuple[str, ...]], why: str
) -> None:
    host.pool(max=3, start=WAITS, **settings)
    for step in steps:
        host.clone.here(*step)
    assert host.round() == []
    assert host.status["desired"] == 0
    assert why in host.status["why"]
    assert f"worker: wants none: {host.status['why']}" in host.clone.here("pool", "status").out
