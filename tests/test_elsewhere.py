"""bd without what only POSIX systems or only Linux have: the whole way of a bead, with every such name taken away.

A stand-in for the systems that CI tries; it can't show how their files, locks and signals behave.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

# What the standard library needs itself is imported first; then it is gone for whoever asks for it by name.
ABSENT = {
    "macOS": (
        {"os": "sched_getaffinity pidfd_open O_PATH posix_fadvise", "select": "epoll", "time": "CLOCK_BOOTTIME"},
        [],
    ),
    "Windows": (
        {
            "os": "sched_getaffinity pidfd_open posix_spawn posix_spawnp POSIX_SPAWN_DUP2 POSIX_SPAWN_CLOSE killpg getpgid setsid "
            "getuid geteuid uname fork forkpty O_CLOEXEC O_NOFOLLOW O_NONBLOCK O_PATH O_DIRECTORY getloadavg WNOHANG "
            "waitstatus_to_exitcode fchmod mkfifo sysconf statvfs getpgrp",
            "signal": "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGPIPE SIGALRM setitimer pthread_sigmask",
            "select": "poll epoll POLLIN POLLOUT",
            "time": "CLOCK_BOOTTIME CLOCK_MONOTONIC_RAW clock_gettime",
        },
        ["fcntl", "termios", "pwd", "grp", "resource", "pty", "_posixshmem"],
    ),
}
PRELUDE = """
import asyncio, concurrent.futures, getpass, logging, multiprocessing, os, pathlib, random, select, selectors, shutil, signal
import socket, ssl, subprocess, sys, tempfile, threading, time, uuid, webbrowser
import click, click.testing, git
subprocess.os = type(os)("os_of_subprocess")
subprocess.os.__dict__.update(vars(os))
for module, names in {names!r}.items():
    for name in names.split():
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
for module in {modules!r}:
    sys.modules[module] = None
from bd.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("system", ABSENT)
@pytest.mark.slow
def test_a_bead_s_whole_way(system: str, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    names, modules = ABSENT[system]
    alice = clone("alice")

    def run(*args: str, code: int = 0) -> str:
        program = [sys.executable, "-c", PRELUDE.format(names=names, modules=modules), *args]
        done = subprocess.run(program, cwd=alice.path, env=dict(os.environ), capture_output=True, text=True)
        assert done.returncode == code, f"bd {' '.join(args)}\n{done.stdout}{done.stderr}"
        return done.stdout

    for bead in "abc":
        run("create", f"Do {bead}", "--id", f"hub-{bead}")
    assert json.loads(run("claim", "hub-a", "--agent", "coder", "--json"))[0]["id"] == "hub-a"
    run("claim", "hub-a", "--agent", "other", code=5)
    run("close", "hub-a", "--next", "--agent", "coder", "--reason", "done")
    run("release", "hub-b", "--reason", "later", "--agent", "coder")
    run("work", "--agent", "coder", "--once", "--", sys.executable, "-c", "print('worked')")
    (alice.path / "beads" / "hub-d.yaml").write_text("id: hub-d\ntitle: By hand\nstatus: open\n")
    run("sync")
    for read in ("list --all", "ready", "show hub-a", "history hub-a", "audit", "doctor", "stalled", "poll --agent coder"):
        run(*read.split())
    states = {bead: tip_bead(hub, f"hub-{bead}") for bead in "abcd"}
    assert {bead: found.status for bead, found in states.items() if found} == {
        "a": "closed",
        "b": "closed",
        "c": "closed",
        "d": "open",
    }
    assert git(alice.path, "status", "--porcelain") == ""
