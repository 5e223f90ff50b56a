"""An agent that only pretends: a command for `bd work` that does what the bead's `metadata.pretend` says.

    bd work --agent codemonkey -- python3 pretend.py

The list has a step for each attempt; after the last one it is done again. A step is one of
  {done: WORDS, output: ANYTHING}      the work is done
  {fail: KIND, text: WORDS}            the attempt failed; `then: [AGENT, AGENT]` routes it to the other of them
  {spawn: TITLE}                       a subtask was found, and the bead waits for it
and says with `cost` what it cost in US dollars.
"""

import json
import os
import random
import subprocess
import sys
import time

BD = [sys.executable, "-m", "bd"]
TAKES_S = (0.1, 0.3)


def main() -> int:
    with open(os.environ["BD_BEAD_FILE"], encoding="utf-8") as file:
        bead = json.load(file)
    steps = bead.get("metadata", {}).get("pretend") or [{"done": "pretended", "output": "pretended", "cost": 0.3}]
    step = steps[min(int(os.environ["BD_ATTEMPT"]), len(steps)) - 1]
    if bead.get("spec", {}).get("context_refs"):
        bd("context", bead["id"])  # what it starts from
    time.sleep(random.uniform(*TAKES_S))
    if "spawn" in step:
        bd("cost", bead["id"], "--usd", str(step.get("cost", 0)))
        return bd("spawn", bead["id"], step["spawn"], "--wait")
    if "then" in step:
        bd("fail", bead["id"], "--reason", step["fail"], "--error", step["text"], "--cost", str(step.get("cost", 0)))
        del os.environ["BD_TOKEN"]  # the claim has ended
        return bd("update", bead["id"], "--assignee", next(name for name in step["then"] if name != os.environ["BD_AGENT"]))
    said = {"outcome": "failed", "kind": step["fail"], "text": step["text"]} if "fail" in step else {"text": step["done"]}
    with open(os.environ["BD_RESULT_FILE"], "w", encoding="utf-8") as file:
        json.dump({**said, "cost": step.get("cost"), "output": step.get("output")}, file)
    return 0


def bd(*words: str) -> int:
    """Run a `bd` command for this claim: BD_AGENT and BD_TOKEN are set."""
    return subprocess.run([*BD, *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
