"""The browser interface of the Go tool, real and unmodified: how soon its open page shows what another clone made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench import hubs
from bench.rows import Figure, Note

if TYPE_CHECKING:
    from pathlib import Path

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "an open page: from the end of a sync until what came is there"
LIMIT_S = 2
# For a second after it has looked, the interface's server takes no notice of changes.
_BETWEEN_S = 1.5


def measure(machine: Machine) -> list[Row]:
    """The worst and the median of some beads, in a small hub and in one of 3,000 active beads."""
    from tests.clients import conftest

    if not (conftest.CLIENTS / "ui").exists():
        return [Note("The browser interface is not installed: `make clients` does it.")]
    rows: list[Row] = []
    for shape in machine.shapes(hubs.SMALL, hubs.LARGE):
        waits = _waits(machine, machine.hub(shape).own_clone(machine), machine.rounds(7))
        rows.append(Figure(f"{shape.label} beads, the longest", max(waits), "seconds", LIMIT_S))
        rows.append(Figure(f"{shape.label} beads, the median", sorted(waits)[len(waits) // 2], "seconds", LIMIT_S))
    return rows


def _waits(machine: Machine, ours: Path, rounds: int) -> list[float]:
    from tests.clients.conftest import Workspace, noting_bd
    from tests.clients.server import LISTS, Page, running
    from tests.running import Clone

    theirs = ours.with_name("theirs")
    machine.run(["git", "clone", "--quiet", str(ours.with_name("hub.git")), str(theirs)])
    command, log = noting_bd(ours.with_name("bin"), machine.bd)
    waits = []
    with running(Workspace(Clone(ours), dict(machine.environment), command, log)) as port:
        page = Page(port)
        for name, kind in LISTS.items():
            page.ask("subscribe-list", id=name, type=kind)
        for number in range(rounds):
            made = f"hub-page{number}"
            time.sleep(_BETWEEN_S)
            machine.run([*machine.bd, "create", "From another clone", "--id", made, "-p", "0"], cwd=theirs)
            machine.run([*machine.bd, "sync"], cwd=ours)
            begun = time.perf_counter()
            page.until(lambda seen, made=made: made in seen.seen)  # type: ignore[misc]
            waits.append(time.perf_counter() - begun)
        page.close()
    return waits
