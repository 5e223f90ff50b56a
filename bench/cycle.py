"""The agent's whole cycle: seconds and pushes a bead in steady state, and how both grow with the number of agents.

Pushes of the branch are read from the commits' own trailers, lost races included; pushes of refs beside it from what
the hub's hook was told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.races import Track
from bench.rows import Figure, Note

if TYPE_CHECKING:
    from bench.machine import Machine
    from bench.rows import Row

TITLE = "the whole cycle: bd work, from claim to close"
# One line a push: the refs it moved.
_HOOK = "#!/bin/sh\ncut -d' ' -f3 | tr '\\n' ' ' >> {log}; echo >> {log}\n"


def measure(machine: Machine) -> list[Row]:
    """From one agent to sixteen, each with a clone of its own; the work itself takes no time."""
    crowds = (1, 2) if machine.quick else (1, 2, 4, 8, 16)
    rows: list[Row] = []
    for agents in crowds:
        rows += _drain(machine, agents, 3 if machine.quick else 10)
    return rows


def _drain(machine: Machine, agents: int, each: int) -> list[Row]:
    track = Track(machine, agents * each, agents)
    log = track.bare.parent / "pushes"
    hook = track.bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_HOOK.format(log=log))
    hook.chmod(0o755)
    runs = [(folder, ["work", "--agent", f"agent-{place}", "--once", "--", "true"]) for place, folder in enumerate(track.clones)]
    ended, took = track.race(runs)
    pushes = log.read_text().splitlines() if log.exists() else []
    beside = sum("refs/heads/" not in line for line in pushes)
    tries = sum(track.tries())
    beads = len(track.ids)
    closed = int(machine.run([*machine.bd, "count", "--fetch", "--status", "closed"], cwd=track.clones[0]))
    return [
        Figure(f"  {agents} agents, beads left open", beads - closed, f"of {beads}", 1),
        Figure(f"  {agents} agents, seconds a bead", took / beads, "s"),
        Figure(f"  {agents} agents, branch pushes a bead", tries / beads, f"{tries} for {beads} (aim: 1)"),
        Figure(f"  {agents} agents, pushes beside it a bead", beside / beads, f"{beside} (probes, agents' records)"),
        Note(f"  exit codes: {sorted(racer.code for racer in ended)}"),
    ]
