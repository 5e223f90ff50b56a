#!/usr/bin/env python3
"""A stand-in for a coding agent: it reads the tool's hooks as the tool does, and works through its beads with `bd`.

    stand_in.py claude|codex|gemini [FORGETFUL]

It fires the hooks of the session's start and of its end in the tool's format, and shows what they answer. A FORGETFUL one wants
to stop before it has closed its bead, and goes on when the hook reminds it.
"""

import json
import subprocess
import sys
from pathlib import Path

HOOKS = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}
END = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent"}


def fired(tool: str, event: str, **more: object) -> list[dict]:
    """What the hooks of an event answer. An exit of 2 would be an order, any other failure a warning."""
    answers = []
    for entry in json.loads(Path(HOOKS[tool]).read_text()).get("hooks", {}).get(event, []):
        matcher = entry.get("matcher")
        if matcher and more.get("source") not in matcher.split("|"):
            continue
        for hook in entry["hooks"]:
            told = json.dumps({"hook_event_name": event, "session_id": "s1", "cwd": str(Path.cwd()), **more})
            done = subprocess.run(hook["command"], check=False, shell=True, input=told, capture_output=True, text=True)  # noqa: S602
            if done.returncode:
                print(f"the hook failed: {done.stderr.strip()}")
            elif done.stdout.strip():
                answers.append(json.loads(done.stdout))
    return answers


def context(tool: str, source: str) -> None:
    """Start a session, or go on after a compaction: what the hooks add to the context."""
    for answer in fired(tool, "SessionStart", source=source):
        text = answer["hookSpecificOutput"]["additionalContext"]
        print(f"{source}: {text.splitlines()[0]}")


def bd(*words: str) -> object:
    done = subprocess.run(["bd", *words, "--json"], check=False, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main(tool: str, is_forgetful: bool) -> None:
    context(tool, "startup")
    while beads := bd("claim", "--next"):
        bead = beads[0]
        print(f"works on {bead['id']}: {bead['title']}")
        if tool != "gemini":  # its hooks hear of a compaction, and can't add anything to it
            context(tool, "compact")
        if not is_forgetful:
            bd("close", bead["id"], "--reason", "done by a stand-in")
            continue
        for answer in fired(tool, END[tool], stop_hook_active=False):
            if answer.get("decision") == "block":
                print(f"wants to stop, and hears: {answer['reason']}")
                bd("close", bead["id"], "--reason", "done, after a reminder")
    stays = [one for one in fired(tool, END[tool], stop_hook_active=False) if one.get("decision") == "block"]
    print("is held back" if stays else "stops")


main(sys.argv[1], "FORGETFUL" in sys.argv[2:])
