"""One agent of the demo, a process of its own: `python agent.py NAME CLONE SEED`.

It does what an agent does and nothing else: it runs `bd` in its clone, reads the JSON, and goes
by the exit code. The work itself is pretended. It says `ready` on stdout, starts when it is told
`go` on stdin, and ends when stdin ends (so also when the demo has died).
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
from typing import Any, NamedTuple

# How long the pretended work takes, and how long to wait when there is nothing to do.
WORK_S = (0.05, 0.3)
PAUSE_S = (0.2, 0.5)
NOTHING_NOW, REFUSED, TRY_AGAIN = 3, 5, 6


class Answer(NamedTuple):
    """What a `bd` command said: its exit code and its JSON."""

    code: int
    json: Any

    def claimed_by(self, agent: str) -> dict[str, Any] | None:
        """The bead that this agent now holds, of those the command touched."""
        beads = self.json if isinstance(self.json, list) else []
        return next((bead for bead in beads if (bead.get("claim") or {}).get("agent") == agent), None)


class Worker:
    """The loop of one agent: claim, work, close and claim the next in one commit."""

    def __init__(self, name: str, clone: str, seed: str) -> None:
        self.name = name
        self.clone = clone
        self.rng = random.Random(f"{seed} {name}")

    def run(self) -> int:
        """Work until there is no more stdin. The exit code of the first answer that no agent can go on from."""
        self._log(f"{self.name} is process {os.getpid()}")
        self._say("ready")
        if not self._told():
            return 0
        held: dict[str, Any] | None = None
        pause_s = 0.0
        while not self._is_over(pause_s):
            answer = self._close_and_claim(held) if held else self._bd("claim", "--next")
            if answer.code == NOTHING_NOW and answer.json.get("code") == "agent_busy":
                answer = self._bd("claim", "--resume")
            if answer.code == 0:
                held = answer.claimed_by(self.name)
            elif answer.code == REFUSED:
                held = None
            elif answer.code not in (NOTHING_NOW, TRY_AGAIN):
                return answer.code
            pause_s = self.rng.uniform(*(WORK_S if held and answer.code == 0 else PAUSE_S))
        return 0

    def _close_and_claim(self, bead: dict[str, Any]) -> Answer:
        reason = f"done by {self.name}; the work was pretended"
        return self._bd("close", bead["id"], "--reason", reason, "--next", token=bead["claim"]["token"])

    def _bd(self, *args: str, token: str | None = None) -> Answer:
        """Run a real `bd` command. The claim's token goes along: it proves who holds the bead."""
        command = [sys.executable, "-m", "bd", *args, "--agent", self.name, "--json"]
        self._log(f"$ bd {' '.join(command[3:])}")
        given = {**os.environ, "BD_TOKEN": token} if token else dict(os.environ)
        ended = subprocess.run(command, cwd=self.clone, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        try:
            return Answer(ended.returncode, json.loads(ended.stdout))
        except ValueError:
            return Answer(ended.returncode or 1, {})

    def _log(self, line: str) -> None:
        """Write a line between those of the commands, so that the log reads like a terminal."""
        os.write(2, f"{line}\n".encode())

    # --- the demo at the other end of the pipes ---

    def _say(self, word: str) -> None:
        os.write(1, f"{word}\n".encode())

    def _told(self) -> bool:
        """Wait for the start; False when it never comes."""
        return os.read(0, 16).startswith(b"go")

    def _is_over(self, wait_s: float) -> bool:
        """Whether stdin has ended; waits for that, but no longer than `wait_s`."""
        readable, _, _ = select.select([0], [], [], wait_s)
        return bool(readable)


if __name__ == "__main__":
    sys.exit(Worker(*sys.argv[1:4]).run())
