"""A stand-in for a coding agent: it calls no model, and prints what `claude -p --output-format stream-json` is documented to print.

It does what `metadata` of the bead says: `write` names files and their texts, `ask` is a question to a person, and with `stops`
its turns are used up half-way, so that it has to be resumed. It learns of the bead's id and of the answer from the brief on stdin.
"""

import html
import json
import os
import random
import re
import subprocess
import sys
import time

TAKES_S = (0.3, 1.0)
TURN_USD = 0.02


def main() -> int:
    brief = sys.stdin.read()
    with open(os.environ["BD_BEAD_FILE"], encoding="utf-8") as file:
        task = json.load(file).get("metadata", {})
    is_resumed = "--resume" in sys.argv
    session = sys.argv[sys.argv.index("--resume") + 1] if is_resumed else f"session-{os.environ['BD_TOKEN'][-8:].lower()}"
    told({"type": "system", "subtype": "init", "session_id": session, "model": "stand-in"})
    time.sleep(random.uniform(*TAKES_S))
    answer = answer_in(brief)
    if "ask" in task and not answer:
        subprocess.run([sys.executable, "-m", "bd", "wait-human", os.environ["BD_BEAD_ID"], "--reason", task["ask"]], check=True)
        return ended(session, "I asked a person.", turns=1)
    if task.get("stops") and not is_resumed:
        return ended(session, "", turns=1, subtype="error_max_turns", is_error=True)
    for name, text in task.get("write", {}).items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text.replace("{answer}", answer))
    git("add", "--all")
    made = git("commit", "--quiet", "--message", f"Write {', '.join(task.get('write', {}))}").returncode == 0
    words = ", ".join(task.get("write", {}))
    return ended(session, f"Wrote {words}." if made else f"{words} was there already.", turns=2)


def answer_in(brief: str) -> str:
    """Return the last answer of a person in a brief."""
    found = re.findall(r'<(part-\w+) kind="answer"[^>]*>\n(.*?)\n</\1>', brief, re.DOTALL)
    return html.unescape(found[-1][1]) if found else ""


def git(*words: str) -> "subprocess.CompletedProcess[bytes]":
    who = ["-c", "user.name=Stand-in", "-c", "user.email=stand-in@example.org"]
    return subprocess.run(["git", *who, *words], stdout=subprocess.DEVNULL, check=False)


def ended(session: str, text: str, *, turns: int, subtype: str = "success", is_error: bool = False) -> int:
    """Print the last line, with what the session has cost."""
    told(
        {
            "type": "result",
            "subtype": subtype,
            "is_error": is_error,
            "result": text,
            "session_id": session,
            "num_turns": turns,
            "total_cost_usd": round(turns * TURN_USD, 2),
            "usage": {"input_tokens": 900 * turns, "output_tokens": 120 * turns},
            "permission_denials": [],
        }
    )
    return 1 if is_error else 0


def told(line: dict) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
